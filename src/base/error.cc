// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <array>
#include <memory>

namespace icebound {
namespace {

constexpr char kDetailTypeId[] = "icebound::ErrorDetail";

class ErrorDetail : public arrow::StatusDetail {
 public:
  explicit ErrorDetail(ErrorKind kind, int text_offset = -1) : kind_(kind), text_offset_(text_offset) {}
  const char* type_id() const override { return kDetailTypeId; }
  std::string ToString() const override { return std::string(icebound::ToString(kind_)); }
  ErrorKind kind() const { return kind_; }
  int text_offset() const { return text_offset_; }

 private:
  const ErrorKind kind_;
  const int text_offset_;  // negative: unknown
};

struct KindRow {
  ErrorKind kind;
  std::string_view name;
  arrow::StatusCode code;
  int exit_code;
};

constexpr std::array<KindRow, 12> kKinds = {{
    {ErrorKind::kInvalidInput, "invalid input", arrow::StatusCode::Invalid, 2},
    {ErrorKind::kMemoryLimit, "memory limit", arrow::StatusCode::OutOfMemory, 3},
    {ErrorKind::kDiskLimit, "disk limit", arrow::StatusCode::CapacityError, 4},
    {ErrorKind::kCorruptData, "corrupt data", arrow::StatusCode::SerializationError, 7},
    {ErrorKind::kUnsupported, "unsupported", arrow::StatusCode::NotImplemented, 2},
    {ErrorKind::kNotFound, "not found", arrow::StatusCode::KeyError, 2},
    {ErrorKind::kIo, "input/output", arrow::StatusCode::IOError, 1},
    {ErrorKind::kExecution, "execution", arrow::StatusCode::ExecutionError, 1},
    {ErrorKind::kCommitConflict, "commit conflict", arrow::StatusCode::ExecutionError, 5},
    {ErrorKind::kCommitUnknown, "commit state unknown", arrow::StatusCode::UnknownError, 6},
    {ErrorKind::kCancelled, "cancelled", arrow::StatusCode::Cancelled, 130},
    {ErrorKind::kInternal, "internal", arrow::StatusCode::UnknownError, 1},
}};

const KindRow& RowOf(ErrorKind kind) { return kKinds[static_cast<size_t>(kind)]; }

const ErrorDetail* DetailOf(const arrow::Status& status) {
  if (status.ok() || !status.detail() || status.detail()->type_id() != std::string_view(kDetailTypeId)) return nullptr;
  return static_cast<const ErrorDetail*>(status.detail().get());
}

}  // namespace

std::string_view ToString(ErrorKind kind) { return RowOf(kind).name; }

std::optional<ErrorKind> GetErrorKind(const arrow::Status& status) {
  const ErrorDetail* detail = DetailOf(status);
  return detail == nullptr ? std::nullopt : std::optional(detail->kind());
}

int ExitCode(const arrow::Status& status) {
  if (status.ok()) return 0;
  if (auto kind = GetErrorKind(status)) return RowOf(*kind).exit_code;
  return status.IsCancelled() ? 130 : 1;
}

arrow::Status ErrorStatus(ErrorKind kind, std::string message) {
  return arrow::Status(RowOf(kind).code, std::move(message), std::make_shared<ErrorDetail>(kind));
}

arrow::Status WithContext(const arrow::Status& status, ErrorKind kind_if_none, std::string_view context) {
  if (status.ok()) return status;
  const ErrorKind kind = GetErrorKind(status).value_or(status.IsCancelled() ? ErrorKind::kCancelled : kind_if_none);
  return AtTextOffset(MakeError(kind, "{}: {}", context, status.message()), GetTextOffset(status).value_or(-1));
}

arrow::Status AtTextOffset(const arrow::Status& status, int offset) {
  const ErrorDetail* detail = DetailOf(status);
  if (offset < 0 || detail == nullptr || detail->kind() != ErrorKind::kExecution || detail->text_offset() >= 0) return status;
  return status.WithDetail(std::make_shared<ErrorDetail>(detail->kind(), offset));
}

std::optional<int> GetTextOffset(const arrow::Status& status) {
  const ErrorDetail* detail = DetailOf(status);
  if (detail == nullptr || detail->text_offset() < 0) return std::nullopt;
  return detail->text_offset();
}

}  // namespace icebound
