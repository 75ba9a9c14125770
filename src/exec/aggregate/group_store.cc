// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/group_store.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/byte_size.h"
#include "base/error.h"

namespace icebound::exec::aggregate {
namespace {

constexpr int64_t kEntriesMin = 4096;

/// A table of this size, 512 KiB, stays in a second-level cache of 1 MiB beside the rows being written.
constexpr int64_t kCacheEntries = int64_t{1} << 16;

/// Chunks cut from one extent.
constexpr int64_t kChunksPerExtent = 16;

/// Chunks that Start takes beside one for each partition: for byte strings, and for slices of rows that are wider than usual.
constexpr int64_t kSpareChunks = 16;

/// The block that stored forms are gathered in.
constexpr int64_t kStoredBlockBytes = int64_t{64} << 10;

/// Keys of one hash that are compared before the search gives up.
constexpr int kCollisionsMax = 16;

/// A table is full at 5/8: longer searches cost more than a larger table.
int64_t Capacity(uint64_t mask) { return static_cast<int64_t>((mask + 1) / 8 * 5); }

/// Below this part of rows that meet a group already there, looking for groups costs more than it saves.
constexpr double kHitsMin = 0.2;

/// A growth of the part of hits between the halves of an epoch that is no accident.
constexpr double kHitGrowthMin = 0.02;

/// Rows passed through before the table is tried again, for each group it can hold.
constexpr int64_t kPassFactor = 32;

/// Distance in keys between fetching and using an entry or a row.
constexpr int32_t kPrefetchRows = 16;

constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

uint64_t SaltOf(uint64_t hash) { return (hash >> 32) << 48; }
uint8_t* AddressOf(uint64_t entry) { return reinterpret_cast<uint8_t*>(entry & kAddressMask); }

int64_t ExtentBytes(int64_t chunk_bytes) { return kChunksPerExtent * chunk_bytes + kReadSlackBytes; }

}  // namespace

GroupStore::GroupStore(const GroupStoreOptions& options)
    : options_(options),
      layout_(*options.layout),
      partitions_(size_t{1} << options.bits),
      extent_bytes_(sort::MappedPages::RoundUp(ExtentBytes(options.chunk_bytes))),
      entries_(options.budget),
      block_(options.budget),
      cache_entries_(kCacheEntries) {}

int64_t GroupStore::StartBytes(int bits, int64_t chunk_bytes) {
  const int64_t chunks = (int64_t{1} << bits) + kSpareChunks;
  const int64_t extents = (chunks + kChunksPerExtent - 1) / kChunksPerExtent;
  return extents * sort::MappedPages::RoundUp(ExtentBytes(chunk_bytes)) + kEntriesMin * 8 + kStoredBlockBytes;
}

arrow::Status GroupStore::Start() {
  const int64_t chunks = (int64_t{1} << options_.bits) + kSpareChunks;
  for (int64_t i = 0; i < chunks; i += kChunksPerExtent) {
    sort::MappedPages extent(options_.budget);
    ARROW_RETURN_NOT_OK(extent.Resize(extent_bytes_));
    extents_.push_back(std::move(extent));
  }
  extents_kept_ = extents_.size();
  held_bytes_ = static_cast<int64_t>(extents_kept_) * extent_bytes_;
  ARROW_RETURN_NOT_OK(GrowTable(kEntriesMin, /*must=*/true).status());
  return layout_.has_byte_strings() ? block_.Resize(kStoredBlockBytes) : arrow::Status::OK();
}

// --- the arena --------------------------------------------------------------------------------------------------------------

arrow::Result<uint8_t*> GroupStore::Allocate(int64_t bytes, bool must) {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes + kReadSlackBytes > extent_bytes_) {
    sort::MappedPages pages(options_.budget);
    if (!pages.TryResize(bytes + kReadSlackBytes)) {
      if (!must) return nullptr;
      ARROW_RETURN_NOT_OK(pages.Resize(bytes + kReadSlackBytes));
    }
    held_bytes_ += pages.bytes();
    wide_.push_back(std::move(pages));
    return wide_.back().data();
  }
  while (extent_ < extents_.size() && extent_used_ + bytes + kReadSlackBytes > extents_[extent_].bytes()) {
    ++extent_;
    extent_used_ = 0;
  }
  if (extent_ == extents_.size()) {
    sort::MappedPages extent(options_.budget);
    if (!extent.TryResize(extent_bytes_)) {
      if (!must) return nullptr;
      ARROW_RETURN_NOT_OK(extent.Resize(extent_bytes_));
    }
    held_bytes_ += extent.bytes();
    extents_.push_back(std::move(extent));
  }
  uint8_t* place = extents_[extent_].data() + extent_used_;
  extent_used_ += bytes;
  return place;
}

arrow::Result<bool> GroupStore::AddChunk(Partition* partition, int64_t row_bytes, bool must) {
  constexpr auto kHeadBytes = static_cast<int64_t>(sizeof(RowChunk));
  const bool is_wide = row_bytes > options_.chunk_bytes / 2;
  const int64_t bytes = is_wide ? kHeadBytes + row_bytes : options_.chunk_bytes;
  ARROW_ASSIGN_OR_RAISE(uint8_t * place, Allocate(bytes, must));
  if (place == nullptr) return false;
  auto* chunk = new (place) RowChunk();
  if (partition->last == nullptr) {
    partition->first = chunk;
  } else {
    partition->last->end = partition->next;
    partition->last->next = chunk;
  }
  partition->last = chunk;
  partition->next = chunk->begin();
  partition->end = place + bytes;
  return true;
}

/// Begins a row. Null when memory was refused, or status_ is an error.
uint8_t* GroupStore::NewRow(uint64_t hash, const uint8_t* key, uint32_t key_bytes, bool must) {
  Partition& partition = partitions_[PartitionOf(hash, options_.level, options_.bits)];
  const int64_t bytes = layout_.RowBytes(key_bytes);
  if (bytes > partition.end - partition.next) {
    arrow::Result<bool> added = AddChunk(&partition, bytes, must);
    status_ = added.status();
    if (!added.ok() || !*added) return nullptr;
  }
  uint8_t* row = partition.next;
  partition.next += bytes;
  ++partition.last->rows;
  ++partition.rows;
  ++row_count_;
  widest_row_bytes_ = std::max(widest_row_bytes_, bytes);
  layout_.Begin(row, hash, key, key_bytes);
  return row;
}

arrow::Status GroupStore::Insert(uint64_t hash, const uint8_t* key, uint32_t key_bytes, uint8_t** row) {
  *row = NewRow(hash, key, key_bytes, /*must=*/true);
  return *row == nullptr ? std::exchange(status_, arrow::Status::OK()) : arrow::Status::OK();
}

arrow::Result<bool> GroupStore::MakeRoom(int64_t string_bytes, bool must) {
  if (space_.HasRoom(string_bytes)) return true;
  const int64_t bytes = std::max(string_bytes, options_.chunk_bytes);
  ARROW_ASSIGN_OR_RAISE(uint8_t * place, Allocate(bytes, must));
  if (place == nullptr) return false;
  space_.Use(place, place + bytes);
  return true;
}

// --- the table --------------------------------------------------------------------------------------------------------------

arrow::Result<bool> GroupStore::GrowTable(int64_t entries, bool must) {
  sort::MappedPages grown(options_.budget);
  const int64_t bytes = entries * 8;
  if (!grown.TryResize(bytes)) {
    if (!must) return false;
    ARROW_RETURN_NOT_OK(grown.Resize(bytes));
  }
  auto* table = reinterpret_cast<uint64_t*>(grown.data());
  const auto mask = static_cast<uint64_t>(entries - 1);
  const auto* old = reinterpret_cast<const uint64_t*>(entries_.data());
  const uint64_t old_count = old == nullptr ? 0 : mask_ + 1;
  for (uint64_t i = 0; i < old_count; ++i) {
    if (i + kPrefetchRows < old_count) __builtin_prefetch(AddressOf(old[i + kPrefetchRows]));
    if (old[i] == 0) continue;
    uint64_t slot = GroupLayout::Hash(AddressOf(old[i])) & mask;
    while (table[slot] != 0) slot = (slot + 1) & mask;
    table[slot] = old[i];
  }
  entries_ = std::move(grown);
  mask_ = mask;
  return true;
}

arrow::Status GroupStore::ExpectGroups(int64_t groups) {
  const auto entries = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups / 5 * 8 + kSliceRows)));
  if (entries * 8 > options_.budget->consumer().share_bytes() / 8 || entries <= static_cast<int64_t>(mask_ + 1)) {
    return arrow::Status::OK();
  }
  return GrowTable(entries, /*must=*/false).status();
}

void GroupStore::ForgetTable() {
  if (group_count_ > 0) {
    std::memset(entries_.data(), 0, static_cast<size_t>((mask_ + 1) * 8));
    has_forgotten_ = true;
  }
  group_count_ = epoch_rows_ = half_rows_ = 0;
}

/// The table of a preaggregation is full: says how it goes on. Rows that meet a group come soon after each other, or any time; in
/// the second case hits grow with the table, and tell how many groups there are: meeting x of G groups has the chance x / G.
void GroupStore::ChooseNextEpoch() {
  const auto groups = static_cast<double>(group_count_);
  const auto rows = static_cast<double>(epoch_rows_);
  const double first_rows = std::max<double>(1, static_cast<double>(half_rows_));
  const double first_hits = 1 - groups / 2 / first_rows;
  const double last_hits = 1 - groups / 2 / std::max<double>(1, rows - first_rows);
  if (half_rows_ > 0 && last_hits - first_hits > kHitGrowthMin) {
    const double all_groups = groups / (2 * (last_hits - first_hits));
    const double bytes = all_groups * (static_cast<double>(layout_.RowBytes(layout_.fixed_key_bytes())) + 16);
    if (bytes < static_cast<double>(options_.budget->consumer().share_bytes()) / 4) {
      cache_entries_ = static_cast<int64_t>(mask_ + 1) * 2;
      return;
    }
  }
  if (1 - groups / rows < kHitsMin) {
    passes_through_ = true;
    pass_rows_left_ = kPassFactor * group_count_;
  }
  ForgetTable();
}

/// Makes sure that the table can take `count` groups more.
arrow::Result<bool> GroupStore::MakeTableRoom(int32_t count, bool must) {
  if (half_rows_ == 0 && group_count_ >= Capacity(mask_) / 2) half_rows_ = epoch_rows_;
  while (group_count_ + count > Capacity(mask_)) {
    const auto entries = static_cast<int64_t>(mask_ + 1);
    if (options_.mode == StoreMode::kExact) {
      ARROW_ASSIGN_OR_RAISE(const bool grown, GrowTable(entries * 2, must));
      if (!grown) return false;
      continue;
    }
    if (entries < cache_entries_) {
      ARROW_ASSIGN_OR_RAISE(const bool grown, GrowTable(entries * 2, /*must=*/false));
      half_rows_ = epoch_rows_;
      if (grown) continue;
    }
    const int64_t limit_before = cache_entries_;
    ChooseNextEpoch();
    if (limit_before == cache_entries_) break;
  }
  return true;
}

/// The row of a key that may be in the table. Null as in NewRow.
inline uint8_t* GroupStore::FindOne(uint64_t hash, const uint8_t* key, uint32_t key_bytes, bool must) {
  auto* entries = reinterpret_cast<uint64_t*>(entries_.data());
  const uint64_t salt = SaltOf(hash);
  int collisions = 0;
  for (uint64_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
    const uint64_t entry = entries[slot];
    if (entry == 0) {
      uint8_t* row = NewRow(hash, key, key_bytes, must);
      if (row == nullptr) return row;
      entries[slot] = salt | reinterpret_cast<uint64_t>(row);
      ++group_count_;
      return row;
    }
    if ((entry & ~kAddressMask) != salt) continue;
    uint8_t* row = AddressOf(entry);
    if (GroupLayout::Hash(row) != hash) continue;
    if (layout_.KeyEquals(row, key, key_bytes)) return row;
    if (++collisions < kCollisionsMax) continue;
    has_collided_ = has_forgotten_ = true;
    return NewRow(hash, key, key_bytes, must);
  }
}

/// Why a row could not be had: an error, or false.
arrow::Result<bool> GroupStore::Refused() {
  ARROW_RETURN_NOT_OK(std::exchange(status_, arrow::Status::OK()));
  return false;
}

arrow::Result<bool> GroupStore::InsertAll(const KeySlice& keys, uint8_t** rows, bool must) {
  has_forgotten_ = true;
  for (int32_t i = 0; i < keys.count; ++i) {
    const uint32_t key_bytes = keys.key_bytes != nullptr ? keys.key_bytes[i] : layout_.fixed_key_bytes();
    rows[i] = NewRow(keys.hashes[i], keys.keys[i], key_bytes, must);
    if (rows[i] == nullptr) return Refused();
  }
  pass_rows_left_ -= keys.count;
  passes_through_ = pass_rows_left_ > 0;
  return true;
}

arrow::Result<bool> GroupStore::Find(const KeySlice& keys, uint8_t** rows, bool must) {
  if (passes_through_) return InsertAll(keys, rows, must);
  ARROW_ASSIGN_OR_RAISE(const bool has_room, MakeTableRoom(keys.count, must));
  if (!has_room) return false;
  if (passes_through_) return InsertAll(keys, rows, must);
  const auto* entries = reinterpret_cast<const uint64_t*>(entries_.data());
  const int32_t ahead = std::min(keys.count, kPrefetchRows);
  for (int32_t i = 0; i < std::min(keys.count, 2 * kPrefetchRows); ++i) __builtin_prefetch(&entries[keys.hashes[i] & mask_]);
  for (int32_t i = 0; i < ahead; ++i) __builtin_prefetch(AddressOf(entries[keys.hashes[i] & mask_]));
  for (int32_t i = 0; i < keys.count; ++i) {
    if (i + 2 * kPrefetchRows < keys.count) __builtin_prefetch(&entries[keys.hashes[i + 2 * kPrefetchRows] & mask_]);
    if (i + kPrefetchRows < keys.count) __builtin_prefetch(AddressOf(entries[keys.hashes[i + kPrefetchRows] & mask_]));
    const uint32_t key_bytes = keys.key_bytes != nullptr ? keys.key_bytes[i] : layout_.fixed_key_bytes();
    // Rows often come in the order of a key that is among these.
    if (i > 0 && keys.hashes[i] == keys.hashes[i - 1] && layout_.KeyEquals(rows[i - 1], keys.keys[i], key_bytes)) {
      rows[i] = rows[i - 1];
      continue;
    }
    rows[i] = FindOne(keys.hashes[i], keys.keys[i], key_bytes, must);
    if (rows[i] == nullptr) return Refused();
  }
  epoch_rows_ += keys.count;
  return true;
}

// --- spilling ---------------------------------------------------------------------------------------------------------------

arrow::Status GroupStore::Spill() {
  Seal();
  for (uint32_t p = 0; p < partitions_.size(); ++p) ARROW_RETURN_NOT_OK(SpillPartition(p));
  Reset();
  return arrow::Status::OK();
}

arrow::Status GroupStore::SpillPartition(uint32_t partition) {
  RowChunk* first = partitions_[partition].first;
  if (layout_.has_byte_strings()) return SpillStored(partition, first);
  std::vector<std::span<const uint8_t>> parts;
  int64_t bytes = 0;
  int64_t rows = 0;
  for (RowChunk* chunk = first; chunk != nullptr; chunk = chunk->next) {
    const int64_t chunk_bytes = chunk->end - chunk->begin();
    if (rows > 0 && bytes + chunk_bytes > PartitionFiles::kBlockBytesMax) {
      ARROW_RETURN_NOT_OK(options_.files->Write(partition, parts, rows, widest_row_bytes_));
      parts.clear();
      bytes = rows = 0;
    }
    parts.emplace_back(chunk->begin(), static_cast<size_t>(chunk_bytes));
    bytes += chunk_bytes;
    rows += chunk->rows;
  }
  return rows > 0 ? options_.files->Write(partition, parts, rows, widest_row_bytes_) : arrow::Status::OK();
}

/// Writes rows in their stored form, gathered in block_; a row that is too wide for it is written as its pieces lie.
arrow::Status GroupStore::SpillStored(uint32_t partition, RowChunk* first) {
  int64_t used_bytes = 0;
  int64_t rows = 0;
  const auto flush = [&]() -> arrow::Status {
    if (rows == 0) return arrow::Status::OK();
    const std::span<const uint8_t> part{block_.data(), static_cast<size_t>(used_bytes)};
    used_bytes = 0;
    return options_.files->Write(partition, {&part, 1}, std::exchange(rows, 0), widest_row_bytes_);
  };
  std::vector<std::span<const uint8_t>> parts;
  for (RowChunk* chunk = first; chunk != nullptr; chunk = chunk->next) {
    for (const uint8_t* row = chunk->begin(); row != chunk->end; row += layout_.RowBytes(row)) {
      const int64_t bytes = layout_.StoredBytes(row);
      widest_row_bytes_ = std::max(widest_row_bytes_, bytes);
      if (used_bytes + bytes > block_.bytes()) ARROW_RETURN_NOT_OK(flush());
      if (bytes <= block_.bytes()) {
        layout_.Store(row, block_.data() + used_bytes);
        used_bytes += bytes;
        ++rows;
        continue;
      }
      parts.assign(1, {row, layout_.RowBytes(row)});
      for (const uint32_t offset : layout_.byte_strings()) {
        const uint32_t outside_bytes = ByteString::OutsideBytes(row + offset);
        if (outside_bytes == 0) continue;
        parts.emplace_back(reinterpret_cast<const uint8_t*>(ByteString::View(row + offset).data()), outside_bytes);
      }
      ARROW_RETURN_NOT_OK(options_.files->Write(partition, parts, 1, bytes));
    }
  }
  return flush();
}

/// Forgets all rows; their memory is kept.
void GroupStore::Reset() {
  std::fill(partitions_.begin(), partitions_.end(), Partition());
  row_count_ = 0;
  extent_ = 0;
  extent_used_ = 0;
  space_ = StringSpace();
  ForgetTable();
  wide_.clear();
  held_bytes_ = static_cast<int64_t>(extents_.size()) * extent_bytes_;
}

void GroupStore::Reuse(PartitionFiles* files, int level) {
  Reset();
  options_.files = files;
  options_.level = level;
  widest_row_bytes_ = 0;
  has_forgotten_ = has_collided_ = false;
}

arrow::Status GroupStore::Shrink() {
  extents_.resize(std::min(extents_.size(), extents_kept_));
  held_bytes_ = static_cast<int64_t>(extents_.size()) * extent_bytes_;
  if (static_cast<int64_t>(mask_ + 1) > kEntriesMin) {
    entries_.Free();
    ARROW_RETURN_NOT_OK(GrowTable(kEntriesMin, /*must=*/true).status());
  }
  return arrow::Status::OK();
}

void GroupStore::Seal() {
  for (Partition& partition : partitions_) {
    if (partition.last != nullptr) partition.last->end = partition.next;
    // A row that comes after this begins a chunk.
    partition.end = partition.next;
  }
}

}  // namespace icebound::exec::aggregate
