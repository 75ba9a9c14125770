// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_table.h"

#include <algorithm>

namespace icebound::exec::join {
namespace {

/// Rows in flight: enough to hide a miss, few enough to stay in the first-level cache.
constexpr size_t kLookupRows = 256;
constexpr size_t kInsertRows = 32;

}  // namespace

arrow::Status JoinTable::Allocate(sort::SortBudget* budget, int64_t rows) {
  pages_ = sort::MappedPages(budget);
  has_duplicates_ = false;
  entries_ = nullptr;
  capacity_ = 0;
  if (rows == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(pages_.Resize(Bytes(rows)));
  entries_ = reinterpret_cast<uint64_t*>(pages_.data());
  capacity_ = static_cast<uint64_t>(Bytes(rows)) / sizeof(uint64_t);
  return arrow::Status::OK();
}

void JoinTable::Free() {
  pages_.Free();
  entries_ = nullptr;
  capacity_ = 0;
}

void JoinTable::InsertRow(const JoinSide& side, uint8_t* row, uint64_t hash, uint64_t* slot, bool keep_duplicates) {
  const uint64_t salt = hash << 48;
  const uint8_t* packed = side.Packed(row);
  const uint64_t* const end = entries_ + capacity_;
  while (true) {
    const uint64_t entry = *slot;
    if (entry == 0) {
      const uint64_t no_next = 0;
      std::memcpy(row, &no_next, sizeof(no_next));
      *slot = salt | reinterpret_cast<uint64_t>(row);
      return;
    }
    if ((entry ^ salt) >> 48 == 0) {
      auto* first = reinterpret_cast<uint8_t*>(entry & kAddressMask);
      if (side.KeysEqual(packed, side.Packed(first), side.row_keys())) {
        has_duplicates_ = true;
        if (!keep_duplicates) return;
        const auto next = reinterpret_cast<uint64_t>(first);
        std::memcpy(row, &next, sizeof(next));
        *slot = salt | reinterpret_cast<uint64_t>(row);
        return;
      }
    }
    if (++slot == end) slot = entries_;
  }
}

void JoinTable::Insert(const JoinSide& side, uint8_t* begin, const uint8_t* end, bool keep_duplicates) {
  uint8_t* rows[kInsertRows];
  uint64_t hashes[kInsertRows];
  uint64_t* slots[kInsertRows];
  const bool may_have_nulls = side.may_have_null_keys();
  uint8_t* row = begin;
  while (row < end) {
    size_t count = 0;
    while (row < end && count < kInsertRows) {
      if (!may_have_nulls || !side.HasNullKey(side.Packed(row))) {
        rows[count] = row;
        std::memcpy(&hashes[count], row, sizeof(uint64_t));
        slots[count] = Slot(hashes[count]);
        __builtin_prefetch(slots[count], 1);
        ++count;
      }
      row += side.RowBytes(row);
    }
    for (size_t i = 0; i < count; ++i) InsertRow(side, rows[i], hashes[i], slots[i], keep_duplicates);
  }
}

void JoinTable::Lookup(const JoinSide& side, const JoinTable* tables, const uint8_t* targets, const ProbeKeys& keys,
                       std::span<const int32_t> rows, uint8_t** heads) {
  const uint64_t* slots[kLookupRows];
  for (size_t first = 0; first < rows.size(); first += kLookupRows) {
    const size_t count = std::min(kLookupRows, rows.size() - first);
    const int32_t* row = rows.data() + first;
    const auto table_of = [&](int32_t i) { return targets == nullptr ? tables : tables + targets[i]; };
    for (size_t j = 0; j < count; ++j) {
      slots[j] = nullptr;
      if (targets != nullptr && targets[row[j]] == kNoPartition) continue;
      const JoinTable& table = *table_of(row[j]);
      if (table.is_empty()) continue;
      slots[j] = table.Slot(keys.hashes[row[j]]);
      __builtin_prefetch(slots[j]);
    }
    // To the first entry with the salt.
    const auto advance = [&](size_t j, const uint64_t* slot) {
      const JoinTable& table = *table_of(row[j]);
      const uint64_t salt = keys.hashes[row[j]] << 48;
      const uint64_t* const end = table.entries_ + table.capacity_;
      while (*slot != 0 && (*slot ^ salt) >> 48 != 0) {
        if (++slot == end) slot = table.entries_;
      }
      return *slot == 0 ? nullptr : slot;
    };
    for (size_t j = 0; j < count; ++j) {
      if (slots[j] == nullptr) continue;
      slots[j] = advance(j, slots[j]);
      if (slots[j] != nullptr) __builtin_prefetch(reinterpret_cast<const uint8_t*>(*slots[j] & kAddressMask));
    }
    for (size_t j = 0; j < count; ++j) {
      heads[first + j] = nullptr;
      const uint64_t* slot = slots[j];
      while (slot != nullptr) {
        auto* candidate = reinterpret_cast<uint8_t*>(*slot & kAddressMask);
        if (side.KeysEqual(side.Packed(candidate), keys.rows[row[j]], keys.place)) {
          heads[first + j] = candidate;
          break;
        }
        const JoinTable& table = *table_of(row[j]);
        if (++slot == table.entries_ + table.capacity_) slot = table.entries_;
        slot = advance(j, slot);
      }
    }
  }
}

}  // namespace icebound::exec::join
