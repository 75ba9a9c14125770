// SPDX-License-Identifier: Apache-2.0
//
// Record batches in a spill file, as Arrow IPC messages, so that a batch read back points into the block it came from: nothing is
// decoded or copied.
//
//   file     message*                          in the order of an IPC stream, without the schema: both sides know it
//   message  one block if it fits:             | metadata bytes 4 B | 0, 4 B | body bytes 8 B | metadata | pad to 64 | body |
//            else                              one block without the body, then the body in blocks of kBodyBlockBytes
//
// What a batch drags along is cut off on the way out: of a slice IPC itself writes only its own rows; views (of strings,
// binaries, lists) and dense unions are rebuilt when they hold much more than the rows refer to; a dictionary with more entries
// than the batch has rows (and more than kSmallDictionaryBytes) keeps only the entries in use. A dictionary is written again only
// when it changed, in a block of its own, so that it keeps no batch's memory alive. Batches come back equal and of the same
// types, dictionaries included (their entries may be fewer and in another order).
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "spill/spill_file.h"

namespace arrow::ipc {
class DictionaryFieldMapper;
class RecordBatchStreamReader;
struct IpcPayload;
}  // namespace arrow::ipc

namespace icebound::spill {

/// Messages beyond this are split; also the largest block a reader asks its pool for at once, unless the batch itself is larger.
constexpr int64_t kBodyBlockBytes = int64_t{4} << 20;

/// Dictionaries up to this are written whole: written once, they serve many batches.
constexpr int64_t kSmallDictionaryBytes = int64_t{64} << 10;

/// Appends batches to a file that it has for itself. Not thread safe.
class BatchSpillWriter {
 public:
  /// `pool` pays for what serialising allocates: metadata, shifted bitmaps, rebuilt views and dictionaries; all of it is freed
  /// when Write returns.
  static arrow::Result<std::unique_ptr<BatchSpillWriter>> Make(std::shared_ptr<SpillFile> file,
                                                               std::shared_ptr<arrow::Schema> schema, arrow::MemoryPool* pool);
  ~BatchSpillWriter();

  /// Appends a batch of the schema given to Make; an empty one leaves no trace. After an error the file is of no more use.
  arrow::Status Write(const arrow::RecordBatch& batch);

  /// Finishes the file.
  arrow::Status Finish();

  const std::shared_ptr<SpillFile>& file() const { return file_; }
  int64_t rows() const { return file_->rows(); }

 private:
  /// The dictionary last written for an id: the object, if it is still the same, or else a fingerprint of its bytes.
  struct WrittenDictionary {
    std::weak_ptr<arrow::ArrayData> data;
    std::array<uint64_t, 2> fingerprint{};
  };

  BatchSpillWriter(std::shared_ptr<SpillFile> file, std::shared_ptr<arrow::Schema> schema, arrow::MemoryPool* pool);
  arrow::Status WriteBatch(const arrow::RecordBatch& batch);
  arrow::Status WriteDictionaries(const arrow::RecordBatch& batch);
  arrow::Status WriteMessage(const arrow::ipc::IpcPayload& payload, int64_t rows);

  const std::shared_ptr<SpillFile> file_;
  const std::shared_ptr<arrow::Schema> schema_;
  arrow::MemoryPool* const pool_;
  std::shared_ptr<arrow::Schema> storage_schema_;  // schema_ with extension columns as their storage
  std::unique_ptr<arrow::ipc::DictionaryFieldMapper> dictionary_ids_;
  bool nested_dictionaries_ = false;  // a dictionary's entries hold dictionaries themselves
  std::unordered_map<int64_t, WrittenDictionary> written_dictionaries_;
  arrow::Status failed_;
};

/// Reads the batches back in order. Not thread safe.
class BatchSpillReader {
 public:
  /// `schema` is the writer's. `pool` pays for the blocks, which live as long as a batch points into them. consume=true frees the
  /// file on disk behind the reader.
  static arrow::Result<std::unique_ptr<BatchSpillReader>> Open(const std::shared_ptr<SpillFile>& file,
                                                               std::shared_ptr<arrow::Schema> schema, arrow::MemoryPool* pool,
                                                               bool consume);
  ~BatchSpillReader();

  /// The next batch (never empty), or nullptr at the end and ever after.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

 private:
  explicit BatchSpillReader(std::shared_ptr<arrow::Schema> schema);

  const std::shared_ptr<arrow::Schema> schema_;
  bool has_extensions_ = false;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;  // null at the end
};

}  // namespace icebound::spill
