// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/row_arena.h"

#include <utility>

#include "exec/sort/row_layout.h"

namespace icebound::exec::sort {

void RowArena::Use(MappedPages chunk) {
  next_ = chunk.data();
  end_ = chunk.data() + chunk.bytes() - kReadSlackBytes;
  chunks_.push_back(std::move(chunk));
}

bool RowArena::UseKeptChunk() {
  if (kept_.empty()) return false;
  MappedPages chunk = std::move(kept_.back());
  kept_.pop_back();
  Use(std::move(chunk));
  return true;
}

uint8_t* RowArena::TryAllocateSlow(int64_t bytes, int64_t held_bytes_max) {
  const bool wide = IsWide(bytes);
  if (wide || !UseKeptChunk()) {
    const int64_t page_bytes = wide ? MappedPages::RoundUp(bytes + kReadSlackBytes) : chunk_bytes_;
    if (held_bytes_ + page_bytes > held_bytes_max) return nullptr;
    MappedPages pages(budget_);
    if (!pages.TryResize(page_bytes)) return nullptr;
    held_bytes_ += page_bytes;
    if (wide) {
      wide_.push_back(std::move(pages));
      return wide_.back().data();
    }
    Use(std::move(pages));
  }
  uint8_t* row = next_;
  next_ += bytes;
  return row;
}

arrow::Result<uint8_t*> RowArena::Allocate(int64_t bytes) {
  const bool wide = IsWide(bytes);
  if (wide || (bytes > end_ - next_ && !UseKeptChunk())) {
    MappedPages pages(budget_);
    ARROW_RETURN_NOT_OK(pages.Resize(wide ? bytes + kReadSlackBytes : chunk_bytes_));
    held_bytes_ += pages.bytes();
    if (wide) {
      wide_.push_back(std::move(pages));
      return wide_.back().data();
    }
    Use(std::move(pages));
  }
  uint8_t* row = next_;
  next_ += bytes;
  return row;
}

void RowArena::Reset() {
  for (MappedPages& chunk : chunks_) kept_.push_back(std::move(chunk));
  chunks_.clear();
  for (const MappedPages& pages : wide_) held_bytes_ -= pages.bytes();
  wide_.clear();
  next_ = end_ = nullptr;
}

void RowArena::Free() {
  chunks_.clear();
  kept_.clear();
  wide_.clear();
  next_ = end_ = nullptr;
  held_bytes_ = 0;
}

}  // namespace icebound::exec::sort
