// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/puffin_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "iceberg/puffin/frame_codec.h"
#include "iceberg/puffin/little_endian.h"
#include "iceberg/spec/json_text.h"

namespace icebound::iceberg::puffin {

namespace {

constexpr std::string_view kMagic = "PFA1";
constexpr int64_t kMagicBytes = 4;
// Size of the payload, flags, magic.
constexpr int64_t kTrailerBytes = 12;
constexpr uint32_t kFlagCompressed = 1;
// A footer describes its blobs in a few hundred bytes each: more than this is not one.
constexpr int64_t kMaxPayloadBytes = int64_t{256} << 20;

std::span<const uint8_t> BytesOf(const arrow::Buffer& buffer) { return {buffer.data(), static_cast<size_t>(buffer.size())}; }
std::string_view TextOf(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

template <typename... Args>
arrow::Status Bad(fmt::format_string<Args...> format, Args&&... args) {
  return ErrorStatus(ErrorKind::kCorruptData, fmt::format(format, std::forward<Args>(args)...));
}

arrow::Result<Properties> ParseProperties(std::optional<std::string_view> json) {
  Properties properties;
  if (!json) return properties;
  ARROW_ASSIGN_OR_RAISE(const JsonObject object, JsonObject::Make(*json));
  for (const auto& member : object.members()) {
    ARROW_ASSIGN_OR_RAISE(auto value, DecodeJsonString(member.value));
    properties.emplace_back(member.name, std::move(value));
  }
  return properties;
}

void WriteProperties(const Properties& properties, JsonWriter* writer) {
  writer->BeginObject();
  for (const auto& [key, value] : properties) writer->StringMember(key, value);
  writer->EndObject();
}

std::string_view CodecName(BlobCodec codec) { return codec == BlobCodec::kLz4 ? "lz4" : codec == BlobCodec::kZstd ? "zstd" : ""; }

std::string BlobJson(const BlobMetadata& blob) {
  std::string json;
  JsonWriter writer(&json);
  writer.BeginObject();
  writer.StringMember("type", blob.type);
  writer.IntListMember("fields", blob.fields);
  writer.IntMember("snapshot-id", blob.snapshot_id);
  writer.IntMember("sequence-number", blob.sequence_number);
  writer.IntMember("offset", blob.offset);
  writer.IntMember("length", blob.length);
  if (!blob.compression_codec.empty()) writer.StringMember("compression-codec", blob.compression_codec);
  if (!blob.properties.empty()) {
    writer.Key("properties");
    WriteProperties(blob.properties, &writer);
  }
  writer.EndObject();
  return json;
}

}  // namespace

std::optional<std::string_view> BlobMetadata::property(std::string_view key) const {
  for (const auto& [name, value] : properties) {
    if (name == key) return value;
  }
  return std::nullopt;
}

arrow::Result<std::unique_ptr<PuffinReader>> PuffinReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                                std::string name, memory::MemoryConsumer* consumer) {
  std::unique_ptr<PuffinReader> reader(new PuffinReader(std::move(file), std::move(name), consumer));
  const auto in_footer = [&](const arrow::Status& status) {
    return WithContext(status, ErrorKind::kCorruptData, fmt::format("{}, footer", reader->name_));
  };
  const auto payload = reader->ReadFooterPayload();
  if (!payload.ok()) return in_footer(payload.status());
  const arrow::Status status = reader->ParseFooter(TextOf(**payload));
  if (!status.ok()) return in_footer(status);
  return reader;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PuffinReader::ReadRange(int64_t offset, int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes, consumer_->pool()));
  const auto read = file_->ReadAt(offset, bytes, buffer->mutable_data());
  if (!read.ok()) return WithContext(read.status(), ErrorKind::kIo, fmt::format("byte {}", offset));
  if (*read != bytes) return Bad("byte {}: the file became shorter while it was read", offset + *read);
  return buffer;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PuffinReader::ReadFooterPayload() {
  const auto file_bytes = file_->GetSize();
  if (!file_bytes.ok()) return WithContext(file_bytes.status(), ErrorKind::kIo, "size");
  // The magic of the file, and a footer without a payload.
  if (*file_bytes < 2 * kMagicBytes + kTrailerBytes) return Bad("not a Puffin file: {} bytes", *file_bytes);
  ARROW_ASSIGN_OR_RAISE(const auto trailer, ReadRange(*file_bytes - kTrailerBytes, kTrailerBytes));
  if (TextOf(*trailer).substr(8) != kMagic) return Bad("not a Puffin file: it does not end with PFA1");
  const int64_t payload_bytes = ReadLittleEndian<uint32_t>(trailer->data());
  const uint32_t flags = ReadLittleEndian<uint32_t>(trailer->data() + 4);
  if ((flags & ~kFlagCompressed) != 0)
    return MakeError(ErrorKind::kUnsupported, "flags {:08x}: bit 0 is the only one known", flags);
  footer_offset_ = *file_bytes - kTrailerBytes - payload_bytes - kMagicBytes;
  if (footer_offset_ < kMagicBytes || payload_bytes > kMaxPayloadBytes) {
    return Bad("a payload of {} bytes in a file of {}", payload_bytes, *file_bytes);
  }
  ARROW_ASSIGN_OR_RAISE(auto footer, ReadRange(footer_offset_, kMagicBytes + payload_bytes));
  if (TextOf(*footer).substr(0, kMagicBytes) != kMagic) return Bad("byte {}: it does not begin with PFA1", footer_offset_);
  auto payload = arrow::SliceBuffer(footer, kMagicBytes);
  if (flags == 0) return payload;
  return DecompressFrame(FrameKind::kLz4, BytesOf(*payload), consumer_);
}

arrow::Status PuffinReader::ParseFooter(std::string_view json) {
  ARROW_RETURN_NOT_OK(CheckJson(json));
  ARROW_ASSIGN_OR_RAISE(JsonObject footer, JsonObject::Make(json));
  ARROW_ASSIGN_OR_RAISE(const auto blobs, footer.Get("blobs"));
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(blobs));
  // Strings are parts of the text; each property and field id is a comma of it, and what a vector of them may be too large.
  const auto commas = std::count(json.begin(), json.end(), ',') + 1;
  const int64_t blob_count = elements.count();
  ARROW_RETURN_NOT_OK(reservation_.ResizeTo(static_cast<int64_t>(json.size()) +
                                            commas * 4 * static_cast<int64_t>(sizeof(std::string)) +
                                            blob_count * static_cast<int64_t>(sizeof(BlobMetadata) + 64)));
  blobs_.reserve(static_cast<size_t>(blob_count));
  std::string_view element;
  while (elements.Next(&element)) {
    const arrow::Status status = ParseBlob(element);
    if (!status.ok()) return WithContext(status, ErrorKind::kCorruptData, fmt::format("blob {}", blobs_.size()));
  }
  ARROW_ASSIGN_OR_RAISE(properties_, ParseProperties(footer.Find("properties")));
  return arrow::Status::OK();
}

arrow::Status PuffinReader::ParseBlob(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  BlobMetadata blob;
  ARROW_ASSIGN_OR_RAISE(blob.type, object.GetString("type"));
  ARROW_ASSIGN_OR_RAISE(blob.fields, object.GetInt32List("fields"));
  ARROW_ASSIGN_OR_RAISE(blob.snapshot_id, object.GetInt64("snapshot-id"));
  ARROW_ASSIGN_OR_RAISE(blob.sequence_number, object.GetInt64("sequence-number"));
  ARROW_ASSIGN_OR_RAISE(blob.offset, object.GetInt64("offset"));
  ARROW_ASSIGN_OR_RAISE(blob.length, object.GetInt64("length"));
  ARROW_ASSIGN_OR_RAISE(auto codec, object.FindString("compression-codec"));
  blob.compression_codec = std::move(codec).value_or("");
  ARROW_ASSIGN_OR_RAISE(blob.properties, ParseProperties(object.Find("properties")));
  if (blob.offset < kMagicBytes || blob.length < 0 || blob.length > footer_offset_ - blob.offset) {
    return Bad("{} bytes at {} do not lie before the footer at {}", blob.length, blob.offset, footer_offset_);
  }
  blobs_.push_back(std::move(blob));
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PuffinReader::ReadBlob(const BlobMetadata& blob) {
  const auto in_blob = [&](const arrow::Status& status) {
    return WithContext(status, ErrorKind::kCorruptData, fmt::format("{}, blob {} at byte {}", name_, blob.type, blob.offset));
  };
  const std::string& codec = blob.compression_codec;
  if (!codec.empty() && codec != "lz4" && codec != "zstd") {
    return in_blob(MakeError(ErrorKind::kUnsupported, "compression codec {}: there are lz4 and zstd", codec));
  }
  auto stored = ReadRange(blob.offset, blob.length);
  if (!stored.ok()) return in_blob(stored.status());
  if (codec.empty()) return stored;
  auto plain = DecompressFrame(codec == "lz4" ? FrameKind::kLz4 : FrameKind::kZstd, BytesOf(**stored), consumer_);
  if (!plain.ok()) return in_blob(plain.status());
  return plain;
}

arrow::Result<std::unique_ptr<PuffinWriter>> PuffinWriter::Open(arrow::io::OutputStream* output, std::string name,
                                                                memory::MemoryConsumer* consumer) {
  std::unique_ptr<PuffinWriter> writer(new PuffinWriter(output, std::move(name), consumer));
  ARROW_RETURN_NOT_OK(writer->Write(kMagic.data(), kMagicBytes));
  return writer;
}

arrow::Status PuffinWriter::Write(const void* data, int64_t bytes) {
  const arrow::Status status = output_->Write(data, bytes);
  if (!status.ok()) return WithContext(status, ErrorKind::kIo, fmt::format("{}, byte {}", name_, written_bytes_));
  written_bytes_ += bytes;
  return arrow::Status::OK();
}

arrow::Result<BlobMetadata> PuffinWriter::Append(BlobMetadata metadata, std::span<const uint8_t> payload, BlobCodec codec) {
  std::shared_ptr<arrow::Buffer> compressed;
  if (codec != BlobCodec::kNone) {
    ARROW_ASSIGN_OR_RAISE(compressed,
                          CompressFrame(codec == BlobCodec::kLz4 ? FrameKind::kLz4 : FrameKind::kZstd, payload, consumer_));
    payload = BytesOf(*compressed);
  }
  metadata.offset = written_bytes_;
  metadata.length = static_cast<int64_t>(payload.size());
  metadata.compression_codec = CodecName(codec);
  const std::string json = BlobJson(metadata);
  // The text so far, its copy while it grows, and the payload that Finish makes of it.
  ARROW_RETURN_NOT_OK(footer_reservation_.ResizeTo(4 * static_cast<int64_t>(blobs_json_.size() + json.size()) + 4096));
  ARROW_RETURN_NOT_OK(Write(payload.data(), metadata.length));
  if (!blobs_json_.empty()) blobs_json_ += ',';
  blobs_json_ += json;
  return metadata;
}

arrow::Status PuffinWriter::Finish(const Properties& properties, BlobCodec codec) {
  std::string json = "{\"blobs\":[" + blobs_json_ + "],\"properties\":";
  JsonWriter writer(&json);
  WriteProperties(properties, &writer);
  json += '}';
  std::span<const uint8_t> payload(reinterpret_cast<const uint8_t*>(json.data()), json.size());
  std::shared_ptr<arrow::Buffer> compressed;
  if (codec != BlobCodec::kNone) {
    ARROW_ASSIGN_OR_RAISE(compressed, CompressFrame(FrameKind::kLz4, payload, consumer_));
    payload = BytesOf(*compressed);
  }
  ARROW_RETURN_NOT_OK(Write(kMagic.data(), kMagicBytes));
  ARROW_RETURN_NOT_OK(Write(payload.data(), static_cast<int64_t>(payload.size())));
  const uint32_t trailer[2] = {static_cast<uint32_t>(payload.size()), codec == BlobCodec::kNone ? 0 : kFlagCompressed};
  ARROW_RETURN_NOT_OK(Write(trailer, sizeof(trailer)));
  return Write(kMagic.data(), kMagicBytes);
}

}  // namespace icebound::iceberg::puffin
