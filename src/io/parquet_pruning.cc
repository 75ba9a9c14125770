// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_pruning.h"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

using arrow::Scalar;
using arrow::Type;

template <typename T>
std::optional<T> FixedValue(std::string_view encoded) {
  if (encoded.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, encoded.data(), sizeof(T));
  return value;
}

std::optional<int64_t> IntegerValue(parquet::Type::type physical, std::string_view encoded) {
  if (physical == parquet::Type::INT32) return FixedValue<int32_t>(encoded);
  if (physical == parquet::Type::INT64) return FixedValue<int64_t>(encoded);
  return std::nullopt;
}

template <typename T, typename ScalarType>
std::shared_ptr<Scalar> FloatBound(std::string_view encoded, bool is_minimum) {
  std::optional<T> value = FixedValue<T>(encoded);
  if (!value.has_value() || std::isnan(*value)) return nullptr;
  // Writers disagree on which zero a bound of zero is.
  if (*value == 0) value = is_minimum ? -T{0} : T{0};
  return std::make_shared<ScalarType>(*value);
}

template <typename Decimal, typename ScalarType>
std::shared_ptr<Scalar> DecimalBound(parquet::Type::type physical, const std::shared_ptr<arrow::DataType>& type,
                                     std::string_view encoded) {
  if (const std::optional<int64_t> integer = IntegerValue(physical, encoded))
    return std::make_shared<ScalarType>(Decimal(*integer), type);
  if (physical != parquet::Type::BYTE_ARRAY && physical != parquet::Type::FIXED_LEN_BYTE_ARRAY) return nullptr;
  if (encoded.empty()) return nullptr;
  auto value = Decimal::FromBigEndian(reinterpret_cast<const uint8_t*>(encoded.data()), static_cast<int32_t>(encoded.size()));
  return value.ok() ? std::make_shared<ScalarType>(*value, type) : nullptr;
}

template <typename ScalarType>
std::shared_ptr<Scalar> IntegerBound(int64_t value) {
  return std::make_shared<ScalarType>(static_cast<typename ScalarType::ValueType>(value));
}

std::shared_ptr<Scalar> IntegerLikeBound(const std::shared_ptr<arrow::DataType>& type, int64_t value) {
  switch (type->id()) {
    case Type::INT8:
      return IntegerBound<arrow::Int8Scalar>(value);
    case Type::INT16:
      return IntegerBound<arrow::Int16Scalar>(value);
    case Type::INT32:
      return IntegerBound<arrow::Int32Scalar>(value);
    case Type::INT64:
      return IntegerBound<arrow::Int64Scalar>(value);
    case Type::UINT8:
      return IntegerBound<arrow::UInt8Scalar>(value);
    case Type::UINT16:
      return IntegerBound<arrow::UInt16Scalar>(value);
    case Type::UINT32:
      return IntegerBound<arrow::UInt32Scalar>(value);
    case Type::UINT64:
      return IntegerBound<arrow::UInt64Scalar>(value);
    case Type::DATE32:
      return IntegerBound<arrow::Date32Scalar>(value);
    case Type::TIME32:
      return std::make_shared<arrow::Time32Scalar>(static_cast<int32_t>(value), type);
    case Type::TIME64:
      return std::make_shared<arrow::Time64Scalar>(value, type);
    case Type::TIMESTAMP:
      return std::make_shared<arrow::TimestampScalar>(value, type);
    default:
      return nullptr;
  }
}

std::shared_ptr<Scalar> BinaryBound(const std::shared_ptr<arrow::DataType>& type, std::string_view encoded) {
  std::shared_ptr<arrow::Buffer> bytes = arrow::Buffer::FromString(std::string(encoded));
  switch (type->id()) {
    case Type::STRING:
      return std::make_shared<arrow::StringScalar>(std::move(bytes));
    case Type::BINARY:
      return std::make_shared<arrow::BinaryScalar>(std::move(bytes));
    default:
      return nullptr;
  }
}

/// True when the minimum and maximum of this column's chunks and pages can be believed and understood.
bool BoundsAreUsable(const parquet::ColumnDescriptor& descriptor) {
  if (!descriptor.can_use_min_max() || descriptor.physical_type() == parquet::Type::INT96) return false;
  const bool is_bytes = descriptor.physical_type() == parquet::Type::BYTE_ARRAY ||
                        descriptor.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY;
  // Bounds from before column orders were compared as signed bytes by some writers.
  return !is_bytes || descriptor.column_order().get_order() == parquet::ColumnOrder::TYPE_DEFINED_ORDER;
}

arrow::Result<std::unique_ptr<arrow::Buffer>> ReadIndex(InputFile* file, const parquet::IndexLocation& place,
                                                        arrow::MemoryPool* pool) {
  if (place.length <= 0) return arrow::Status::Invalid("a page index of ", place.length, " bytes");
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(place.length, pool));
  ARROW_RETURN_NOT_OK(file->ReadAt(place.offset, {bytes->mutable_data(), static_cast<size_t>(place.length)}));
  return bytes;
}

}  // namespace

std::shared_ptr<Scalar> DecodeBound(const parquet::ColumnDescriptor& descriptor, const std::shared_ptr<arrow::DataType>& type,
                                    std::string_view encoded, bool is_minimum) {
  const parquet::Type::type physical = descriptor.physical_type();
  switch (type->id()) {
    case Type::BOOL: {
      const std::optional<uint8_t> value = FixedValue<uint8_t>(encoded);
      return value.has_value() ? std::make_shared<arrow::BooleanScalar>((*value & 1) != 0) : nullptr;
    }
    case Type::FLOAT:
      return physical == parquet::Type::FLOAT ? FloatBound<float, arrow::FloatScalar>(encoded, is_minimum) : nullptr;
    case Type::DOUBLE:
      return physical == parquet::Type::DOUBLE ? FloatBound<double, arrow::DoubleScalar>(encoded, is_minimum) : nullptr;
    case Type::DECIMAL128:
      return DecimalBound<arrow::Decimal128, arrow::Decimal128Scalar>(physical, type, encoded);
    case Type::DECIMAL256:
      return DecimalBound<arrow::Decimal256, arrow::Decimal256Scalar>(physical, type, encoded);
    case Type::STRING:
    case Type::BINARY:
      return physical == parquet::Type::BYTE_ARRAY ? BinaryBound(type, encoded) : nullptr;
    case Type::FIXED_SIZE_BINARY:
      if (static_cast<int>(encoded.size()) != type->byte_width()) return nullptr;  // truncated
      return std::make_shared<arrow::FixedSizeBinaryScalar>(arrow::Buffer::FromString(std::string(encoded)), type);
    default: {
      const std::optional<int64_t> value = IntegerValue(physical, encoded);
      return value.has_value() ? IntegerLikeBound(type, *value) : nullptr;
    }
  }
}

ParquetPruner::ParquetPruner(std::vector<expr::ExprPtr> filters, std::shared_ptr<arrow::Schema> schema,
                             std::vector<ColumnSource> columns, std::shared_ptr<ParquetFooter> footer)
    : filters_(std::move(filters)), schema_(std::move(schema)), columns_(std::move(columns)), footer_(std::move(footer)) {
  const parquet::SchemaDescriptor& descriptor = *footer_->head()->schema();
  for (const ColumnSource& column : columns_) {
    // Where NULLs are filled, the file's bounds and counts are not the column's.
    if (!column.is_stored() || column.constant != nullptr || column.first_row_number.has_value()) {
      leaves_.push_back(-1);
      continue;
    }
    const parquet::schema::NodePtr& node = descriptor.group_node()->field(column.field_index);
    leaves_.push_back(node->is_primitive() && !node->is_repeated() ? descriptor.ColumnIndex(*node) : -1);
  }
}

std::shared_ptr<Scalar> ParquetPruner::Bound(int column, std::string_view encoded, bool is_minimum) const {
  const ColumnSource& source = columns_[static_cast<size_t>(column)];
  std::shared_ptr<Scalar> bound = DecodeBound(*footer_->head()->schema()->Column(LeafOf(column)),
                                              footer_->schema()->field(source.field_index)->type(), encoded, is_minimum);
  if (bound == nullptr || !source.needs_cast) return bound;
  auto cast = bound->CastTo(schema_->field(column)->type());
  return cast.ok() ? *cast : nullptr;
}

expr::ColumnBounds ParquetPruner::BoundsOfChunk(const parquet::RowGroupMetaData& row_group, int column) const {
  expr::ColumnBounds bounds;
  const int leaf = LeafOf(column);
  if (const ColumnSource& source = columns_[static_cast<size_t>(column)]; !source.is_stored() && source.constant != nullptr) {
    bounds.value_count = row_group.num_rows();
    bounds.null_count = source.constant->is_valid ? 0 : row_group.num_rows();
    const Type::type id = source.constant->type->id();
    // (Zeros and NaN of floats have an order of their own.)
    if (source.constant->is_valid && !arrow::is_nested(id) && !arrow::is_floating(id)) bounds.min = bounds.max = source.constant;
    return bounds;
  }
  if (leaf < 0) return bounds;
  bounds.value_count = row_group.num_rows();
  const std::shared_ptr<parquet::EncodedStatistics> statistics = row_group.ColumnChunk(leaf)->encoded_statistics();
  if (statistics == nullptr) return bounds;
  if (statistics->has_null_count && statistics->null_count >= 0) bounds.null_count = statistics->null_count;
  if (!BoundsAreUsable(*footer_->head()->schema()->Column(leaf))) return bounds;
  if (statistics->has_min) bounds.min = Bound(column, statistics->min(), /*is_minimum=*/true);
  if (statistics->has_max) bounds.max = Bound(column, statistics->max(), /*is_minimum=*/false);
  return bounds;
}

arrow::Result<bool> ParquetPruner::RowGroupMayMatch(const FooterPage& page, int row_group) const {
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return fmt::format("statistics of {}, row group {}", footer_->file().name(), row_group); },
      [&]() -> arrow::Result<bool> {
        const std::unique_ptr<parquet::RowGroupMetaData> metadata = page.RowGroup(row_group);
        const auto bounds = [&](int column) { return BoundsOfChunk(*metadata, column); };
        for (const expr::ExprPtr& filter : filters_) {
          if (!expr::MayMatch(*filter, bounds)) return false;
        }
        return true;
      });
}

arrow::Result<RowRanges> ParquetPruner::SelectRows(const FooterPage& page, int row_group, arrow::MemoryPool* pool) const {
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return fmt::format("page index of {}, row group {}", footer_->file().name(), row_group); },
      [&]() -> arrow::Result<RowRanges> {
        const std::unique_ptr<parquet::RowGroupMetaData> metadata = page.RowGroup(row_group);
        RowRanges selected;
        AppendRange({.begin = 0, .end = metadata->num_rows()}, &selected);
        for (const expr::ExprPtr& filter : filters_) {
          const std::vector<int> columns = expr::ReferencedColumns(*filter);
          if (columns.size() != 1 || LeafOf(columns.front()) < 0 || selected.empty()) continue;
          ARROW_ASSIGN_OR_RAISE(const RowRanges matching, PagesThatMayMatch(*filter, columns.front(), *metadata, pool));
          selected = Intersect(selected, matching);
        }
        return selected;
      });
}

arrow::Result<RowRanges> ParquetPruner::PagesThatMayMatch(const expr::Expr& filter, int column,
                                                          const parquet::RowGroupMetaData& row_group,
                                                          arrow::MemoryPool* pool) const {
  const int leaf = LeafOf(column);
  const parquet::ColumnDescriptor& descriptor = *footer_->head()->schema()->Column(leaf);
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group.ColumnChunk(leaf);
  RowRanges all;
  AppendRange({.begin = 0, .end = row_group.num_rows()}, &all);
  const auto column_index_place = chunk->GetColumnIndexLocation();
  const auto offset_index_place = chunk->GetOffsetIndexLocation();
  // A chunk whose statistics are known to be wrong has wrong page bounds too.
  if (!column_index_place || !offset_index_place || !BoundsAreUsable(descriptor) || !chunk->is_stats_set()) return all;

  InputFile* const file = footer_->shared_file().get();
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::Buffer> column_bytes, ReadIndex(file, *column_index_place, pool));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::Buffer> offset_bytes, ReadIndex(file, *offset_index_place, pool));
  const parquet::ReaderProperties properties(pool);
  const auto index = parquet::ColumnIndex::Make(descriptor, column_bytes->data(), column_bytes->size(), properties);
  const auto offsets = parquet::OffsetIndex::Make(offset_bytes->data(), offset_bytes->size(), properties);
  const std::vector<parquet::PageLocation>& pages = offsets->page_locations();
  const size_t count = pages.size();
  if (index->null_pages().size() != count || index->encoded_min_values().size() != count ||
      index->encoded_max_values().size() != count || (index->has_null_counts() && index->null_counts().size() != count)) {
    return arrow::Status::Invalid("column and offset index of column \"", descriptor.name(),
                                  "\" disagree about the number of pages");
  }

  RowRanges matching;
  for (size_t i = 0; i < count; ++i) {
    const RowRange rows{.begin = pages[i].first_row_index,
                        .end = i + 1 == count ? row_group.num_rows() : pages[i + 1].first_row_index};
    if (rows.begin < 0 || rows.begin > rows.end || (i == 0 && rows.begin != 0)) {
      return arrow::Status::Invalid("offset index of column \"", descriptor.name(), "\" is out of order at page ", i);
    }
    expr::ColumnBounds bounds;
    bounds.value_count = rows.rows();
    if (index->null_pages()[i]) {
      bounds.null_count = rows.rows();
    } else {
      if (index->has_null_counts()) bounds.null_count = index->null_counts()[i];
      bounds.min = Bound(column, index->encoded_min_values()[i], /*is_minimum=*/true);
      bounds.max = Bound(column, index->encoded_max_values()[i], /*is_minimum=*/false);
    }
    if (expr::MayMatch(filter, [&](int) { return bounds; })) AppendRange(rows, &matching);
  }
  return matching;
}

}  // namespace icebound::io
