// SPDX-License-Identifier: Apache-2.0
//
// What a catalog is handed: a way to files, and memory that is accounted for.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <functional>
#include <memory>
#include <string>

namespace icebound::iceberg {

/// Memory for metadata: buffers come from `pool`, everything else is reserved before it is allocated. Thread safe.
class MetadataMemory {
 public:
  virtual ~MetadataMemory() = default;
  virtual arrow::MemoryPool* pool() = 0;
  /// kMemoryLimit when there is no room.
  virtual arrow::Status Reserve(int64_t bytes) = 0;
  virtual void Release(int64_t bytes) = 0;
};

/// A reservation that ends with its last holder.
class MetadataCharge {
 public:
  static arrow::Result<std::shared_ptr<MetadataCharge>> Make(std::shared_ptr<MetadataMemory> memory, int64_t bytes) {
    ARROW_RETURN_NOT_OK(memory->Reserve(bytes));
    return std::shared_ptr<MetadataCharge>(new MetadataCharge(std::move(memory), bytes));
  }
  MetadataCharge(const MetadataCharge&) = delete;
  MetadataCharge& operator=(const MetadataCharge&) = delete;
  ~MetadataCharge() { memory_->Release(bytes_); }

  arrow::Status GrowTo(int64_t bytes) {
    if (bytes <= bytes_) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(memory_->Reserve(bytes - bytes_));
    bytes_ = bytes;
    return arrow::Status::OK();
  }

 private:
  MetadataCharge(std::shared_ptr<MetadataMemory> memory, int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  const std::shared_ptr<MetadataMemory> memory_;
  int64_t bytes_;
};

/// A file or directory inside a file system. The local disk is a file system whose type_name() is "local", with paths of its own.
struct StoredPath {
  std::shared_ptr<arrow::fs::FileSystem> file_system;
  std::string path;
};

/// From a location as tables write them (a path, file:///..., s3://...) to where it is. Thread safe.
using LocationResolver = std::function<arrow::Result<StoredPath>(const std::string& location)>;

/// Paths and file: URIs, verbatim (no %-decoding: what a table names is what the file is called); anything else is kUnsupported.
LocationResolver ResolveLocalLocations(arrow::MemoryPool* pool);

/// A value; what it refers to outlives every catalog made with it.
struct CatalogContext {
  LocationResolver resolve;
  std::shared_ptr<MetadataMemory> memory;
};

}  // namespace icebound::iceberg
