// SPDX-License-Identifier: Apache-2.0
//
// CSV text as a sequence of values. The text begins where a record begins.
//
//   value   = quoted | anything up to a delimiter or line end (a quote inside it is a quote)
//   quoted  = quote, anything (a doubled quote is one, an escaped byte is itself), quote
//   record  = value { delimiter value } (LF | CR | CR LF)
//
// A quoted value that holds doubled quotes or escapes is put together in place, over its own bytes: reading changes the text, and
// it can be read once. FindEndOfRecords does not change it.
#pragma once

#include <cstdint>
#include <cstring>

#include "io/csv/csv_dialect.h"
#include "io/csv/special_scanner.h"

namespace icebound::io {

struct CsvValue {
  char* begin = nullptr;
  char* end = nullptr;
  bool quoted = false;
  bool ends_record = false;
};

/// Not thread safe.
class CsvLexer {
 public:
  enum class Outcome {
    kValue,
    kEnd,           ///< the text ends where a record would begin
    kIncomplete,    ///< the text ends inside a value, and more may come
    kOpenQuote,     ///< the file ends inside a quoted value
    kBehindQuotes,  ///< something follows a closing quote
  };

  explicit CsvLexer(const CsvDialect& dialect) : dialect_(dialect), scanner_(dialect) {}

  /// kPadding bytes behind `end` must be readable. `is_file_end`: the last record needs no line end.
  void Reset(char* begin, char* end, bool is_file_end) {
    position_ = begin;
    end_ = end;
    is_file_end_ = is_file_end;
    inside_record_ = false;
    scanner_.Reset(begin, end);
  }

  /// Where the next value begins.
  char* position() const { return position_; }

  /// `kUnquote`: puts quoted values together; otherwise the text is left alone, and a quoted value is what stands there.
  template <bool kUnquote>
  Outcome Next(CsvValue* value) {
    if (position_ == end_) {
      if (!inside_record_) return Outcome::kEnd;
      if (!is_file_end_) return Outcome::kIncomplete;
      *value = {.begin = end_, .end = end_, .quoted = false, .ends_record = true};
      inside_record_ = false;
      return Outcome::kValue;
    }
    value->quoted = dialect_.quote.has_value() && *position_ == *dialect_.quote;
    if (value->quoted) return NextQuoted<kUnquote>(value);
    value->begin = position_;
    return EndValue<false>(value);
  }

 private:
  const char* NextSpecial(const char* from) {
    const char* found = scanner_.Next();
    while (found < from) found = scanner_.Next();
    return found;
  }

  /// Takes everything up to the end of the value, and the delimiter or line end behind it.
  template <bool kWasQuoted>
  Outcome EndValue(CsvValue* value) {
    char* const begin = position_;
    while (true) {
      char* const at = begin + (NextSpecial(position_) - begin);
      if (at == end_) {
        if (!is_file_end_) return Outcome::kIncomplete;
        if (kWasQuoted && at != begin) return Outcome::kBehindQuotes;
        if (!kWasQuoted) value->end = at;
        position_ = at;
        return EndRecord(value);
      }
      const bool is_delimiter = *at == dialect_.delimiter;
      if (!is_delimiter && *at != '\n' && *at != '\r') continue;  // a quote or escape in the middle of a plain value
      if (kWasQuoted && at != begin) return Outcome::kBehindQuotes;
      if (!kWasQuoted) value->end = at;
      position_ = at + 1;
      if (is_delimiter) {
        value->ends_record = false;
        inside_record_ = true;
        return Outcome::kValue;
      }
      if (*at == '\r') {
        if (position_ == end_ && !is_file_end_) return Outcome::kIncomplete;  // its LF may be the next byte
        if (position_ < end_ && *position_ == '\n') ++position_;
      }
      return EndRecord(value);
    }
  }

  Outcome EndRecord(CsvValue* value) {
    value->ends_record = true;
    inside_record_ = false;
    return Outcome::kValue;
  }

  template <bool kUnquote>
  Outcome NextQuoted(CsvValue* value) {
    const char quote = *dialect_.quote;
    value->begin = position_ + 1;
    char* out = value->begin;    // where the value's next bytes go
    char* part = value->begin;   // what was not moved there yet
    char* ahead = value->begin;  // special bytes before it are plain
    while (true) {
      char* const at = part + (NextSpecial(ahead) - part);
      if (at == end_) return is_file_end_ ? Outcome::kOpenQuote : Outcome::kIncomplete;
      const bool is_escape = dialect_.escape.has_value() && *at == *dialect_.escape && *at != quote;
      if (*at != quote && !is_escape) continue;
      const bool at_end = at + 1 == end_;
      if (at_end && (is_escape || !is_file_end_)) return is_file_end_ ? Outcome::kOpenQuote : Outcome::kIncomplete;
      const bool is_doubled = !is_escape && !at_end && at[1] == quote;
      const auto bytes = static_cast<size_t>(at - part) + (is_doubled ? 1 : 0);
      if (kUnquote && out != part) std::memmove(out, part, bytes);
      out += bytes;
      ahead = at + 2;
      part = is_escape ? at + 1 : at + 2;
      if (is_escape || is_doubled) continue;
      value->end = out;
      position_ = at + 1;
      return EndValue<true>(value);
    }
  }

  const CsvDialect dialect_;
  SpecialScanner scanner_;
  char* position_ = nullptr;
  char* end_ = nullptr;
  bool is_file_end_ = false;
  bool inside_record_ = false;  // a delimiter was the last thing read
};

/// The end of the last whole record of [begin, end), which begins with a record and goes on in the file; null when none is whole.
char* FindEndOfRecords(const CsvDialect& dialect, char* begin, char* end);

/// Line ends (LF, CR, CR LF) in [begin, end).
int64_t CountLineEnds(const char* begin, const char* end);

}  // namespace icebound::io
