// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/run_builder.h"

#include <algorithm>
#include <utility>

#include "base/byte_size.h"
#include "base/error.h"
#include "exec/sort/entry_sort.h"
#include "runtime/metrics.h"

namespace icebound::exec::sort {
namespace {

/// Rows encoded at a time: about 150 KiB of ordinary rows, so a slice stays in the second-level cache over all its columns.
constexpr int64_t kSliceRows = 1024;

/// The sort array grows by this much: 8192 rows.
constexpr int64_t kEntriesGrowthBytes = int64_t{8192} * sizeof(SortEntry);

/// Rows ahead whose bytes are fetched into the cache while sorted rows are copied to blocks, and how many bytes of each.
constexpr size_t kPrefetchRows = 12;
constexpr int64_t kPrefetchBytesMax = 512;

/// With a row limit, the arena is compacted when it holds twice the limit, but not before it holds this many.
constexpr int64_t kCompactRowsMin = 16384;

/// With a row limit, rows to be dropped are kept when at most this many lie between rows to be kept: an encoder call
/// costs more than a few rows.
constexpr int64_t kGapRowsMax = 4;

/// Rows written between two looks at the cancellation: some milliseconds.
constexpr size_t kRowsBetweenChecks = 16384;

constexpr int64_t kMiB = int64_t{1} << 20;

/// Rows up to these parts of the memory limit always pass (README): of rows that are nearly all sort key, fewer do.
constexpr int64_t kWidestRowPart = 4;
constexpr int64_t kWidestKeyPart = 8;

/// The state of so many runs is paid for at a time.
constexpr int64_t kRunsCharged = 16;

}  // namespace

/// Holds a builder for the time of a call.
class SortRunBuilder::Exclusive {
 public:
  /// Waits for a Reclaim that is under way.
  explicit Exclusive(SortRunBuilder* builder) : builder_(builder) {
    while (builder_->busy_.exchange(true, std::memory_order_acquire)) builder_->busy_.wait(true, std::memory_order_relaxed);
  }
  Exclusive(SortRunBuilder* builder, std::try_to_lock_t) : builder_(builder) {
    if (builder_->busy_.exchange(true, std::memory_order_acquire)) builder_ = nullptr;
  }
  ~Exclusive() {
    if (builder_ == nullptr) return;
    builder_->busy_.store(false, std::memory_order_release);
    builder_->busy_.notify_one();
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  bool held() const { return builder_ != nullptr; }

 private:
  SortRunBuilder* builder_;
};

SortRunBuilder::SortRunBuilder(SortShared* shared)
    : shared_(*shared),
      layout_(shared->format.layout()),
      arena_(&shared->budget, shared->chunk_bytes),
      spare_arena_(&shared->budget, shared->chunk_bytes),
      entry_pages_(&shared->budget),
      workspace_(&shared->budget),
      spread_(layout_),
      seen_spread_(layout_) {}

arrow::Status SortRunBuilder::Start() {
  const int64_t block_bytes = MappedPages::RoundUp(RunWriter::WorkspaceBytes(shared_.block_bytes) + RowPacking::kTableBytesMax);
  const int64_t scratch_bytes = shared_.scratch_entries * static_cast<int64_t>(sizeof(SortEntry));
  const int64_t slice_bytes = kSliceRows * static_cast<int64_t>(2 * sizeof(uint32_t) + sizeof(uint8_t*));
  ARROW_RETURN_NOT_OK(workspace_.Resize(block_bytes + scratch_bytes + slice_bytes));
  uint8_t* next = workspace_.data();
  const auto take = [&next](int64_t bytes) { return std::exchange(next, next + bytes); };
  block_ = take(block_bytes);
  scratch_ = {reinterpret_cast<SortEntry*>(take(scratch_bytes)), static_cast<size_t>(shared_.scratch_entries)};
  cursors_ = {reinterpret_cast<uint8_t**>(take(kSliceRows * static_cast<int64_t>(sizeof(uint8_t*)))), kSliceRows};
  row_bytes_ = {reinterpret_cast<uint32_t*>(take(kSliceRows * static_cast<int64_t>(sizeof(uint32_t)))), kSliceRows};
  key_bytes_ = {reinterpret_cast<uint32_t*>(take(kSliceRows * static_cast<int64_t>(sizeof(uint32_t)))), kSliceRows};
  writer_.emplace(layout_, &shared_.disk, block_, shared_.block_bytes);
  return ChargeRuns();
}

// --- taking rows ------------------------------------------------------------------------------------------------------------

arrow::Status SortRunBuilder::Append(const arrow::RecordBatch& batch) {
  if (batch.num_rows() == 0) return arrow::Status::OK();
  const Exclusive exclusive(this);
  ARROW_ASSIGN_OR_RAISE(const SortInput input, shared_.format.Prepare(batch));
  if (shared_.cutoff_or_null != nullptr) {
    ARROW_RETURN_NOT_OK(AppendFiltered(input));
  } else {
    ARROW_RETURN_NOT_OK(AppendBatch(input));
  }
  if (count_ > 0 && shared_.force_spill) {
    ARROW_RETURN_NOT_OK(SpillRows());
    return ChargeRuns();
  }
  if (count_ > 0 && shared_.budget.consumer().reclaim_requested()) {
    ARROW_RETURN_NOT_OK(SpillRows());
    FreeRows();
    shared_.budget.ReturnSlack(shared_.floor_bytes);
  }
  return arrow::Status::OK();
}

arrow::Status SortRunBuilder::AppendBatch(const SortInput& input) {
  for (int64_t first = 0; first < input.rows; first += kSliceRows) {
    ARROW_RETURN_NOT_OK(AppendSlice(input, first, std::min(kSliceRows, input.rows - first)));
  }
  return arrow::Status::OK();
}

/// Makes the keys alone, in the block (which is free between runs), and appends what lies below the cutoff.
arrow::Status SortRunBuilder::AppendFiltered(const SortInput& input) {
  for (int64_t first = 0; first < input.rows;) {
    int64_t rows = std::min(kSliceRows, input.rows - first);
    if (count_ >= std::max(kCompactRowsMin, 2 * shared_.cutoff_or_null->fetch_rows())) ARROW_RETURN_NOT_OK(KeepFirstRows());
    if (!shared_.cutoff_or_null->Refresh(&cutoff_version_, &cutoff_)) {
      ARROW_RETURN_NOT_OK(AppendSlice(input, first, rows));
      first += rows;
      continue;
    }
    ARROW_RETURN_NOT_OK(shared_.format.MeasureKeys(input, first, key_bytes_.first(rows)));
    int64_t fitting = 0;
    for (int64_t used = 0; fitting < rows && used + key_bytes_[fitting] <= shared_.block_bytes; ++fitting) {
      cursors_[fitting] = block_ + used;
      used += key_bytes_[fitting];
    }
    if (fitting == 0) {  // a key larger than a block is not worth testing
      ARROW_RETURN_NOT_OK(AppendSlice(input, first, 1));
      ++first;
      continue;
    }
    ARROW_RETURN_NOT_OK(shared_.format.EncodeKeys(input, first, cursors_.first(fitting)));
    // AppendSlice uses the slice arrays itself, so which rows stay is noted in bits first.
    std::array<bool, kSliceRows> stays;
    const uint8_t* key = block_;
    for (int64_t i = 0; i < fitting; key += key_bytes_[i++]) {
      const size_t common = std::min<size_t>(key_bytes_[i], cutoff_.size());
      const int order = std::memcmp(key, cutoff_.data(), common);
      stays[i] = order < 0 || (order == 0 && key_bytes_[i] < cutoff_.size());
    }
    for (int64_t begin = 0; begin < fitting;) {
      if (!stays[begin]) {
        ++begin;
        continue;
      }
      int64_t end = begin + 1;
      for (int64_t at = end; at < fitting && at - end <= kGapRowsMax; ++at) {
        if (stays[at]) end = at + 1;
      }
      ARROW_RETURN_NOT_OK(AppendSlice(input, first + begin, end - begin));
      begin = end;
    }
    first += fitting;
  }
  return arrow::Status::OK();
}

arrow::Status SortRunBuilder::AppendSlice(const SortInput& input, int64_t first_row, int64_t rows) {
  ARROW_RETURN_NOT_OK(shared_.format.Measure(input, first_row, row_bytes_.first(rows), key_bytes_.first(rows)));
  const auto widest_row = std::max_element(row_bytes_.begin(), row_bytes_.begin() + rows);
  const uint32_t widest = *widest_row;
  if (widest > shared_.row_bytes_max) {
    return TooWide(widest, layout_.key_is_fixed ? layout_.fixed_key_bytes : key_bytes_[widest_row - row_bytes_.begin()]);
  }
  runtime::RaiseTo(shared_.widest_row_bytes, widest);
  bool must_place_one = false;
  for (int64_t begin = 0; begin < rows;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t placed, Place(begin, rows, must_place_one));
    if (placed == 0) {
      // With nothing in memory there is nothing to spill: the next try is no longer optional.
      must_place_one = count_ == 0;
      if (count_ > 0) ARROW_RETURN_NOT_OK(SpillRows());
      ARROW_RETURN_NOT_OK(ChargeRuns());
      continue;
    }
    must_place_one = false;
    ARROW_RETURN_NOT_OK(shared_.format.Encode(input, first_row + begin, row_bytes_.subspan(begin, placed),
                                              key_bytes_.subspan(begin, placed), cursors_.subspan(begin, placed)));
    WatchOrder(count_ - placed);
    begin += placed;
  }
  return arrow::Status::OK();
}

/// Finds places for as many of the slice's rows from `begin` on as memory allows, and enters them in the sort array.
arrow::Result<int64_t> SortRunBuilder::Place(int64_t begin, int64_t rows, bool must_place_one) {
  const int64_t held_bytes_max = HeldBytesMax();
  if (!GrowEntries(count_ + rows - begin)) {
    if (!must_place_one) return 0;
    ARROW_RETURN_NOT_OK(entry_pages_.Resize(kEntriesGrowthBytes));
  }
  int64_t placed = 0;
  if (must_place_one) {
    ARROW_ASSIGN_OR_RAISE(uint8_t * row, arena_.Allocate(row_bytes_[begin]));
    cursors_[begin] = row;
    entries()[count_].row = row;
    placed = 1;
  }
  const int64_t arena_bytes_max = held_bytes_max - entry_pages_.bytes();
  const int64_t entries_max = entry_pages_.bytes() / static_cast<int64_t>(sizeof(SortEntry)) - count_;
  for (; begin + placed < rows && placed < entries_max; ++placed) {
    uint8_t* row = arena_.TryAllocate(row_bytes_[begin + placed], arena_bytes_max);
    if (row == nullptr) break;
    cursors_[begin + placed] = row;
    entries()[count_ + placed].row = row;
  }
  count_ += placed;
  NoteHeld();
  return placed;
}

bool SortRunBuilder::GrowEntries(int64_t count) {
  const int64_t needed_bytes = count * static_cast<int64_t>(sizeof(SortEntry));
  if (needed_bytes <= entry_pages_.bytes()) return true;
  const int64_t wanted_bytes = (needed_bytes + kEntriesGrowthBytes - 1) / kEntriesGrowthBytes * kEntriesGrowthBytes;
  if (count_ > 0 && arena_.held_bytes() + wanted_bytes > HeldBytesMax()) return false;
  return entry_pages_.TryResize(wanted_bytes);
}

/// Pays for the next runs before there are any rows that would have to be spilled to pay.
arrow::Status SortRunBuilder::ChargeRuns() {
  // One run is open, and one more may be finished by a reclaim.
  if (static_cast<int64_t>(runs_.size()) + 2 <= charged_runs_) return arrow::Status::OK();
  constexpr int64_t kBytes = kRunsCharged * SortRun::kStateBytes;
  if (!shared_.budget.TryTake(kBytes)) {
    if (count_ == 0) FreeRows();
    ARROW_RETURN_NOT_OK(shared_.budget.Take(kBytes));
  }
  charged_runs_ += kRunsCharged;
  return arrow::Status::OK();
}

/// Notes which bits vary, and whether the rows from `begin` on keep the order.
void SortRunBuilder::WatchOrder(int64_t begin) {
  const std::span<SortEntry> rows(entries() + begin, static_cast<size_t>(count_ - begin));
  spread_.Add(rows);
  if (prefix_.has_value()) prefix_->Compute(rows);
  for (int64_t i = std::max<int64_t>(begin, 1); i < count_ && (ascending_ || descending_); ++i) {
    const int order = layout_.CompareFrom(entries()[i - 1].row, entries()[i].row, 0);
    ascending_ = ascending_ && order <= 0;
    descending_ = descending_ && order >= 0;
  }
}

/// A worker's part of the share, less its workspace.
int64_t SortRunBuilder::HeldBytesMax() const {
  return shared_.budget.consumer().share_bytes() / shared_.workers - workspace_.bytes();
}

arrow::Status SortRunBuilder::TooWide(int64_t row_bytes, int64_t key_bytes) const {
  // Rows that are nearly all key are held whole by every run of a merge (run_file.h).
  const int64_t part = key_bytes > row_bytes / 2 ? kWidestKeyPart : kWidestRowPart;
  return MakeError(ErrorKind::kMemoryLimit,
                   "memory limit too small: a row of {} is wider than a sort can take here ({}); raise it to at least {}",
                   FormatBytes(row_bytes), FormatBytes(shared_.row_bytes_max),
                   FormatByteLimit((part * row_bytes + kMiB - 1) / kMiB * kMiB));
}

// --- sorting and spilling ---------------------------------------------------------------------------------------------------

void SortRunBuilder::SortRows() {
  if (sorted_) return;
  const std::span<SortEntry> rows(entries(), static_cast<size_t>(count_));
  if (!ascending_ && descending_) {
    std::reverse(rows.begin(), rows.end());
  } else if (!ascending_) {
    seen_spread_.Merge(spread_);
    if (!prefix_.has_value() || !prefix_->Suits(spread_)) {
      prefix_.emplace(seen_spread_);
      if (!prefix_->Suits(spread_)) prefix_.emplace(spread_);
      prefix_->Compute(rows);
    }
    SortEntries(layout_, *prefix_, rows, scratch_);
  }
  sorted_ = true;
  if (shared_.cutoff_or_null != nullptr && count_ >= shared_.cutoff_or_null->fetch_rows()) {
    count_ = shared_.cutoff_or_null->fetch_rows();
    if (count_ > 0) shared_.cutoff_or_null->Offer(rows[count_ - 1].row);
  }
}

/// Writes the rows in memory as a run, or behind the open one. Chunks and sort array are kept for the next rows.
arrow::Status SortRunBuilder::SpillRows() {
  SortRows();
  const std::span<const SortEntry> rows = SortedEntries();
  if (!rows.empty()) {
    if (shared_.cutoff_or_null != nullptr) shared_.cutoff_or_null->AddRun(rows);
    if (!writer_->CanContinue(rows.front().row)) {
      ARROW_RETURN_NOT_OK(CloseRun());
      ARROW_RETURN_NOT_OK(writer_->Open());
      shared_.spilled.store(true, std::memory_order_relaxed);
    }
    ARROW_RETURN_NOT_OK(writer_->Begin(spread_));
    const int64_t average_bytes = arena_.held_bytes() / std::max<int64_t>(count_, 1);
    const int64_t prefetch_bytes = std::min(average_bytes, kPrefetchBytesMax);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kPrefetchRows < rows.size()) {
        for (int64_t at = 0; at < prefetch_bytes; at += 64) __builtin_prefetch(rows[i + kPrefetchRows].row + at);
      }
      if (i % kRowsBetweenChecks == 0) ARROW_RETURN_NOT_OK(shared_.cancellation.Check());
      ARROW_RETURN_NOT_OK(writer_->Add(rows[i].row));
    }
    ARROW_RETURN_NOT_OK(writer_->Pause(rows.back().row));
  }
  ForgetRows();
  return arrow::Status::OK();
}

/// Cuts the rows in memory to the row limit and moves them together, or to disk when there is no room to move.
arrow::Status SortRunBuilder::KeepFirstRows() {
  SortRows();
  const int64_t held_bytes_max = HeldBytesMax() - entry_pages_.bytes() - arena_.held_bytes();
  for (int64_t i = 0; i < count_; ++i) {
    const uint8_t* row = entries()[i].row;
    const int64_t bytes = layout_.RowBytes(row);
    uint8_t* copy = spare_arena_.TryAllocate(bytes, held_bytes_max);
    if (copy == nullptr) {
      ARROW_RETURN_NOT_OK(SpillRows());
      spare_arena_.Free();
      return arrow::Status::OK();
    }
    std::memcpy(copy, row, static_cast<size_t>(bytes));
    entries()[i].row = copy;
  }
  // Sorting may have left digits of ties where the prefixes were.
  if (prefix_.has_value()) prefix_->Compute({entries(), static_cast<size_t>(count_)});
  std::swap(arena_, spare_arena_);
  spare_arena_.Reset();
  sorted_ = false;
  descending_ = count_ < 2;
  ascending_ = true;
  NoteHeld();
  return arrow::Status::OK();
}

arrow::Status SortRunBuilder::CloseRun() {
  if (!writer_->open()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(SortRun run, writer_->Finish());
  shared_.spilled_bytes.fetch_add(run.file->stored_bytes(), std::memory_order_relaxed);
  runs_.push_back(std::move(run));
  return arrow::Status::OK();
}

void SortRunBuilder::ForgetRows() {
  arena_.Reset();
  count_ = 0;
  spread_.Clear();
  ascending_ = descending_ = true;
  sorted_ = false;
  NoteHeld();
}

void SortRunBuilder::FreeRows() {
  arena_.Free();
  spare_arena_.Free();
  entry_pages_.Free();
  NoteHeld();
}

void SortRunBuilder::NoteHeld() { held_bytes_.store(arena_.held_bytes() + entry_pages_.bytes(), std::memory_order_relaxed); }

// --- the end of the input, and memory asked back ----------------------------------------------------------------------------

arrow::Status SortRunBuilder::Finish() {
  const Exclusive exclusive(this);
  finished_ = true;
  SortRows();
  if (!shared_.spilled.load(std::memory_order_relaxed)) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(SpillRows());
  FreeRows();
  return CloseRun();
}

arrow::Status SortRunBuilder::SpillRest() {
  const Exclusive exclusive(this);
  ARROW_RETURN_NOT_OK(SpillRows());
  FreeRows();
  return CloseRun();
}

void SortRunBuilder::FreeWorkspace() {
  const Exclusive exclusive(this);
  pinned_ = true;
  writer_.reset();
  workspace_.Free();
  spare_arena_.Free();
  shared_.budget.Give(std::exchange(charged_runs_, 0) * SortRun::kStateBytes);
}

int64_t SortRunBuilder::ReclaimableBytes() const { return pinned_.load(std::memory_order_relaxed) ? 0 : held_bytes(); }

arrow::Result<bool> SortRunBuilder::Reclaim() {
  const Exclusive exclusive(this, std::try_to_lock);
  if (!exclusive.held() || pinned_) return false;
  ARROW_RETURN_NOT_OK(SpillRows());
  FreeRows();
  if (finished_) ARROW_RETURN_NOT_OK(CloseRun());
  return true;
}

}  // namespace icebound::exec::sort
