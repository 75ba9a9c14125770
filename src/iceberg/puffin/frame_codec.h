// SPDX-License-Identifier: Apache-2.0
//
// Single frames of LZ4 and zstandard that say how large they become, as Puffin demands.
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "memory/memory_ledger.h"

namespace icebound::iceberg::puffin {

enum class FrameKind : uint8_t { kLz4, kZstd };

/// kCorruptData when the frame says no size, or one that its bytes cannot become.
arrow::Result<std::shared_ptr<arrow::Buffer>> DecompressFrame(FrameKind kind, std::span<const uint8_t> frame,
                                                              memory::MemoryConsumer* consumer);

arrow::Result<std::shared_ptr<arrow::Buffer>> CompressFrame(FrameKind kind, std::span<const uint8_t> plain,
                                                            memory::MemoryConsumer* consumer);

}  // namespace icebound::iceberg::puffin
