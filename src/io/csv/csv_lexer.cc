// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_lexer.h"

#include <algorithm>

namespace icebound::io {

char* FindEndOfRecords(const CsvDialect& dialect, char* begin, char* end) {
  const auto bytes = static_cast<size_t>(end - begin);
  if (!dialect.quote.has_value() || std::memchr(begin, *dialect.quote, bytes) == nullptr) {
    // Without quotes every LF ends a record. A file of bare CRs goes the long way.
    void* const last = memrchr(begin, '\n', bytes);
    if (last != nullptr) return static_cast<char*>(last) + 1;
  }
  CsvLexer lexer(dialect);
  lexer.Reset(begin, end, /*is_file_end=*/false);
  char* found = nullptr;
  CsvValue value;
  while (true) {
    switch (lexer.Next<false>(&value)) {
      case CsvLexer::Outcome::kValue:
        if (value.ends_record) found = lexer.position();
        break;
      case CsvLexer::Outcome::kBehindQuotes:
        return end;  // what is wrong there is said when the records are read, and none behind it is
      default:
        return found;
    }
  }
}

int64_t CountLineEnds(const char* begin, const char* end) {
  int64_t lines = std::count(begin, end, '\n');
  if (std::memchr(begin, '\r', static_cast<size_t>(end - begin)) == nullptr) return lines;
  for (const char* at = begin; at < end; ++at) lines += *at == '\r' && (at + 1 == end || at[1] != '\n');
  return lines;
}

}  // namespace icebound::io
