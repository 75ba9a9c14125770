// SPDX-License-Identifier: Apache-2.0
//
// Joins what two spilled partitions of the same hashes hold, on one thread and in a given amount of memory.
//
//   1. The side that needs less memory is loaded, whichever it is: roles are free to swap, since every join type can be run with
//      either side in the table.
//   2. If it does not fit, it is loaded a chunk at a time, and the other side is read once for each chunk (a block nested loop).
//      Matches of the other side's rows are carried from one pass to the next in a spill file of their own, one byte a row;
//      matches of the loaded rows are complete after each pass.
//   3. If that would take more than kChunksMax passes, both sides are split once more by other bits of their hashes, and the
//      pieces become pairs of their own. A piece that is hardly smaller than the whole, because one key or one hash has most of
//      it, is not split again but goes through step 2 however many passes it takes. So every pair ends.
// Output comes in batches as it is found.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/join/block_matcher.h"
#include "exec/join/join_output.h"
#include "exec/join/join_plan.h"
#include "exec/join/row_partitions.h"

namespace icebound::exec::join {

/// Two spilled partitions of the same hashes.
struct JoinPair {
  std::array<SpilledRows, 2> rows;  ///< left, right
  int level = 0;                    ///< how often they were split
  bool is_stuck = false;            ///< splitting does not help

  // A pair that was cut: only some blocks of one side, which is the one that is not loaded. The other side's file is shared.
  int cut_side = -1;
  int64_t first_block = 0;
  int64_t end_block = spill::kAllBlocks;
};

/// Cuts one side's rows, so that several threads can join them with the same other side. That needs a side whose rows can be
/// loaded by each of them: matches of it need not be remembered. Otherwise the pair stays whole.
std::vector<JoinPair> CutPair(JoinPair pair, const JoinRules& rules, int parts);

/// Not thread safe.
class PairJoin {
 public:
  /// More passes over the other side than this, and splitting both is cheaper.
  static constexpr int64_t kChunksMax = 3;

  /// `chunk_bytes`: the largest block of the spill files, wide rows aside. `bytes_max`: what it should do with.
  PairJoin(JoinPlan* plan, JoinOutput* output, JoinPair pair, int64_t chunk_bytes, int64_t bytes_max);

  /// The least it can do with.
  static int64_t FloorBytes(int64_t chunk_bytes) { return 6 * chunk_bytes; }

  /// The next batch; null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  /// The pairs it was split into, at the end.
  std::vector<JoinPair> TakePieces() { return std::move(pieces_); }
  int64_t spilled_bytes() const { return spilled_bytes_; }

 private:
  enum class Step { kStart, kLoad, kProbe, kFates, kNextChunk, kEnd };

  int probe_side() const { return 1 - build_side_; }
  static int64_t NeededBytes(const SpilledRows& rows) { return rows.bytes + JoinTable::Bytes(rows.rows) + kReadSlackBytes; }
  static int ChooseBuildSide(const JoinPair& pair);
  bool GivesNothing() const;
  arrow::Result<SpilledRowReader> OpenSide(int side, bool consume);
  arrow::Status Start();
  arrow::Status Split();
  arrow::Status SplitSide(int side, int bits, int64_t chunk_bytes, std::vector<JoinPair>* pieces);
  arrow::Status LoadChunk();
  arrow::Status ReserveChunk(int64_t* table_bytes);
  arrow::Result<bool> NextBlock();
  arrow::Status FillBlock();
  arrow::Status SaveMatches();
  void Free();

  JoinPlan& plan_;
  JoinOutput& output_;
  JoinPair pair_;
  const int64_t chunk_bytes_;
  const int64_t bytes_max_;
  BlockMatcher matcher_;
  int build_side_ = 1;
  Step step_ = Step::kStart;
  std::vector<JoinPair> pieces_;
  int64_t spilled_bytes_ = 0;

  // The loaded chunk.
  std::optional<SpilledRowReader> build_reader_;
  sort::MappedPages build_pages_;
  int64_t build_used_bytes_ = 0;
  JoinTable table_;
  FateScan fates_;
  bool is_first_chunk_ = true;
  bool is_last_chunk_ = false;

  // The block of the other side.
  std::optional<SpilledRowReader> probe_reader_;
  sort::MappedPages probe_pages_;
  const uint8_t* next_row_ = nullptr;  // of the block, not yet matched
  const uint8_t* block_end_ = nullptr;
  std::vector<const uint8_t*> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> targets_;
  std::vector<uint8_t> valid_;
  std::vector<uint8_t> matched_;
  std::vector<int32_t> chosen_;
  bool has_block_ = false;

  // Matches of the other side's rows, over passes.
  std::shared_ptr<spill::SpillFile> old_matches_;
  std::shared_ptr<spill::SpillFile> new_matches_;
  std::unique_ptr<spill::SpillReader> matches_reader_;
};

}  // namespace icebound::exec::join
