// SPDX-License-Identifier: Apache-2.0
//
// Makes output batches of a join: pairs, rows alone, and rows with a mark.
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/join/join_plan.h"

namespace icebound::exec::join {

/// Rows of one side by which columns are gathered: of a batch, or packed.
struct RowSource {
  const arrow::RecordBatch* batch = nullptr;    ///< the input's columns, or null:
  const uint8_t* const* packed_rows = nullptr;  ///< packed rows, without head
};

/// Whether Arrow can take rows of a column of this type and give plain values.
bool CanTake(const arrow::DataType& type);

/// Not thread safe: one a stream.
class JoinOutput {
 public:
  explicit JoinOutput(JoinPlan* plan);

  /// Columns of one side for rows[0], rows[1], ... of a source. `all_in_order`: they are all of its rows.
  arrow::Result<arrow::ArrayVector> Gather(int side, const RowSource& source, std::span<const int32_t> rows, bool all_in_order);

  /// Columns of one side from packed rows.
  arrow::Result<arrow::ArrayVector> Decode(int side, std::span<const uint8_t* const> packed);

  /// A batch of L R from the columns of the two sides.
  std::shared_ptr<arrow::RecordBatch> Pairs(arrow::ArrayVector left, arrow::ArrayVector right, int64_t rows) const;

  /// The pairs for which the residual is true: the batch, and their numbers among all.
  struct Survivors {
    std::shared_ptr<arrow::RecordBatch> batch;  ///< L R; null when there is none
    std::shared_ptr<arrow::Array> numbers;      ///< int32
  };
  arrow::Result<Survivors> ApplyResidual(const std::shared_ptr<arrow::RecordBatch>& pairs);

  /// Whether a row of `side` comes out alone, now that its matches are known.
  bool ComesOutAlone(int side, bool matched, bool has_null_key) const;

  /// The mark of a left row; nullopt is NULL.
  std::optional<bool> MarkOf(bool matched, bool has_null_key) const;

  /// Rows of `side` as its fate says: alone, with NULLs, or with marks (one a row: 0, 1, or 2 for NULL).
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Alone(int side, arrow::ArrayVector columns, int64_t rows,
                                                           std::span<const uint8_t> marks);

  /// Counts rows and gives the batch the operator's schema.
  std::shared_ptr<arrow::RecordBatch> Deliver(const std::shared_ptr<arrow::RecordBatch>& batch) const;

  arrow::MemoryPool* pool() const { return plan_.consumer->pool(); }

 private:
  arrow::Result<std::shared_ptr<arrow::Array>> Take(int side, int number, const std::shared_ptr<arrow::Array>& column,
                                                    std::span<const int32_t> rows, bool all_in_order);
  arrow::Result<std::shared_ptr<arrow::Array>> TakePacked(const std::shared_ptr<arrow::Array>& column, const arrow::Field& field,
                                                          std::span<const int32_t> rows);

  JoinPlan& plan_;
  arrow::compute::ExecContext exec_;
};

/// Rows of a chunk of the build side that come out alone, in batches. Not thread safe.
class FateScan {
 public:
  FateScan(JoinPlan* plan, int side) : plan_(*plan), side_(side) {}

  /// Goes over the rows in [begin, end), which stay where they are.
  void Start(const uint8_t* begin, const uint8_t* end) {
    next_ = begin;
    end_ = end;
  }
  /// The next batch, or null when all rows have been seen.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next(JoinOutput* output);

 private:
  JoinPlan& plan_;
  const int side_;
  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  std::vector<const uint8_t*> packed_;
  std::vector<uint8_t> marks_;
};

}  // namespace icebound::exec::join
