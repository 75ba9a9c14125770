// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/value_bounds.h"

#include <algorithm>

#include "expr/utf8_text.h"

namespace icebound::io {
namespace {

/// Shortens to at most `bytes`, at a character boundary when `text`.
std::string CutPrefix(const std::string& value, size_t bytes, bool text) {
  return text ? std::string(expr::CutText(value, bytes)) : value.substr(0, bytes);
}

/// The code point that starts at `begin` and ends the string; malformed text gives 0x10ffff, which cannot be raised.
uint32_t DecodeLast(const std::string& text, size_t begin) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[begin + i])); };
  switch (text.size() - begin) {
    case 1:
      return byte(0) < 0x80 ? byte(0) : 0x10ffff;
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    default:
      return 0x10ffff;
  }
}

void AppendCodePoint(uint32_t code, std::string* text) {
  if (code < 0x80) {
    text->push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text->push_back(static_cast<char>(kLead[more] | code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text->push_back(static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f)));
}

/// The least string of our choosing that is greater than every string starting with `prefix`; empty when there is none.
std::string Raise(std::string prefix, bool text) {
  while (!prefix.empty()) {
    if (!text) {
      const auto last = static_cast<uint8_t>(prefix.back());
      if (last != 0xff) {
        prefix.back() = static_cast<char>(last + 1);
        return prefix;
      }
      prefix.pop_back();
      continue;
    }
    size_t begin = prefix.size() - 1;
    while (begin > 0 && expr::IsContinuation(prefix[begin])) --begin;
    const uint32_t code = DecodeLast(prefix, begin);
    prefix.resize(begin);
    if (code < 0x10ffff) {
      constexpr uint32_t kFirstSurrogate = 0xd800;
      constexpr uint32_t kAfterSurrogates = 0xe000;
      AppendCodePoint(code + 1 == kFirstSurrogate ? kAfterSurrogates : code + 1, &prefix);
      return prefix;
    }
  }
  return prefix;
}

}  // namespace

EncodedBounds CutBounds(const EncodedBounds& bounds, size_t bytes, bool text) {
  EncodedBounds cut = bounds;
  if (!bounds.valid) return cut;
  if (bounds.minimum.size() > bytes) {
    cut.minimum = CutPrefix(bounds.minimum, bytes, text);
    cut.minimum_exact = false;
  }
  if (bounds.maximum.size() > bytes) {
    cut.maximum = Raise(CutPrefix(bounds.maximum, bytes, text), text);
    cut.maximum_exact = false;
    if (cut.maximum.empty()) cut.maximum = bounds.maximum;  // only 0xff bytes: kept whole
  }
  return cut;
}

uint64_t BytesBounds::HalfFloatPrefix(const uint8_t* value) {
  uint16_t bits;
  std::memcpy(&bits, value, sizeof bits);
  const uint16_t ordered = (bits & 0x8000) != 0 ? static_cast<uint16_t>(~bits) : static_cast<uint16_t>(bits | 0x8000);
  return static_cast<uint64_t>(ordered) << 48;
}

bool BytesBounds::Less(const uint8_t* a, size_t a_length, uint64_t a_prefix, const uint8_t* b, size_t b_length,
                       uint64_t b_prefix) const {
  if (a_prefix != b_prefix) return a_prefix < b_prefix;
  if (order_ == BytesOrder::kHalfFloat) return false;
  const size_t shared = std::min(a_length, b_length);
  const int order = shared == 0 ? 0 : std::memcmp(a, b, shared);
  return order != 0 ? order < 0 : a_length < b_length;
}

void BytesBounds::UpdateSlowly(const uint8_t* value, size_t length, uint64_t prefix) {
  if (order_ == BytesOrder::kHalfFloat) {
    constexpr uint16_t kInfinity = 0x7c00;
    uint16_t bits;
    std::memcpy(&bits, value, sizeof bits);
    if ((bits & 0x7fff) > kInfinity) return;  // NaN
  }
  if (!valid_) {
    valid_ = true;
    SetMinimum(value, length, prefix);
    SetMaximum(value, length, prefix);
    return;
  }
  const auto* minimum = reinterpret_cast<const uint8_t*>(minimum_.value.data());
  const auto* maximum = reinterpret_cast<const uint8_t*>(maximum_.value.data());
  if (Less(value, length, prefix, minimum, minimum_.value.size(), minimum_.prefix)) SetMinimum(value, length, prefix);
  if (Less(maximum, maximum_.value.size(), maximum_.prefix, value, length, prefix)) SetMaximum(value, length, prefix);
}

void BytesBounds::SetMinimum(const uint8_t* value, size_t length, uint64_t prefix) {
  minimum_.exact = length <= kWholeBoundBytes;
  minimum_.value.clear();
  if (length > 0) minimum_.value.assign(reinterpret_cast<const char*>(value), minimum_.exact ? length : kCutBytes + 1);
  if (!minimum_.exact) minimum_.value = CutPrefix(minimum_.value, kCutBytes, order_ == BytesOrder::kText);
  minimum_.prefix = prefix;
}

void BytesBounds::SetMaximum(const uint8_t* value, size_t length, uint64_t prefix) {
  maximum_.exact = length <= kWholeBoundBytes;
  maximum_.value.clear();
  if (length > 0) maximum_.value.assign(reinterpret_cast<const char*>(value), maximum_.exact ? length : kCutBytes + 1);
  maximum_.prefix = prefix;
  if (maximum_.exact) return;
  const bool text = order_ == BytesOrder::kText;
  maximum_.value = Raise(CutPrefix(maximum_.value, kCutBytes, text), text);
  if (maximum_.value.empty()) unbounded_ = true;
  maximum_.prefix = Prefix(reinterpret_cast<const uint8_t*>(maximum_.value.data()), maximum_.value.size());
}

void BytesBounds::Merge(const BytesBounds& other) {
  if (!other.valid_) return;
  unbounded_ |= other.unbounded_;
  if (!valid_) {
    valid_ = true;
    minimum_ = other.minimum_;
    maximum_ = other.maximum_;
    return;
  }
  const auto bytes_of = [](const Bound& bound) { return reinterpret_cast<const uint8_t*>(bound.value.data()); };
  if (Less(bytes_of(other.minimum_), other.minimum_.value.size(), other.minimum_.prefix, bytes_of(minimum_),
           minimum_.value.size(), minimum_.prefix)) {
    minimum_ = other.minimum_;
  }
  if (Less(bytes_of(maximum_), maximum_.value.size(), maximum_.prefix, bytes_of(other.maximum_), other.maximum_.value.size(),
           other.maximum_.prefix)) {
    maximum_ = other.maximum_;
  }
}

EncodedBounds BytesBounds::Encode() const {
  EncodedBounds encoded;
  if (!valid_ || unbounded_) return encoded;
  encoded.valid = true;
  encoded.minimum = minimum_.value;
  encoded.maximum = maximum_.value;
  encoded.minimum_exact = minimum_.exact;
  encoded.maximum_exact = maximum_.exact;
  if (order_ == BytesOrder::kHalfFloat) {
    constexpr char kSign = '\x80';
    if ((encoded.minimum[1] & 0x7f) == 0 && encoded.minimum[0] == 0) encoded.minimum[1] = kSign;
    if ((encoded.maximum[1] & 0x7f) == 0 && encoded.maximum[0] == 0) encoded.maximum[1] = 0;
  }
  return encoded;
}

}  // namespace icebound::io
