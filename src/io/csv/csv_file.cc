// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_file.h"

#include <algorithm>
#include <limits>

#include "base/byte_size.h"
#include "base/error.h"

namespace icebound::io {
namespace {

/// Cells have 31 bits for a length, as strings do for an offset.
constexpr int64_t kRecordBytesMax = std::numeric_limits<int32_t>::max();

/// Enough for most headers.
constexpr int64_t kHeaderBytes = 16 << 10;

/// Their names are not in the ledger's pools: no more than fit its emergency reserve.
constexpr size_t kColumnsMax = 32 << 10;

/// A block that grew beyond this many times what was asked for is not kept for the next.
constexpr int64_t kKeptParts = 2;

std::span<uint8_t> Span(char* begin, int64_t bytes) { return {reinterpret_cast<uint8_t*>(begin), static_cast<size_t>(bytes)}; }

}  // namespace

arrow::Result<std::unique_ptr<CsvFile>> CsvFile::Open(std::shared_ptr<InputFile> file, const CsvDialect& dialect) {
  std::unique_ptr<CsvFile> csv(new CsvFile(std::move(file), dialect));
  uint8_t mark[3] = {};
  const int64_t bytes = std::min<int64_t>(3, csv->file_->size_bytes());
  ARROW_RETURN_NOT_OK(csv->file_->ReadAt(0, {mark, static_cast<size_t>(bytes)}));
  if ((mark[0] == 0xFF && mark[1] == 0xFE) || (mark[0] == 0xFE && mark[1] == 0xFF)) {
    return MakeError(ErrorKind::kUnsupported, "{} is UTF-16 text: convert it to UTF-8", csv->file_->name());
  }
  if (mark[0] == 0xEF && mark[1] == 0xBB && mark[2] == 0xBF) csv->offset_ = 3;
  return csv;
}

arrow::Status CsvFile::TooWide(const arrow::Status& status, int64_t bytes) const {
  const arrow::Status explained = ExplainWideRow(status, bytes);
  return WithContext(explained, ErrorKind::kIo,
                     fmt::format("{}, line {}: a row of more than {} begins here, or a quote is left open", file_->name(), line_,
                                 FormatBytes(bytes)));
}

arrow::Status CsvFile::Grow(int64_t bytes, int64_t had_bytes, arrow::MemoryPool* pool, CsvBlock* block) const {
  const int64_t needed_bytes = bytes + static_cast<int64_t>(SpecialScanner::kPadding);
  if (block->buffer == nullptr) {
    ARROW_ASSIGN_OR_RAISE(block->buffer, arrow::AllocateResizableBuffer(needed_bytes, pool));
  } else if (needed_bytes > block->buffer->capacity()) {
    ARROW_RETURN_NOT_OK(block->buffer->Resize(needed_bytes, /*shrink_to_fit=*/false));
  }
  ARROW_RETURN_NOT_OK(file_->ReadAt(offset_ + had_bytes, Span(block->begin() + had_bytes, bytes - had_bytes)));
  std::fill_n(block->begin() + bytes, SpecialScanner::kPadding, '\0');
  return arrow::Status::OK();
}

arrow::Result<bool> CsvFile::ReadBlock(int64_t bytes, arrow::MemoryPool* pool, WidePass* wide_pass, CsvBlock* block) {
  if (block->held_bytes() > kKeptParts * bytes) block->buffer.reset();
  *block = {.file = file_, .buffer = std::move(block->buffer), .offset = offset_, .line = line_};
  const int64_t left = file_->size_bytes() - offset_;
  int64_t had_bytes = 0;
  for (int64_t wanted = std::min(bytes, left); left > 0;) {
    if (wanted > bytes && wide_pass != nullptr && !wide_pass->MayRead(wanted)) {
      block->buffer.reset();
      return false;
    }
    if (wanted > kRecordBytesMax) {
      return MakeError(ErrorKind::kUnsupported, "{}, line {}: a row of more than 2 GiB begins here, or a quote is left open",
                       file_->name(), line_);
    }
    const arrow::Status grown = Grow(wanted, had_bytes, pool, block);
    if (!grown.ok()) return wanted > bytes ? TooWide(grown, had_bytes) : grown;
    char* const end = block->begin() + wanted;
    char* const cut = wanted == left ? end : FindEndOfRecords(dialect_, block->begin(), end);
    if (cut != nullptr) {
      block->bytes = cut - block->begin();
      break;
    }
    had_bytes = wanted;
    wanted = std::min(left, wanted + std::max(bytes, wanted / 4));
  }
  if (block->bytes > 0) {
    offset_ += block->bytes;
    line_ += CountLineEnds(block->begin(), block->end());
  }
  return true;
}

arrow::Result<std::vector<std::string>> CsvFile::ReadRecord(arrow::MemoryPool* pool) {
  std::vector<std::string> values;
  while (values.empty() && !at_end()) {
    ARROW_ASSIGN_OR_RAISE(values, ReadLine(pool));
  }
  return values;
}

arrow::Result<std::vector<std::string>> CsvFile::ReadLine(arrow::MemoryPool* pool) {
  CsvBlock block;
  ARROW_RETURN_NOT_OK(ReadBlock(kHeaderBytes, pool, nullptr, &block).status());
  CsvLexer lexer(dialect_);
  lexer.Reset(block.begin(), block.end(), /*is_file_end=*/true);
  std::vector<std::string> values;
  int64_t stored_bytes = 0;
  CsvValue value;
  do {
    if (lexer.Next<true>(&value) != CsvLexer::Outcome::kValue) {
      return MakeError(ErrorKind::kCorruptData, "{}, line {}: a quoted value does not end as it should", file_->name(),
                       block.line);
    }
    if (values.size() == kColumnsMax) {
      return MakeError(ErrorKind::kUnsupported, "{}, line {}: more than {} columns", file_->name(), block.line, kColumnsMax);
    }
    // On plain heap, and copied into schemas: names that are longer together are refused, values of a first record only count.
    const auto length = std::min<int64_t>(value.end - value.begin, kNamesBytesMax + 1 - stored_bytes);
    values.emplace_back(value.begin, value.begin + length);
    stored_bytes += length;
  } while (!value.ends_record);
  offset_ = block.offset + (lexer.position() - block.begin());
  ARROW_ASSIGN_OR_RAISE(line_, LineOf(block, lexer.position(), pool));
  if (values.size() == 1 && values.front().empty() && !value.quoted) values.clear();
  return values;
}

arrow::Result<int64_t> LineOf(const CsvBlock& block, const char* record, arrow::MemoryPool* pool) {
  constexpr int64_t kPartBytes = 64 << 10;
  ARROW_ASSIGN_OR_RAISE(const auto part, arrow::AllocateBuffer(kPartBytes, pool));
  auto* const text = reinterpret_cast<char*>(part->mutable_data());
  const int64_t bytes = record - block.begin();
  int64_t line = block.line;
  bool after_cr = false;
  for (int64_t at = 0; at < bytes; at += kPartBytes) {
    const int64_t length = std::min(kPartBytes, bytes - at);
    ARROW_RETURN_NOT_OK(block.file->ReadAt(block.offset + at, Span(text, length)));
    line += CountLineEnds(text, text + length);
    if (after_cr && text[0] == '\n') --line;
    after_cr = text[length - 1] == '\r';
  }
  return line;
}

}  // namespace icebound::io
