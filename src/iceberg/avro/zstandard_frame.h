// SPDX-License-Identifier: Apache-2.0
//
// How large zstandard frames become, read from their headers alone (RFC 8878, section 3.1.1):
//
//   magic 0xFD2FB528 (little-endian) | descriptor | window (1 byte, unless single segment) | dictionary id (0 to 4) | content
// size (0 to 8)
//   blocks: 3 bytes of (last: 1 bit, kind: 2, size: 21), then the block; a block becomes 128 KiB at most
//   checksum (4 bytes, when the descriptor says so)
//   skippable frames: magic 0x184D2A50 to 5F | size (4 bytes) | anything
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <span>

namespace icebound::iceberg::avro {

constexpr int64_t kZstandardBlockBytes = int64_t{128} << 10;

struct ZstandardSize {
  int64_t bytes = 0;         ///< decompressed: exactly, or at most
  bool is_exact = true;      ///< every frame says its size
  int64_t window_bytes = 0;  ///< the largest window a stream needs
};

/// Walks the frames of `stored`. kCorruptData when they are cut short or contradict themselves.
arrow::Result<ZstandardSize> MeasureZstandard(std::span<const uint8_t> stored);

}  // namespace icebound::iceberg::avro
