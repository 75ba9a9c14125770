// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/staged_pages.h"

#include <algorithm>
#include <span>

namespace icebound::io {
namespace {

/// What a reader holds at a time; large enough that a column's share of a generation is one or a few reads.
constexpr size_t kStageBlockBytes = size_t{1} << 20;

}  // namespace

arrow::Status StagedPages::Spill(const std::vector<const ColumnPages*>& columns) {
  if (file_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(file_, disk_->CreateFile("row-group"));
  }
  Generation generation;
  generation.first_block = file_->blocks();
  generation.blocks.resize(columns.size());
  for (size_t column = 0; column < columns.size(); ++column) {
    ARROW_RETURN_NOT_OK(SpillColumn(*columns[column], &generation.blocks[column]));
  }
  generation.end_block = file_->blocks();
  generations_.push_back(std::move(generation));
  return arrow::Status::OK();
}

arrow::Status StagedPages::SpillColumn(const ColumnPages& pages, uint32_t* blocks) {
  std::vector<std::span<const uint8_t>> parts;
  size_t bytes = 0;
  const auto write_block = [&]() -> arrow::Status {
    if (parts.empty()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(file_->AppendParts(parts, /*rows=*/1));
    ++*blocks;
    parts.clear();
    bytes = 0;
    return arrow::Status::OK();
  };
  for (const PoolVector<uint8_t>& page : pages) {
    std::span<const uint8_t> rest = page.span();
    while (!rest.empty()) {  // a block may end inside a page: the column is one stream of bytes
      const std::span<const uint8_t> part = rest.first(std::min(rest.size(), kStageBlockBytes - bytes));
      parts.push_back(part);
      bytes += part.size();
      rest = rest.subspan(part.size());
      if (bytes == kStageBlockBytes) ARROW_RETURN_NOT_OK(write_block());
    }
  }
  return write_block();
}

arrow::Status StagedPages::Finish() {
  if (file_ == nullptr) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(file_->Finish());
  for (Generation& generation : generations_) {
    spill::ReadOptions options;
    options.first_block = generation.first_block;
    options.end_block = generation.end_block;
    options.consume_begin = generation.first_block;
    options.consume_end = generation.end_block;
    ARROW_ASSIGN_OR_RAISE(generation.reader, file_->OpenReader(options));
  }
  return buffer_.Resize(file_->max_block_bytes());
}

arrow::Status StagedPages::CopyColumn(int column, OutputFile* file) {
  for (Generation& generation : generations_) {
    for (uint32_t block = 0; block < generation.blocks[static_cast<size_t>(column)]; ++block) {
      ARROW_ASSIGN_OR_RAISE(auto view, generation.reader->NextInto({buffer_.data(), static_cast<size_t>(buffer_.size())}));
      if (!view) return MakeError(ErrorKind::kInternal, "staged pages of column {} end early", column);
      ARROW_RETURN_NOT_OK(file->Write(view->bytes.data(), static_cast<int64_t>(view->bytes.size())));
    }
  }
  return arrow::Status::OK();
}

int64_t StagedPages::memory_bytes() const {
  int64_t bytes = 0;
  for (const Generation& generation : generations_) {
    bytes += static_cast<int64_t>(sizeof(Generation) + sizeof(spill::SpillReader) + generation.blocks.size() * sizeof(uint32_t));
  }
  return bytes;
}

}  // namespace icebound::io
