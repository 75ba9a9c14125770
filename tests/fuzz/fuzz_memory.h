// SPDX-License-Identifier: Apache-2.0
//
// A small ledger for fuzz entries: what an input makes a reader hold must be within it, and all of it given back.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "icebound/error.h"
#include "memory/memory_ledger.h"

namespace icebound::fuzz {

#define FUZZ_CHECK(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

class FuzzMemory {
 public:
  FuzzMemory() {
    memory::MemoryLedgerOptions options;
    options.limit_bytes = int64_t{32} << 20;
    options.inside_host = true;
    options.stall_timeout_ms = 0;
    ledger_ = memory::MemoryLedger::Make(options).ValueOrDie();
    consumer_ = ledger_->AddConsumer("fuzz");
  }
  memory::MemoryConsumer* consumer() { return consumer_.get(); }
  void ExpectNothingHeld() const { FUZZ_CHECK(consumer_->reserved_bytes() == 0); }

 private:
  memory::MemoryLedgerPtr ledger_;
  std::unique_ptr<memory::MemoryConsumer> consumer_;
};

/// A stranger's bytes may be corrupt, beyond us, or beyond the memory; anything else is our fault.
inline void ExpectErrorOfInput(const arrow::Status& status) {
  const auto kind = GetErrorKind(status);
  const bool is_expected = kind == ErrorKind::kCorruptData || kind == ErrorKind::kUnsupported ||
                           kind == ErrorKind::kMemoryLimit || kind == ErrorKind::kExecution;
  if (!is_expected) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  FUZZ_CHECK(is_expected);
}

}  // namespace icebound::fuzz
