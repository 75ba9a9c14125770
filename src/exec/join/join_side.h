// SPDX-License-Identifier: Apache-2.0
//
// One input of a hash join as rows: how its batches become packed rows with their keys in front, and how they come back.
//
//   row   head, 8 bytes | [match flag, 1 byte] | packed row (row/row_codec.h)
//   head  the hash of the keys; in a table, the next row with the same key (join_table.h)
//
// The columns of the packed row are the key columns, null-safe ones first, then all other columns. So the slots of the keys are
// one piece of bytes, and so are the variable bytes of the keys, which begin where the fixed bytes of the row end: two rows of
// either side have equal keys when both pieces are equal (and the null bits of null-safe keys, which are the first ones in both).
// That holds for types whose equal values have equal bytes. A key of another type (floating point, intervals, or nested types
// with these inside) is a column of its own with the bytes of a sort key (row/sort_key.h), and so is the value of an expression.
//
// Worked example: ON l.a = r.x AND l.b IS NOT DISTINCT FROM r.y, left columns {c: int64 not null, a: int32 not null, b: int32},
// the row {5, 7, NULL}
//
//     hash     | 01        | 00 00 00 00 07 00 00 00 | 05 00 00 00 00 00 00 00
//     8 bytes  | null bits | keys b, a               | c
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "expr/evaluate.h"
#include "expr/join_condition.h"
#include "row/hash.h"
#include "row/row_codec.h"
#include "row/sort_key.h"

namespace icebound::exec::join {

constexpr int64_t kHeadBytes = 8;

/// Bytes that may be read behind rows and keys: whoever stores them keeps so many.
constexpr int64_t kReadSlackBytes = 64;

/// A batch with its keys evaluated.
struct SideBatch {
  std::shared_ptr<arrow::RecordBatch> input;   ///< as it came
  std::shared_ptr<arrow::RecordBatch> packed;  ///< keys first, as the codec wants it
  arrow::ArrayVector keys;                     ///< what is hashed: the first columns of `packed`
};

/// Where the keys of a row lie: in the rows of a side, or in keys packed alone.
struct KeyPlace {
  uint32_t null_bytes = 0;   ///< the slots of the keys begin behind them
  uint32_t fixed_bytes = 0;  ///< the variable bytes of the keys begin behind them
};

/// Immutable once made, hence thread safe.
class JoinSide {
 public:
  /// `keys` are one side of the join's keys, over `schema`; null_safe[k] says which are IS NOT DISTINCT FROM. With `has_flag`
  /// rows have a match flag.
  static arrow::Result<std::unique_ptr<JoinSide>> Make(const std::shared_ptr<arrow::Schema>& schema,
                                                       const std::vector<expr::ExprPtr>& keys, const std::vector<bool>& null_safe,
                                                       bool has_flag);

  /// The input's columns, without dictionaries.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Whether the input itself says that a column holds no dictionaries.
  bool is_plain(int column) const { return is_plain_column_[static_cast<size_t>(column)]; }
  const row::RowCodec& codec() const { return *codec_; }
  const row::RowCodec& key_codec() const { return *key_codec_; }
  const row::RowHasher& hasher() const { return *hasher_; }
  int key_count() const { return static_cast<int>(sources_.size()); }
  const std::vector<std::shared_ptr<arrow::DataType>>& key_types() const { return key_types_; }

  bool has_flag() const { return head_bytes_ > kHeadBytes; }
  int64_t head_bytes() const { return head_bytes_; }
  bool has_variable_rows() const { return fixed_row_bytes_ == 0; }

  /// Bytes of a row, head included, found from its own bytes.
  int64_t RowBytes(const uint8_t* row) const {
    return fixed_row_bytes_ != 0 ? fixed_row_bytes_ : head_bytes_ + codec_->RowSize(row + head_bytes_);
  }
  int64_t fixed_row_bytes() const { return fixed_row_bytes_; }                     ///< 0: each row says
  int64_t least_row_bytes() const { return head_bytes_ + codec_->fixed_bytes(); }  ///< enough to know RowBytes
  const uint8_t* Packed(const uint8_t* row) const { return row + head_bytes_; }

  /// Whether a key that is not null-safe is NULL: the row matches nothing.
  bool HasNullKey(const uint8_t* packed) const {
    if (is_always_null_) return true;
    for (size_t i = 0; i < null_mask_.size(); ++i) {
      if ((packed[i] & null_mask_[i]) != 0) return true;
    }
    return false;
  }
  /// Whether every key is a column of the input, hashed as it is, whose NULLs match nothing.
  bool has_plain_keys() const {
    return std::all_of(sources_.begin(), sources_.end(), [](const KeySource& source) {
      return source.column >= 0 && source.as_binary == nullptr && !source.null_safe;
    });
  }
  bool may_have_null_keys() const { return is_always_null_ || !null_mask_.empty(); }

  KeyPlace row_keys() const { return row_keys_; }    ///< in packed rows
  KeyPlace lone_keys() const { return lone_keys_; }  ///< in rows of key_codec()

  /// Whether the keys of two packed rows are equal; keys that are not null-safe are not NULL. `other` lies as `place` says.
  bool KeysEqual(const uint8_t* packed, const uint8_t* other, const KeyPlace& place) const {
    const uint8_t* slots = packed + row_keys_.null_bytes;
    const uint8_t* other_slots = other + place.null_bytes;
    switch (slot_bytes_) {
      case 4:
        if (!SameWord<uint32_t>(slots, other_slots)) return false;
        break;
      case 8:
        if (!SameWord<uint64_t>(slots, other_slots)) return false;
        break;
      case 12:
        if (!SameWord<uint64_t>(slots, other_slots) || !SameWord<uint32_t>(slots + 8, other_slots + 8)) return false;
        break;
      default:
        if (std::memcmp(slots, other_slots, slot_bytes_) != 0) return false;
    }
    return has_exact_slots_ || RestEqual(packed, other, place);
  }

  /// Evaluates keys; arrays that must be made come from the context's pool.
  arrow::Result<SideBatch> Evaluate(const std::shared_ptr<arrow::RecordBatch>& batch, const expr::EvalContext& context) const;

  /// Hashes all rows of a batch. Rows with a NULL in a key that is not null-safe get any hash (they match nothing, and should not
  /// all meet in one partition), and valid[i] = 0; else 1. Returns whether there is such a row.
  arrow::Result<bool> Hash(const SideBatch& batch, std::span<uint64_t> hashes, std::span<uint8_t> valid) const;

  /// The input's columns from packed rows.
  arrow::Result<arrow::ArrayVector> Decode(std::span<const uint8_t* const> packed, arrow::MemoryPool* pool) const;

 private:
  /// How a key column is made.
  struct KeySource {
    int column = -1;                                 ///< of the input, or -1
    expr::ExprPtr expr;                              ///< when it is no column
    std::shared_ptr<row::SortKeyEncoder> as_binary;  ///< when equal values may have different bytes
    bool null_safe = false;
  };

  JoinSide() = default;
  template <typename Word>
  static bool SameWord(const uint8_t* left, const uint8_t* right) {
    Word a;
    Word b;
    std::memcpy(&a, left, sizeof(Word));
    std::memcpy(&b, right, sizeof(Word));
    return a == b;
  }
  bool RestEqual(const uint8_t* packed, const uint8_t* other, const KeyPlace& place) const;
  void PlaceKeys(const arrow::FieldVector& fields);

  std::shared_ptr<arrow::Schema> schema_;
  std::vector<bool> is_plain_column_;
  std::shared_ptr<arrow::Schema> packed_schema_;
  std::vector<KeySource> sources_;
  std::vector<int> rest_;      // columns of the input that are not keys, in the order of the packed row
  std::vector<int> position_;  // of the input's columns in the packed row
  std::vector<std::shared_ptr<arrow::DataType>> key_types_;
  std::unique_ptr<row::RowCodec> codec_;
  std::unique_ptr<row::RowCodec> key_codec_;
  std::unique_ptr<row::RowHasher> hasher_;
  std::vector<uint8_t> null_mask_;  // null bits of keys that are not null-safe; empty when none of them is nullable
  KeyPlace row_keys_;
  KeyPlace lone_keys_;
  uint32_t slot_bytes_ = 0;
  int null_safe_bits_ = 0;
  bool is_always_null_ = false;  // a key of the null type
  bool variable_keys_ = false;
  bool has_exact_slots_ = false;  // equal slots are equal keys
  int64_t head_bytes_ = kHeadBytes;
  int64_t fixed_row_bytes_ = 0;
};

}  // namespace icebound::exec::join
