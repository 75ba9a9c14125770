// SPDX-License-Identifier: Apache-2.0
//
// A table of rows that come one at a time: columns say how a row's value goes into an Arrow builder, and only the columns that a
// scan asks for are built. A batch ends at the session's rows or bytes.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/array/builder_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/table_source.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

template <typename Row>
struct Column {
  std::shared_ptr<arrow::Field> field;
  std::function<arrow::Status(const Row&, arrow::ArrayBuilder*)> append;
};

/// One value, or a null for nullopt and null pointers.
template <typename Builder, typename Value>
arrow::Status AppendValue(Builder* builder, const Value& value) {
  return builder->Append(value);
}
template <typename Builder, typename Value>
arrow::Status AppendValue(Builder* builder, const std::optional<Value>& value) {
  return value ? builder->Append(*value) : builder->AppendNull();
}

/// A column whose values `get` returns, for types with a builder of their own.
template <typename Row, typename ArrowType, typename Get>
Column<Row> MakeColumn(std::string name, std::shared_ptr<arrow::DataType> type, bool nullable, Get get) {
  using Builder = typename arrow::TypeTraits<ArrowType>::BuilderType;
  return {arrow::field(std::move(name), std::move(type), nullable),
          [get = std::move(get)](const Row& row, arrow::ArrayBuilder* builder) -> arrow::Status {
            return AppendValue(static_cast<Builder*>(builder), get(row));
          }};
}

inline constexpr bool kNullable = true;
inline constexpr bool kRequired = false;

template <typename Row, typename Get>
Column<Row> Int32Column(std::string name, bool nullable, Get get) {
  return MakeColumn<Row, arrow::Int32Type>(std::move(name), arrow::int32(), nullable, std::move(get));
}
template <typename Row, typename Get>
Column<Row> Int64Column(std::string name, bool nullable, Get get) {
  return MakeColumn<Row, arrow::Int64Type>(std::move(name), arrow::int64(), nullable, std::move(get));
}
template <typename Row, typename Get>
Column<Row> TextColumn(std::string name, bool nullable, Get get) {
  return MakeColumn<Row, arrow::StringType>(std::move(name), arrow::utf8(), nullable, std::move(get));
}
/// `get` gives microseconds since the epoch.
template <typename Row, typename Get>
Column<Row> TimeColumn(std::string name, bool nullable, Get get) {
  return MakeColumn<Row, arrow::TimestampType>(std::move(name), arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), nullable,
                                               std::move(get));
}

/// Not thread safe.
template <typename Row>
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Null at the end; valid until the next call.
  virtual arrow::Result<const Row*> Next() = 0;
};

/// What a scan is of: which columns are wanted, and memory.
struct RowScan {
  std::vector<int> projection;
  memory::MemoryConsumer* consumer = nullptr;
  runtime::QueryContext* context = nullptr;

  bool Wants(int column) const { return std::find(projection.begin(), projection.end(), column) != projection.end(); }
};

/// What a table of rows is made of. Thread safe: immutable.
template <typename Row>
struct RowTableDefinition {
  std::string description;
  std::vector<Column<Row>> columns;
  std::optional<int64_t> rows;                   ///< when known
  std::function<int64_t(const Row&)> row_bytes;  ///< about what all its values take: batches are cut by it
  std::function<arrow::Result<std::unique_ptr<RowReader<Row>>>(const RowScan&)> open;
};

template <typename Row>
class RowStream final : public runtime::BatchStream {
 public:
  static arrow::Result<std::unique_ptr<RowStream>> Open(std::shared_ptr<const RowTableDefinition<Row>> definition, RowScan scan,
                                                        std::shared_ptr<arrow::Schema> schema) {
    auto stream = std::unique_ptr<RowStream>(new RowStream(std::move(definition), std::move(scan), std::move(schema)));
    ARROW_ASSIGN_OR_RAISE(stream->reader_, stream->definition_->open(stream->scan_));
    for (const auto& field : stream->schema_->fields()) {
      ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type(), stream->scan_.consumer->pool()));
      stream->builders_.push_back(std::move(builder));
    }
    return stream;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    const runtime::QueryContext& context = *scan_.context;
    ARROW_RETURN_NOT_OK(context.cancellation.Check());
    int64_t rows = 0;
    int64_t bytes = 0;
    while (reader_ != nullptr && rows < context.batch_rows && bytes < context.batch_bytes) {
      ARROW_ASSIGN_OR_RAISE(const Row* row, reader_->Next());
      if (row == nullptr) {
        reader_.reset();
        break;
      }
      bytes += definition_->row_bytes(*row);
      for (size_t i = 0; i < builders_.size(); ++i) {
        const Column<Row>& column = definition_->columns[static_cast<size_t>(scan_.projection[i])];
        ARROW_RETURN_NOT_OK(column.append(*row, builders_[i].get()));
      }
      ++rows;
    }
    if (rows == 0) return nullptr;
    arrow::ArrayVector arrays;
    for (const auto& builder : builders_) {
      ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    scan_.context->metrics.input_rows.fetch_add(rows, std::memory_order_relaxed);
    return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
  }

 private:
  RowStream(std::shared_ptr<const RowTableDefinition<Row>> definition, RowScan scan, std::shared_ptr<arrow::Schema> schema)
      : definition_(std::move(definition)), scan_(std::move(scan)), schema_(std::move(schema)) {}

  const std::shared_ptr<const RowTableDefinition<Row>> definition_;
  const RowScan scan_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::unique_ptr<RowReader<Row>> reader_;  // null at the end
};

/// One stream, in the order of the rows.
template <typename Row>
class RowSource final : public runtime::StreamSource {
 public:
  RowSource(std::shared_ptr<const RowTableDefinition<Row>> definition, const plan::ScanRequest& request,
            runtime::QueryContext* context, const arrow::Schema& schema)
      : definition_(std::move(definition)), consumer_(context->ledger.AddConsumer("metadata table")) {
    scan_ = {request.projection, consumer_.get(), context};
    arrow::FieldVector fields;
    for (const int column : request.projection) fields.push_back(schema.field(column));
    schema_ = arrow::schema(std::move(fields));
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override {
    ARROW_ASSIGN_OR_RAISE(auto stream, RowStream<Row>::Open(definition_, scan_, schema_));
    return stream;
  }
  int64_t peak_bytes() const override { return consumer_->peak_bytes(); }

 private:
  const std::shared_ptr<const RowTableDefinition<Row>> definition_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  RowScan scan_;
  std::shared_ptr<arrow::Schema> schema_;
};

/// Thread safe.
template <typename Row>
class RowTable final : public plan::TableSource {
 public:
  explicit RowTable(RowTableDefinition<Row> definition)
      : definition_(std::make_shared<const RowTableDefinition<Row>>(std::move(definition))) {
    arrow::FieldVector fields;
    for (const Column<Row>& column : definition_->columns) fields.push_back(column.field);
    schema_ = arrow::schema(std::move(fields));
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  plan::TableStatistics statistics() const override { return {.rows = definition_->rows, .bytes = {}}; }
  std::string Describe() const override { return definition_->description; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    return std::make_unique<RowSource<Row>>(definition_, request, context, *schema_);
  }

 private:
  const std::shared_ptr<const RowTableDefinition<Row>> definition_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace icebound::bridge
