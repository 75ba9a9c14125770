// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/row_merger.h"

#include <utility>

#include "exec/sort/merge_order.h"

namespace icebound::exec::sort {
namespace {

/// The code of a run that has ended. A row may have it as well: ties are told apart by `row`.
constexpr uint64_t kEndCode = ~uint64_t{0};

/// Bytes behind a run's current row that are fetched into the cache when it moves on: the next row or two. Hundreds
/// of runs are more streams than the hardware follows by itself.
constexpr uint32_t kPrefetchBytes = 512;
constexpr uint32_t kCacheLineBytes = 64;

/// Rows in memory lie anywhere, so those are fetched that will be wanted about a microsecond later.
constexpr int64_t kPrefetchEntries = 6;
constexpr uint32_t kPrefetchEntryBytes = 256;

/// Where a run stands.
struct Cursor {
  const uint8_t* row = nullptr;       // null at the end
  int64_t rows_behind = 0;            // in the block or the entries, after `row`
  const SortEntry* entry = nullptr;   // of `row`, when the run is in memory
  std::unique_ptr<RunReader> reader;  // when it is on disk
};

/// What the readers of a merge share.
struct MergeBuffers {
  MappedPages scratch;   // for blocks as they are stored
  MappedPages wide_row;  // for the row that has won, when it is wider than a batch and there is no pool
  arrow::MemoryPool* wide_row_pool = nullptr;
  std::span<uint8_t> scratch_span() const { return {scratch.data(), static_cast<size_t>(scratch.bytes())}; }
};

template <typename Order>
class LoserTreeMerger final : public RowMerger {
 public:
  LoserTreeMerger(const RowLayout& layout, const KeyPrefix& prefix, MergeBuffers buffers, std::vector<Cursor> cursors)
      : layout_(layout),
        order_(layout, prefix),
        buffers_(std::move(buffers)),
        cursors_(std::move(cursors)),
        nodes_(cursors_.size()) {}

  arrow::Status Fill(RowBatch* batch) override;

  /// Plays all runs against each other, by codes relative to nothing.
  void Build();

 private:
  struct Node {
    uint64_t code;
    uint32_t run;
  };

  Node Play(size_t node);
  void Replay(Node challenger);
  bool TieGoesToFirst(Node* first, Node* second) const;
  arrow::Status Advance(Cursor* cursor);
  arrow::Status LoadWinner(Cursor* cursor, uint8_t* row, int64_t row_bytes);
  arrow::Status HandOutAlone(Cursor* cursor, int64_t row_bytes, RowBatch* batch);

  const RowLayout layout_;
  const Order order_;
  MergeBuffers buffers_;
  std::vector<Cursor> cursors_;
  std::vector<Node> nodes_;  // [0] is the winner, [1, n) the losers; run i enters at node (n + i) / 2
  bool winner_is_taken_ = false;
};

/// Decides between runs of equal codes and gives the loser its new code.
template <typename Order>
bool LoserTreeMerger<Order>::TieGoesToFirst(Node* first, Node* second) const {
  const uint8_t* first_row = cursors_[first->run].row;
  const uint8_t* second_row = cursors_[second->run].row;
  if (first_row == nullptr || second_row == nullptr) return second_row == nullptr;
  uint64_t loser_code = first->code;
  const bool first_wins = order_.BreakTie(first_row, second_row, first->code, &loser_code);
  (first_wins ? second : first)->code = loser_code;
  return first_wins;
}

template <typename Order>
void LoserTreeMerger<Order>::Build() {
  nodes_[0] = Play(1);
}

template <typename Order>
typename LoserTreeMerger<Order>::Node LoserTreeMerger<Order>::Play(size_t node) {
  if (node >= nodes_.size()) {
    const auto run = static_cast<uint32_t>(node - nodes_.size());
    const uint8_t* row = cursors_[run].row;
    return {row == nullptr ? kEndCode : order_.FirstCode(row), run};
  }
  Node left = Play(2 * node);
  Node right = Play(2 * node + 1);
  const bool left_wins = left.code != right.code ? left.code < right.code : TieGoesToFirst(&left, &right);
  nodes_[node] = left_wins ? right : left;
  return left_wins ? left : right;
}

/// Who wins is a coin toss to the processor, so winner and loser are exchanged with masks and not with a branch.
template <typename Order>
void LoserTreeMerger<Order>::Replay(Node challenger) {
  for (size_t node = (nodes_.size() + challenger.run) / 2; node > 0; node /= 2) {
    Node& loser = nodes_[node];
    if (challenger.code == loser.code) [[unlikely]] {
      if (!TieGoesToFirst(&challenger, &loser)) std::swap(challenger, loser);
      continue;
    }
    const uint64_t exchange = -static_cast<uint64_t>(loser.code < challenger.code);
    const uint64_t codes = (challenger.code ^ loser.code) & exchange;
    const uint32_t runs = (challenger.run ^ loser.run) & static_cast<uint32_t>(exchange);
    challenger.code ^= codes;
    loser.code ^= codes;
    challenger.run ^= runs;
    loser.run ^= runs;
  }
  nodes_[0] = challenger;
}

template <typename Order>
arrow::Status LoserTreeMerger<Order>::Advance(Cursor* cursor) {
  if (cursor->rows_behind > 0) {
    --cursor->rows_behind;
    if (cursor->entry != nullptr) {
      cursor->row = (++cursor->entry)->row;
      if (cursor->rows_behind > kPrefetchEntries) {
        for (uint32_t at = 0; at < kPrefetchEntryBytes; at += kCacheLineBytes)
          __builtin_prefetch(cursor->entry[kPrefetchEntries].row + at);
      }
      return arrow::Status::OK();
    }
    cursor->row += layout_.RowBytes(cursor->row);
    // This row was fetched when the one before it was current; its size is a good guess for the next one's.
    const uint32_t row_bytes = layout_.RowBytes(cursor->row);
    const uint32_t fetched_bytes = std::min<uint32_t>(row_bytes + kCacheLineBytes, kPrefetchBytes);
    for (uint32_t at = 0; at < fetched_bytes; at += kCacheLineBytes) __builtin_prefetch(cursor->row + row_bytes + at);
    return arrow::Status::OK();
  }
  cursor->row = nullptr;
  if (cursor->reader == nullptr) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const bool more, cursor->reader->NextBlock(buffers_.scratch_span()));
  if (more) {
    cursor->row = cursor->reader->rows();
    cursor->rows_behind = cursor->reader->row_count() - 1;
  } else {
    cursor->reader.reset();
  }
  return arrow::Status::OK();
}

/// Loads all of the winner's row, of which the cursor has the head and the key.
template <typename Order>
arrow::Status LoserTreeMerger<Order>::LoadWinner(Cursor* cursor, uint8_t* row, int64_t row_bytes) {
  return cursor->reader->LoadWholeRow({row, static_cast<size_t>(row_bytes)}, buffers_.scratch_span());
}

template <typename Order>
arrow::Status LoserTreeMerger<Order>::HandOutAlone(Cursor* cursor, int64_t row_bytes, RowBatch* batch) {
  winner_is_taken_ = true;
  if (cursor->reader == nullptr || !cursor->reader->row_is_partial()) {
    batch->AddAlone(cursor->row);
    return arrow::Status::OK();
  }
  if (buffers_.wide_row_pool == nullptr) {
    ARROW_RETURN_NOT_OK(LoadWinner(cursor, buffers_.wide_row.data(), row_bytes));
    batch->AddAlone(buffers_.wide_row.data());
    return arrow::Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> row,
                        arrow::AllocateBuffer(row_bytes + kReadSlackBytes, buffers_.wide_row_pool));
  ARROW_RETURN_NOT_OK(LoadWinner(cursor, row->mutable_data(), row_bytes));
  batch->AddAlone(std::move(row));
  return arrow::Status::OK();
}

template <typename Order>
arrow::Status LoserTreeMerger<Order>::Fill(RowBatch* batch) {
  batch->Clear();
  if (winner_is_taken_) {
    winner_is_taken_ = false;
    ARROW_RETURN_NOT_OK(Advance(&cursors_[nodes_[0].run]));
    Build();
  }
  while (true) {
    const uint32_t run = nodes_[0].run;
    Cursor& cursor = cursors_[run];
    if (cursor.row == nullptr) return arrow::Status::OK();
    const int64_t row_bytes = layout_.RowBytes(cursor.row);
    const bool is_partial = cursor.reader != nullptr && cursor.reader->row_is_partial();
    if (!batch->HasRoom(row_bytes)) {
      return batch->empty() ? HandOutAlone(&cursor, row_bytes, batch) : arrow::Status::OK();
    }
    const uint8_t* previous;
    if (cursor.entry != nullptr) {
      previous = batch->AddAddress(cursor.row, row_bytes);
    } else if (is_partial) {
      uint8_t* space = batch->AddSpace(row_bytes);
      ARROW_RETURN_NOT_OK(LoadWinner(&cursor, space, row_bytes));
      previous = space;
    } else {
      previous = batch->AddCopy(cursor.row, row_bytes);
    }
    ARROW_RETURN_NOT_OK(Advance(&cursor));
    Replay({cursor.row == nullptr ? kEndCode : order_.NextCode(cursor.row, previous), run});
  }
}

template <typename Order>
arrow::Result<std::unique_ptr<RowMerger>> MakeWithOrder(const RowLayout& layout, const KeyPrefix& prefix, MergeBuffers buffers,
                                                        std::vector<Cursor> cursors) {
  auto merger = std::make_unique<LoserTreeMerger<Order>>(layout, prefix, std::move(buffers), std::move(cursors));
  merger->Build();
  return merger;
}

}  // namespace

int64_t RowMerger::WideRowBytes(const SortRun& run) {
  return run.partial_row_bytes_max == 0 ? 0 : MappedPages::RoundUp(run.partial_row_bytes_max + kReadSlackBytes);
}

arrow::Result<std::unique_ptr<RowMerger>> RowMerger::Make(const RowLayout& layout, SortBudget* budget, Inputs inputs,
                                                          arrow::MemoryPool* wide_row_pool_or_null) {
  int64_t scratch_bytes = 0;
  int64_t wide_row_bytes = 0;
  for (const SortRun& run : inputs.runs) {
    scratch_bytes = std::max(scratch_bytes, RunReader::ScratchBytes(run));
    wide_row_bytes = std::max(wide_row_bytes, WideRowBytes(run));
  }
  MergeBuffers buffers{MappedPages(budget), MappedPages(budget), wide_row_pool_or_null};
  ARROW_RETURN_NOT_OK(buffers.scratch.Resize(scratch_bytes));
  if (wide_row_pool_or_null == nullptr) ARROW_RETURN_NOT_OK(buffers.wide_row.Resize(wide_row_bytes));
  std::vector<Cursor> cursors;
  for (SortRun& run : inputs.runs) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RunReader> reader, RunReader::Open(layout, budget, std::move(run)));
    ARROW_ASSIGN_OR_RAISE(const bool more, reader->NextBlock(buffers.scratch_span()));
    if (!more) continue;
    Cursor& cursor = cursors.emplace_back();
    cursor.row = reader->rows();
    cursor.rows_behind = reader->row_count() - 1;
    cursor.reader = std::move(reader);
  }
  for (std::span<const SortEntry> entries : inputs.entries) {
    if (entries.empty()) continue;
    Cursor& cursor = cursors.emplace_back();
    cursor.row = entries[0].row;
    cursor.rows_behind = static_cast<int64_t>(entries.size()) - 1;
    cursor.entry = entries.data();
  }
  if (cursors.empty()) cursors.emplace_back();  // an ended run, so that there is a winner
  const KeyPrefix prefix(inputs.spread);
  if (prefix.exact()) return MakeWithOrder<PrefixOrder>(layout, prefix, std::move(buffers), std::move(cursors));
  return MakeWithOrder<OffsetValueOrder>(layout, prefix, std::move(buffers), std::move(cursors));
}

}  // namespace icebound::exec::sort
