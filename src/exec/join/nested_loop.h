// SPDX-License-Identifier: Apache-2.0
//
// The pairs of a block of probe rows and of all rows of a chain for which a condition without an equality holds.
//
// Build rows are taken a batch at a time and become columns. Then one side's rows are put into the condition as constants, one
// after another, and it is evaluated over the columns of the other: rows of the side that has fewer, so that the columns are
// long. No pair that does not match is ever made.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/join/join_output.h"
#include "exec/join/join_plan.h"

namespace icebound::exec::join {

/// A pair that matches.
struct MatchedPair {
  int32_t probe_row = 0;  ///< of the block
  uint8_t* build_row = nullptr;
};

/// Not thread safe: one a stream.
class NestedLoop {
 public:
  NestedLoop(JoinPlan* plan, JoinOutput* output) : plan_(*plan), output_(*output) {}

  /// `chosen` are the rows of the source to match, `first` the chain of build rows.
  arrow::Status Start(const RowSource& source, std::span<const int32_t> chosen, int64_t source_rows, int build_side,
                      uint8_t* first);

  /// A row of the side in turn is passed over when this says so.
  struct Settled {
    virtual ~Settled() = default;
    virtual bool ProbeRow(int32_t row) const = 0;
    virtual bool BuildRow(const uint8_t* row) const = 0;
  };

  /// The matches of the next row in turn that has any; empty at the end.
  arrow::Result<std::span<const MatchedPair>> Next(const Settled& settled);

 private:
  arrow::Result<bool> LoadBuildRows();
  arrow::Status Orient();
  arrow::Status EvaluateRow(int64_t row);
  bool turns_probe_rows() const { return turns_probe_rows_; }

  JoinPlan& plan_;
  JoinOutput& output_;
  std::span<const int32_t> chosen_;
  int build_side_ = 1;
  arrow::ArrayVector probe_columns_;  // of the chosen rows
  uint8_t* next_build_row_ = nullptr;
  std::vector<uint8_t*> build_rows_;
  arrow::ArrayVector build_columns_;

  bool turns_probe_rows_ = true;              // whose rows are the constants
  int64_t turn_ = 0;                          // the next of them
  int64_t turns_ = 0;                         // how many there are
  std::shared_ptr<arrow::RecordBatch> long_;  // the other side: columns the condition needs, and the row's number
  arrow::ArrayVector constants_;              // columns of the side in turn that the condition needs
  expr::ExprPtr condition_;                   // over long_ without the number, then constants_
  std::vector<MatchedPair> matches_;
};

}  // namespace icebound::exec::join
