// SPDX-License-Identifier: Apache-2.0
#include "spill/scratch_buffers.h"

#include "base/error.h"
#include "spill/block_codec.h"

namespace icebound::spill {

arrow::Result<std::unique_ptr<ScratchBuffers>> ScratchBuffers::Make(int count, arrow::MemoryPool* pool) {
  std::unique_ptr<ScratchBuffers> scratch(new ScratchBuffers());
  for (int i = 0; i < count; ++i) {
    uint8_t* bytes = nullptr;
    if (pool != nullptr) {
      auto buffer = arrow::AllocateBuffer(kScratchBytes, pool);
      if (!buffer.ok()) return WithContext(buffer.status(), ErrorKind::kMemoryLimit, "allocating the scratch of the spill files");
      bytes = scratch->pooled_.emplace_back(std::move(*buffer))->mutable_data();
    } else {
      bytes = scratch->heap_.emplace_back(new uint8_t[kScratchBytes]).get();
    }
    scratch->free_.emplace_back(bytes, kScratchBytes);
    scratch->total_bytes_ += kScratchBytes;
  }
  return scratch;
}

ScratchBuffers::Loan ScratchBuffers::Borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !free_.empty(); });
  const std::span<uint8_t> bytes = free_.back();
  free_.pop_back();
  return Loan(this, bytes);
}

void ScratchBuffers::Return(std::span<uint8_t> bytes) {
  {
    std::lock_guard lock(mutex_);
    free_.push_back(bytes);
  }
  returned_.notify_one();
}

}  // namespace icebound::spill
