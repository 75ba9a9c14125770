// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace icebound::memory {

/// Makes the C library give memory back, for a program that owns its process: one malloc arena, low trim and mmap thresholds, no
/// transparent huge pages. Call once, first thing in main, before threads start; never in a host program.
void TuneProcessForBound();

}  // namespace icebound::memory
