// SPDX-License-Identifier: Apache-2.0
//
// The block sizes of the resident allocator: quarter steps of powers of two, so that a block is at most a quarter larger than
// what was asked for.
//
//   request               block                                         kept when freed
//   1 B .. 8 KiB          64-byte steps to 512, then quarter steps      in its slab
//   .. 4 MiB              quarter steps, whole pages                    on a free list of its class
//   beyond                the request in whole pages                    no: unmapped at once
#pragma once

#include <bit>
#include <cstdint>

namespace icebound::memory {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kBlockAlignment = 64;       // of every block, as Arrow asks for
constexpr int64_t kSmallBytesMax = 8 << 10;   // larger blocks are whole pages, so that a free one can be given back alone
constexpr int64_t kPooledBytesMax = 4 << 20;  // a larger one costs so many page faults that mapping it anew is no loss

constexpr int64_t RoundUp(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/// `bytes` (at least 1) rounded up to a quarter step of the power of two below it.
constexpr int64_t QuarterStepBytes(int64_t bytes) {
  if (bytes <= 512) return RoundUp(bytes, 64);
  const int64_t step_bytes = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes - 1)) - 3);
  return RoundUp(bytes, step_bytes);
}

/// Numbers the quarter steps from 0 (64 bytes). `bytes` is a quarter step.
constexpr int QuarterStepIndex(int64_t bytes) {
  if (bytes <= 512) return static_cast<int>(bytes / 64) - 1;
  const int doubling = std::bit_width(static_cast<uint64_t>(bytes - 1)) - 1;  // bytes lies in (2^doubling, 2^(doubling + 1)]
  const int64_t above_bytes = bytes - (int64_t{1} << doubling);
  return 8 + (doubling - 9) * 4 + static_cast<int>(above_bytes >> (doubling - 2)) - 1;
}

constexpr int kSmallClassCount = QuarterStepIndex(kSmallBytesMax) + 1;
constexpr int kClassCount = QuarterStepIndex(kPooledBytesMax) + 1;

/// Bytes of the block that holds a request, which is also what it is charged. Alignments beyond a cache line take whole pages.
constexpr int64_t BlockBytes(int64_t bytes, int64_t alignment = kBlockAlignment) {
  if (bytes <= 0) return 0;
  if (bytes <= kSmallBytesMax) {
    if (alignment <= kBlockAlignment) return QuarterStepBytes(bytes);
    bytes = kSmallBytesMax + 1;
  }
  if (bytes <= kPooledBytesMax) return RoundUp(QuarterStepBytes(bytes), kPageBytes);
  return RoundUp(bytes, kPageBytes);
}

/// The next smaller size of a pooled block of whole pages.
constexpr int64_t SmallerBlockBytes(int64_t block_bytes) {
  const int64_t step_bytes = int64_t{1} << (std::bit_width(static_cast<uint64_t>(block_bytes - 1)) - 3);
  return (block_bytes - step_bytes) / kPageBytes * kPageBytes;
}

}  // namespace icebound::memory
