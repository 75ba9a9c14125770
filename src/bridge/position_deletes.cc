// SPDX-License-Identifier: Apache-2.0
#include "bridge/position_deletes.h"

#include <array>
#include <span>

#include "base/error.h"
#include "bridge/position_delete_files.h"
#include "iceberg/puffin/deletion_vector.h"

namespace icebound::bridge {
namespace {

using iceberg::puffin::DeletionVector;

/// Thread safe: the vector does not change.
class VectorRows final : public io::ExcludedRows {
 public:
  explicit VectorRows(DeletionVector vector) : vector_(std::move(vector)) {}

  int64_t Count(int64_t rows) const override {
    std::array<int64_t, 256> beyond;
    int64_t count = vector_.cardinality();
    for (int64_t from = rows;;) {
      const int64_t found = vector_.Positions(from, beyond);
      count -= found;
      if (found < static_cast<int64_t>(beyond.size())) return count;
      from = beyond.back() + 1;
    }
  }
  int64_t Clear(int64_t first_row, int64_t rows, uint8_t* bitmap) const override {
    return vector_.ClearDeleted(first_row, rows, bitmap);
  }

 private:
  const DeletionVector vector_;
};

arrow::Result<DeletionVector> ReadVector(const iceberg::DeleteFile& deletes, const SnapshotRead& read,
                                         memory::MemoryConsumer* consumer) {
  const iceberg::DataFile& file = deletes.file;
  ARROW_ASSIGN_OR_RAISE(const auto puffin, read.open(file.file_path));
  ARROW_ASSIGN_OR_RAISE(DeletionVector vector, DeletionVector::Read(puffin.get(), file.file_path, file.content_offset.value_or(0),
                                                                    file.content_size_bytes.value_or(0), consumer));
  if (vector.cardinality() != file.record_count) {
    return MakeError(ErrorKind::kCorruptData, "{}: the deletion vector at {} names {} rows, its manifest counts {}",
                     file.file_path, file.content_offset.value_or(0), vector.cardinality(), file.record_count);
  }
  return vector;
}

}  // namespace

arrow::Result<std::shared_ptr<const io::ExcludedRows>> LoadExcludedRows(const iceberg::FileTask& task,
                                                                        const std::shared_ptr<const SnapshotRead>& read,
                                                                        runtime::QueryContext* context,
                                                                        SharedPositionDeletes* shared,
                                                                        memory::MemoryConsumer* consumer) {
  if (!task.deletion_vector.has_value() && task.position_deletes.empty()) return nullptr;
  DeletionVector vector(consumer);
  if (task.deletion_vector.has_value()) {
    ARROW_ASSIGN_OR_RAISE(vector, ReadVector(*task.deletion_vector, *read, consumer));
  }
  const std::string& path = task.file.file_path;
  for (const auto& deletes : task.position_deletes) {
    if (!deletes->about_one_file) {
      ARROW_RETURN_NOT_OK(shared->AddTo(*deletes, path, &vector));
      continue;
    }
    ARROW_RETURN_NOT_OK(VisitPositionDeletes(*deletes, &path, read, context,
                                             [&](std::string_view, std::span<const int64_t> rows) { return vector.Add(rows); }));
  }
  return std::make_shared<VectorRows>(std::move(vector));
}

}  // namespace icebound::bridge
