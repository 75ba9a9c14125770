// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "io/file_systems.h"

namespace icebound::io {

/// A client for `authority` (bucket, or container@account) of the store "s3", "gs" or "abfs".
arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeCloudFileSystem(const std::string& scheme, const std::string& authority,
                                                                          const StorageProperties& properties, arrow::MemoryPool* pool);

}  // namespace icebound::io
