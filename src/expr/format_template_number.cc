// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "expr/decimal_block.h"
#include "expr/format_template.h"
#include "expr/pattern_length.h"

namespace icebound::expr {

arrow::Result<NumberTemplate> NumberTemplate::Make(std::string_view text) {
  ARROW_RETURN_NOT_OK(CheckPatternLength(text, "template of numbers"));
  NumberTemplate result;
  bool seen_digit = false;
  const auto add = [&](Token token) { result.elements_.push_back({token, {}}); };
  for (size_t i = 0; i < text.size();) {
    const auto is_word = [&](std::string_view word) { return EqualsIgnoreCase(text.substr(i, word.size()), word); };
    const char c = text[i];
    size_t length = 1;
    if (c == '"') {
      std::string literal;
      for (++i; i < text.size() && text[i] != '"'; ++i) literal.push_back(text[i]);
      result.elements_.push_back({Token::kLiteral, std::move(literal)});
    } else if (c == '9' || c == '0') {
      seen_digit = true;
      if (result.has_point_) {
        ++result.fraction_places_;
        if (c == '0') result.last_fraction_zero_ = result.fraction_places_;
      } else {
        if (c == '0' && result.first_zero_ < 0) result.first_zero_ = result.integer_places_;
        ++result.integer_places_;
      }
      add(c == '0' ? Token::kZero : Token::kDigit);
    } else if (c == '.' || c == 'D' || c == 'd') {
      if (result.has_point_) return MakeError(ErrorKind::kExecution, "multiple decimal points");
      result.has_point_ = true;
      add(Token::kPoint);
    } else if (c == ',' || c == 'G' || c == 'g') {
      add(Token::kGroup);
    } else if (is_word("FM")) {
      result.fill_mode_ = true;
      length = 2;
    } else if (is_word("MI")) {
      result.has_own_sign_ = true;
      add(Token::kMinus);
      length = 2;
    } else if (is_word("PL")) {
      add(Token::kPlus);
      length = 2;
    } else if (is_word("SG")) {
      result.has_own_sign_ = true;
      add(Token::kPlusMinus);
      length = 2;
    } else if (is_word("PR")) {
      result.has_brackets_ = true;
      add(Token::kBrackets);
      length = 2;
    } else if (c == 'S' || c == 's') {
      if (result.sign_leads_ || result.sign_trails_) return MakeError(ErrorKind::kExecution, "cannot use \"S\" twice");
      (seen_digit ? result.sign_trails_ : result.sign_leads_) = true;
      if (seen_digit) add(Token::kSign);
    } else if (is_word("EEEE") || is_word("RN") || is_word("TH") || c == 'V' || c == 'v' || c == 'L' || c == 'l') {
      return MakeError(ErrorKind::kUnsupported, "the number template \"{}\": {} is not supported", text,
                       text.substr(i, is_word("EEEE") ? 4 : 2));
    } else {
      result.elements_.push_back({Token::kLiteral, std::string(1, c)});
    }
    i += length;
  }
  return result;
}

void NumberTemplate::EmitSign(bool negative, std::string* out) const {
  if (has_own_sign_ || sign_trails_) return;
  if (has_brackets_) {
    if (negative) {
      out->push_back('<');
    } else if (!fill_mode_) {
      out->push_back(' ');
    }
  } else if (sign_leads_) {
    out->push_back(negative ? '-' : '+');
  } else if (negative) {
    out->push_back('-');
  } else if (!fill_mode_) {
    out->push_back(' ');
  }
}

void NumberTemplate::Emit(bool negative, std::string_view integer, std::string_view fraction, bool overflow,
                          std::string* out) const {
  int shown_fraction = fraction_places_;
  if (fill_mode_ && !overflow) {
    while (shown_fraction > last_fraction_zero_ && fraction[shown_fraction - 1] == '0') --shown_fraction;
  }
  // A zero before the point is not shown when there are decimals, unless the template has a 0 there.
  if (integer == "0" && fraction_places_ > 0 && !(fill_mode_ && shown_fraction == 0)) integer = {};
  bool started = false;
  int place = 0;
  const auto start = [&] {
    if (!started) EmitSign(negative, out);
    started = true;
  };
  for (const Element& element : elements_) {
    switch (element.token) {
      case Token::kDigit:
      case Token::kZero: {
        const int at = place++;
        if (at >= integer_places_) {
          start();
          if (overflow) {
            out->push_back('#');
          } else if (at - integer_places_ < shown_fraction) {
            out->push_back(fraction[at - integer_places_]);
          }
          break;
        }
        const int digit = at - (integer_places_ - static_cast<int>(integer.size()));
        const bool zero_zone = first_zero_ >= 0 && at >= first_zero_;
        if (overflow || digit >= 0 || zero_zone) {
          start();
          out->push_back(overflow ? '#' : (digit >= 0 ? integer[digit] : '0'));
        } else if (!fill_mode_) {
          out->push_back(' ');
        }
        break;
      }
      case Token::kPoint:  // Without decimals there is no point either.
        start();
        if (fraction_places_ > 0) out->push_back('.');
        break;
      case Token::kGroup:
        if (started) {
          out->push_back(',');
        } else if (!fill_mode_) {
          out->push_back(' ');
        }
        break;
      case Token::kSign:
      case Token::kPlusMinus:
        out->push_back(negative ? '-' : '+');
        break;
      case Token::kMinus:
      case Token::kPlus: {
        const bool shown = element.token == Token::kMinus ? negative : !negative;
        if (shown) {
          out->push_back(element.token == Token::kMinus ? '-' : '+');
        } else if (!fill_mode_) {
          out->push_back(' ');
        }
        break;
      }
      case Token::kBrackets:
        if (negative) {
          out->push_back('>');
        } else if (!fill_mode_) {
          out->push_back(' ');
        }
        break;
      case Token::kLiteral:
        out->append(element.literal);
        break;
    }
  }
}

void NumberTemplate::Format(Int128 value, int scale, std::string* out) const {
  const int places = std::min(fraction_places_, kMaxDecimalDigits);
  Int128 rounded = value;
  int kept = scale;
  if (scale > places) {
    rounded = DivideByPowerOfTen(value, scale - places);
    kept = places;
  }
  std::string digits;
  AppendDecimal(rounded < 0 ? -rounded : rounded, kept, &digits);
  const size_t point = digits.find('.');
  const std::string integer = digits.substr(0, point);
  std::string fraction = point == std::string::npos ? std::string() : digits.substr(point + 1);
  fraction.resize(fraction_places_, '0');
  const bool overflow = static_cast<int>(integer.size()) > integer_places_ && !(integer == "0" && fraction_places_ > 0);
  Emit(rounded < 0, integer, fraction, overflow, out);
}

void NumberTemplate::Format(double value, std::string* out) const {
  if (!std::isfinite(value)) return Emit(value < 0, "", "", true, out);
  // A double promises fifteen digits; decimals beyond them are zeros.
  char buffer[400];
  const auto print = [&](int places) {
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value), std::chars_format::fixed, places).ptr;
    return std::string_view(buffer, end - buffer);
  };
  const int integer_length = static_cast<int>(print(0).size());
  const std::string_view digits = print(std::clamp(15 - integer_length, 0, fraction_places_));
  const size_t point = digits.find('.');
  std::string fraction(point == std::string_view::npos ? std::string_view() : digits.substr(point + 1));
  fraction.resize(fraction_places_, '0');
  const std::string_view integer = digits.substr(0, point);
  const bool overflow = static_cast<int>(integer.size()) > integer_places_ && !(integer == "0" && fraction_places_ > 0);
  Emit(value < 0, integer, fraction, overflow, out);
}

}  // namespace icebound::expr
