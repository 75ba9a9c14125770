// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/run_file.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::sort {
namespace {

/// A longer last key is not kept and its run not continued. Part of a worker's fixed workspace.
constexpr uint32_t kLastKeyBytesMax = 4096;

/// What an open reader costs beside its block: its own object, a descriptor, an index entry a block.
constexpr int64_t kReaderStateBytes = 4096;

}  // namespace

// --- RunWriter --------------------------------------------------------------------------------------------------------------

bool RunWriter::CanContinue(const uint8_t* first_row) const {
  if (!run_.has_value() || last_key_.empty()) return false;
  const size_t bytes = std::min<size_t>(last_key_.size(), layout_.KeyBytes(first_row));
  return std::memcmp(layout_.Key(first_row), last_key_.data(), bytes) >= 0;
}

arrow::Status RunWriter::Open() {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<spill::SpillFile> file, disk_.CreateFile("sort-run"));
  run_.emplace(SortRun{std::move(file), KeySpread(layout_)});
  used_bytes_ = block_rows_ = 0;
  last_key_.clear();
  return arrow::Status::OK();
}

arrow::Status RunWriter::Add(const uint8_t* row) {
  const int64_t row_bytes = layout_.RowBytes(row);
  if (row_bytes > static_cast<int64_t>(block_.size()) - used_bytes_) {
    ARROW_RETURN_NOT_OK(Flush());
    if (row_bytes > static_cast<int64_t>(block_.size())) return AddWide(row, row_bytes);
  }
  std::memcpy(block_.data() + used_bytes_, row, static_cast<size_t>(row_bytes));
  used_bytes_ += row_bytes;
  ++block_rows_;
  return arrow::Status::OK();
}

arrow::Status RunWriter::Flush() {
  if (block_rows_ == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(run_->file->Append(block_.first(static_cast<size_t>(used_bytes_)), block_rows_));
  run_->rows += block_rows_;
  used_bytes_ = block_rows_ = 0;
  return arrow::Status::OK();
}

arrow::Status RunWriter::AddWide(const uint8_t* row, int64_t row_bytes) {
  const int64_t piece_bytes_max = static_cast<int64_t>(block_.size());
  for (int64_t offset = 0; offset < row_bytes; offset += piece_bytes_max) {
    const int64_t piece_bytes = std::min(piece_bytes_max, row_bytes - offset);
    const std::span<const uint8_t> piece(row + offset, static_cast<size_t>(piece_bytes));
    ARROW_RETURN_NOT_OK(run_->file->Append(piece, offset == 0 ? 1 : 0));
  }
  ++run_->rows;
  run_->wide_row_bytes_max = std::max(run_->wide_row_bytes_max, row_bytes);
  return arrow::Status::OK();
}

arrow::Status RunWriter::Pause(const uint8_t* last_row, const KeySpread& spread) {
  ARROW_RETURN_NOT_OK(Flush());
  run_->spread.Merge(spread);
  const uint32_t key_bytes = layout_.KeyBytes(last_row);
  last_key_.clear();
  if (key_bytes > 0 && key_bytes <= kLastKeyBytesMax) {
    const uint8_t* key = layout_.Key(last_row);
    last_key_.assign(key, key + key_bytes);
  }
  return arrow::Status::OK();
}

arrow::Result<SortRun> RunWriter::Finish() {
  ARROW_RETURN_NOT_OK(Flush());
  ARROW_RETURN_NOT_OK(run_->file->Finish());
  SortRun run = std::move(*run_);
  run_.reset();
  return run;
}

// --- RunReader --------------------------------------------------------------------------------------------------------------

int64_t RunReader::BufferBytes(const SortRun& run) {
  const int64_t block_bytes = run.file->max_block_bytes();
  const int64_t pages_bytes = block_bytes + kReadSlackBytes + run.wide_row_bytes_max;
  return MappedPages::RoundUp(pages_bytes) + kReaderStateBytes;
}

arrow::Result<std::unique_ptr<RunReader>> RunReader::Open(const RowLayout& layout, SortBudget* budget, SortRun run) {
  std::unique_ptr<RunReader> reader(new RunReader(layout, budget, std::move(run)));
  reader->block_bytes_ = reader->run_.file->max_block_bytes();
  ARROW_RETURN_NOT_OK(budget->Take(kReaderStateBytes));
  arrow::Status status = reader->pages_.Resize(reader->block_bytes_ + kReadSlackBytes);
  if (status.ok()) status = reader->run_.file->OpenReader(/*consume=*/true).Value(&reader->reader_);
  if (!status.ok()) {
    budget->Give(kReaderStateBytes);
    return status;
  }
  return reader;
}

RunReader::~RunReader() { Close(); }

void RunReader::Close() {
  if (reader_ == nullptr) return;
  reader_.reset();
  run_.file.reset();
  pages_.Free();
  budget_->Give(kReaderStateBytes);
}

arrow::Result<bool> RunReader::NextBlock() {
  if (reader_ == nullptr) return false;
  if (pages_.bytes() > MappedPages::RoundUp(block_bytes_ + kReadSlackBytes)) {
    ARROW_RETURN_NOT_OK(pages_.Resize(block_bytes_ + kReadSlackBytes));  // a wide row has passed
  }
  const std::span<uint8_t> target(pages_.data(), static_cast<size_t>(block_bytes_));
  ARROW_ASSIGN_OR_RAISE(std::optional<spill::BlockView> block, reader_->NextInto(target));
  if (!block.has_value()) {
    Close();
    return false;
  }
  row_count_ = block->rows;
  const auto loaded_bytes = static_cast<int64_t>(block->bytes.size());
  if (row_count_ == 1 && layout_.RowBytes(rows()) > loaded_bytes) ARROW_RETURN_NOT_OK(LoadRestOfWideRow(loaded_bytes));
  return true;
}

arrow::Status RunReader::LoadRestOfWideRow(int64_t loaded_bytes) {
  const int64_t row_bytes = layout_.RowBytes(rows());
  // NextInto wants room for a whole block, even for the last piece.
  ARROW_RETURN_NOT_OK(pages_.Resize(row_bytes + block_bytes_ + kReadSlackBytes));
  while (loaded_bytes < row_bytes) {
    const std::span<uint8_t> target(pages_.data() + loaded_bytes, static_cast<size_t>(block_bytes_));
    ARROW_ASSIGN_OR_RAISE(std::optional<spill::BlockView> piece, reader_->NextInto(target));
    if (!piece.has_value() || piece->rows != 0) {
      return MakeError(ErrorKind::kInternal, "a sort run ends inside a row of {} bytes", row_bytes);
    }
    loaded_bytes += static_cast<int64_t>(piece->bytes.size());
  }
  return arrow::Status::OK();
}

}  // namespace icebound::exec::sort
