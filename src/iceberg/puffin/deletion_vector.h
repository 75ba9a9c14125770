// SPDX-License-Identifier: Apache-2.0
//
// A deletion vector: the positions of the deleted rows of one data file, and its blob (deletion-vector-v1) in a Puffin file.
//
//   bytes  what                                                                     checksummed
//   4      length of magic and vector, big-endian
//   4      magic D1 D3 39 64                                                        yes
//   8      number of bitmaps, little-endian                                         yes
//          for each, by rising key: key (4 bytes, little-endian), the upper half of the positions below, and a 32-bit Roaring
// bitmap
//          in the portable format                                                   yes
//   4      CRC-32, big-endian
//
// Positions are at least 0, so keys are below 2^31; most files need key 0 alone.
//
// Memory: bitmaps live in CRoaring, which takes its memory from malloc. What they hold at most is computed before and reserved
// (a blob: its bytes and kContainerBytes for each container it names), and measured after. Blobs come from strangers: the
// checksum first, then every length, then CRoaring's own validation of every container.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "memory/memory_ledger.h"

namespace roaring::api {
struct roaring_bitmap_s;
}

namespace icebound::iceberg::puffin {

constexpr std::string_view kDeletionVectorType = "deletion-vector-v1";

/// Not thread safe while it is changed; const calls may run side by side. The consumer must outlive it.
class DeletionVector {
 public:
  explicit DeletionVector(memory::MemoryConsumer* consumer);
  ~DeletionVector();
  DeletionVector(DeletionVector&& other) noexcept;
  DeletionVector& operator=(DeletionVector&& other) noexcept;

  /// Failures are kCorruptData (and kMemoryLimit).
  static arrow::Result<DeletionVector> Parse(std::span<const uint8_t> blob, memory::MemoryConsumer* consumer);
  /// Reads and parses the blob at `offset` (content_offset) of `size` bytes (content_size_in_bytes): the footer is not needed.
  static arrow::Result<DeletionVector> Read(arrow::io::RandomAccessFile* file, std::string_view name, int64_t offset,
                                            int64_t size, memory::MemoryConsumer* consumer);

  /// Adds positions, in any order (rising ones are fastest). Negative ones are kInternal.
  arrow::Status Add(std::span<const int64_t> positions);
  /// Adds all positions of `other`.
  arrow::Status Union(const DeletionVector& other);

  int64_t cardinality() const;
  bool Contains(int64_t position) const;
  /// Clears the bits of deleted rows in `bitmap`, whose bit i stands for row first_row + i. Returns how many rows of these are
  /// deleted, whether their bits were set or not.
  int64_t ClearDeleted(int64_t first_row, int64_t rows, uint8_t* bitmap) const;
  /// Fills `out` with the positions from `from` on, rising; returns how many there were.
  int64_t Positions(int64_t from, std::span<int64_t> out) const;

  /// Packs runs of positions and gives back what is reserved beyond the need: for vectors that are kept.
  arrow::Status Compact();

  /// The blob, of the vector as Compact leaves it.
  arrow::Result<std::shared_ptr<arrow::Buffer>> Serialize();

  /// What is reserved for it now.
  int64_t reserved_bytes() const { return reservation_.bytes(); }

 private:
  struct Part {
    uint32_t key;
    roaring::api::roaring_bitmap_s* bitmap;
  };

  arrow::Status ParseVector(std::span<const uint8_t> vector);
  arrow::Status AddPart(uint32_t key, std::span<const uint8_t> bytes, size_t* used);
  /// The bitmap of a key, made when there is none.
  arrow::Result<roaring::api::roaring_bitmap_s*> PartOf(uint32_t key);
  /// Makes room for at most `bytes` more of bitmaps.
  arrow::Status ReserveMore(int64_t bytes);
  int64_t MeasureBytes() const;
  arrow::Status ReleaseSpare();
  void Free();

  memory::MemoryConsumer* consumer_;
  memory::Reservation reservation_;
  std::vector<Part> parts_;  // by key
  int64_t bound_bytes_ = 0;  // the bitmaps hold at most this; at most reservation_.bytes()
};

}  // namespace icebound::iceberg::puffin
