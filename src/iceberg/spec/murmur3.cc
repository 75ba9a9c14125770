// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/murmur3.h"

#include <bit>

namespace icebound::iceberg {
namespace {

/// Up to four bytes as a number, the first one the least significant.
uint32_t Word(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = bytes.size(); i-- > 0;) word = (word << 8) | static_cast<unsigned char>(bytes[i]);
  return word;
}

uint32_t Scramble(uint32_t word) { return std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u; }

}  // namespace

int32_t Murmur3(std::string_view bytes) {
  uint32_t hash = 0;
  const auto length = static_cast<uint32_t>(bytes.size());
  for (; bytes.size() >= 4; bytes.remove_prefix(4)) {
    hash ^= Scramble(Word(bytes.substr(0, 4)));
    hash = std::rotl(hash, 13) * 5 + 0xe6546b64u;
  }
  if (!bytes.empty()) hash ^= Scramble(Word(bytes));
  hash ^= length;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  return static_cast<int32_t>(hash ^ (hash >> 16));
}

}  // namespace icebound::iceberg
