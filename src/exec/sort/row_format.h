// SPDX-License-Identifier: Apache-2.0
//
// Batches to the sorter's rows (row_layout.h) and back. A key column whose value can be read back from the key is not
// stored a second time in the payload.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/sort/row_layout.h"
#include "row/row_codec.h"
#include "row/sort_key.h"

namespace icebound::exec::sort {

/// One ORDER BY term over a column of the sorter's input.
struct SortColumn {
  int column = 0;
  bool descending = false;
  bool nulls_first = false;
};

/// A batch split into what the two encoders want.
struct SortInput {
  arrow::ArrayVector keys;
  std::shared_ptr<arrow::RecordBatch> payload;
  int64_t rows = 0;
};

/// Immutable once made, hence thread safe.
class SortRowFormat {
 public:
  /// Rows of `input`; the first `output_columns` of its columns come out again, the others (computed keys) are only sorted by.
  static arrow::Result<std::unique_ptr<SortRowFormat>> Make(const std::shared_ptr<arrow::Schema>& input,
                                                            const std::vector<SortColumn>& keys, int output_columns);

  const RowLayout& layout() const { return layout_; }

  /// The input's first columns with dictionaries replaced by their values.
  const std::shared_ptr<arrow::Schema>& output_schema() const { return output_schema_; }

  arrow::Result<SortInput> Prepare(const arrow::RecordBatch& batch) const;

  /// Sets row_bytes[i], and key_bytes[i] when keys vary in width, for the rows from first_row on.
  arrow::Status Measure(const SortInput& input, int64_t first_row, std::span<uint32_t> row_bytes,
                        std::span<uint32_t> key_bytes) const;

  /// Writes whole rows of the measured sizes at cursors[i]; moves the cursors.
  arrow::Status Encode(const SortInput& input, int64_t first_row, std::span<const uint32_t> row_bytes,
                       std::span<const uint32_t> key_bytes, std::span<uint8_t*> cursors) const;

  /// Sets key_bytes[i] to the width of each key alone, and writes keys alone: what a cutoff is tested against.
  arrow::Status MeasureKeys(const SortInput& input, int64_t first_row, std::span<uint32_t> key_bytes) const;
  arrow::Status EncodeKeys(const SortInput& input, int64_t first_row, std::span<uint8_t*> cursors) const;

  /// Rebuilds a batch of output_schema() from whole rows; uses `rows` as scratch. Of a single row that lies in `owner`, long
  /// strings beside the key stay there.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Decode(std::span<const uint8_t*> rows, arrow::MemoryPool* pool,
                                                            const std::shared_ptr<arrow::Buffer>& owner = nullptr) const;

 private:
  SortRowFormat() = default;
  void ComputeLayout();

  RowLayout layout_;
  std::unique_ptr<row::SortKeyEncoder> keys_;
  std::unique_ptr<row::RowCodec> payload_;
  std::shared_ptr<arrow::Schema> payload_schema_;
  std::shared_ptr<arrow::Schema> output_schema_;
  std::vector<int> key_columns_;      // input column of each key field
  std::vector<int> payload_columns_;  // input column of each payload column
  std::vector<bool> key_wanted_;      // by key field: read back from the key
  bool any_key_wanted_ = false;

  /// Where an output column comes from.
  struct Origin {
    bool from_key = false;
    int index = 0;
  };
  std::vector<Origin> origins_;
};

}  // namespace icebound::exec::sort
