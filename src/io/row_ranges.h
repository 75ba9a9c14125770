// SPDX-License-Identifier: Apache-2.0
//
// Sets of rows of one row group, as sorted, disjoint, non-empty ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace icebound::io {

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;  ///< exclusive
  int64_t rows() const { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

using RowRanges = std::vector<RowRange>;

inline int64_t CountRows(const RowRanges& ranges) {
  int64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.rows();
  return rows;
}

/// Adds a range that begins at or after the last one's end, merging the two when they touch.
inline void AppendRange(RowRange range, RowRanges* ranges) {
  if (range.begin >= range.end) return;
  if (!ranges->empty() && ranges->back().end == range.begin) {
    ranges->back().end = range.end;
  } else {
    ranges->push_back(range);
  }
}

inline RowRanges Intersect(const RowRanges& left, const RowRanges& right) {
  RowRanges both;
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    AppendRange({.begin = std::max(left[i].begin, right[j].begin), .end = std::min(left[i].end, right[j].end)}, &both);
    left[i].end < right[j].end ? ++i : ++j;
  }
  return both;
}

/// True when a row of `ranges` lies in [begin, end).
inline bool Overlaps(const RowRanges& ranges, int64_t begin, int64_t end) {
  auto first =
      std::upper_bound(ranges.begin(), ranges.end(), begin, [](int64_t row, const RowRange& range) { return row < range.end; });
  return begin < end && first != ranges.end() && first->begin < end;
}

}  // namespace icebound::io
