// SPDX-License-Identifier: Apache-2.0
//
// A growing array of plain values, charged to a consumer. Growing is a call that may be refused, never an exception: reserve for
// a phase, then append within the capacity without looking back.
//
//     LedgerVector<uint32_t> rows(consumer);
//     ARROW_RETURN_NOT_OK(rows.Reserve(batch.num_rows()));      // or TryReserve: false means "spill, then try again"
//     for (...) rows.UnsafeAppend(row);
//
// Capacity is always the whole of a block (size_classes.h): what is charged can be used. Large arrays grow by moving page
// tables, so that no second copy is ever held.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "memory/memory_ledger.h"
#include "memory/size_classes.h"

namespace icebound::memory {

/// Not thread safe. The ledger must outlive it; the consumer need not.
template <typename T>
class LedgerVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "values are moved as bytes");
  static_assert(alignof(T) <= kBlockAlignment);

 public:
  explicit LedgerVector(MemoryConsumer* consumer) : pool_(consumer->pool()), try_pool_(consumer->try_pool()) {}
  LedgerVector(LedgerVector&& other) noexcept
      : pool_(other.pool_),
        try_pool_(other.try_pool_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_bytes_(std::exchange(other.capacity_bytes_, 0)) {}
  LedgerVector& operator=(LedgerVector&& other) noexcept {
    if (this != &other) {
      Free();
      pool_ = other.pool_;
      try_pool_ = other.try_pool_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_bytes_ = std::exchange(other.capacity_bytes_, 0);
    }
    return *this;
  }
  ~LedgerVector() { Free(); }

  /// Makes room for `additional` values beyond size(), at least half as much again as there was. On failure nothing changed.
  arrow::Status Reserve(int64_t additional) { return GrowFor(additional, pool_); }
  /// The same, but refused rather than at the expense of others.
  [[nodiscard]] bool TryReserve(int64_t additional) { return GrowFor(additional, try_pool_).ok(); }

  /// Makes the size exactly `size`; new values are zero bytes. The capacity stays.
  arrow::Status Resize(int64_t size) {
    if (size > size_) {
      ARROW_RETURN_NOT_OK(Reserve(size - size_));
      std::memset(static_cast<void*>(data_ + size_), 0, static_cast<size_t>(size - size_) * sizeof(T));
    }
    size_ = size;
    return arrow::Status::OK();
  }

  arrow::Status Append(const T& value) {
    if (size_ == capacity()) ARROW_RETURN_NOT_OK(Reserve(1));
    UnsafeAppend(value);
    return arrow::Status::OK();
  }
  /// Within the capacity.
  void UnsafeAppend(const T& value) { data_[size_++] = value; }

  /// Keeps the memory.
  void Clear() { size_ = 0; }
  /// Gives the memory back.
  void Free() {
    if (data_ != nullptr) pool_->Free(reinterpret_cast<uint8_t*>(data_), capacity_bytes_);
    data_ = nullptr;
    size_ = 0;
    capacity_bytes_ = 0;
  }
  /// Gives back what lies beyond the last value.
  arrow::Status ShrinkToFit() { return ResizeBlock(BlockBytes(size_ * static_cast<int64_t>(sizeof(T))), pool_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t capacity() const { return capacity_bytes_ / static_cast<int64_t>(sizeof(T)); }
  int64_t capacity_bytes() const { return capacity_bytes_; }  ///< what is charged
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, static_cast<size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  arrow::Status GrowFor(int64_t additional, arrow::MemoryPool* pool) {
    // Beyond this no ledger goes, and the arithmetic below stays far from its end.
    additional = std::min(additional, (int64_t{1} << 56) / static_cast<int64_t>(sizeof(T)));
    const int64_t needed_bytes = (size_ + additional) * static_cast<int64_t>(sizeof(T));
    if (needed_bytes <= capacity_bytes_) return arrow::Status::OK();
    // Half as much again, or an eighth or a 32nd where that is too much to ask: few steps, and the last of a full ledger is
    // still used.
    for (int64_t extra_bytes = capacity_bytes_ / 2; extra_bytes >= std::max(capacity_bytes_ / 32, kBlockAlignment);
         extra_bytes /= 4) {
      const int64_t generous_bytes = BlockBytes(capacity_bytes_ + extra_bytes);
      if (generous_bytes >= needed_bytes && ResizeBlock(generous_bytes, try_pool_).ok()) return arrow::Status::OK();
    }
    return ResizeBlock(BlockBytes(needed_bytes), pool);
  }

  arrow::Status ResizeBlock(int64_t bytes, arrow::MemoryPool* pool) {
    if (bytes == capacity_bytes_) return arrow::Status::OK();
    if (bytes == 0) {
      Free();
      return arrow::Status::OK();
    }
    auto* block = reinterpret_cast<uint8_t*>(data_);
    if (block == nullptr) {
      ARROW_RETURN_NOT_OK(pool->Allocate(bytes, &block));
    } else {
      ARROW_RETURN_NOT_OK(pool->Reallocate(capacity_bytes_, bytes, &block));
    }
    data_ = reinterpret_cast<T*>(block);
    capacity_bytes_ = bytes;
    return arrow::Status::OK();
  }

  arrow::MemoryPool* pool_;
  arrow::MemoryPool* try_pool_;
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_bytes_ = 0;
};

}  // namespace icebound::memory
