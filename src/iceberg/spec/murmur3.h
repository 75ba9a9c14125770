// SPDX-License-Identifier: Apache-2.0
//
// MurmurHash3, the 32-bit variant for x86, with seed 0: four bytes at a time are scrambled into the state, then what is left,
// then the length; a last mix spreads every bit over all others. The words are read least significant byte first on every
// machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace icebound::iceberg {

int32_t Murmur3(std::string_view bytes);

}  // namespace icebound::iceberg
