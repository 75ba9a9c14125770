// SPDX-License-Identifier: Apache-2.0
#include "standard_output.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace icebound::cli {
namespace {

/// Waits until a descriptor that does not block (inherited so from a shell or a parent) takes more.
void WaitUntilWritable(int descriptor) {
  pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
  poll(&wanted, 1, -1);
}

}  // namespace

arrow::Status WriteError(std::string_view what, int error) {
  return arrow::internal::IOErrorFromErrno(error, "cannot write ", what, ": ", std::strerror(error));
}

arrow::Status WriteFully(int descriptor, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    constexpr size_t kMostAtOnce = size_t{1} << 30;  // write(2) takes no more than 2 GiB
    const ssize_t written = write(descriptor, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WaitUntilWritable(descriptor);
    } else if (errno != EINTR) {
      return WriteError(what, errno);
    }
  }
  return arrow::Status::OK();
}

arrow::Status StandardOutput::Write(const void* data, int64_t bytes) {
  if (failure_.ok()) {
    failure_ = WriteFully(STDOUT_FILENO, {static_cast<const char*>(data), static_cast<size_t>(bytes)}, "to standard output");
    position_ += bytes;
  }
  return failure_;
}

bool StandardOutput::reader_is_gone() const { return arrow::internal::ErrnoFromStatus(failure_) == EPIPE; }

void PrintMessage(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void OccupyStandardDescriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong direction, so that reading or writing fails with EBADF as on the closed one. open() gives the lowest free number.
    open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace icebound::cli
