// SPDX-License-Identifier: Apache-2.0
//
// Decodes snappy blocks, as Parquet's pages are compressed with.
//
//   block     length of the text, varint | elements
//   element   tag, 1 byte: its low two bits say what follows
//     00      literal of (tag >> 2) + 1 bytes; from 60 on, tag >> 2 less 59 is the number of bytes that hold the length less one
//     01      copy of 4 + (tag >> 2 & 7) bytes from so far back: tag >> 5, then 8 bits
//     10, 11  copy of (tag >> 2) + 1 bytes from so far back: 16 or 32 bits
//
// To copy exactly as many bytes as a short element has takes longer than to copy some more: while there is room behind both
// ends, whole words are copied, and the next element overwrites the excess. Copies from less than a word back repeat a
// pattern: its first eight bytes are made one by one, the others from those. The last elements are decoded with care. Pages
// of numbers decode twice as fast as with the codec of the Arrow wheel, and that is what a scan of them spent most of its
// time with.
//
// Source: google/snappy, format_description.txt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace icebound::io {

/// What a block's head says of the text behind it.
struct SnappyBlock {
  int64_t text_bytes = 0;
  std::span<const uint8_t> elements;
};

/// Null when there is no head, or when so few bytes cannot be so long a text.
std::optional<SnappyBlock> OpenSnappyBlock(std::span<const uint8_t> block);

/// Writes the text, exactly block.text_bytes from `text` on, and nothing beside it. False when the elements are damaged; what has
/// been written then means nothing.
bool DecodeSnappy(const SnappyBlock& block, uint8_t* text);

}  // namespace icebound::io
