// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace icebound::expr {

/// The MD5 digest of RFC 1321; for the SQL function md5, not for security.
std::array<uint8_t, 16> Md5(std::string_view data);

}  // namespace icebound::expr
