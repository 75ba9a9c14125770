// SPDX-License-Identifier: Apache-2.0
//
// For tests of catalogs: counted memory, temporary directories, a small table.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/catalog_context.h"
#include "iceberg/catalog/uuid.h"

namespace icebound::iceberg {

/// Counts what is reserved, and refuses above `limit_bytes`.
class CountedMemory final : public MetadataMemory {
 public:
  explicit CountedMemory(int64_t limit_bytes = int64_t{1} << 30) : limit_bytes_(limit_bytes) {}
  /// The system's allocator, which thread sanitizers see through.
  arrow::MemoryPool* pool() override { return arrow::system_memory_pool(); }
  arrow::Status Reserve(int64_t bytes) override {
    if (held_bytes_ + bytes > limit_bytes_) return MakeError(ErrorKind::kMemoryLimit, "no room for {} bytes", bytes);
    held_bytes_ += bytes;
    return arrow::Status::OK();
  }
  void Release(int64_t bytes) override { held_bytes_ -= bytes; }
  int64_t held_bytes() const { return held_bytes_; }
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }

 private:
  std::atomic<int64_t> limit_bytes_;
  std::atomic<int64_t> held_bytes_ = 0;
};

inline CatalogContext LocalContext(std::shared_ptr<MetadataMemory> memory = std::make_shared<CountedMemory>()) {
  return {ResolveLocalLocations(memory->pool()), memory};
}

/// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / ("catalog-test-" + *NewUuid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

/// The files below a directory whose names hold `part`, sorted.
inline std::vector<std::string> FilesWith(const std::string& directory, const std::string& part) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(directory)) return names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name.find(part) != std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// An empty table of one column in `location`.
inline TableMetadata SmallTable(const std::string& location) {
  const std::string json = fmt::format(
      R"({{"format-version": 2, "table-uuid": "{}", "location": "{}", "last-sequence-number": 0, "last-updated-ms": 1602638573874,
        "last-column-id": 1, "current-schema-id": 0, "schemas": [{{"type": "struct", "schema-id": 0, "fields":
        [{{"id": 1, "name": "x", "required": false, "type": "long"}}]}}], "default-spec-id": 0, "last-partition-id": 999,
        "partition-specs": [{{"spec-id": 0, "fields": []}}], "default-sort-order-id": 0, "sort-orders":
        [{{"order-id": 0, "fields": []}}], "properties": {{}}}})",
      *NewUuid(), location);
  return *TableMetadata::Parse(json, "small.json");
}

/// A copy with one property more.
inline TableMetadata WithProperty(const TableMetadata& metadata, const std::string& name, const std::string& value) {
  TableMetadata changed = metadata;
  for (auto& [key, old] : changed.properties) {
    if (key == name) {
      old = value;
      return changed;
    }
  }
  changed.properties.emplace_back(name, value);
  changed.last_updated_ms += 1000;
  return changed;
}

inline ErrorKind KindOf(const arrow::Status& status) { return GetErrorKind(status).value_or(ErrorKind::kInternal); }

}  // namespace icebound::iceberg
