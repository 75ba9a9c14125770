// SPDX-License-Identifier: Apache-2.0
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include "base/error.h"
#include "io/format/batch_format.h"
#include "io/stored_type.h"

namespace icebound::io {
namespace {

/// The Arrow IPC file format (on a stream: the stream format) by Arrow's own writer, in stored types. Dictionaries are decoded:
/// each batch may bring another one, which the file format has no place for.
class IpcFormat final : public BatchFormat {
 public:
  IpcFormat(FormatTarget target, std::shared_ptr<arrow::util::Codec> codec)
      : target_(std::move(target)),
        stored_schema_(StoredSchema(*target_.schema, StoredDictionaries::kDecoded)),
        codec_(std::move(codec)) {}

  arrow::Status Begin() override {
    arrow::ipc::IpcWriteOptions options;
    options.memory_pool = target_.pool;
    options.use_threads = false;
    options.codec = codec_;
    ARROW_ASSIGN_OR_RAISE(writer_, target_.is_file ? arrow::ipc::MakeFileWriter(target_.out, stored_schema_, options)
                                                   : arrow::ipc::MakeStreamWriter(target_.out, stored_schema_, options));
    return arrow::Status::OK();
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    arrow::ArrayVector columns;
    for (int i = 0; i < batch.num_columns(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto column, ToStoredType(batch.column(i), stored_schema_->field(i)->type(), target_.pool));
      columns.push_back(std::move(column));
    }
    return writer_->WriteRecordBatch(*arrow::RecordBatch::Make(stored_schema_, batch.num_rows(), std::move(columns)));
  }

  arrow::Status End() override { return writer_->Close(); }

 private:
  const FormatTarget target_;
  const std::shared_ptr<arrow::Schema> stored_schema_;
  const std::shared_ptr<arrow::util::Codec> codec_;  // null: none
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeIpcFormat(const CopyOptions& options, FormatTarget target) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format", "compression"}, "arrow"));
  const std::string compression = TextOption(options, "compression").value_or("none");
  std::shared_ptr<arrow::util::Codec> codec;
  if (compression == "lz4") {
    ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
  } else if (compression == "zstd") {
    ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
  } else if (compression != "none") {
    return MakeError(ErrorKind::kInvalidInput, "compression must be none, lz4 or zstd: \"{}\"", compression);
  }
  return std::make_unique<IpcFormat>(std::move(target), std::move(codec));
}

}  // namespace icebound::io
