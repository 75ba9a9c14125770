// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace icebound::io {

/// A growable array of plain values whose memory comes from an arrow::MemoryPool, uninitialised, with failures as statuses.
/// Growth doubles, so that appending is linear; Release gives everything back. Not thread safe.
template <typename T>
class PoolVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PoolVector(arrow::MemoryPool* pool) : pool_(pool) {}
  PoolVector(PoolVector&& other) noexcept : pool_(other.pool_) { Swap(other); }
  PoolVector& operator=(PoolVector&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~PoolVector() { Release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T* end() { return data_ + size_; }
  int64_t size() const { return size_; }
  int64_t capacity_bytes() const { return capacity_ * static_cast<int64_t>(sizeof(T)); }
  bool empty() const { return size_ == 0; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

  /// Makes room for `extra` more values.
  arrow::Status Reserve(int64_t extra) {
    if (size_ + extra <= capacity_) return arrow::Status::OK();
    return Grow(std::max(size_ + extra, 2 * capacity_));
  }
  /// Makes room for `extra` more values and not much beyond: for buffers whose final size is known.
  arrow::Status ReserveExactly(int64_t extra) {
    if (size_ + extra <= capacity_) return arrow::Status::OK();
    return Grow(size_ + extra);
  }
  /// New values are uninitialised.
  arrow::Status Resize(int64_t size) {
    if (size > size_) ARROW_RETURN_NOT_OK(Reserve(size - size_));
    size_ = size;
    return arrow::Status::OK();
  }
  arrow::Status Append(const T* values, int64_t count) {
    ARROW_RETURN_NOT_OK(Reserve(count));
    AppendUnchecked(values, count);
    return arrow::Status::OK();
  }
  void AppendUnchecked(const T* values, int64_t count) {
    if (count > 0) std::memcpy(data_ + size_, values, static_cast<size_t>(count) * sizeof(T));
    size_ += count;
  }
  void AppendUnchecked(T value) { data_[size_++] = value; }
  /// Counts values that were written behind end().
  void Advance(int64_t count) { size_ += count; }
  void Clear() { size_ = 0; }
  /// Gives the memory of an empty or abandoned content back when it is more than `kept_bytes`.
  void ReleaseIfLarger(int64_t kept_bytes) {
    if (capacity_bytes() > kept_bytes) Release();
  }
  /// Gives back what lies behind the values.
  arrow::Status ShrinkToFit() {
    if (size_ == capacity_) return arrow::Status::OK();
    if (size_ > 0) return Grow(size_);
    Release();
    return arrow::Status::OK();
  }
  void Release() {
    if (data_ != nullptr) pool_->Free(reinterpret_cast<uint8_t*>(data_), capacity_bytes());
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  arrow::Status Grow(int64_t capacity) {
    auto* bytes = reinterpret_cast<uint8_t*>(data_);
    const int64_t new_bytes = capacity * static_cast<int64_t>(sizeof(T));
    if (data_ == nullptr) {
      ARROW_RETURN_NOT_OK(pool_->Allocate(new_bytes, &bytes));
    } else {
      ARROW_RETURN_NOT_OK(pool_->Reallocate(capacity_bytes(), new_bytes, &bytes));
    }
    data_ = reinterpret_cast<T*>(bytes);
    capacity_ = capacity;
    return arrow::Status::OK();
  }
  void Swap(PoolVector& other) {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  arrow::MemoryPool* pool_;
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace icebound::io
