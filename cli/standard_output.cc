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

arrow::Status StandardOutput::Write(const void* data, int64_t bytes) {
  ARROW_RETURN_NOT_OK(failure_);
  const char* next = static_cast<const char*>(data);
  const char* const end = next + bytes;
  while (next < end) {
    constexpr ptrdiff_t kMostAtOnce = ptrdiff_t{1} << 30;  // write(2) takes no more than 2 GiB
    const ssize_t written = write(STDOUT_FILENO, next, static_cast<size_t>(std::min(end - next, kMostAtOnce)));
    if (written >= 0) {
      next += written;
      position_ += written;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WaitUntilWritable(STDOUT_FILENO);
    } else if (errno != EINTR) {
      failure_ = arrow::internal::IOErrorFromErrno(errno, "cannot write to standard output: ", std::strerror(errno));
      return failure_;
    }
  }
  return arrow::Status::OK();
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
