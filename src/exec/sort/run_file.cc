// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/run_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace icebound::exec::sort {
namespace {

/// What a block holds: its first four bytes.
enum BlockKind : uint32_t { kPackingBlock = 0, kRowsBlock = 1, kWideRowBlock = 2, kMoreOfWideRowBlock = 3 };
constexpr size_t kKindBytes = 4;

/// A longer last key is not kept and its run not continued. Part of a worker's fixed workspace.
constexpr uint32_t kLastKeyBytesMax = 4096;

/// What an open reader costs beside its pages: its own object, a descriptor, its packing.
constexpr int64_t kReaderStateBytes = 1024 + RowPacking::kTableBytesMax;

/// Packed rows are dense: LZ4 saves another third of the bytes of ordinary ones, for more time than writing and
/// reading that third takes, also where the disk has only 200 MB/s. Where it saves half, the rows are mostly text,
/// and then it pays.
constexpr double kCompressionSavingMin = 0.5;

void Put32(uint8_t* at, uint32_t value) { std::memcpy(at, &value, sizeof(value)); }

}  // namespace

// --- RunWriter --------------------------------------------------------------------------------------------------------------

bool RunWriter::CanContinue(const uint8_t* first_row) const {
  if (!run_.has_value() || last_key_.empty()) return false;
  const size_t bytes = std::min<size_t>(last_key_.size(), layout_.KeyBytes(first_row));
  return std::memcmp(layout_.Key(first_row), last_key_.data(), bytes) >= 0;
}

arrow::Status RunWriter::Open() {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<spill::SpillFile> file, disk_.CreateFile("sort-run", kCompressionSavingMin));
  run_.emplace(SortRun{std::move(file), RowSpread(layout_)});
  last_key_.clear();
  return arrow::Status::OK();
}

arrow::Status RunWriter::Begin(const RowSpread& spread) {
  run_->spread.Merge(spread);
  packing_.emplace(spread);
  Put32(block_, kPackingBlock);
  RowPacking::Encode(spread, block_ + kKindBytes);
  const auto bytes = kKindBytes + static_cast<size_t>(RowPacking::EncodedBytes(layout_));
  ARROW_RETURN_NOT_OK(run_->file->Append({block_, bytes}, 0));
  next_ = block_rows();
  unpacked_bytes_ = block_row_count_ = 0;
  return arrow::Status::OK();
}

arrow::Status RunWriter::Add(const uint8_t* row) {
  const int64_t row_bytes = layout_.RowBytes(row);
  if (row_bytes > block_bytes_max_ - unpacked_bytes_) {
    ARROW_RETURN_NOT_OK(Flush());
    if (row_bytes > block_bytes_max_) return AddWide(row, row_bytes);
  }
  next_ = packing_->Pack(row, next_);
  unpacked_bytes_ += row_bytes;
  ++block_row_count_;
  return arrow::Status::OK();
}

arrow::Status RunWriter::Flush() {
  if (block_row_count_ == 0) return arrow::Status::OK();
  Put32(block_, kRowsBlock);
  Put32(block_ + kKindBytes, static_cast<uint32_t>(unpacked_bytes_));
  ARROW_RETURN_NOT_OK(run_->file->Append({block_, static_cast<size_t>(next_ - block_)}, block_row_count_));
  run_->rows += block_row_count_;
  run_->block_bytes_max = std::max(run_->block_bytes_max, unpacked_bytes_);
  next_ = block_rows();
  unpacked_bytes_ = block_row_count_ = 0;
  return arrow::Status::OK();
}

arrow::Status RunWriter::AddWide(const uint8_t* row, int64_t row_bytes) {
  for (int64_t offset = 0; offset < row_bytes; offset += block_bytes_max_) {
    std::array<uint8_t, kKindBytes> kind;
    Put32(kind.data(), offset == 0 ? kWideRowBlock : kMoreOfWideRowBlock);
    const auto piece_bytes = static_cast<size_t>(std::min(block_bytes_max_, row_bytes - offset));
    const std::array<std::span<const uint8_t>, 2> parts = {std::span<const uint8_t>(kind), {row + offset, piece_bytes}};
    ARROW_RETURN_NOT_OK(run_->file->AppendParts(parts, offset == 0 ? 1 : 0));
  }
  ++run_->rows;
  run_->wide_row_bytes_max = std::max(run_->wide_row_bytes_max, row_bytes);
  const bool key_in_first_piece = layout_.PayloadOffset(row) <= block_bytes_max_;
  run_->wide_held_bytes_max = std::max(run_->wide_held_bytes_max, key_in_first_piece ? block_bytes_max_ : row_bytes);
  if (key_in_first_piece) run_->partial_row_bytes_max = std::max(run_->partial_row_bytes_max, row_bytes);
  return arrow::Status::OK();
}

arrow::Status RunWriter::Pause(const uint8_t* last_row) {
  ARROW_RETURN_NOT_OK(Flush());
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
  const int64_t row_bytes = std::max(run.block_bytes_max, run.wide_held_bytes_max);
  return MappedPages::RoundUp(row_bytes + kReadSlackBytes) + kReaderStateBytes;
}

arrow::Result<std::unique_ptr<RunReader>> RunReader::Open(const RowLayout& layout, SortBudget* budget, SortRun run) {
  std::unique_ptr<RunReader> reader(new RunReader(layout, budget, std::move(run)));
  ARROW_RETURN_NOT_OK(budget->Take(kReaderStateBytes));
  arrow::Status status = reader->pages_.Resize(reader->run_.block_bytes_max + kReadSlackBytes);
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

arrow::Result<bool> RunReader::NextBlock(std::span<uint8_t> scratch) {
  if (reader_ == nullptr) return false;
  rest_bytes_ = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::optional<spill::BlockView> view, reader_->NextInto(scratch));
    if (!view.has_value()) {
      Close();
      return false;
    }
    const std::span<const uint8_t> block = view->bytes;
    if (block.size() < kKindBytes) return Corrupt("a block is too short");
    row_count_ = view->rows;
    switch (RowLayout::LoadHead(block.data())) {
      case kPackingBlock:
        if (static_cast<int64_t>(block.size() - kKindBytes) != RowPacking::EncodedBytes(layout_))
          return Corrupt("a packing has another size");
        packing_.emplace(layout_, block.data() + kKindBytes);
        break;
      case kRowsBlock:
        ARROW_RETURN_NOT_OK(UnpackRows(block));
        return true;
      case kWideRowBlock:
        ARROW_RETURN_NOT_OK(BeginWideRow(block.subspan(kKindBytes), scratch));
        return true;
      default:
        return Corrupt("a block is of no known kind");
    }
  }
}

arrow::Status RunReader::UnpackRows(std::span<const uint8_t> block) {
  if (block.size() < RunWriter::kBlockHeadBytes || !packing_.has_value()) return Corrupt("rows come before their packing");
  const int64_t unpacked_bytes = RowLayout::LoadHead(block.data() + kKindBytes);
  if (unpacked_bytes > run_.block_bytes_max) return Corrupt("a block is longer than any was");
  ARROW_RETURN_NOT_OK(pages_.Resize(run_.block_bytes_max + kReadSlackBytes));  // a wide row may have passed
  if (!packing_->Unpack(block.subspan(RunWriter::kBlockHeadBytes), row_count_, pages_.data(), unpacked_bytes)) {
    return Corrupt("packed rows do not fill their block");
  }
  return arrow::Status::OK();
}

/// Loads what comparing the row needs: its first piece, or all of it when the key is longer.
arrow::Status RunReader::BeginWideRow(std::span<const uint8_t> first_piece, std::span<uint8_t> scratch) {
  const int64_t row_bytes = layout_.RowBytes(first_piece.data());
  const auto piece_bytes = static_cast<int64_t>(first_piece.size());
  if (row_bytes > run_.wide_row_bytes_max || piece_bytes > row_bytes) return Corrupt("a row is wider than any was");
  const bool is_partial = piece_bytes < row_bytes && layout_.PayloadOffset(first_piece.data()) <= piece_bytes;
  const int64_t held_bytes = is_partial ? piece_bytes : row_bytes;
  if (held_bytes > run_.wide_held_bytes_max || (is_partial && row_bytes > run_.partial_row_bytes_max)) {
    return Corrupt("a row is wider than any of its kind was");
  }
  ARROW_RETURN_NOT_OK(pages_.Resize(std::max(held_bytes, run_.block_bytes_max) + kReadSlackBytes));
  std::copy_n(first_piece.data(), piece_bytes, pages_.data());
  if (is_partial) {
    held_row_bytes_ = piece_bytes;
    rest_bytes_ = row_bytes - piece_bytes;
    return arrow::Status::OK();
  }
  return LoadPieces({pages_.data() + piece_bytes, static_cast<size_t>(row_bytes - piece_bytes)}, scratch);
}

arrow::Status RunReader::LoadWholeRow(std::span<uint8_t> row, std::span<uint8_t> scratch) {
  if (static_cast<int64_t>(row.size()) != held_row_bytes_ + rest_bytes_) return Corrupt("a row has another size");
  std::copy_n(pages_.data(), held_row_bytes_, row.data());
  rest_bytes_ = 0;
  return LoadPieces(row.subspan(static_cast<size_t>(held_row_bytes_)), scratch);
}

/// Reads the pieces of a wide row that follow its first one.
arrow::Status RunReader::LoadPieces(std::span<uint8_t> rest, std::span<uint8_t> scratch) {
  while (!rest.empty()) {
    ARROW_ASSIGN_OR_RAISE(std::optional<spill::BlockView> view, reader_->NextInto(scratch));
    if (!view.has_value() || view->bytes.size() < kKindBytes || RowLayout::LoadHead(view->bytes.data()) != kMoreOfWideRowBlock) {
      return Corrupt("a row ends before its last piece");
    }
    const std::span<const uint8_t> piece = view->bytes.subspan(kKindBytes);
    if (piece.size() > rest.size()) return Corrupt("pieces are longer than their row");
    std::copy_n(piece.data(), piece.size(), rest.data());
    rest = rest.subspan(piece.size());
  }
  return arrow::Status::OK();
}

/// Blocks have passed their checksum, so this is a fault of ours rather than of the disk.
arrow::Status RunReader::Corrupt(std::string_view what) const {
  return MakeError(ErrorKind::kInternal, "sort run {} makes no sense: {}", run_.file->path(), what);
}

}  // namespace icebound::exec::sort
