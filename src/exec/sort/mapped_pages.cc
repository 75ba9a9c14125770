// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/mapped_pages.h"

#include <utility>

#include "base/error.h"
#include "memory/page_mapping.h"

namespace icebound::exec::sort {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

int64_t MappedPages::RoundUp(int64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  if (this != &other) {
    Free();
    budget_ = other.budget_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

bool MappedPages::TryResize(int64_t bytes) {
  bytes = RoundUp(bytes);
  const int64_t growth = bytes - bytes_;
  if (growth > 0 && !budget_->TryTake(growth)) return false;
  if (Remap(bytes).ok()) return true;
  if (growth > 0) budget_->Give(growth);
  return false;
}

arrow::Status MappedPages::Resize(int64_t bytes) {
  bytes = RoundUp(bytes);
  const int64_t growth = bytes - bytes_;
  if (growth > 0) ARROW_RETURN_NOT_OK(budget_->Take(growth));
  arrow::Status status = Remap(bytes);
  if (!status.ok() && growth > 0) budget_->Give(growth);
  return status;
}

arrow::Status MappedPages::Remap(int64_t bytes) {
  if (bytes == bytes_) return arrow::Status::OK();
  if (bytes == 0) {
    Free();
    return arrow::Status::OK();
  }
  uint8_t* mapped = bytes_ == 0 ? memory::MapPages(bytes) : memory::RemapPages(data_, bytes_, bytes);
  if (mapped == nullptr) return MakeError(ErrorKind::kMemoryLimit, "the system refused pages for sorting: {} bytes", bytes);
  if (bytes < bytes_) budget_->Give(bytes_ - bytes);
  data_ = mapped;
  bytes_ = bytes;
  return arrow::Status::OK();
}

void MappedPages::Free() {
  if (bytes_ == 0) return;
  if (!memory::UnmapPages(data_, bytes_)) memory::DropPages(data_, bytes_);
  budget_->Give(bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace icebound::exec::sort
