// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace icebound {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace icebound
