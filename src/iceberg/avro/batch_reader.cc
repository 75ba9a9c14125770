// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/batch_reader.h"

#include <algorithm>

#include "base/error.h"

namespace icebound::iceberg::avro {

arrow::Result<std::unique_ptr<BatchReader>> BatchReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                              std::shared_ptr<arrow::Schema> wanted, BatchReaderOptions options) {
  ARROW_ASSIGN_OR_RAISE(auto blocks, BlockReader::Open(std::move(file), std::move(name), options.file));
  std::unique_ptr<BatchReader> reader(new BatchReader(std::move(blocks), std::move(wanted), std::move(options)));
  const arrow::Status status = reader->MakeDecoders();
  if (!status.ok()) return WithContext(status, ErrorKind::kUnsupported, reader->blocks_->name());
  return reader;
}

arrow::Status BatchReader::MakeDecoders() {
  const Node& root = blocks_->schema().root();
  if (root.type != Type::kRecord) {
    return MakeError(ErrorKind::kUnsupported, "the file's values are {}, not records", ToString(root));
  }
  context_.pool = options_.file.consumer->pool();
  context_.defaults = &options_.defaults;
  context_.ids_by_name = &options_.ids_by_name;
  std::vector<std::string_view> path;
  const std::vector<int> targets = MatchFields(root, wanted_->fields(), &path, context_);
  for (int i = 0; i < wanted_->num_fields(); ++i) {
    if (std::find(targets.begin(), targets.end(), i) == targets.end()) missing_columns_.push_back(i);
  }
  const auto all = arrow::field("row", arrow::struct_(wanted_->fields()), /*nullable=*/false);
  ARROW_ASSIGN_OR_RAISE(rows_, MakeColumnDecoder(root, *all, &path, &context_));
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchReader::Next() {
  int64_t rows = 0;
  context_.batch_bytes = 0;
  while (rows < options_.max_rows && context_.batch_bytes < options_.max_bytes) {
    ARROW_ASSIGN_OR_RAISE(const bool more, blocks_->Advance());
    if (!more) break;
    const arrow::Status status = rows_->Decode(&blocks_->cursor());
    if (!status.ok()) [[unlikely]]
      return blocks_->Fail(status);
    ++rows;
  }
  if (rows == 0) return nullptr;
  return FinishBatch(rows);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchReader::FinishBatch(int64_t rows) {
  auto finished = rows_->Finish();
  if (!finished.ok()) return blocks_->Fail(finished.status());
  const auto& columns = static_cast<const arrow::StructArray&>(**finished);
  return arrow::RecordBatch::Make(wanted_, rows, columns.fields());
}

}  // namespace icebound::iceberg::avro
