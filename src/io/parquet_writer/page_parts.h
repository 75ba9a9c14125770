// SPDX-License-Identifier: Apache-2.0
//
// A page of two parts, a short one and a long one that lies elsewhere, compressed as if they were one and without ever putting
// them together.
//
// zstd takes its input in pieces. Snappy does not, but its format makes it possible:
//
//   snappy    = length of all, varint | elements
//   element   = literal (its bytes) | copy (of bytes that were already put out, so many bytes back)
//
// Copies only look back, so the elements of the long part mean the same behind any others:
//
//   length of both parts, varint | one literal: the short part | the elements of the long part alone
//
// Source: google/snappy, format_description.txt.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/util/compression.h>

#include <cstdint>
#include <span>

#include "io/parquet_writer/page_header.h"
#include "io/parquet_writer/pool_vector.h"

namespace icebound::io {

/// Whether this codec can, for a short part of so many bytes. A zstd of a high level would take more memory for its input in
/// pieces than for all of it at once.
bool CanCompressInParts(const arrow::util::Codec& codec, size_t head_bytes);

/// The page behind its header, whose sizes are filled in. Compresses `rest` into the page itself: there is no other copy.
arrow::Result<PoolVector<uint8_t>> CompressInParts(PageHeader* header, std::span<const uint8_t> head,
                                                   std::span<const uint8_t> rest, arrow::util::Codec* codec,
                                                   arrow::MemoryPool* pool);

}  // namespace icebound::io
