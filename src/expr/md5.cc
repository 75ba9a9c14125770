// SPDX-License-Identifier: Apache-2.0
//
// MD5 as RFC 1321 defines it: the data is padded to 64-byte blocks, each block is mixed into four words in 64 steps.
#include "expr/md5.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace icebound::expr {

namespace {

/// The step constants: the integer part of 2^32 * |sin(i + 1)|.
const std::array<uint32_t, 64>& SineTable() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> values{};
    for (int i = 0; i < 64; ++i) values[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
    return values;
  }();
  return table;
}

void MixBlock(const uint8_t* block, std::array<uint32_t, 4>* state) {
  static constexpr int kRotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t words[16];
  std::memcpy(words, block, sizeof(words));  // Words are little-endian, as the machine's.
  auto [a, b, c, d] = *state;
  for (int step = 0; step < 64; ++step) {
    uint32_t mixed = 0;
    int word = 0;
    switch (step / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = step;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = (5 * step + 1) % 16;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = (3 * step + 5) % 16;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * step % 16;
        break;
    }
    const uint32_t rotated = std::rotl(a + mixed + SineTable()[step] + words[word], kRotations[step / 16][step % 4]);
    a = d;
    d = c;
    c = b;
    b += rotated;
  }
  (*state)[0] += a;
  (*state)[1] += b;
  (*state)[2] += c;
  (*state)[3] += d;
}

}  // namespace

std::array<uint8_t, 16> Md5(std::string_view data) {
  static_assert(std::endian::native == std::endian::little);
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(data.data());
  size_t at = 0;
  for (; at + 64 <= data.size(); at += 64) MixBlock(bytes + at, &state);
  uint8_t tail[128] = {};
  const size_t rest = data.size() - at;
  if (rest > 0) std::memcpy(tail, bytes + at, rest);
  tail[rest] = 0x80;
  const size_t tail_bytes = rest < 56 ? 64 : 128;
  const uint64_t bits = static_cast<uint64_t>(data.size()) * 8;
  std::memcpy(tail + tail_bytes - 8, &bits, sizeof(bits));
  for (size_t i = 0; i < tail_bytes; i += 64) MixBlock(tail + i, &state);
  std::array<uint8_t, 16> digest;
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

}  // namespace icebound::expr
