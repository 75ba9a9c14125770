// SPDX-License-Identifier: Apache-2.0
#include "bridge/avro_rows.h"

#include <arrow/array/util.h>
#include <arrow/compute/api.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "expr/evaluate.h"
#include "iceberg/avro/batch_reader.h"

namespace icebound::bridge {
namespace {

using iceberg::avro::BatchReader;

class AvroRows final : public runtime::BatchStream {
 public:
  AvroRows(std::unique_ptr<BatchReader> reader, const FileToRead& file, const std::vector<expr::ExprPtr>& filters,
           std::shared_ptr<const io::ExcludedRows> excluded, runtime::QueryContext* context, memory::MemoryConsumer* consumer)
      : reader_(std::move(reader)),
        mapping_(file.mapping),
        filter_(filters.empty() ? nullptr : expr::MakeAnd(filters)),
        excluded_(std::move(excluded)),
        context_(context),
        consumer_(consumer) {
    for (const int column : reader_->missing_columns()) missing_.push_back(column);
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    for (;;) {
      ARROW_RETURN_NOT_OK(context_->cancellation.Check());
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader_->Next());
      if (batch == nullptr) return batch;
      const int64_t first_row = std::exchange(rows_read_, rows_read_ + batch->num_rows());
      context_->metrics.input_rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
      ARROW_ASSIGN_OR_RAISE(batch, WithKnownColumns(*batch, first_row));
      ARROW_ASSIGN_OR_RAISE(batch, WithoutExcluded(std::move(batch), first_row));
      if (batch->num_rows() > 0 && filter_ != nullptr) {
        ARROW_ASSIGN_OR_RAISE(batch, expr::Filter(*filter_, batch, {consumer_->pool(), context_->statement_time_us, nullptr}));
      }
      if (batch != nullptr && batch->num_rows() > 0) return batch;
    }
  }

 private:
  arrow::Result<std::shared_ptr<arrow::Array>> KnownValues(int32_t id, int64_t first_row, int64_t rows) const {
    if (const auto constant = mapping_.constants.find(id); constant != mapping_.constants.end()) {
      return arrow::MakeArrayFromScalar(*constant->second, rows, consumer_->pool());
    }
    const auto number = mapping_.row_numbers.find(id);
    if (number == mapping_.row_numbers.end()) return nullptr;
    arrow::Int64Builder builder(consumer_->pool());
    ARROW_RETURN_NOT_OK(builder.Reserve(rows));
    for (int64_t i = 0; i < rows; ++i) builder.UnsafeAppend(number->second + first_row + i);
    return builder.Finish();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithKnownColumns(const arrow::RecordBatch& batch, int64_t first_row) const {
    arrow::ArrayVector columns = batch.columns();
    for (int i = 0; i < batch.num_columns(); ++i) {
      const int32_t id = io::FieldIdOf(*batch.schema()->field(i));
      const bool is_missing = std::find(missing_.begin(), missing_.end(), i) != missing_.end();
      const bool has_gaps = mapping_.filled.contains(id) && columns[static_cast<size_t>(i)]->null_count() > 0;
      if (!is_missing && !has_gaps) continue;
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> known, KnownValues(id, first_row, batch.num_rows()));
      if (known == nullptr) continue;
      if (!is_missing) {
        arrow::compute::ExecContext context(consumer_->pool());
        const std::vector<arrow::Datum> choices = {columns[static_cast<size_t>(i)], known};
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum filled, arrow::compute::CallFunction("coalesce", choices, &context));
        known = filled.make_array();
      }
      columns[static_cast<size_t>(i)] = std::move(known);
    }
    return arrow::RecordBatch::Make(batch.schema(), batch.num_rows(), std::move(columns));
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithoutExcluded(std::shared_ptr<arrow::RecordBatch> batch,
                                                                     int64_t first_row) const {
    if (excluded_ == nullptr) return batch;
    const int64_t rows = batch->num_rows();
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bitmap,
                          arrow::AllocateBuffer(arrow::bit_util::BytesForBits(rows), consumer_->pool()));
    std::memset(bitmap->mutable_data(), 0xff, static_cast<size_t>(bitmap->size()));
    const int64_t gone = excluded_->Clear(first_row, rows, bitmap->mutable_data());
    if (gone == 0) return batch;
    if (batch->num_columns() == 0) return arrow::RecordBatch::Make(batch->schema(), rows - gone, arrow::ArrayVector{});
    arrow::compute::ExecContext context(consumer_->pool());
    const auto keep = std::make_shared<arrow::BooleanArray>(rows, std::move(bitmap));
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum kept,
                          arrow::compute::Filter(batch, keep, arrow::compute::FilterOptions::Defaults(), &context));
    return kept.record_batch();
  }

  const std::unique_ptr<BatchReader> reader_;
  const io::FieldIdMapping mapping_;
  const expr::ExprPtr filter_;
  const std::shared_ptr<const io::ExcludedRows> excluded_;
  runtime::QueryContext* const context_;
  memory::MemoryConsumer* const consumer_;
  std::vector<int> missing_;
  int64_t rows_read_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenAvroRows(const FileToRead& file, std::shared_ptr<arrow::Schema> schema,
                                                                  const std::vector<expr::ExprPtr>& filters,
                                                                  const SnapshotRead& read, runtime::QueryContext* context,
                                                                  memory::MemoryConsumer* consumer) {
  const io::FieldIdMapping& mapping = file.mapping;
  iceberg::avro::BatchReaderOptions options;
  options.file.consumer = consumer;
  options.max_rows = context->batch_rows;
  options.max_bytes = context->batch_bytes;
  if (mapping.defaults != nullptr) options.defaults = *mapping.defaults;
  if (mapping.names != nullptr && *mapping.names) {
    // A value that is known goes before a column that only has the right name.
    options.ids_by_name = [&mapping](std::span<const std::string_view> path) -> std::optional<int32_t> {
      const std::optional<int32_t> id = (*mapping.names)(path);
      const bool is_known = id.has_value() && path.size() == 1 && mapping.constants.contains(*id);
      return is_known ? std::nullopt : id;
    };
  }
  ARROW_ASSIGN_OR_RAISE(const auto stored, read.open(file.location));
  ARROW_ASSIGN_OR_RAISE(auto reader, BatchReader::Open(stored, file.location, schema, std::move(options)));
  for (const int column : reader->missing_columns()) {
    const int32_t id = io::FieldIdOf(*schema->field(column));
    if (!mapping.required.contains(id) || mapping.constants.contains(id) || mapping.row_numbers.contains(id)) continue;
    if (mapping.defaults != nullptr && mapping.defaults->contains(id)) continue;
    return MakeError(ErrorKind::kCorruptData, "{} has no column with field id {}: \"{}\", which must not be NULL", file.location,
                     id, schema->field(column)->name());
  }
  std::shared_ptr<const io::ExcludedRows> excluded;
  if (file.excluded) {
    ARROW_ASSIGN_OR_RAISE(excluded, file.excluded(consumer));
  }
  return std::make_unique<AvroRows>(std::move(reader), file, filters, std::move(excluded), context, consumer);
}

}  // namespace icebound::bridge
