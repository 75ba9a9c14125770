// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/in_place_merge.h"

#include <algorithm>
#include <bit>

namespace icebound::exec::aggregate {
namespace {

constexpr int32_t kPrefetchRows = 16;
constexpr int kCollisionsMax = 64;
constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

uint64_t SaltOf(uint64_t hash) { return (hash >> 32) << 48; }
uint8_t* AddressOf(uint64_t entry) { return reinterpret_cast<uint8_t*>(entry & kAddressMask); }

}  // namespace

int64_t InPlaceMerge::TableBytes(int64_t rows) {
  // Between 1.5 and 3 entries a row.
  const auto entries = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(rows + rows / 2, 16))));
  return sort::MappedPages::RoundUp(entries * 8);
}

arrow::Status InPlaceMerge::Start(int64_t rows) {
  table_.Free();
  next_slot_ = 0;
  ARROW_RETURN_NOT_OK(table_.Resize(TableBytes(rows)));
  mask_ = static_cast<uint64_t>(table_.bytes() / 8) - 1;
  return arrow::Status::OK();
}

bool InPlaceMerge::Add(RowChunk* first) {
  uint8_t* rows[kSliceRows];
  int32_t count = 0;
  for (RowChunk* chunk = first; chunk != nullptr; chunk = chunk->next) {
    for (uint8_t* row = chunk->begin(); row != chunk->end; row += layout_.RowBytes(row)) {
      rows[count++] = row;
      if (count < kSliceRows) continue;
      if (!AddSlice(rows, count)) return false;
      count = 0;
    }
  }
  return AddSlice(rows, count);
}

bool InPlaceMerge::AddSlice(uint8_t* const* rows, int32_t count) {
  auto* table = reinterpret_cast<uint64_t*>(table_.data());
  uint8_t* into[kSliceRows];
  uint8_t* from[kSliceRows];
  int32_t merged = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (i + kPrefetchRows < count) __builtin_prefetch(&table[GroupLayout::Hash(rows[i + kPrefetchRows]) & mask_]);
    const uint64_t hash = GroupLayout::Hash(rows[i]);
    const uint64_t salt = SaltOf(hash);
    int collisions = 0;
    for (uint64_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      if (table[slot] == 0) {
        table[slot] = salt | reinterpret_cast<uint64_t>(rows[i]);
        break;
      }
      if ((table[slot] & ~kAddressMask) != salt) continue;
      uint8_t* other = AddressOf(table[slot]);
      if (GroupLayout::Hash(other) != hash) continue;
      if (layout_.KeyEquals(other, layout_.Key(rows[i]), layout_.KeyBytes(rows[i]))) {
        into[merged] = other;
        from[merged++] = rows[i];
        break;
      }
      if (++collisions > kCollisionsMax) return false;
    }
  }
  for (const StatePlace& place : layout_.states()) {
    MergeStates(place.kind, place.offset, into, from, merged, /*space=*/nullptr);
  }
  for (int32_t i = 0; i < merged; ++i) {
    std::memset(from[i] + layout_.head_bytes(), 0, layout_.key_offset() - layout_.head_bytes());
  }
  return true;
}

void InPlaceMerge::Next(std::vector<const uint8_t*>* rows, int64_t rows_max, int64_t bytes_max) {
  const auto* table = reinterpret_cast<const uint64_t*>(table_.data());
  int64_t bytes = 0;
  for (; next_slot_ <= mask_ && static_cast<int64_t>(rows->size()) < rows_max; ++next_slot_) {
    if (next_slot_ + kPrefetchRows <= mask_) __builtin_prefetch(AddressOf(table[next_slot_ + kPrefetchRows]));
    if (table[next_slot_] == 0) continue;
    const uint8_t* row = AddressOf(table[next_slot_]);
    bytes += layout_.StoredBytes(row);
    if (bytes > bytes_max && !rows->empty()) return;
    rows->push_back(row);
  }
}

}  // namespace icebound::exec::aggregate
