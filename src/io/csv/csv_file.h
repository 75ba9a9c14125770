// SPDX-License-Identifier: Apache-2.0
//
// One CSV file read from front to back, a block of whole records at a time.
//
//   offset_         where the next block begins: always the beginning of a record
//   block           bytes from there, as many as are asked for and then cut behind the last whole record; what is cut off is read
//                   again with the next block. A record that is longer than a block makes that block grow, by a quarter at a
//                   time, until it is whole.
//
// Nothing else is held of the file. Lines are counted as blocks go, so that an error can name one.
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/csv/csv_dialect.h"
#include "io/csv/csv_lexer.h"
#include "io/input_file.h"
#include "io/wide_pages.h"

namespace icebound::io {

/// Bytes of a file that begin and end with a record. The text may be changed; SpecialScanner::kPadding bytes follow it.
struct CsvBlock {
  std::shared_ptr<InputFile> file;
  std::unique_ptr<arrow::ResizableBuffer> buffer;
  int64_t offset = 0;  ///< in the file
  int64_t line = 1;    ///< of its first record
  int64_t bytes = 0;

  char* begin() const { return reinterpret_cast<char*>(buffer->mutable_data()); }
  char* end() const { return begin() + bytes; }
  int64_t held_bytes() const { return buffer == nullptr ? 0 : buffer->capacity(); }
};

/// Not thread safe.
class CsvFile {
 public:
  /// Looks at the first bytes: a mark of UTF-8 is skipped, UTF-16 is kUnsupported.
  static arrow::Result<std::unique_ptr<CsvFile>> Open(std::shared_ptr<InputFile> file, const CsvDialect& dialect);

  /// Reads the next block into `block`, whose buffer is used again, of about `bytes`; without any at the end of the file. False
  /// when a record is too wide for now (`wide_pass` refuses it): nothing was read then. A refusal of memory says which line
  /// begins a record of that width.
  arrow::Result<bool> ReadBlock(int64_t bytes, arrow::MemoryPool* pool, WidePass* wide_pass, CsvBlock* block);

  /// What ReadRecord keeps of a record.
  static constexpr int64_t kNamesBytesMax = 1 << 20;

  /// Reads the next record that is not an empty line, as a list of values: the header. Empty at the end of the file. Of more than
  /// kNamesBytesMax only the first kNamesBytesMax + 1 bytes are kept.
  arrow::Result<std::vector<std::string>> ReadRecord(arrow::MemoryPool* pool);

  /// Where the next record is read from.
  struct Position {
    int64_t offset = 0;
    int64_t line = 1;
  };
  Position position() const { return {.offset = offset_, .line = line_}; }
  void Return(Position position) { offset_ = position.offset, line_ = position.line; }

  bool at_end() const { return offset_ == file_->size_bytes(); }
  const std::shared_ptr<InputFile>& file() const { return file_; }

 private:
  CsvFile(std::shared_ptr<InputFile> file, const CsvDialect& dialect) : file_(std::move(file)), dialect_(dialect) {}
  arrow::Result<std::vector<std::string>> ReadLine(arrow::MemoryPool* pool);
  arrow::Status Grow(int64_t bytes, int64_t had_bytes, arrow::MemoryPool* pool, CsvBlock* block) const;
  arrow::Status TooWide(const arrow::Status& status, int64_t bytes) const;

  const std::shared_ptr<InputFile> file_;
  const CsvDialect dialect_;
  int64_t offset_ = 0;
  int64_t line_ = 1;
};

/// The line of the file on which the record at `record` of `block` begins. Reads the bytes before it again: the text may have
/// been changed.
arrow::Result<int64_t> LineOf(const CsvBlock& block, const char* record, arrow::MemoryPool* pool);

}  // namespace icebound::io
