// SPDX-License-Identifier: Apache-2.0
//
// 64-bit hashes of rows by value, a column at a time, and digests of sets of rows.
//
//   hash = seed; for each column: hash = Mix(hash + word of the value)
//
// Mix is a permutation of 64-bit words, hence rows of one integer column never collide. What is equal to GROUP BY and to joins
// hashes alike, whatever carries it:
//
//   bool, integers, dates, times       the value extended to 64 bits, so that int32 7 and int64 7 agree
//   half, float, double                the bits of the value as double, -0 as +0 and all NaN alike
//   decimal                            the unscaled value: its lowest 64 bits, and when it has more, Mix of those before
//   intervals                          their length (sort_key.h), as a decimal of that value
//   strings, binary, fixed_size_binary XXH3 of the bytes, whatever the layout
//   list, map, fixed_size_list         Mix over the items, then their count
//   struct                             Mix over the children
//   dictionary, extension              as the value, as the storage
//   null                               a constant, of all types
//
// The hashes may go to spill files, not to files that outlive the process: they may change with any version.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace icebound::row {

/// A permutation of 64-bit words in which every input bit flips each output bit about half of the time (the finalizer of
/// splitmix64).
inline uint64_t Mix(uint64_t word) {
  word ^= word >> 30;
  word *= 0xBF58476D1CE4E5B9ULL;
  word ^= word >> 27;
  word *= 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

/// Hashes rows of given column types. Immutable once made, hence thread safe; allocates nothing a row.
class RowHasher {
 public:
  /// Hashers of different seeds are independent: partition again with another one. Fails with kUnsupported for unions and
  /// run-end encoded types.
  static arrow::Result<std::unique_ptr<RowHasher>> Make(const std::vector<std::shared_ptr<arrow::DataType>>& types,
                                                        uint64_t seed = 0);
  ~RowHasher();

  /// Sets hashes[i] to the hash of row first_row + i. Columns as in SortKeyEncoder. A decimal with more digits than its type
  /// allows is kExecution.
  arrow::Status Hash(const arrow::ArrayVector& columns, int64_t first_row, std::span<uint64_t> hashes) const;

 private:
  class Column;

  RowHasher();

  std::vector<Column> columns_;
  uint64_t start_ = 0;
};

/// A digest of a multiset of rows that does not depend on their order: equal multisets have equal digests; others differ, but
/// for a chance of about 2^-64 (a row that took the place of another and has its hash). Digests of parts are merged by adding.
/// A plain value.
struct RowSetDigest {
  uint64_t rows = 0;
  uint64_t sum = 0;        ///< of the hashes, modulo 2^64
  uint64_t mixed_sum = 0;  ///< of the hashes mixed once more

  void Add(std::span<const uint64_t> hashes);
  void Merge(const RowSetDigest& other);
  bool operator==(const RowSetDigest&) const = default;
};

}  // namespace icebound::row
