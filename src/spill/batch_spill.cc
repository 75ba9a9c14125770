// SPDX-License-Identifier: Apache-2.0
#include "spill/batch_spill.h"

#include <arrow/extension_type.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "spill/batch_compaction.h"

namespace icebound::spill {
namespace {

constexpr int64_t kMessageHeadBytes = 16;
constexpr int64_t kBodyAlignment = 64;
constexpr std::array<uint8_t, kBodyAlignment> kZeros{};

struct MessageHead {
  uint32_t metadata_bytes = 0;
  uint32_t reserved = 0;
  int64_t body_bytes = 0;
};
static_assert(sizeof(MessageHead) == kMessageHeadBytes);

int64_t BodyOffset(int64_t metadata_bytes) {
  return (kMessageHeadBytes + metadata_bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment;
}

bool HasExtension(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) return true;
  if (type.id() == arrow::Type::DICTIONARY) return HasExtension(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return std::any_of(type.fields().begin(), type.fields().end(), [](const auto& field) { return HasExtension(*field->type()); });
}

bool HasDictionary(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) return true;
  if (type.id() == arrow::Type::EXTENSION) return HasDictionary(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  return std::any_of(type.fields().begin(), type.fields().end(), [](const auto& field) { return HasDictionary(*field->type()); });
}

bool HasNestedDictionary(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) return HasDictionary(*static_cast<const arrow::DictionaryType&>(type).value_type());
  if (type.id() == arrow::Type::EXTENSION)
    return HasNestedDictionary(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [](const auto& field) { return HasNestedDictionary(*field->type()); });
}

/// Extension columns travel as their storage, so that reading back never depends on what is registered in the process. Those
/// inside nested types keep their names in the schema; RestoreTypes makes both what they were.
std::shared_ptr<arrow::Schema> StorageSchema(const arrow::Schema& schema) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const auto& field : schema.fields()) {
    const bool extension = field->type()->id() == arrow::Type::EXTENSION;
    const auto type = extension ? static_cast<const arrow::ExtensionType&>(*field->type()).storage_type() : field->type();
    fields.push_back(arrow::field(field->name(), type, field->nullable()));
  }
  return arrow::schema(std::move(fields));
}

/// Gives `data` the type it had when written, all the way down.
std::shared_ptr<arrow::ArrayData> RestoreTypes(const arrow::ArrayData& data, const std::shared_ptr<arrow::DataType>& type) {
  auto restored = data.Copy();
  const arrow::DataType& storage =
      type->id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(*type).storage_type() : *type;
  for (int i = 0; i < storage.num_fields() && i < static_cast<int>(data.child_data.size()); ++i) {
    restored->child_data[i] = RestoreTypes(*data.child_data[i], storage.field(i)->type());
  }
  if (data.dictionary != nullptr) {
    restored->dictionary = RestoreTypes(*data.dictionary, static_cast<const arrow::DictionaryType&>(storage).value_type());
  }
  restored->type = type;
  return restored;
}

std::array<uint64_t, 2> Fingerprint(const arrow::ipc::IpcPayload& payload) {
  XXH3_state_t state{};
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, payload.metadata->data(), static_cast<size_t>(payload.metadata->size()));
  for (const auto& buffer : payload.body_buffers) {
    if (buffer != nullptr) XXH3_128bits_update(&state, buffer->data(), static_cast<size_t>(buffer->size()));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

/// Takes the first `bytes` from the front of `parts`, of which `*part` and `*position` remember how much is gone.
std::vector<std::span<const uint8_t>> TakeParts(const std::vector<std::span<const uint8_t>>& parts, int64_t bytes, size_t* part,
                                                size_t* position) {
  std::vector<std::span<const uint8_t>> taken;
  for (auto left = static_cast<size_t>(bytes); left > 0 && *part < parts.size();) {
    const size_t step = std::min(left, parts[*part].size() - *position);
    if (step > 0) taken.push_back(parts[*part].subspan(*position, step));
    left -= step;
    *position += step;
    if (*position == parts[*part].size()) ++*part, *position = 0;
  }
  return taken;
}

}  // namespace

// --- BatchSpillWriter -------------------------------------------------------------------------------------------------------

BatchSpillWriter::BatchSpillWriter(std::shared_ptr<SpillFile> file, std::shared_ptr<arrow::Schema> schema,
                                   arrow::MemoryPool* pool)
    : file_(std::move(file)), schema_(std::move(schema)), pool_(pool), storage_schema_(StorageSchema(*schema_)) {}

BatchSpillWriter::~BatchSpillWriter() = default;

arrow::Result<std::unique_ptr<BatchSpillWriter>> BatchSpillWriter::Make(std::shared_ptr<SpillFile> file,
                                                                        std::shared_ptr<arrow::Schema> schema,
                                                                        arrow::MemoryPool* pool) {
  std::unique_ptr<BatchSpillWriter> writer(new BatchSpillWriter(std::move(file), std::move(schema), pool));
  writer->dictionary_ids_ = std::make_unique<arrow::ipc::DictionaryFieldMapper>();
  ARROW_RETURN_NOT_OK(writer->dictionary_ids_->AddSchemaFields(*writer->storage_schema_));
  for (const auto& field : writer->storage_schema_->fields()) writer->nested_dictionaries_ |= HasNestedDictionary(*field->type());
  return writer;
}

arrow::Status BatchSpillWriter::Write(const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(failed_);
  if (batch.schema() != schema_ && !batch.schema()->Equals(*schema_, /*check_metadata=*/false)) {
    return MakeError(ErrorKind::kInternal, "a batch of another schema for spill file {}: {} instead of {}", file_->path(),
                     batch.schema()->ToString(), schema_->ToString());
  }
  if (batch.num_rows() == 0) return arrow::Status::OK();
  failed_ = WriteBatch(batch);
  return failed_;
}

arrow::Status BatchSpillWriter::WriteBatch(const arrow::RecordBatch& batch) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  columns.reserve(static_cast<size_t>(batch.num_columns()));
  for (int i = 0; i < batch.num_columns(); ++i) {
    std::shared_ptr<arrow::Array> column = batch.column(i);
    if (column->type_id() == arrow::Type::EXTENSION) column = static_cast<const arrow::ExtensionArray&>(*column).storage();
    ARROW_ASSIGN_OR_RAISE(column, CompactColumn(column, kSmallDictionaryBytes, pool_));
    columns.push_back(std::move(column));
  }
  const auto compact = arrow::RecordBatch::Make(storage_schema_, batch.num_rows(), std::move(columns));
  if (dictionary_ids_->num_dicts() > 0) ARROW_RETURN_NOT_OK(WriteDictionaries(*compact));

  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = pool_;
  options.allow_64bit = true;
  options.use_threads = false;
  arrow::ipc::IpcPayload payload;
  ARROW_RETURN_NOT_OK(arrow::ipc::GetRecordBatchPayload(*compact, options, &payload));
  return WriteMessage(payload, batch.num_rows());
}

arrow::Status BatchSpillWriter::WriteDictionaries(const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(const auto dictionaries, arrow::ipc::CollectDictionaries(batch, *dictionary_ids_));
  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = pool_;
  options.allow_64bit = true;
  options.use_threads = false;
  bool inner_changed = false;  // with nested dictionaries, an outer one must follow its inner ones again
  for (const auto& [id, dictionary] : dictionaries) {
    WrittenDictionary& written = written_dictionaries_[id];
    if (written.data.lock() == dictionary->data() && !inner_changed) continue;
    arrow::ipc::IpcPayload payload;
    ARROW_RETURN_NOT_OK(arrow::ipc::GetDictionaryPayload(id, dictionary, options, &payload));
    const auto fingerprint = Fingerprint(payload);
    written.data = dictionary->data();
    if (written.fingerprint == fingerprint && !inner_changed) continue;
    written.fingerprint = fingerprint;
    inner_changed |= nested_dictionaries_;
    ARROW_RETURN_NOT_OK(WriteMessage(payload, 0));
  }
  return arrow::Status::OK();
}

arrow::Status BatchSpillWriter::WriteMessage(const arrow::ipc::IpcPayload& payload, int64_t rows) {
  MessageHead head;
  head.metadata_bytes = static_cast<uint32_t>(payload.metadata->size());
  head.body_bytes = payload.body_length;
  const int64_t body_offset = BodyOffset(payload.metadata->size());
  const auto padding = static_cast<size_t>(body_offset - kMessageHeadBytes - payload.metadata->size());
  std::vector<std::span<const uint8_t>> parts;
  parts.emplace_back(reinterpret_cast<const uint8_t*>(&head), sizeof head);
  parts.emplace_back(payload.metadata->data(), static_cast<size_t>(payload.metadata->size()));
  parts.emplace_back(kZeros.data(), padding);
  int64_t body_bytes = 0;
  for (const auto& buffer : payload.body_buffers) {
    if (buffer == nullptr || buffer->size() == 0) continue;
    const int64_t padded_bytes = (buffer->size() + 7) / 8 * 8;  // IPC aligns the buffers of a body to 8 bytes
    parts.emplace_back(buffer->data(), static_cast<size_t>(buffer->size()));
    if (padded_bytes > buffer->size()) parts.emplace_back(kZeros.data(), static_cast<size_t>(padded_bytes - buffer->size()));
    body_bytes += padded_bytes;
  }
  if (body_bytes != head.body_bytes) {
    return MakeError(ErrorKind::kInternal, "an IPC message of {} bytes says that it has {}", body_bytes, head.body_bytes);
  }
  if (body_offset + body_bytes <= kBodyBlockBytes) return file_->AppendParts(parts, rows);
  size_t part = 0;
  size_t position = 0;
  ARROW_RETURN_NOT_OK(file_->AppendParts(TakeParts(parts, body_offset, &part, &position), rows));
  for (int64_t left = body_bytes; left > 0; left -= kBodyBlockBytes) {
    ARROW_RETURN_NOT_OK(file_->AppendParts(TakeParts(parts, std::min(left, kBodyBlockBytes), &part, &position), 0));
  }
  return arrow::Status::OK();
}

arrow::Status BatchSpillWriter::Finish() {
  ARROW_RETURN_NOT_OK(failed_);
  return file_->Finish();
}

// --- BatchSpillReader -------------------------------------------------------------------------------------------------------

namespace {

/// Hands the messages of a file to Arrow's stream reader, the schema first. Each block is read straight into a buffer of the
/// pool.
class BlockMessageReader : public arrow::ipc::MessageReader {
 public:
  BlockMessageReader(std::unique_ptr<SpillReader> blocks, std::string path, std::unique_ptr<arrow::ipc::Message> schema,
                     arrow::MemoryPool* pool)
      : blocks_(std::move(blocks)), path_(std::move(path)), schema_(std::move(schema)), pool_(pool) {}

  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    if (schema_ != nullptr) return std::move(schema_);
    ARROW_ASSIGN_OR_RAISE(const auto first_bytes, blocks_->PeekBytes());
    if (!first_bytes.has_value()) {
      // Tells the reader that the end was reached, so that the rest of the file is freed now.
      ARROW_RETURN_NOT_OK(blocks_->NextInto({}).status());
      return nullptr;
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> block, arrow::AllocateBuffer(*first_bytes, pool_));
    ARROW_RETURN_NOT_OK(ReadBlock(block->mutable_data(), *first_bytes));
    MessageHead head;
    if (*first_bytes < kMessageHeadBytes) return Broken();
    std::memcpy(&head, block->data(), sizeof head);
    const int64_t body_offset = BodyOffset(head.metadata_bytes);
    std::shared_ptr<arrow::Buffer> metadata = arrow::SliceBuffer(block, kMessageHeadBytes, head.metadata_bytes);
    if (*first_bytes == body_offset + head.body_bytes) {
      return arrow::ipc::Message::Open(std::move(metadata), arrow::SliceBuffer(block, body_offset, head.body_bytes));
    }
    if (*first_bytes != body_offset) return Broken();
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> body, arrow::AllocateBuffer(head.body_bytes, pool_));
    for (int64_t offset = 0; offset < head.body_bytes; offset += kBodyBlockBytes) {
      ARROW_RETURN_NOT_OK(ReadBlock(body->mutable_data() + offset, std::min(kBodyBlockBytes, head.body_bytes - offset)));
    }
    return arrow::ipc::Message::Open(std::move(metadata), std::move(body));
  }

 private:
  arrow::Status ReadBlock(uint8_t* target, int64_t bytes) {
    ARROW_ASSIGN_OR_RAISE(const auto next_bytes, blocks_->PeekBytes());
    if (next_bytes != bytes) return Broken();
    return blocks_->NextInto({target, static_cast<size_t>(bytes)}).status();
  }
  arrow::Status Broken() const {
    return MakeError(ErrorKind::kInternal, "block {} of spill file {} is no batch message", blocks_->next_block(), path_);
  }

  const std::unique_ptr<SpillReader> blocks_;
  const std::string path_;
  std::unique_ptr<arrow::ipc::Message> schema_;  // null once handed out
  arrow::MemoryPool* const pool_;
};

/// The schema as a message, from its encapsulated form | -1 | metadata bytes | metadata |.
arrow::Result<std::unique_ptr<arrow::ipc::Message>> SchemaMessage(const arrow::Schema& schema, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const auto encapsulated, arrow::ipc::SerializeSchema(schema, pool));
  constexpr int64_t kPrefixBytes = 8;
  int32_t metadata_bytes = 0;
  std::memcpy(&metadata_bytes, encapsulated->data() + 4, sizeof metadata_bytes);
  return arrow::ipc::Message::Open(arrow::SliceBuffer(encapsulated, kPrefixBytes, metadata_bytes), nullptr);
}

}  // namespace

BatchSpillReader::BatchSpillReader(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {
  for (const auto& field : schema_->fields()) has_extensions_ |= HasExtension(*field->type());
}

BatchSpillReader::~BatchSpillReader() = default;

arrow::Result<std::unique_ptr<BatchSpillReader>> BatchSpillReader::Open(const std::shared_ptr<SpillFile>& file,
                                                                        std::shared_ptr<arrow::Schema> schema,
                                                                        arrow::MemoryPool* pool, bool consume) {
  std::unique_ptr<BatchSpillReader> reader(new BatchSpillReader(std::move(schema)));
  ARROW_ASSIGN_OR_RAISE(auto blocks, file->OpenReader(consume));
  ARROW_ASSIGN_OR_RAISE(auto message, SchemaMessage(*StorageSchema(*reader->schema_), pool));
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool;
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(
      reader->stream_,
      arrow::ipc::RecordBatchStreamReader::Open(
          std::make_unique<BlockMessageReader>(std::move(blocks), file->path(), std::move(message), pool), options));
  return reader;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchSpillReader::Next() {
  if (stream_ == nullptr) return nullptr;
  std::shared_ptr<arrow::RecordBatch> batch;
  ARROW_RETURN_NOT_OK(stream_->ReadNext(&batch));
  if (batch == nullptr) {
    stream_.reset();
    return nullptr;
  }
  std::vector<std::shared_ptr<arrow::ArrayData>> columns = batch->column_data();
  if (has_extensions_) {
    for (int i = 0; i < schema_->num_fields(); ++i) columns[i] = RestoreTypes(*columns[i], schema_->field(i)->type());
  }
  return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
}

}  // namespace icebound::spill
