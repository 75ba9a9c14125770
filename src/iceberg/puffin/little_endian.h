// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace icebound::iceberg::puffin {

static_assert(std::endian::native == std::endian::little, "numbers of a file, and the bytes of bitmaps, are little-endian");

/// The number at `at`, which need not be aligned.
template <typename T>
T ReadLittleEndian(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace icebound::iceberg::puffin
