// SPDX-License-Identifier: Apache-2.0
//
// Tables on the local disk, for the probes of this folder.
#pragma once

#include <arrow/io/file.h>

#include <memory>
#include <string>
#include <utility>

#include "iceberg/spec/metadata_file.h"
#include "iceberg/spec/table_metadata.h"

namespace icebound::iceberg {

/// The path of a path or file:// URI.
inline std::string LocalPath(const std::string& location) {
  for (const std::string_view scheme : {"file://", "file:"}) {
    if (location.starts_with(scheme)) return location.substr(scheme.size());
  }
  return location;
}

inline arrow::Result<TableMetadata> ReadMetadata(const std::string& path, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path, pool));
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  ARROW_ASSIGN_OR_RAISE(auto bytes, file->Read(size));
  ARROW_ASSIGN_OR_RAISE(const auto text, MetadataText(std::move(bytes), path, pool));
  return TableMetadata::Parse(std::string_view(*text), path);
}

}  // namespace icebound::iceberg
