// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/metadata_file.h"

#include <arrow/util/compression.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

using arrow::util::Codec;

constexpr std::string_view kSuffix = ".metadata.json";
constexpr std::string_view kGzip = ".gz";
constexpr int64_t kFirstBytes = 64 << 10;

bool TakeSuffix(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

std::string_view Extension(MetadataCodec codec) { return codec == MetadataCodec::kGzip ? ".gz.metadata.json" : ".metadata.json"; }

/// Decompresses one or more gzip members that follow each other.
arrow::Result<std::shared_ptr<arrow::Buffer>> Gunzip(const arrow::Buffer& input, arrow::MemoryPool* pool, int64_t max_bytes) {
  ARROW_ASSIGN_OR_RAISE(auto codec, Codec::Create(arrow::Compression::GZIP));
  ARROW_ASSIGN_OR_RAISE(auto decompressor, codec->MakeDecompressor());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> output,
                        arrow::AllocateResizableBuffer(std::max<int64_t>(kFirstBytes, 4 * input.size()), pool));
  int64_t read = 0;
  int64_t written = 0;
  while (!decompressor->IsFinished() || read < input.size()) {
    if (decompressor->IsFinished()) ARROW_RETURN_NOT_OK(decompressor->Reset());
    if (written == output->size()) {
      if (written >= max_bytes) return MakeError(ErrorKind::kCorruptData, "more than {} bytes of text", max_bytes);
      ARROW_RETURN_NOT_OK(output->Resize(std::min(max_bytes, 2 * written), /*shrink_to_fit=*/false));
    }
    ARROW_ASSIGN_OR_RAISE(const auto step, decompressor->Decompress(input.size() - read, input.data() + read,
                                                                    output->size() - written, output->mutable_data() + written));
    read += step.bytes_read;
    written += step.bytes_written;
    // There was room and it does not go on: there is nothing to go on with.
    if (step.bytes_read == 0 && step.bytes_written == 0)
      return MakeError(ErrorKind::kCorruptData, "the gzip stream is cut short");
  }
  ARROW_RETURN_NOT_OK(output->Resize(written, /*shrink_to_fit=*/true));
  return std::shared_ptr<arrow::Buffer>(std::move(output));
}

}  // namespace

arrow::Result<MetadataCodec> MetadataCodecByName(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "none") return MetadataCodec::kNone;
  if (lower == "gzip") return MetadataCodec::kGzip;
  return MakeError(ErrorKind::kInvalidInput, "write.metadata.compression-codec is neither none nor gzip: '{}'", name);
}

std::optional<MetadataFileName> ParseMetadataFileName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  MetadataFileName parts;
  if (TakeSuffix(&name, kGzip)) parts.codec = MetadataCodec::kGzip;
  if (!TakeSuffix(&name, kSuffix)) return std::nullopt;
  if (TakeSuffix(&name, kGzip)) parts.codec = MetadataCodec::kGzip;
  parts.has_leading_v = name.starts_with('v');
  if (parts.has_leading_v) name.remove_prefix(1);
  const char* const name_end = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data(), name_end, parts.version);
  if (error != std::errc{} || parts.version < 0) return std::nullopt;
  if (parts.has_leading_v ? end != name_end : end == name_end || *end != '-') return std::nullopt;
  return parts;
}

std::string FileSystemMetadataName(int64_t version, MetadataCodec codec) {
  return fmt::format("v{}{}", version, Extension(codec));
}

std::string CatalogMetadataName(int64_t version, std::string_view uuid, MetadataCodec codec) {
  return fmt::format("{:05}-{}{}", version, uuid, Extension(codec));
}

arrow::Result<std::shared_ptr<arrow::Buffer>> MetadataText(std::shared_ptr<arrow::Buffer> file_bytes, std::string_view file_name,
                                                           arrow::MemoryPool* pool, int64_t max_bytes) {
  const bool is_gzip = file_bytes->size() >= 2 && file_bytes->data()[0] == 0x1f && file_bytes->data()[1] == 0x8b;
  if (!is_gzip) return file_bytes;
  auto text = Gunzip(*file_bytes, pool, max_bytes);
  if (!text.ok()) {
    const ErrorKind kind = text.status().IsOutOfMemory() ? ErrorKind::kMemoryLimit : ErrorKind::kCorruptData;
    return WithContext(text.status(), kind, fmt::format("table metadata {}", file_name));
  }
  return text;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> MetadataFileBytes(std::string_view json, MetadataCodec codec,
                                                                arrow::MemoryPool* pool) {
  const auto* data = reinterpret_cast<const uint8_t*>(json.data());
  const auto size = static_cast<int64_t>(json.size());
  if (codec == MetadataCodec::kNone) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> copy, arrow::AllocateBuffer(size, pool));
    std::copy_n(data, size, copy->mutable_data());
    return copy;
  }
  ARROW_ASSIGN_OR_RAISE(auto gzip, Codec::Create(arrow::Compression::GZIP));
  ARROW_ASSIGN_OR_RAISE(auto output, arrow::AllocateResizableBuffer(gzip->MaxCompressedLen(size, data), pool));
  ARROW_ASSIGN_OR_RAISE(const int64_t written, gzip->Compress(size, data, output->size(), output->mutable_data()));
  ARROW_RETURN_NOT_OK(output->Resize(written));
  return std::shared_ptr<arrow::Buffer>(std::move(output));
}

}  // namespace icebound::iceberg
