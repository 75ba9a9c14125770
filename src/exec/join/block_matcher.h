// SPDX-License-Identifier: Apache-2.0
//
// Matches one block of probe rows, at most a batch, against tables of build rows, and makes output batches of bounded size.
//
//   Start(block) -> Next()* until null
//
//   1. Look-up, for all rows: the first build row with the key, or none.
//   2. Candidates, up to a batch of pairs at a time, from where the last batch ended: a row with a million matches gives many
//      batches, and memory stays flat.
//   3. With a residual condition: the pairs are made, the condition evaluated on them by columns, and the rest goes on.
//   4. Matches are noted: in `matched` of the probe row, in the match flag of the build row.
//   5. At last the probe rows whose fate is decided now (`decides_fates`) come out alone.
// Without keys there is one chain, of all build rows, and a condition is evaluated before pairs are made (nested_loop.h).
//
// Where only the fates count (semi, anti, mark) no pairs are made unless a residual asks for them.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/join/join_output.h"
#include "exec/join/join_plan.h"
#include "exec/join/join_table.h"
#include "exec/join/nested_loop.h"

namespace icebound::exec::join {

/// What a block is matched with, and how wide its rows are.
struct BuildTables {
  const JoinTable* tables = nullptr;
  bool may_repeat = false;  ///< a probe row may have several matches
  int64_t average_row_bytes = 0;
  int64_t widest_row_bytes = 0;
};

struct ProbeBlock {
  RowSource source;
  ProbeKeys keys;
  const uint8_t* targets = nullptr;  ///< the table of each row; null: there is one
  int64_t rows = 0;
  int64_t bytes = 0;                ///< of all rows
  std::span<const int32_t> chosen;  ///< rows to match, ascending
  /// For rows that are to be matched: has a key that is NULL and matches nothing. Null: none has.
  const uint8_t* valid = nullptr;
  uint8_t* matched = nullptr;  ///< in and out, one a row of the block
  bool decides_fates = true;
};

/// Not thread safe: one a stream.
class BlockMatcher : private NestedLoop::Settled {
 public:
  BlockMatcher(JoinPlan* plan, JoinOutput* output) : plan_(*plan), output_(*output), loop_(plan, output) {}

  /// `build_side` says which side the tables hold. What the block points at must stay until Next has given null.
  arrow::Status Start(const ProbeBlock& block, int build_side, const BuildTables& tables);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

 private:
  int probe_side() const { return 1 - build_side_; }
  arrow::Status MeasureProbeRows();
  arrow::Status NoteAll();
  void Collect();
  arrow::Status NotePair(int32_t probe_row, uint8_t* build_row);
  bool IsSettled(int32_t probe_row, const uint8_t* build_row) const;
  bool ProbeRow(int32_t row) const override { return stops_at_match_ && block_.matched[row] != 0; }
  bool BuildRow(const uint8_t* row) const override;
  bool loops() const { return plan_.is_keyless && plan_.residual != nullptr; }
  arrow::Status CollectLoop();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> NextPairs();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> MakePairs();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> MakeFates();

  JoinPlan& plan_;
  JoinOutput& output_;
  ProbeBlock block_;
  BuildTables tables_;
  int build_side_ = 1;
  NestedLoop loop_;
  std::span<const MatchedPair> loop_matches_;  // found, and not yet in a batch
  bool pairs_done_ = true;
  bool fates_done_ = true;
  bool stops_at_match_ = false;  // a probe row needs one match only
  int64_t pairs_max_ = 1;
  bool weighs_build_rows_ = false;  // they differ so much that a batch must be weighed row by row
  bool weighs_probe_rows_ = false;
  std::vector<uint8_t*> heads_;        // of block_.chosen
  std::vector<uint32_t> probe_bytes_;  // of the block's rows, when weighed
  size_t next_chosen_ = 0;             // where collecting goes on
  uint8_t* next_row_ = nullptr;        // and with which build row; null: the head
  std::vector<int32_t> pair_rows_;     // of the probe block
  std::vector<uint8_t*> pair_build_;   // rows of the build side
  std::vector<const uint8_t*> pair_packed_;
  std::vector<int32_t> fate_rows_;
  std::vector<uint8_t> marks_;
};

}  // namespace icebound::exec::join
