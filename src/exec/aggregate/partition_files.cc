// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/partition_files.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::aggregate {
namespace {

/// Hashes and keys hardly compress, and LZ4 takes longer than writing does: it must save this part to be used.
constexpr double kMinSaving = 0.45;

/// A row wider than this is cut: what a block of a spill file may have, and less.
constexpr int64_t kPieceBytes = int64_t{8} << 20;
static_assert(kPieceBytes <= spill::kMaxBlockBytes && kPieceBytes >= PartitionFiles::kBlockBytesMax);

/// Writes one row as blocks of kPieceBytes.
arrow::Status WriteCut(spill::SpillFile* file, std::span<const std::span<const uint8_t>> parts, int64_t rows) {
  std::vector<std::span<const uint8_t>> piece;
  size_t room = kPieceBytes;
  for (std::span<const uint8_t> part : parts) {
    while (!part.empty()) {
      const size_t taken = std::min(room, part.size());
      piece.push_back(part.first(taken));
      part = part.subspan(taken);
      room -= taken;
      if (room > 0) continue;
      ARROW_RETURN_NOT_OK(file->AppendParts(piece, rows));
      piece.clear();
      rows = 0;
      room = kPieceBytes;
    }
  }
  return piece.empty() ? arrow::Status::OK() : file->AppendParts(piece, rows);
}

}  // namespace

PartitionFiles::PartitionFiles(runtime::QueryContext* context, std::string purpose, int level, int count)
    : context_(context), purpose_(std::move(purpose)) {
  for (int i = 0; i < count; ++i) {
    files_.push_back(std::make_unique<File>());
    files_.back()->rows.level = level;
  }
}

arrow::Status PartitionFiles::Write(uint32_t partition, std::span<const std::span<const uint8_t>> parts, int64_t rows,
                                    int64_t widest_row_bytes) {
  int64_t bytes = 0;
  for (const auto& part : parts) bytes += static_cast<int64_t>(part.size());
  File& target = *files_[partition];
  std::lock_guard lock(target.mutex);
  if (target.rows.file == nullptr) {
    ARROW_ASSIGN_OR_RAISE(target.rows.file, context_->disk.CreateFile(purpose_, kMinSaving));
  }
  spill::SpillFile& file = *target.rows.file;
  const int64_t stored_before = file.stored_bytes();
  if (bytes <= kPieceBytes) {
    ARROW_RETURN_NOT_OK(file.AppendParts(parts, rows));
  } else {
    ARROW_RETURN_NOT_OK(WriteCut(&file, parts, rows));
  }
  target.rows.rows += rows;
  target.rows.bytes += bytes;
  target.rows.widest_row_bytes = std::max(target.rows.widest_row_bytes, widest_row_bytes);
  uncounted_bytes_.fetch_add(file.stored_bytes() - stored_before, std::memory_order_relaxed);
  return arrow::Status::OK();
}

StoredRows PartitionFiles::Take(uint32_t partition) {
  StoredRows& rows = files_[partition]->rows;
  StoredRows taken = std::move(rows);
  rows = StoredRows();
  rows.level = taken.level;
  return taken;
}

int64_t StoredRowReader::BufferBytes(const StoredRows& rows) {
  if (rows.file == nullptr) return 0;
  return sort::MappedPages::RoundUp(std::max(rows.file->max_block_bytes(), rows.widest_row_bytes) + kReadSlackBytes);
}

arrow::Result<std::unique_ptr<StoredRowReader>> StoredRowReader::Open(const StoredRows& rows, const GroupLayout* layout,
                                                                      sort::SortBudget* budget) {
  std::unique_ptr<StoredRowReader> reader(new StoredRowReader(layout, budget));
  if (rows.file == nullptr) return reader;
  ARROW_RETURN_NOT_OK(rows.file->Finish());
  ARROW_RETURN_NOT_OK(reader->buffer_.Resize(BufferBytes(rows)));
  ARROW_ASSIGN_OR_RAISE(reader->reader_, rows.file->OpenReader(/*consume=*/true));
  return reader;
}

arrow::Result<int64_t> StoredRowReader::Next(uint8_t** begin) {
  if (reader_ == nullptr) return 0;
  const auto room = static_cast<size_t>(buffer_.bytes());
  ARROW_ASSIGN_OR_RAISE(const auto block, reader_->NextInto({buffer_.data(), room}));
  if (!block.has_value()) return 0;
  *begin = buffer_.data();
  auto used = block->bytes.size();
  if (block->rows == 1 && used == static_cast<size_t>(kPieceBytes)) {
    // A single row may go on in the next blocks.
    const auto row_bytes = static_cast<size_t>(layout_->StoredBytes(buffer_.data()));
    while (used < row_bytes) {
      ARROW_ASSIGN_OR_RAISE(const auto more, reader_->NextInto({buffer_.data() + used, room - used}));
      if (!more.has_value()) return MakeError(ErrorKind::kInternal, "a spilled group of {} bytes is cut short", row_bytes);
      used += more->bytes.size();
    }
  }
  if (layout_->has_byte_strings()) {
    uint8_t* row = buffer_.data();
    for (int64_t i = 0; i < block->rows; ++i) {
      layout_->Attach(row);
      row += layout_->StoredBytes(row);
    }
  }
  return block->rows;
}

}  // namespace icebound::exec::aggregate
