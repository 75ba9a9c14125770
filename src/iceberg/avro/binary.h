// SPDX-License-Identifier: Apache-2.0
//
// Avro's binary encoding: numbers are zigzag varints of at most 10 bytes, little-endian floats, strings with their length.
//
// BlockCursor walks the decompressed bytes of one block and never leaves them. It also keeps the two budgets that stop a small
// block from keeping a reader busy for ever: depth, and items that take no bytes.
#pragma once

#include <arrow/status.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace icebound::iceberg::avro {

static_assert(std::endian::native == std::endian::little, "floats are copied as they are");

constexpr int kMaxVarintBytes = 10;

inline uint64_t ZigzagEncode(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
inline int64_t ZigzagDecode(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

/// Writes a varint to `out` (kMaxVarintBytes of room); returns its length.
inline int EncodeVarint(uint64_t value, uint8_t* out) {
  int length = 0;
  while (value >= 0x80) {
    out[length++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  out[length++] = static_cast<uint8_t>(value);
  return length;
}
inline int EncodeLong(int64_t value, uint8_t* out) { return EncodeVarint(ZigzagEncode(value), out); }

/// Items (records, elements of an array) that take no bytes at all, in one file. No real file has many: a record of nothing but
/// nulls. Without a bound a count of 2^62 would be a loop without end.
constexpr int64_t kMaxItemsOfNothing = int64_t{1} << 22;

/// Not thread safe. The bytes must outlive it.
class BlockCursor {
 public:
  BlockCursor() = default;
  /// `items_of_nothing` is that of the cursor of the block before.
  BlockCursor(const uint8_t* data, int64_t size, int64_t items_of_nothing = 0)
      : begin_(data), at_(data), end_(data + size), items_of_nothing_(items_of_nothing) {}

  int64_t offset() const { return at_ - begin_; }
  int64_t left() const { return end_ - at_; }
  int64_t items_of_nothing() const { return items_of_nothing_; }
  /// Whether a value was refused because the bytes end inside it: with more bytes it may be right.
  bool ran_out() const { return ran_out_; }

  arrow::Status ReadLong(int64_t* out) {
    uint64_t value = 0;
    if (at_ < end_ && *at_ < 0x80) [[likely]] {
      value = *at_++;
    } else {
      ARROW_RETURN_NOT_OK(ReadLongVarint(&value));
    }
    *out = ZigzagDecode(value);
    return arrow::Status::OK();
  }

  arrow::Status ReadInt(int32_t* out) {
    int64_t value = 0;
    ARROW_RETURN_NOT_OK(ReadLong(&value));
    if (value != static_cast<int32_t>(value)) [[unlikely]]
      return IntRange(value);
    *out = static_cast<int32_t>(value);
    return arrow::Status::OK();
  }

  arrow::Status ReadBoolean(bool* out) {
    if (left() < 1) [[unlikely]]
      return Short(1);
    if (*at_ > 1) [[unlikely]]
      return BadBoolean(*at_);
    *out = *at_++ != 0;
    return arrow::Status::OK();
  }

  template <typename Float>
  arrow::Status ReadFloat(Float* out) {
    if (left() < static_cast<int64_t>(sizeof(Float))) [[unlikely]]
      return Short(sizeof(Float));
    std::memcpy(out, at_, sizeof(Float));
    at_ += sizeof(Float);
    return arrow::Status::OK();
  }

  /// The next `bytes` bytes, where they are.
  arrow::Status ReadFixed(int64_t bytes, std::string_view* out) {
    if (bytes > left()) [[unlikely]]
      return Short(bytes);
    *out = std::string_view(reinterpret_cast<const char*>(at_), static_cast<size_t>(bytes));
    at_ += bytes;
    return arrow::Status::OK();
  }

  /// A length, then that many bytes.
  arrow::Status ReadBytes(std::string_view* out) {
    int64_t length = 0;
    ARROW_RETURN_NOT_OK(ReadLong(&length));
    if (length < 0) [[unlikely]]
      return NegativeLength(length);
    return ReadFixed(length, out);
  }

  /// The branch of a union of `branches` types.
  arrow::Status ReadBranch(size_t branches, int64_t* out) {
    ARROW_RETURN_NOT_OK(ReadLong(out));
    if (*out < 0 || *out >= static_cast<int64_t>(branches)) [[unlikely]]
      return BadBranch(*out, branches);
    return arrow::Status::OK();
  }

  /// How many items the next block of an array or map has; 0 ends it. (A negative count is followed by the size in bytes.)
  arrow::Status ReadItemCount(int64_t min_item_bytes, int64_t* count);

  /// As ReadItemCount, and jumps over blocks that say their size: *count is that of the first that does not, or 0.
  arrow::Status SkipItems(int64_t min_item_bytes, int64_t* count);

  /// Whether `count` items of at least `min_item_bytes` may stand in what is left; takes items of nothing out of their budget.
  arrow::Status CheckCount(int64_t count, int64_t min_item_bytes);

  /// One level down; Leave() comes back.
  arrow::Status Enter();
  void Leave() { --depth_; }

 private:
  arrow::Status ReadLongVarint(uint64_t* out);
  arrow::Status ReadItemBlock(int64_t min_item_bytes, int64_t* count, int64_t* bytes);
  arrow::Status Short(int64_t wanted);
  arrow::Status IntRange(int64_t value) const;
  arrow::Status BadBoolean(uint8_t value) const;
  arrow::Status NegativeLength(int64_t length) const;
  arrow::Status BadBranch(int64_t branch, size_t branches) const;

  const uint8_t* begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  int depth_ = 0;
  int64_t items_of_nothing_ = 0;
  bool ran_out_ = false;
};

}  // namespace icebound::iceberg::avro
