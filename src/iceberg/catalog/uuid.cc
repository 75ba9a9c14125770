// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/uuid.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace icebound::iceberg {

arrow::Result<std::string> NewUuid() {
  std::array<uint8_t, 16> bytes;
  // Up to 256 bytes come whole once the system has started.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return MakeError(ErrorKind::kIo, "the system gives no random numbers: {}", std::generic_category().message(errno));
  }
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace icebound::iceberg
