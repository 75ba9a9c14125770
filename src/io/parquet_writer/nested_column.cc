// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/nested_column.h"

#include <arrow/compute/api.h>
#include <arrow/extension_type.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>

#include <vector>

#include "base/error.h"

namespace icebound::io {
namespace {

/// Stands for the column writer of one leaf. Only WriteArrow and Close are ever called by the level builder.
class LeafProxy final : public parquet::ColumnWriter {
 public:
  LeafProxy(ColumnEncoder* encoder, arrow::MemoryPool* pool, EncodeWorkspace* const* workspace,
            const parquet::WriterProperties* properties)
      : encoder_(encoder), pool_(pool), workspace_(workspace), properties_(properties) {}

  arrow::Status WriteArrow(const int16_t* definition_levels, const int16_t* repetition_levels, int64_t level_count,
                           const arrow::Array& leaf, parquet::ArrowWriteContext*, bool) override {
    ARROW_ASSIGN_OR_RAISE(auto readable, ReadableLeaf(arrow::MakeArray(leaf.data()), pool_));
    return encoder_->AppendLevels(definition_levels, repetition_levels, level_count, *readable, *workspace_);
  }

  int64_t Close() override { return 0; }
  parquet::Type::type type() const override { return descr()->physical_type(); }
  const parquet::ColumnDescriptor* descr() const override { return &encoder_->descriptor(); }
  int64_t rows_written() const override { return 0; }
  int64_t total_compressed_bytes() const override { return 0; }
  int64_t total_bytes_written() const override { return 0; }
  int64_t total_compressed_bytes_written() const override { return 0; }
  int64_t estimated_buffered_value_bytes() const override { return 0; }
  int64_t estimated_buffered_def_level_bytes() const override { return 0; }
  int64_t estimated_buffered_rep_level_bytes() const override { return 0; }
  int64_t estimated_buffered_dict_bytes() const override { return 0; }
  const parquet::WriterProperties* properties() override { return properties_; }
  void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>&) override {}
  void ResetKeyValueMetadata() override {}

 private:
  ColumnEncoder* const encoder_;
  arrow::MemoryPool* const pool_;
  EncodeWorkspace* const* const workspace_;  // of the current call
  const parquet::WriterProperties* const properties_;
};

/// A list, a map or a fixed-size list whose null entries cover elements: legal in Arrow, but the level builder refuses it.
bool HidesElements(const arrow::ArrayData& data) {
  const auto id = data.type->id();
  if ((id == arrow::Type::LIST || id == arrow::Type::MAP) && data.GetNullCount() > 0) {
    const auto* offsets = data.GetValues<int32_t>(1);
    for (int64_t i = 0; i < data.length; ++i) {
      if (data.IsNull(i) && offsets[i] != offsets[i + 1]) return true;
    }
  }
  if (id == arrow::Type::LARGE_LIST && data.GetNullCount() > 0) {
    const auto* offsets = data.GetValues<int64_t>(1);
    for (int64_t i = 0; i < data.length; ++i) {
      if (data.IsNull(i) && offsets[i] != offsets[i + 1]) return true;
    }
  }
  for (const auto& child : data.child_data) {
    if (HidesElements(*child)) return true;
  }
  return false;
}

/// Copies the rows one by one, which leaves hidden elements behind.
arrow::Result<std::shared_ptr<arrow::Array>> Rebuild(const std::shared_ptr<arrow::Array>& array, arrow::MemoryPool* pool) {
  arrow::Int64Builder builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(array->length()));
  for (int64_t i = 0; i < array->length(); ++i) builder.UnsafeAppend(i);
  ARROW_ASSIGN_OR_RAISE(auto indices, builder.Finish());
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(array, indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return taken.make_array();
}

}  // namespace

struct NestedColumn::Proxies {
  std::vector<std::unique_ptr<LeafProxy>> leaves;
  EncodeWorkspace* workspace = nullptr;
  int next_leaf = 0;
};

namespace {

/// A row group that never ends: its columns are asked for again with every array.
template <typename Proxies>
class EndlessRowGroup final : public parquet::RowGroupWriter::Contents {
 public:
  explicit EndlessRowGroup(std::shared_ptr<Proxies> proxies) : proxies_(std::move(proxies)) {}
  int num_columns() const override { return static_cast<int>(proxies_->leaves.size()); }
  int64_t num_rows() const override { return 0; }
  parquet::ColumnWriter* NextColumn() override { return proxies_->leaves[static_cast<size_t>(proxies_->next_leaf++)].get(); }
  parquet::ColumnWriter* column(int i) override { return proxies_->leaves[static_cast<size_t>(i)].get(); }
  int current_column() const override { return proxies_->next_leaf - 1; }
  void Close() override {}
  int64_t total_bytes_written() const override { return 0; }
  int64_t total_compressed_bytes() const override { return 0; }
  int64_t total_compressed_bytes_written() const override { return 0; }
  parquet::RowGroupWriter::BufferedStats EstimatedBufferedStats() const override { return {}; }
  bool buffered() const override { return false; }

 private:
  const std::shared_ptr<Proxies> proxies_;
};

template <typename Proxies>
class ProxyFile final : public parquet::ParquetFileWriter::Contents {
 public:
  ProxyFile(std::shared_ptr<parquet::schema::GroupNode> schema, std::shared_ptr<parquet::WriterProperties> properties,
            std::shared_ptr<Proxies> proxies)
      : Contents(std::move(schema), nullptr),
        properties_(std::move(properties)),
        row_group_(std::make_unique<EndlessRowGroup<Proxies>>(std::move(proxies))) {}
  void Close() override {}
  parquet::RowGroupWriter* AppendRowGroup() override { return &row_group_; }
  parquet::RowGroupWriter* AppendBufferedRowGroup() override { return &row_group_; }
  int64_t num_rows() const override { return 0; }
  int num_columns() const override { return schema()->num_columns(); }
  int num_row_groups() const override { return 1; }
  const std::shared_ptr<parquet::WriterProperties>& properties() const override { return properties_; }
  void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>&) override {}

 private:
  const std::shared_ptr<parquet::WriterProperties> properties_;
  parquet::RowGroupWriter row_group_;
};

}  // namespace

arrow::Result<std::unique_ptr<NestedColumn>> NestedColumn::Make(const std::shared_ptr<arrow::Field>& field,
                                                                std::shared_ptr<parquet::WriterProperties> properties,
                                                                arrow::MemoryPool* pool,
                                                                std::span<const std::unique_ptr<ColumnEncoder>> encoders) {
  std::unique_ptr<NestedColumn> column(new NestedColumn(field->type(), pool));
  column->proxies_ = std::make_shared<Proxies>();
  for (const auto& encoder : encoders) {
    column->proxies_->leaves.push_back(
        std::make_unique<LeafProxy>(encoder.get(), pool, &column->proxies_->workspace, properties.get()));
  }
  auto schema = arrow::schema({field});
  const auto arrow_properties = parquet::default_arrow_writer_properties();
  std::shared_ptr<parquet::SchemaDescriptor> descriptor;
  ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(schema.get(), *properties, *arrow_properties, &descriptor));
  auto root = std::static_pointer_cast<parquet::schema::GroupNode>(descriptor->schema_root());
  auto file = std::make_unique<parquet::ParquetFileWriter>();
  file->Open(std::make_unique<ProxyFile<Proxies>>(std::move(root), std::move(properties), column->proxies_));
  ARROW_RETURN_NOT_OK(
      parquet::arrow::FileWriter::Make(pool, std::move(file), std::move(schema), arrow_properties, &column->levels_));
  ARROW_RETURN_NOT_OK(column->levels_->NewRowGroup());
  return column;
}

arrow::Status NestedColumn::Write(std::shared_ptr<arrow::Array> array, EncodeWorkspace* workspace) {
  if (HidesElements(*array->data())) {
    ARROW_ASSIGN_OR_RAISE(array, Rebuild(array, pool_));
  }
  proxies_->workspace = workspace;
  proxies_->next_leaf = 0;
  return levels_->WriteColumnChunk(*array);
}

}  // namespace icebound::io
