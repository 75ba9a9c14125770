// SPDX-License-Identifier: Apache-2.0
//
// Under AddressSanitizer, free blocks and the unused ends of live ones are off limits, so that a buffer used after it was freed,
// or beyond its size, is reported as with malloc. Without it these are nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace icebound::memory {

inline void PoisonBytes([[maybe_unused]] const void* start, [[maybe_unused]] int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(start, static_cast<size_t>(bytes));
#endif
}

inline void UnpoisonBytes([[maybe_unused]] const void* start, [[maybe_unused]] int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(start, static_cast<size_t>(bytes));
#endif
}

}  // namespace icebound::memory
