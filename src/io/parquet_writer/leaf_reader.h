// SPDX-License-Identifier: Apache-2.0
//
// From an Arrow array to what Parquet stores: the values of a leaf column in their physical type, side by side, nulls left out.
//
// Parquet has eight physical types and Arrow some thirty types that map to them; encoders see the physical ones only. Arrays
// whose memory already is what Parquet wants (int32, int64, floats, dates, timestamps in ms, us and ns, fixed binary; no nulls)
// are handed out as they are, everything else goes through a small scratch buffer, a slice at a time.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <memory>

#include "io/parquet_writer/pool_vector.h"

namespace icebound::io {

/// Buffers that readers and encoders share on one thread: contents are valid until the next call that is handed the scratch.
struct LeafScratch {
  explicit LeafScratch(arrow::MemoryPool* pool) : fixed(pool), bytes(pool), indices(pool), validity(pool) {}
  PoolVector<uint8_t> fixed;
  PoolVector<parquet::ByteArray> bytes;
  PoolVector<uint32_t> indices;
  PoolVector<uint8_t> validity;
  int64_t capacity_bytes() const {
    return fixed.capacity_bytes() + bytes.capacity_bytes() + indices.capacity_bytes() + validity.capacity_bytes();
  }
};

/// An array whose values can be read by a LeafReader: extension types are replaced by their storage, dictionaries of anything but
/// binary values (or with null entries) are decoded, run-end encoded arrays are expanded.
arrow::Result<std::shared_ptr<arrow::Array>> ReadableLeaf(std::shared_ptr<arrow::Array> array, arrow::MemoryPool* pool);

/// Walks over the non-null values of one array. Borrows the array and the scratch. Not thread safe.
class LeafReader {
 public:
  /// `array` comes from ReadableLeaf. `validity`, when given, has a bit for each of its slots and stands in for its own bitmap: a
  /// leaf below a null struct is null whatever its own bitmap says. kUnsupported when the type of the array cannot become the
  /// physical type of `descriptor`.
  static arrow::Result<LeafReader> Make(const arrow::Array& array, const parquet::ColumnDescriptor& descriptor,
                                        LeafScratch* scratch, const uint8_t* validity = nullptr);

  /// The next `count` non-null values: 4 or 8 bytes each, the declared length for FIXED_LEN_BYTE_ARRAY, a byte (0 or 1) for
  /// BOOLEAN.
  arrow::Result<const uint8_t*> NextFixed(int64_t count);

  /// The next `count` non-null values of a BYTE_ARRAY column; they point into the array.
  arrow::Result<const parquet::ByteArray*> NextBytes(int64_t count);

  /// For a dictionary array: its dictionary; else null. NextIndices then may be called in place of NextBytes.
  const arrow::Array* dictionary() const { return dictionary_; }
  arrow::Result<const uint32_t*> NextIndices(int64_t count);
  /// The bytes of entry `index` of dictionary().
  parquet::ByteArray DictionaryEntry(uint32_t index) const;

 private:
  /// Writes `count` converted values to `out`, from slot_ on; moves slot_. Ors into `faults` bits that must be zero.
  using FixedGather = void (*)(LeafReader* reader, int64_t count, uint8_t* out, uint64_t* faults);
  using BytesGather = void (*)(LeafReader* reader, int64_t count, parquet::ByteArray* out);
  using IndexGather = void (*)(LeafReader* reader, int64_t count, uint32_t* out);
  friend struct LeafGathers;

  /// False when the type is not one of those that fit.
  bool InitFixed(const arrow::Array& array, const parquet::ColumnDescriptor& descriptor);
  bool InitBytes(const arrow::Array& array);

  LeafScratch* scratch_ = nullptr;
  const arrow::Array* array_ = nullptr;
  const arrow::Array* dictionary_ = nullptr;
  const uint8_t* validity_ = nullptr;   // null: no nulls
  int64_t bit_shift_ = 0;               // from a slot to its bit in validity_
  int64_t slot_ = 0;                    // next slot, counted from the start of the buffers (the array's offset included)
  const uint8_t* values_ = nullptr;     // fixed values, or offsets, or views, or dictionary indices
  const uint8_t* data_ = nullptr;       // of binary values with offsets
  int value_bytes_ = 0;                 // of one physical value
  int source_bytes_ = 0;                // of one value in values_
  FixedGather fixed_gather_ = nullptr;  // null: values_ is handed out as it is when there are no nulls
  BytesGather bytes_gather_ = nullptr;
  IndexGather index_gather_ = nullptr;
};

}  // namespace icebound::io
