// SPDX-License-Identifier: Apache-2.0
//
// Sorts a run's entries: numbers first, rows only where the numbers tie.
//
//   1. Prefixes (key_prefix.h) were set before, in the order the rows lie in memory.
//   2. Radix sort of (prefix, row) pairs of 16 bytes. More entries than the scratch holds are first split in place by
//      the highest eight bits, again and again (American flag sort); what fits is sorted by counting passes of eight
//      bits from the lowest on, skipping bits that are all the same. Scratch is of the size of the second-level
//      cache, so most passes never leave it.
//   3. Where prefixes are not exact, each group of equal ones loads the next eight key bytes of its rows and sorts by
//      them, and so on (most significant digit first, the digits cached in the entries). Small groups compare whole
//      keys.
//
// The order among equal keys is arbitrary. Sources: McIlroy, Bostic, McIlroy, "Engineering Radix Sort" (1993) for 2; Bentley and
// Sedgewick's multikey sorting and Ng and Kakehi's caching of digits (2007) for 3.
#pragma once

#include <cstdint>
#include <span>

#include "exec/sort/key_prefix.h"
#include "exec/sort/row_layout.h"

namespace icebound::exec::sort {

/// Sorts `entries` by key. Their prefixes are set, by a `prefix` that suits them. `scratch` is overwritten; any size
/// works, from about 4096 entries on it is fast.
void SortEntries(const RowLayout& layout, const KeyPrefix& prefix, std::span<SortEntry> entries, std::span<SortEntry> scratch);

}  // namespace icebound::exec::sort
