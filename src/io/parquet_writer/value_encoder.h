// SPDX-License-Identifier: Apache-2.0
//
// The values of one column chunk: each page as dictionary codes or PLAIN, chosen while the values arrive.
//
//   undecided   the first page collects codes. From kJudgedValues values on, and when the page ends, the number of distinct
//               values seen is extrapolated to the chunk; when a dictionary would not make it clearly smaller, codes become
//               PLAIN values again and nothing was lost but some hashing.
//   dictionary  pages of codes. At each page's end the question is asked again; when the answer turns, or the dictionary is full,
//               the pages after it are PLAIN (readers know this as a fall-back).
//   repeated    Codes may stand for many times the bytes of the dictionary (wide values that repeat), and then become PLAIN no
//               more: a page of codes ends when they stand for a few times what a page holds, and if it must not end there
//               (inside of one row), its codes stay codes.
//   wide        A value larger than any dictionary may be never enters one: it, and what follows it, is PLAIN.
//   plain       to the end of the chunk. The next chunk starts undecided: what it costs is one page of hashing.
//
// Extrapolation: if n values drawn from P equally likely ones show d distinct, d = P (1 - exp(-n / P)); we solve for P and insert
// the size of the chunk. Clustered values (sorted keys) show fewer distinct values early than later: hence the question at every
// page.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "io/parquet_writer/leaf_reader.h"
#include "io/parquet_writer/pool_vector.h"
#include "io/parquet_writer/value_bounds.h"

namespace icebound::io {

/// Writable bytes in front of a finished page's values, so that short levels need no copy of the page.
constexpr int64_t kPageHeadroomBytes = 64;

/// A finished page's values. `data` belongs to the encoder or the scratch and lives until the next call to either.
struct PageValues {
  parquet::Encoding::type encoding = parquet::Encoding::PLAIN;
  uint8_t* data = nullptr;  ///< kPageHeadroomBytes bytes before it may be overwritten
  int64_t bytes = 0;
  std::span<const uint8_t> lent;  ///< what follows `data`, where the last Append found it: a wide value that was not copied
};

/// The content of a dictionary page.
struct DictionaryValues {
  std::span<const uint8_t> bytes;
  int64_t entries = 0;
};

struct ValueEncoderOptions {
  const parquet::ColumnDescriptor* descriptor = nullptr;  ///< must outlive the encoder
  arrow::MemoryPool* pool = nullptr;
  int64_t dictionary_bytes_max = 0;  ///< of a dictionary's entries; 0: no dictionaries
  int64_t expected_values = 0;       ///< in a chunk
  bool compressed = true;            ///< a codec comes after us: PLAIN numbers shrink

  /// A BYTE_ARRAY value of at least so many bytes that comes alone, ends its row, and is first in its page, is not copied: the
  /// page must be finished while the array is there.
  int64_t lent_bytes_min = std::numeric_limits<int64_t>::max();
};

/// Buffers of one thread for everything between an array and a finished page.
struct EncodeScratch {
  explicit EncodeScratch(arrow::MemoryPool* pool) : leaf(pool), values(pool), page(pool), compressed(pool), levels(pool) {}
  LeafScratch leaf;
  PoolVector<uint8_t> values;
  PoolVector<uint8_t> page;
  PoolVector<uint8_t> compressed;
  PoolVector<uint8_t> levels;
  int64_t capacity_bytes() const {
    return leaf.capacity_bytes() + values.capacity_bytes() + page.capacity_bytes() + compressed.capacity_bytes() +
           levels.capacity_bytes();
  }
};

/// Encodes one column chunk after the other. Not thread safe, but may move between threads.
class ValueEncoder {
 public:
  static arrow::Result<std::unique_ptr<ValueEncoder>> Make(const ValueEncoderOptions& options);
  virtual ~ValueEncoder() = default;

  /// Takes the reader's next `count` non-null values into the current page. `row_ends`: with them, so that the page may end too.
  virtual arrow::Status Append(LeafReader* reader, int64_t count, bool row_ends, EncodeScratch* scratch) = 0;

  /// A row of about `bytes` bytes of values comes, in several calls of Append: the page cannot end before it does.
  virtual void ExpectRow(int64_t /*bytes*/) {}

  /// Bytes of the current page's values, roughly; at least what they take when finished.
  virtual int64_t page_bytes() const = 0;
  /// The dictionary has no room, or the codes stand for much more than a page should hold: finish the page before the next
  /// Append, if a row ends here.
  virtual bool wants_new_page() const = 0;

  /// Ends the page. Then, before the next Append: its bounds, and for BYTE_ARRAY the bytes of its values without lengths.
  virtual arrow::Result<PageValues> FinishPage(EncodeScratch* scratch) = 0;
  virtual EncodedBounds TakePageBounds() = 0;
  virtual int64_t TakeUnencodedBytes() { return 0; }

  /// The chunk so far: valid until ResetChunk.
  virtual EncodedBounds chunk_bounds() const = 0;
  virtual DictionaryValues dictionary() const { return {}; }  ///< no entries: no page uses one

  /// Gives back buffers that hold more than `kept_bytes` each: a page of one wide value has grown them, and the next values need
  /// not be as wide. Between pages.
  virtual void ShrinkBuffers(int64_t /*kept_bytes*/) {}

  /// Starts the next chunk; the current page must be finished.
  virtual void ResetChunk() = 0;

  virtual int64_t memory_bytes() const = 0;
};

}  // namespace icebound::io
