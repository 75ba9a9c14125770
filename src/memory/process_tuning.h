// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace icebound::memory {

/// Makes the C library give memory back, for a program that owns its process: one malloc arena, low trim and mmap thresholds, no
/// transparent huge pages. Call once, first thing in main, before threads start; never in a host program.
void TuneProcessForBound();

/// The resident bytes to take as MemoryLedgerOptions::baseline_bytes in such a program: what is left after the libraries'
/// start-up code and tables were dropped (resident_guard.h). Call when everything that starts with the program has started.
int64_t MeasureBaseline();

}  // namespace icebound::memory
