// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <string_view>

namespace icebound::cli {

/// "cannot write <what>: No space left on device", with the errno inside (arrow::internal::ErrnoFromStatus).
arrow::Status WriteError(std::string_view what, int error);

/// Writes all of `bytes` to `descriptor`, waiting where it does not block. `what` is for the error.
arrow::Status WriteFully(int descriptor, std::string_view bytes, std::string_view what);

/// Standard output as a stream that knows what became of its bytes: each goes to write(2), whose error is returned at once and
/// kept in failure(). Nothing waits in a buffer of ours, so there is nothing to lose at the exit. Not thread safe.
class StandardOutput final : public arrow::io::OutputStream {
 public:
  arrow::Status Write(const void* data, int64_t bytes) override;
  using arrow::io::OutputStream::Write;

  /// The first WriteError; every later write fails with it, too.
  const arrow::Status& failure() const { return failure_; }
  /// The reader has gone (`| head`): EPIPE was the error.
  bool reader_is_gone() const;

  arrow::Status Close() override { return failure_; }
  bool closed() const override { return false; }
  arrow::Result<int64_t> Tell() const override { return position_; }

 private:
  arrow::Status failure_;
  int64_t position_ = 0;  // bytes written
};

/// A message on standard error. When that cannot be written either, nobody is left to tell: never fails.
void PrintMessage(std::string_view text);

/// Takes the descriptors 0 to 2 that the caller left closed (`>&-`), so that no file of ours is opened under such a number and
/// receives what was meant for the stream. Using a stream that was closed still fails.
void OccupyStandardDescriptors();

}  // namespace icebound::cli
