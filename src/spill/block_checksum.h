// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdint>
#include <span>

#include "spill/block_codec.h"

namespace icebound::spill {

/// The checksum of one block: XXH3-64 of its stored bytes, which may come in pieces, and then its head. Not thread safe.
class BlockChecksum {
 public:
  /// `block_offset`: where the block's head lies in its file.
  explicit BlockChecksum(int64_t block_offset) { XXH3_64bits_reset_withSeed(&state_, static_cast<XXH64_hash_t>(block_offset)); }

  void Update(std::span<const uint8_t> bytes) { XXH3_64bits_update(&state_, bytes.data(), bytes.size()); }

  /// Ends the checksum with `head` (whose own checksum field does not take part). Call it once.
  uint64_t Finish(const BlockHead& head) {
    std::array<uint8_t, kBlockHeadBytes> bytes;
    EncodeHead(head, bytes.data());
    Update(std::span<const uint8_t>(bytes).first(kBlockHeadBytes - sizeof head.checksum));
    return XXH3_64bits_digest(&state_);
  }

 private:
  XXH3_state_t state_{};
};

}  // namespace icebound::spill
