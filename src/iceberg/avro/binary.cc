// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/binary.h"

#include <limits>

#include "iceberg/avro/schema.h"

namespace icebound::iceberg::avro {

arrow::Status BlockCursor::ReadLongVarint(uint64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) return Short(1);
    const uint8_t byte = *at_++;
    // The tenth byte holds the 64th bit alone.
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = value;
      return arrow::Status::OK();
    }
  }
  return MakeError(ErrorKind::kCorruptData, "a number is longer than 64 bits");
}

arrow::Status BlockCursor::ReadItemBlock(int64_t min_item_bytes, int64_t* count, int64_t* bytes) {
  ARROW_RETURN_NOT_OK(ReadLong(count));
  *bytes = -1;
  if (*count < 0) {
    if (*count == std::numeric_limits<int64_t>::min()) return NegativeLength(*count);
    *count = -*count;
    ARROW_RETURN_NOT_OK(ReadLong(bytes));
    if (*bytes < 0) return NegativeLength(*bytes);
    if (*bytes > left()) return Short(*bytes);
  }
  return CheckCount(*count, min_item_bytes);
}

arrow::Status BlockCursor::ReadItemCount(int64_t min_item_bytes, int64_t* count) {
  int64_t bytes = 0;
  return ReadItemBlock(min_item_bytes, count, &bytes);
}

arrow::Status BlockCursor::SkipItems(int64_t min_item_bytes, int64_t* count) {
  for (;;) {
    int64_t bytes = 0;
    ARROW_RETURN_NOT_OK(ReadItemBlock(min_item_bytes, count, &bytes));
    if (*count == 0 || bytes < 0) return arrow::Status::OK();
    at_ += bytes;
  }
}

arrow::Status BlockCursor::CheckCount(int64_t count, int64_t min_item_bytes) {
  if (min_item_bytes > 0) {
    if (count <= left() / min_item_bytes) [[likely]]
      return arrow::Status::OK();
    ran_out_ = true;
    return MakeError(ErrorKind::kCorruptData, "{} items of at least {} bytes each do not fit in the {} bytes that are left",
                     count, min_item_bytes, left());
  }
  if (count > kMaxItemsOfNothing - items_of_nothing_) {
    return MakeError(ErrorKind::kCorruptData, "{} items that take no bytes: a file may hold at most {}", count,
                     kMaxItemsOfNothing);
  }
  items_of_nothing_ += count;
  return arrow::Status::OK();
}

arrow::Status BlockCursor::Enter() {
  if (depth_ >= kMaxValueDepth) {
    return MakeError(ErrorKind::kCorruptData, "values are nested deeper than {} levels", kMaxValueDepth);
  }
  ++depth_;
  return arrow::Status::OK();
}

arrow::Status BlockCursor::Short(int64_t wanted) {
  ran_out_ = true;
  return MakeError(ErrorKind::kCorruptData, "a value of {} bytes does not fit in the {} bytes that are left", wanted, left());
}

arrow::Status BlockCursor::IntRange(int64_t value) const {
  return MakeError(ErrorKind::kCorruptData, "an int has more than 32 bits: {}", value);
}

arrow::Status BlockCursor::BadBoolean(uint8_t value) const {
  return MakeError(ErrorKind::kCorruptData, "a boolean is neither 0 nor 1: {}", value);
}

arrow::Status BlockCursor::NegativeLength(int64_t length) const {
  return MakeError(ErrorKind::kCorruptData, "a length is negative: {}", length);
}

arrow::Status BlockCursor::BadBranch(int64_t branch, size_t branches) const {
  return MakeError(ErrorKind::kCorruptData, "a union of {} types has no type number {}", branches, branch);
}

}  // namespace icebound::iceberg::avro
