// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/record_writer.h"

#include <cstring>
#include <random>

#include "base/error.h"

namespace icebound::iceberg::avro {

namespace {

constexpr std::string_view kMagic("Obj\x01", 4);

SyncMarker RandomMarker() {
  std::random_device device;
  SyncMarker marker;
  for (size_t i = 0; i < marker.size(); i += sizeof(uint32_t)) {
    const uint32_t word = device();
    std::memcpy(marker.data() + i, &word, sizeof(word));
  }
  return marker;
}

void AppendLong(int64_t value, std::string* out) {
  uint8_t bytes[kMaxVarintBytes];
  out->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(EncodeLong(value, bytes)));
}

void AppendText(std::string_view text, std::string* out) {
  AppendLong(static_cast<int64_t>(text.size()), out);
  out->append(text);
}

}  // namespace

RecordWriter::RecordWriter(arrow::io::OutputStream* output, std::string name, std::shared_ptr<const Schema> schema,
                           const WriterOptions& options)
    : output_(output),
      name_(std::move(name)),
      schema_(std::move(schema)),
      consumer_(options.consumer),
      block_bytes_(options.block_bytes),
      sync_(options.sync_marker.has_value() ? *options.sync_marker : RandomMarker()),
      block_(options.consumer) {}

arrow::Result<std::unique_ptr<RecordWriter>> RecordWriter::Open(arrow::io::OutputStream* output, std::string name,
                                                                std::shared_ptr<const Schema> schema,
                                                                const WriterOptions& options) {
  std::unique_ptr<RecordWriter> writer(new RecordWriter(output, std::move(name), std::move(schema), options));
  ARROW_ASSIGN_OR_RAISE(writer->codec_, BlockCompressor::Make(options.codec, options.compression_level, options.consumer));
  ARROW_RETURN_NOT_OK(writer->WriteHeader(options));
  return writer;
}

arrow::Status RecordWriter::CheckOpen() const {
  if (finished_) return MakeError(ErrorKind::kInternal, "{}: a record behind the end of the file", name_);
  if (broken_) return MakeError(ErrorKind::kIo, "{}: an earlier write failed", name_);
  return arrow::Status::OK();
}

arrow::Status RecordWriter::Abandon(int64_t begin_bytes, const arrow::Status& status) {
  IgnoreError(block_.Resize(begin_bytes));  // to a smaller size: cannot fail
  return WithContext(status, ErrorKind::kInternal, fmt::format("{}, record {}", name_, records_));
}

arrow::Status RecordWriter::WriteHeader(const WriterOptions& options) {
  const std::string schema_json = schema_->ToJson();
  int64_t bytes = 1024 + 3 * static_cast<int64_t>(schema_json.size());
  for (const auto& [key, value] : options.metadata) bytes += 2 * static_cast<int64_t>(key.size() + value.size()) + 64;
  memory::Reservation reservation(consumer_);
  ARROW_RETURN_NOT_OK(reservation.ResizeTo(bytes));

  std::string header(kMagic);
  AppendLong(static_cast<int64_t>(options.metadata.size()) + 2, &header);
  AppendText("avro.schema", &header);
  AppendText(schema_json, &header);
  AppendText("avro.codec", &header);
  AppendText(ToString(options.codec), &header);
  for (const auto& [key, value] : options.metadata) {
    AppendText(key, &header);
    AppendText(value, &header);
  }
  AppendLong(0, &header);
  header.append(reinterpret_cast<const char*>(sync_.data()), sync_.size());
  return WriteBytes(header.data(), static_cast<int64_t>(header.size()));
}

arrow::Status RecordWriter::WriteBlock() {
  if (block_records_ == 0) return arrow::Status::OK();
  auto compressed = codec_->Compress({block_.data(), static_cast<size_t>(block_.size())});
  if (!compressed.ok()) {
    broken_ = true;
    return WithContext(compressed.status(), ErrorKind::kInternal, name_);
  }
  uint8_t frame[2 * kMaxVarintBytes];
  int frame_bytes = EncodeLong(block_records_, frame);
  frame_bytes += EncodeLong(static_cast<int64_t>(compressed->size()), frame + frame_bytes);
  ARROW_RETURN_NOT_OK(WriteBytes(frame, frame_bytes));
  ARROW_RETURN_NOT_OK(WriteBytes(compressed->data(), static_cast<int64_t>(compressed->size())));
  ARROW_RETURN_NOT_OK(WriteBytes(sync_.data(), static_cast<int64_t>(sync_.size())));
  block_.Clear();
  block_records_ = 0;
  return arrow::Status::OK();
}

arrow::Status RecordWriter::WriteBytes(const void* data, int64_t size) {
  const arrow::Status status = output_->Write(data, size);
  if (!status.ok()) {
    broken_ = true;
    return WithContext(status, ErrorKind::kIo, fmt::format("{}, byte {}", name_, written_bytes_));
  }
  written_bytes_ += size;
  return arrow::Status::OK();
}

arrow::Status RecordWriter::Finish() {
  ARROW_RETURN_NOT_OK(CheckOpen());
  ARROW_RETURN_NOT_OK(WriteBlock());
  finished_ = true;
  return arrow::Status::OK();
}

}  // namespace icebound::iceberg::avro
