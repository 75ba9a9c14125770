// SPDX-License-Identifier: Apache-2.0
//
// Metadata files: their names, and the text in them, which may be compressed.
//
//   v3.metadata.json                          file-system tables, by version
//   00003-<uuid>.metadata.json                catalogs, by version and a random part
//   ....gz.metadata.json                      compressed with gzip
//   ....metadata.json.gz                      the same by an older name, read but not written
//
// Names are a habit, not a promise: whether a file is compressed is read off its first two bytes (1f 8b), never off its name.
#pragma once

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace icebound::iceberg {

enum class MetadataCodec { kNone, kGzip };

/// From the value of write.metadata.compression-codec, in any case; "none" and "gzip".
arrow::Result<MetadataCodec> MetadataCodecByName(std::string_view name);

struct MetadataFileName {
  int64_t version = 0;
  bool has_leading_v = false;  ///< v3..., of a file-system table
  MetadataCodec codec = MetadataCodec::kNone;
};
/// The parts of a name (folders before it are not looked at); nullopt when it is no metadata file's.
std::optional<MetadataFileName> ParseMetadataFileName(std::string_view path);

/// "v3.gz.metadata.json"
std::string FileSystemMetadataName(int64_t version, MetadataCodec codec);
/// "00003-<uuid>.metadata.json"
std::string CatalogMetadataName(int64_t version, std::string_view uuid, MetadataCodec codec);

/// The JSON text of a file's bytes: these themselves, or decompressed into buffers of `pool`. `file_name` is for messages. A text
/// may be larger than `max_bytes` only by failing with kCorruptData: a few kilobytes of gzip can hold gigabytes.
arrow::Result<std::shared_ptr<arrow::Buffer>> MetadataText(std::shared_ptr<arrow::Buffer> file_bytes, std::string_view file_name,
                                                           arrow::MemoryPool* pool, int64_t max_bytes = int64_t{1} << 31);

/// What is written to a file for `json`.
arrow::Result<std::shared_ptr<arrow::Buffer>> MetadataFileBytes(std::string_view json, MetadataCodec codec,
                                                                arrow::MemoryPool* pool);

}  // namespace icebound::iceberg
