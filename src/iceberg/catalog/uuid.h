// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <string>

namespace icebound::iceberg {

/// A new random UUID (RFC 9562, version 4) in lower case, from the system's generator.
arrow::Result<std::string> NewUuid();

}  // namespace icebound::iceberg
