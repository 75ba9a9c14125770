// SPDX-License-Identifier: Apache-2.0
#include "memory/process_tuning.h"

#include <malloc.h>
#include <sys/prctl.h>

#include "memory/memory_ledger.h"
#include "memory/resident_guard.h"

namespace icebound::memory {

void TuneProcessForBound() {
#ifdef __GLIBC__
  // Each arena keeps its own free memory; one is enough where buffers come from the ledger.
  mallopt(M_ARENA_MAX, 1);
  // The defaults grow to 64 MiB when large blocks come and go. Fixed ones return a block of 64 KiB at its free.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  mallopt(M_TOP_PAD, 64 << 10);
#endif
  // A huge page makes 2 MiB resident for the first byte touched. Fails on kernels without them, which is as good.
  (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

int64_t MeasureBaseline() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  DropLibraryPages();
  return ProbeResidentMemory().current_bytes;
}

}  // namespace icebound::memory
