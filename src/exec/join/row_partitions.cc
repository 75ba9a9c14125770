// SPDX-License-Identifier: Apache-2.0
#include "exec/join/row_partitions.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_size.h"
#include "base/error.h"
#include "runtime/metrics.h"

namespace icebound::exec::join {
namespace {

/// Rows encoded at a time: their bytes stay in the second-level cache over all columns.
constexpr int64_t kSliceRows = 1024;

/// A row that no partition wants is encoded here, if it is not wider.
constexpr int64_t kTrashBytes = int64_t{16} << 10;

/// LZ4 takes longer than writing does, and part of each row is a hash, which does not compress: it must save much to pay.
constexpr double kMinSaving = 0.65;

}  // namespace

RowPartitions::RowPartitions(RowPartitionsOptions options)
    : options_(std::move(options)), workers_(static_cast<size_t>(options_.workers)) {
  for (int p = 0; p < partition_count(); ++p) {
    partitions_.push_back(std::make_unique<Partition>());
    if (!options_.held_bytes_max || options_.context->force_spill) partitions_.back()->spilled = true;
  }
}

arrow::Status RowPartitions::StartWorker(int worker, const std::vector<bool>& wanted) {
  Worker& state = workers_[static_cast<size_t>(worker)];
  state.filling.resize(static_cast<size_t>(partition_count()));
  for (size_t p = 0; p < state.filling.size(); ++p) {
    if (!wanted.empty() && !wanted[p]) continue;
    sort::MappedPages pages(options_.budget);
    ARROW_RETURN_NOT_OK(pages.Resize(options_.chunk_bytes));
    Use(&state.filling[p], std::move(pages));
  }
  state.places.resize(kSliceRows);
  state.trash.resize(kTrashBytes);
  return arrow::Status::OK();
}

void RowPartitions::Use(Filling* filling, sort::MappedPages pages) {
  filling->pages = std::move(pages);
  filling->next = filling->pages.data();
  filling->end = filling->pages.data() + filling->pages.bytes() - kReadSlackBytes;
  filling->rows = 0;
}

/// Finds places for rows from `begin` on, until one does not fit where it belongs; returns that row, or `end`.
int64_t RowPartitions::PlaceRange(Worker* worker, int64_t begin, int64_t end, std::span<const uint64_t> hashes,
                                  std::span<const uint8_t> targets) {
  const int64_t head_bytes = options_.side->head_bytes();
  const int64_t fixed_bytes = options_.side->fixed_row_bytes();
  const bool has_flag = options_.side->has_flag();
  uint8_t** place = worker->places.data();
  int64_t row = begin;
  for (; row < end; ++row) {
    const int64_t bytes = fixed_bytes != 0 ? fixed_bytes : worker->sizes[static_cast<size_t>(row)];
    const uint8_t target = targets[static_cast<size_t>(row)];
    if (target == kNoPartition) {
      if (bytes > kTrashBytes) break;
      *place++ = worker->trash.data();
      continue;
    }
    Filling& filling = worker->filling[target];
    if (bytes > filling.end - filling.next || IsWide(bytes)) break;
    std::memcpy(filling.next, &hashes[static_cast<size_t>(row)], kHeadBytes);
    if (has_flag) filling.next[kHeadBytes] = 0;
    *place++ = filling.next + head_bytes;
    filling.next += bytes;
    ++filling.rows;
    worker->widest_row_bytes = std::max(worker->widest_row_bytes, bytes);
  }
  return row;
}

arrow::Status RowPartitions::Append(int worker, const arrow::RecordBatch& packed, std::span<const uint64_t> hashes,
                                    std::span<const uint8_t> targets) {
  Worker& state = workers_[static_cast<size_t>(worker)];
  const int64_t rows = packed.num_rows();
  if (options_.side->has_variable_rows()) {
    state.sizes.assign(static_cast<size_t>(rows), static_cast<uint32_t>(options_.side->head_bytes()));
    ARROW_RETURN_NOT_OK(options_.side->codec().AddSizes(packed, 0, state.sizes));
  }
  for (int64_t begin = 0; begin < rows;) {
    const int64_t end = std::min(rows, begin + kSliceRows);
    const int64_t placed_end = PlaceRange(&state, begin, end, hashes, targets);
    if (placed_end > begin) {
      ARROW_RETURN_NOT_OK(
          options_.side->codec().Encode(packed, begin, {state.places.data(), static_cast<size_t>(placed_end - begin)}));
    }
    begin = placed_end;
    if (begin == end) continue;
    const auto at = static_cast<size_t>(begin);
    const uint8_t target = targets[at];
    if (target == kNoPartition) {
      ++begin;  // too wide for the trash
    } else if (options_.side->has_variable_rows() ? IsWide(state.sizes[at]) : IsWide(options_.side->fixed_row_bytes())) {
      ARROW_RETURN_NOT_OK(AppendWide(&state, packed, begin, hashes[at], target));
      ++begin;
    } else {
      ARROW_RETURN_NOT_OK(HandOver(&state, target));
    }
  }
  if (options_.context->force_spill) {
    for (int p = 0; p < partition_count(); ++p) {
      if (state.filling[static_cast<size_t>(p)].rows > 0 && is_spilled(p)) {
        ARROW_RETURN_NOT_OK(WriteFilling(&state, static_cast<uint8_t>(p)));
      }
    }
  }
  return arrow::Status::OK();
}

arrow::Status RowPartitions::AppendRow(int worker, uint8_t partition, const uint8_t* row, int64_t bytes) {
  Worker& state = workers_[static_cast<size_t>(worker)];
  state.widest_row_bytes = std::max(state.widest_row_bytes, bytes);
  if (IsWide(bytes)) {
    ARROW_ASSIGN_OR_RAISE(sort::MappedPages pages, WidePages(bytes));
    std::memcpy(pages.data(), row, static_cast<size_t>(bytes));
    return AddWide(partition, std::move(pages), bytes);
  }
  Filling& filling = state.filling[partition];
  if (bytes > filling.end - filling.next) ARROW_RETURN_NOT_OK(HandOver(&state, partition));
  std::memcpy(filling.next, row, static_cast<size_t>(bytes));
  filling.next += bytes;
  ++filling.rows;
  return arrow::Status::OK();
}

// --- wide rows --------------------------------------------------------------------------------------------------------------

arrow::Result<sort::MappedPages> RowPartitions::WidePages(int64_t bytes) {
  sort::MappedPages pages(options_.budget);
  const int64_t page_bytes = bytes + kReadSlackBytes;
  while (!MayHold(page_bytes) || !pages.TryResize(page_bytes)) {
    ARROW_ASSIGN_OR_RAISE(const int64_t freed_bytes, SpillLargest());
    FreeSpareChunks();
    if (freed_bytes > 0) continue;
    arrow::Status status = pages.Resize(page_bytes);
    if (!status.ok()) {
      return MakeError(ErrorKind::kMemoryLimit, "memory limit too small: a join must hold a row of {}; raise the limit ({})",
                       FormatBytes(bytes), status.message());
    }
    break;
  }
  return pages;
}

arrow::Status RowPartitions::AppendWide(Worker* worker, const arrow::RecordBatch& packed, int64_t row, uint64_t hash,
                                        uint8_t partition) {
  const int64_t bytes =
      options_.side->has_variable_rows() ? worker->sizes[static_cast<size_t>(row)] : options_.side->fixed_row_bytes();
  worker->widest_row_bytes = std::max(worker->widest_row_bytes, bytes);
  ARROW_ASSIGN_OR_RAISE(sort::MappedPages pages, WidePages(bytes));
  std::memcpy(pages.data(), &hash, kHeadBytes);
  if (options_.side->has_flag()) pages.data()[kHeadBytes] = 0;
  uint8_t* const place = pages.data() + options_.side->head_bytes();
  ARROW_RETURN_NOT_OK(options_.side->codec().Encode(packed, row, {&place, 1}));
  return AddWide(partition, std::move(pages), bytes);
}

arrow::Status RowPartitions::AddWide(uint8_t partition, sort::MappedPages pages, int64_t bytes) {
  Partition& target = *partitions_[partition];
  std::lock_guard lock(target.mutex);
  if (target.spilled || !options_.budget->TryTake(kTableBytesPerRow)) {
    if (!target.spilled) ARROW_RETURN_NOT_OK(SpillLocked(&target).status());
    return Write(&target, pages.data(), bytes, 1);
  }
  target.table_bytes += kTableBytesPerRow;
  target.kept_bytes += pages.bytes();
  kept_bytes_ += pages.bytes();
  ++target.rows;
  target.chunks.push_back({std::move(pages), bytes, 1});
  return arrow::Status::OK();
}

// --- full chunks ------------------------------------------------------------------------------------------------------------

bool RowPartitions::MayHold(int64_t more_bytes) const {
  return options_.held_bytes_max && options_.budget->taken_bytes() + more_bytes <= options_.held_bytes_max();
}

bool RowPartitions::TryGetChunk(sort::MappedPages* pages) {
  {
    std::lock_guard lock(spare_mutex_);
    if (!spare_.empty()) {
      *pages = std::move(spare_.back());
      spare_.pop_back();
      return true;
    }
  }
  return MayHold(options_.chunk_bytes) && pages->TryResize(options_.chunk_bytes);
}

/// Keeps a full chunk in memory if its partition is there, and another chunk and the table's bytes are to be had.
bool RowPartitions::TryKeep(Worker* worker, uint8_t partition) {
  Filling& filling = worker->filling[partition];
  const int64_t table_bytes = filling.rows * kTableBytesPerRow;
  if (!MayHold(table_bytes) || !options_.budget->TryTake(table_bytes)) {
    // A spare chunk would make SpillLargest believe that there is room.
    FreeSpareChunks();
    if (!MayHold(table_bytes) || !options_.budget->TryTake(table_bytes)) return false;
  }
  sort::MappedPages pages(options_.budget);
  if (!TryGetChunk(&pages)) {
    options_.budget->Give(table_bytes);
    return false;
  }
  Partition& target = *partitions_[partition];
  std::lock_guard lock(target.mutex);
  if (target.spilled) {
    options_.budget->Give(table_bytes);
    std::lock_guard spare_lock(spare_mutex_);
    spare_.push_back(std::move(pages));
    return false;
  }
  target.table_bytes += table_bytes;
  target.kept_bytes += filling.pages.bytes();
  kept_bytes_ += filling.pages.bytes();
  target.rows += filling.rows;
  const int64_t used_bytes = filling.next - Begin(filling);
  target.chunks.push_back({std::move(filling.pages), used_bytes, filling.rows});
  Use(&filling, std::move(pages));
  return true;
}

arrow::Status RowPartitions::HandOver(Worker* worker, uint8_t partition) {
  while (!is_spilled(partition)) {
    if (TryKeep(worker, partition)) return arrow::Status::OK();
    if (is_spilled(partition)) break;
    ARROW_ASSIGN_OR_RAISE(const int64_t freed_bytes, SpillLargest());
    if (freed_bytes > 0) continue;
    Partition& target = *partitions_[partition];
    std::lock_guard lock(target.mutex);
    ARROW_RETURN_NOT_OK(SpillLocked(&target).status());
  }
  return WriteFilling(worker, partition);
}

arrow::Status RowPartitions::WriteFilling(Worker* worker, uint8_t partition) {
  Filling& filling = worker->filling[partition];
  Partition& target = *partitions_[partition];
  std::lock_guard lock(target.mutex);
  ARROW_RETURN_NOT_OK(Write(&target, Begin(filling), filling.next - Begin(filling), filling.rows));
  filling.next = Begin(filling);
  filling.rows = 0;
  return arrow::Status::OK();
}

/// Appends rows to a partition's file, whose mutex is held.
arrow::Status RowPartitions::Write(Partition* partition, const uint8_t* rows, int64_t bytes, int64_t row_count) {
  if (row_count == 0) return arrow::Status::OK();
  if (partition->file == nullptr) {
    ARROW_ASSIGN_OR_RAISE(partition->file, options_.context->disk.CreateFile(options_.purpose, kMinSaving));
  }
  const int64_t stored_before = partition->file->stored_bytes();
  int64_t written_rows = row_count;
  for (int64_t at = 0; at < bytes; at += kPieceBytes) {
    const auto piece_bytes = static_cast<size_t>(std::min(kPieceBytes, bytes - at));
    ARROW_RETURN_NOT_OK(partition->file->Append({rows + at, piece_bytes}, written_rows));
    written_rows = 0;
  }
  partition->rows += row_count;
  partition->bytes += bytes;
  spilled_bytes_ += partition->file->stored_bytes() - stored_before;
  return arrow::Status::OK();
}

/// Writes what a partition keeps; its mutex is held. Returns the bytes that are free now.
arrow::Result<int64_t> RowPartitions::SpillLocked(Partition* partition) {
  if (partition->spilled.exchange(true)) return 0;
  std::vector<RowChunk> chunks = std::exchange(partition->chunks, {});
  partition->rows = 0;
  for (RowChunk& chunk : chunks) {
    ARROW_RETURN_NOT_OK(Write(partition, chunk.pages.data(), chunk.used_bytes, chunk.rows));
    if (chunk.pages.bytes() == options_.chunk_bytes) {
      std::lock_guard lock(spare_mutex_);
      spare_.push_back(std::move(chunk.pages));
    } else {
      chunk.pages.Free();
    }
  }
  options_.budget->Give(std::exchange(partition->table_bytes, 0));
  const int64_t freed_bytes = partition->kept_bytes.exchange(0);
  kept_bytes_ -= freed_bytes;
  return freed_bytes;
}

arrow::Result<int64_t> RowPartitions::SpillLargest(bool wait) {
  std::unique_lock lock(spill_mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
    // Whoever was at it may have freed enough for this one as well.
    std::lock_guard spare_lock(spare_mutex_);
    if (!spare_.empty()) return options_.chunk_bytes;
  } else if (!lock.try_lock()) {
    return 0;
  }
  Partition* largest = nullptr;
  for (const auto& partition : partitions_) {
    if (partition->spilled || partition->kept_bytes == 0) continue;
    if (largest == nullptr || partition->kept_bytes > largest->kept_bytes) largest = partition.get();
  }
  if (largest == nullptr) return 0;
  std::lock_guard partition_lock(largest->mutex);
  return SpillLocked(largest);
}

void RowPartitions::FreeSpareChunks() {
  std::lock_guard lock(spare_mutex_);
  spare_.clear();
}

// --- the end ----------------------------------------------------------------------------------------------------------------

arrow::Status RowPartitions::FinishWorker(int worker) {
  Worker& state = workers_[static_cast<size_t>(worker)];
  for (size_t p = 0; p < state.filling.size(); ++p) {
    Filling& filling = state.filling[p];
    if (filling.rows == 0) continue;
    Partition& target = *partitions_[p];
    const int64_t table_bytes = filling.rows * kTableBytesPerRow;
    std::unique_lock lock(target.mutex);
    if (!target.spilled && !options_.budget->TryTake(table_bytes)) ARROW_RETURN_NOT_OK(SpillLocked(&target).status());
    if (target.spilled) {
      lock.unlock();
      ARROW_RETURN_NOT_OK(WriteFilling(&state, static_cast<uint8_t>(p)));
      continue;
    }
    const int64_t used_bytes = filling.next - Begin(filling);
    // What the rows do not reach is given back; the chunk may move, and nothing points into it.
    ARROW_RETURN_NOT_OK(filling.pages.Resize(used_bytes + kReadSlackBytes));
    target.table_bytes += table_bytes;
    target.kept_bytes += filling.pages.bytes();
    kept_bytes_ += filling.pages.bytes();
    target.rows += filling.rows;
    target.chunks.push_back({std::move(filling.pages), used_bytes, filling.rows});
  }
  runtime::RaiseTo(widest_row_bytes_, state.widest_row_bytes);
  state = Worker();
  return arrow::Status::OK();
}

arrow::Result<SpilledRows> RowPartitions::TakeSpilled(int partition) {
  Partition& source = *partitions_[static_cast<size_t>(partition)];
  if (source.file == nullptr) return SpilledRows{};
  ARROW_RETURN_NOT_OK(source.file->Finish());
  return SpilledRows{std::move(source.file), source.rows, source.bytes, widest_row_bytes()};
}

// --- reading ----------------------------------------------------------------------------------------------------------------

arrow::Result<SpilledRowReader> SpilledRowReader::Open(const SpilledRows& rows, const JoinSide& side,
                                                       const spill::ReadOptions& options) {
  SpilledRowReader reader(side);
  if (rows.file != nullptr) {
    ARROW_ASSIGN_OR_RAISE(reader.reader_, rows.file->OpenReader(options));
  }
  return reader;
}

arrow::Result<bool> SpilledRowReader::AtEnd() {
  if (reader_ == nullptr) return true;
  ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> bytes, reader_->PeekBytes());
  return !bytes.has_value();
}

arrow::Result<bool> SpilledRowReader::Fits(const sort::MappedPages& pages, int64_t used_bytes) {
  if (reader_ == nullptr) return true;
  ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> bytes, reader_->PeekBytes());
  return !bytes.has_value() || used_bytes + *bytes + kReadSlackBytes <= pages.bytes();
}

arrow::Result<int64_t> SpilledRowReader::Read(sort::MappedPages* pages, int64_t* used_bytes) {
  if (reader_ == nullptr) return 0;
  int64_t rows = 0;
  int64_t wanted_end = *used_bytes;
  const int64_t begin = *used_bytes;
  do {
    ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> bytes, reader_->PeekBytes());
    if (!bytes.has_value()) break;
    const int64_t end = std::max(wanted_end, *used_bytes + *bytes);
    if (end + kReadSlackBytes > pages->bytes()) ARROW_RETURN_NOT_OK(pages->Resize(end + kReadSlackBytes));
    ARROW_ASSIGN_OR_RAISE(const auto block, reader_->NextInto({pages->data() + *used_bytes, static_cast<size_t>(*bytes)}));
    rows += block->rows;
    *used_bytes += *bytes;
    // A single row may go on in the next blocks.
    if (rows == 1 && *bytes == RowPartitions::kPieceBytes) wanted_end = begin + side_->RowBytes(pages->data() + begin);
  } while (*used_bytes < wanted_end);
  return rows;
}

}  // namespace icebound::exec::join
