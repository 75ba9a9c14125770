// SPDX-License-Identifier: Apache-2.0
#include "bridge/shared_position_deletes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "bridge/position_delete_files.h"
#include "iceberg/deletes/byte_strings.h"
#include "memory/ledger_vector.h"
#include "spill/disk_manager.h"

namespace icebound::bridge {
namespace {

using iceberg::puffin::DeletionVector;

/// Blobs of one delete file that stay in memory: those of 4 million positions or so.
constexpr int64_t kMemoryBytes = int64_t{4} << 20;

/// What a slot takes beside its path.
constexpr int64_t kSlotBytes = 256;

}  // namespace

/// One delete file, read. Immutable once loaded; thread safe.
class SharedPositionDeletes::IndexedFile {
 public:
  IndexedFile(std::string name, memory::MemoryConsumer* consumer)
      : name_(std::move(name)), consumer_(consumer), paths_(consumer), first_run_(consumer), runs_(consumer), blobs_(consumer) {}

  arrow::Status Load(const iceberg::DeleteFile& deletes, const std::shared_ptr<const SnapshotRead>& read,
                     runtime::QueryContext* context) {
    context_ = context;
    DeletionVector run(consumer_);
    std::string path;
    ARROW_RETURN_NOT_OK(
        VisitPositionDeletes(deletes, nullptr, read, context, [&](std::string_view of, std::span<const int64_t> rows) {
          if (of != path) {
            ARROW_RETURN_NOT_OK(FinishRun(path, &run));
            path = of;
          }
          return run.Add(rows);
        }));
    ARROW_RETURN_NOT_OK(FinishRun(path, &run));
    return spilled_ == nullptr ? arrow::Status::OK() : spilled_->Finish();
  }

  arrow::Status AddTo(const std::string& data_file, DeletionVector* vector) const {
    const std::optional<uint32_t> path = paths_.Find(data_file);
    if (!path.has_value()) return arrow::Status::OK();
    for (uint32_t i = first_run_[*path]; i != kNoRun; i = runs_[i].next) {
      const Run& run = runs_[i];
      if (run.block < 0) {
        ARROW_RETURN_NOT_OK(AddBlob({blobs_.data() + run.offset, static_cast<size_t>(run.bytes)}, vector));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(
          const auto reader,
          spilled_->OpenReader(spill::ReadOptions{
              .first_block = run.block, .first_offset = run.offset, .end_block = run.block + 1, .pool = consumer_->pool()}));
      ARROW_ASSIGN_OR_RAISE(const std::optional<spill::BlockView> block, reader->Next());
      if (!block.has_value()) return MakeError(ErrorKind::kInternal, "{}: block {} is gone", name_, run.block);
      ARROW_RETURN_NOT_OK(AddBlob(block->bytes, vector));
    }
    return arrow::Status::OK();
  }

 private:
  static constexpr uint32_t kNoRun = ~uint32_t{0};

  struct Run {
    int64_t offset;  // in blobs_, or in the spill file
    int64_t bytes;
    int64_t block;  // of the spill file; -1: in memory
    uint32_t next;  // of the same path
  };

  arrow::Status FinishRun(const std::string& path, DeletionVector* run) {
    if (run->cardinality() == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> blob, run->Serialize());
    ARROW_ASSIGN_OR_RAISE(const uint32_t number, paths_.Insert(path));
    if (number >= first_run_.size()) ARROW_RETURN_NOT_OK(first_run_.Append(kNoRun));
    Run added{.offset = blobs_.size(), .bytes = blob->size(), .block = -1, .next = first_run_[number]};
    if (blobs_.size() + blob->size() <= kMemoryBytes) {
      const int64_t begin = blobs_.size();
      ARROW_RETURN_NOT_OK(blobs_.Reserve(blob->size()));
      ARROW_RETURN_NOT_OK(blobs_.Resize(begin + blob->size()));
      std::memcpy(blobs_.data() + begin, blob->data(), static_cast<size_t>(blob->size()));
    } else {
      if (spilled_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(spilled_, context_->disk.CreateFile("position-deletes"));
      }
      added.block = spilled_->blocks();
      added.offset = spilled_->stored_bytes();
      ARROW_RETURN_NOT_OK(spilled_->Append({blob->data(), static_cast<size_t>(blob->size())}, run->cardinality()));
    }
    first_run_[number] = static_cast<uint32_t>(runs_.size());
    ARROW_RETURN_NOT_OK(runs_.Append(added));
    *run = DeletionVector(consumer_);
    return arrow::Status::OK();
  }

  arrow::Status AddBlob(std::span<const uint8_t> bytes, DeletionVector* vector) const {
    ARROW_ASSIGN_OR_RAISE(const DeletionVector run, DeletionVector::Parse(bytes, consumer_));
    return vector->Union(run);
  }

  const std::string name_;
  memory::MemoryConsumer* const consumer_;
  runtime::QueryContext* context_ = nullptr;
  iceberg::PathStrings paths_;
  memory::LedgerVector<uint32_t> first_run_;  // by number of the path
  memory::LedgerVector<Run> runs_;
  memory::LedgerVector<uint8_t> blobs_;
  std::shared_ptr<spill::SpillFile> spilled_;
};

SharedPositionDeletes::SharedPositionDeletes(std::shared_ptr<const SnapshotRead> read, runtime::QueryContext* context,
                                             memory::MemoryConsumer* consumer)
    : read_(std::move(read)), context_(context), consumer_(consumer), slots_memory_(consumer) {}

SharedPositionDeletes::~SharedPositionDeletes() = default;

bool SharedPositionDeletes::ForgetOne() {
  std::lock_guard lock(mutex_);
  Slot* oldest = nullptr;
  for (const auto& [path, slot] : slots_) {
    const bool is_idle = slot->file != nullptr && slot->file.use_count() == 1;
    if (is_idle && (oldest == nullptr || slot->last_used < oldest->last_used)) oldest = slot.get();
  }
  if (oldest == nullptr) return false;
  oldest->file.reset();
  return true;
}

arrow::Result<std::shared_ptr<const SharedPositionDeletes::IndexedFile>> SharedPositionDeletes::FileOf(
    const iceberg::DeleteFile& deletes) {
  const std::string& path = deletes.file.file_path;
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex_);
    auto found = slots_.find(path);
    if (found == slots_.end()) {
      const int64_t bytes = kSlotBytes + static_cast<int64_t>(path.size());
      ARROW_RETURN_NOT_OK(slots_memory_.ResizeTo(slots_memory_.bytes() + bytes));
      found = slots_.emplace(path, std::make_shared<Slot>()).first;
    }
    slot = found->second;
    slot->last_used = ++uses_;
    if (slot->file != nullptr) return slot->file;
  }
  std::lock_guard loading(slot->loading);
  {
    std::lock_guard lock(mutex_);
    if (slot->file != nullptr) return slot->file;
  }
  for (;;) {
    auto file = std::make_shared<IndexedFile>(path, consumer_);
    const arrow::Status loaded = file->Load(deletes, read_, context_);
    if (loaded.ok()) {
      std::lock_guard lock(mutex_);
      slot->file = file;
      return file;
    }
    file.reset();
    if (GetErrorKind(loaded) != ErrorKind::kMemoryLimit || !ForgetOne()) return loaded;
  }
}

arrow::Status SharedPositionDeletes::AddTo(const iceberg::DeleteFile& deletes, const std::string& data_file,
                                           DeletionVector* vector) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const IndexedFile> file, FileOf(deletes));
  return file->AddTo(data_file, vector);
}

}  // namespace icebound::bridge
