// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/group_stream.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::aggregate {
namespace {

/// Levels of splitting: 64 * 16 * 16 * 16 partitions of a stream's memory are more than any disk.
constexpr int kLevelsMax = 3;

/// A part with more of its partition's bytes than this has hardly been divided.
constexpr double kShrinkMax = 0.8;

}  // namespace

PartitionStream::PartitionStream(HashAggregator* aggregator) : aggregator_(*aggregator), layout_(aggregator->layout()) {}

arrow::Result<std::span<const uint8_t* const>> PartitionStream::Next() {
  const int64_t rows_max = aggregator_.context_->batch_rows;
  const int64_t bytes_max = aggregator_.context_->batch_bytes;
  rows_.clear();
  while (true) {
    if (sorted_ != nullptr) {
      ARROW_RETURN_NOT_OK(sorted_->Next(&rows_, rows_max, bytes_max));
    } else if (merge_ != nullptr) {
      merge_->Next(&rows_, rows_max, bytes_max);
    } else {
      NextOfChunks();
    }
    if (!rows_.empty()) return std::span<const uint8_t* const>(rows_);
    ARROW_RETURN_NOT_OK(aggregator_.context_->cancellation.Check());
    ARROW_ASSIGN_OR_RAISE(const bool more, NextPartition());
    if (!more) return std::span<const uint8_t* const>();
  }
}

void PartitionStream::NextOfChunks() {
  const int64_t rows_max = aggregator_.context_->batch_rows;
  const int64_t bytes_max = aggregator_.context_->batch_bytes;
  int64_t bytes = 0;
  while (static_cast<int64_t>(rows_.size()) < rows_max) {
    if (chunk_ == nullptr) {
      if (chunk_lists_.empty()) return;
      chunk_ = chunk_lists_.back();
      chunk_lists_.pop_back();
      chunk_row_ = chunk_->begin();
    }
    if (chunk_row_ == chunk_->end) {
      chunk_ = chunk_->next;
      chunk_row_ = chunk_ != nullptr ? chunk_->begin() : nullptr;
      continue;
    }
    bytes += layout_.StoredBytes(chunk_row_);
    if (bytes > bytes_max && !rows_.empty()) return;
    rows_.push_back(chunk_row_);
    chunk_row_ += layout_.RowBytes(chunk_row_);
  }
}

arrow::Result<bool> PartitionStream::NextPartition() {
  if (sorted_ != nullptr) {
    aggregator_.CountSpill(sorted_->metrics().spilled_bytes.load(std::memory_order_relaxed), kLevelsMax + 1);
    sorted_.reset();
  }
  merge_.reset();
  chunk_lists_.clear();
  chunk_ = nullptr;
  HashAggregator::Work work;
  if (!aggregator_.TakeWork(&work)) {
    store_.reset();
    return false;
  }
  if (work.in_memory) {
    ARROW_RETURN_NOT_OK(MergeInMemory(work.partition));
  } else {
    ARROW_RETURN_NOT_OK(MergeStored(std::move(work.stored)));
  }
  return true;
}

// --- rows in memory ---------------------------------------------------------------------------------------------------------

arrow::Status PartitionStream::MergeInMemory(uint32_t partition) {
  int64_t rows = 0;
  bool is_unique = true;
  const std::vector<GroupStore*> stores = aggregator_.Stores();
  for (GroupStore* store : stores) {
    RowChunk* chunks = store->chunks(partition);
    if (chunks == nullptr) continue;
    is_unique = is_unique && chunk_lists_.empty() && !store->has_forgotten();
    rows += store->rows(partition);
    chunk_lists_.push_back(chunks);
  }
  if (is_unique) return arrow::Status::OK();
  merge_ = std::make_unique<InPlaceMerge>(&layout_, &aggregator_.budget_);
  ARROW_RETURN_NOT_OK(merge_->Start(rows));
  bool merged = true;
  for (size_t i = 0; i < chunk_lists_.size() && merged; ++i) merged = merge_->Add(chunk_lists_[i]);
  chunk_lists_.clear();
  if (merged) return arrow::Status::OK();
  merge_.reset();
  std::lock_guard lock(aggregator_.fallback_mutex_);
  for (GroupStore* store : stores) ARROW_RETURN_NOT_OK(store->SpillPartition(partition));
  aggregator_.CountSpill(aggregator_.files_->TakeUncountedBytes(), 1);
  return SortStored(aggregator_.files_->Take(partition), nullptr);
}

// --- rows on disk -----------------------------------------------------------------------------------------------------------

arrow::Status PartitionStream::MergeStored(StoredRows stored) {
  if (stored.level >= kLevelsMax) return SortStored(std::move(stored), nullptr);
  ARROW_RETURN_NOT_OK(StartStore(stored.level + 1));
  ARROW_ASSIGN_OR_RAISE(const auto reader, StoredRowReader::Open(stored, &layout_, &aggregator_.budget_));
  ARROW_RETURN_NOT_OK(store_->ExpectGroups(stored.rows));
  spilled_ = false;
  while (true) {
    uint8_t* rows = nullptr;
    ARROW_ASSIGN_OR_RAISE(const int64_t count, reader->Next(&rows));
    if (count == 0) break;
    ARROW_RETURN_NOT_OK(aggregator_.context_->cancellation.Check());
    for (int64_t left = count; left > 0;) {
      const auto taken = static_cast<int32_t>(std::min<int64_t>(left, kSliceRows));
      ARROW_ASSIGN_OR_RAISE(rows, AddSlice(rows, taken));
      left -= taken;
    }
    if (store_->has_collided()) return SortStored(std::move(stored), reader.get());
  }
  if (!spilled_) {
    store_->Seal();
    for (uint32_t p = 0; p < uint32_t{1} << kBits; ++p) {
      if (store_->chunks(p) != nullptr) chunk_lists_.push_back(store_->chunks(p));
    }
    return arrow::Status::OK();
  }
  ARROW_RETURN_NOT_OK(SpillStore());
  return QueueParts(stored);
}

/// Makes an empty store whose parts are of this level; the last partition's memory serves again.
arrow::Status PartitionStream::StartStore(int level) {
  auto files = std::make_unique<PartitionFiles>(aggregator_.context_, aggregator_.name_, level, 1 << kBits);
  level_ = level;
  if (store_ != nullptr) {
    store_->Reuse(files.get(), level);
    files_ = std::move(files);
    return arrow::Status::OK();
  }
  files_ = std::move(files);
  GroupStoreOptions options;
  options.layout = &layout_;
  options.budget = &aggregator_.budget_;
  options.files = files_.get();
  options.level = level;
  options.bits = kBits;
  options.mode = StoreMode::kExact;
  options.chunk_bytes = aggregator_.chunk_bytes_;
  store_ = std::make_unique<GroupStore>(options);
  return store_->Start();
}

/// Merges stored rows that lie one behind the other; returns where the next one is.
arrow::Result<uint8_t*> PartitionStream::AddSlice(uint8_t* rows, int32_t count) {
  uint64_t hashes[kSliceRows];
  const uint8_t* keys[kSliceRows];
  uint32_t key_bytes[kSliceRows];
  uint8_t* from[kSliceRows];
  uint8_t* into[kSliceRows];
  int64_t string_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    from[i] = rows;
    hashes[i] = GroupLayout::Hash(rows);
    keys[i] = layout_.Key(rows);
    key_bytes[i] = layout_.KeyBytes(rows);
    if (layout_.has_byte_strings()) string_bytes += layout_.StringSpaceBytes(rows);
    rows += layout_.StoredBytes(rows);
  }
  const KeySlice slice{count, hashes, keys, layout_.has_variable_keys() ? key_bytes : nullptr};
  ARROW_ASSIGN_OR_RAISE(bool placed, store_->Find(slice, into, /*must=*/false));
  if (placed) {
    ARROW_ASSIGN_OR_RAISE(placed, store_->MakeRoom(string_bytes, /*must=*/false));
  }
  if (!placed) {
    ARROW_RETURN_NOT_OK(SpillStore());
    ARROW_RETURN_NOT_OK(store_->Find(slice, into, /*must=*/true).status());
    ARROW_RETURN_NOT_OK(store_->MakeRoom(string_bytes, /*must=*/true).status());
  }
  for (const StatePlace& place : layout_.states()) {
    MergeStates(place.kind, place.offset, into, from, count, store_->space());
  }
  return rows;
}

arrow::Status PartitionStream::SpillStore() {
  ARROW_RETURN_NOT_OK(store_->Spill());
  spilled_ = true;
  aggregator_.CountSpill(files_->TakeUncountedBytes(), level_ + 1);
  return arrow::Status::OK();
}

arrow::Status PartitionStream::QueueParts(const StoredRows& parent) {
  std::vector<StoredRows> parts;
  for (uint32_t p = 0; p < uint32_t{1} << kBits; ++p) {
    StoredRows part = files_->Take(p);
    if (part.rows == 0) continue;
    const auto shrunk_bytes = static_cast<int64_t>(kShrinkMax * static_cast<double>(parent.bytes));
    if (part.bytes > shrunk_bytes) part.level = kLevelsMax;
    parts.push_back(std::move(part));
  }
  aggregator_.AddWork(std::move(parts));
  return arrow::Status::OK();
}

/// Sorts stored rows; of those that are being merged, what was merged and what is left.
arrow::Status PartitionStream::SortStored(StoredRows stored, StoredRowReader* rest_or_null) {
  std::vector<StoredRows> sources;
  if (rest_or_null != nullptr) {
    ARROW_RETURN_NOT_OK(SpillStore());
    for (uint32_t p = 0; p < uint32_t{1} << kBits; ++p) sources.push_back(files_->Take(p));
  } else {
    sources.push_back(std::move(stored));
  }
  // The sorter needs a floor of its own.
  store_.reset();
  aggregator_.budget_.ReturnSlack(aggregator_.budget_.taken_bytes());
  ARROW_ASSIGN_OR_RAISE(sorted_, SortedGroups::Make(aggregator_.context_, &layout_, &aggregator_.budget_,
                                                    aggregator_.chunk_bytes_, aggregator_.pool()));
  aggregator_.sorted_partitions_.fetch_add(1, std::memory_order_relaxed);
  const auto append_all = [this](StoredRowReader* reader) -> arrow::Status {
    while (true) {
      uint8_t* rows = nullptr;
      ARROW_ASSIGN_OR_RAISE(const int64_t count, reader->Next(&rows));
      if (count == 0) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(aggregator_.context_->cancellation.Check());
      ARROW_RETURN_NOT_OK(sorted_->Append(rows, count));
    }
  };
  if (rest_or_null != nullptr) ARROW_RETURN_NOT_OK(append_all(rest_or_null));
  for (StoredRows& source : sources) {
    ARROW_ASSIGN_OR_RAISE(const auto reader, StoredRowReader::Open(source, &layout_, &aggregator_.budget_));
    source.file.reset();
    ARROW_RETURN_NOT_OK(append_all(reader.get()));
  }
  return sorted_->Finish();
}

}  // namespace icebound::exec::aggregate
