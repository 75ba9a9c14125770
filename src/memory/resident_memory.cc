// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "memory/memory_ledger.h"

namespace icebound::memory {

ResidentMemory ProbeResidentMemory() {
  ResidentMemory result;
  std::FILE* file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return result;
  char line[256];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    long long kib = 0;
    if (std::sscanf(line, "VmHWM: %lld kB", &kib) == 1) result.peak_bytes = kib * 1024;
    if (std::sscanf(line, "VmRSS: %lld kB", &kib) == 1) result.current_bytes = kib * 1024;
    if (std::sscanf(line, "RssAnon: %lld kB", &kib) == 1) result.anonymous_bytes = kib * 1024;
  }
  std::fclose(file);
  return result;
}

}  // namespace icebound::memory
