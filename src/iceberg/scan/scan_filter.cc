// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/scan_filter.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/compare_scalars.h"
#include "iceberg/scan/partition_range.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/single_value.h"

namespace icebound::iceberg {
namespace {

using arrow::internal::checked_cast;
using expr::ColumnBounds;
using expr::Expr;
using expr::ExprPtr;

/// The constant as a value of a column; nullopt when it is no value of that type.
std::optional<Literal> ValueOfColumn(const Type& type, const arrow::Scalar& constant) {
  if (auto value = LiteralFromScalar(type, constant); value.ok()) return *std::move(value);
  const std::shared_ptr<arrow::DataType> wanted = ToArrowType(type);
  if (constant.type->id() == arrow::Type::TIMESTAMP && wanted->id() == arrow::Type::TIMESTAMP) {
    const auto unit = [](const arrow::DataType& of) { return checked_cast<const arrow::TimestampType&>(of).unit(); };
    if (unit(*constant.type) != unit(*wanted)) return std::nullopt;
    return Literal(checked_cast<const arrow::TimestampScalar&>(constant).value);
  }
  const auto widened = expr::WidenScalar(constant, wanted);
  if (widened == nullptr) return std::nullopt;
  auto value = LiteralFromScalar(type, *widened);
  return value.ok() ? std::optional<Literal>(*std::move(value)) : std::nullopt;
}

/// The column behind casts that take different values to different ones: whole numbers to wider ones and to decimals.
const expr::ColumnExpr* ColumnBehindCasts(const Expr& value) {
  if (value.kind() == expr::ExprKind::kColumn) return &checked_cast<const expr::ColumnExpr&>(value);
  if (value.kind() != expr::ExprKind::kCast) return nullptr;
  const Expr& child = *value.children()[0];
  const bool to_whole_or_decimal = value.type()->id() == arrow::Type::INT64 || arrow::is_decimal(value.type()->id());
  if (child.type()->id() != arrow::Type::INT32 && child.type()->id() != arrow::Type::INT64) return nullptr;
  return to_whole_or_decimal ? ColumnBehindCasts(child) : nullptr;
}

/// Both bounds hold: the narrower one counts.
void Narrow(const ColumnBounds& other, ColumnBounds* bounds) {
  const auto is_before = [](const arrow::Scalar& a, const arrow::Scalar& b) {
    const auto order = expr::CompareScalars(a, b);
    return order.has_value() && *order < 0;
  };
  if (other.min != nullptr && (bounds->min == nullptr || is_before(*bounds->min, *other.min))) bounds->min = other.min;
  if (other.max != nullptr && (bounds->max == nullptr || is_before(*other.max, *bounds->max))) bounds->max = other.max;
  if (other.null_count) bounds->null_count = other.null_count;
  if (other.value_count) bounds->value_count = other.value_count;
  bounds->may_contain_nan &= other.may_contain_nan;
}

bool IsFloating(const Type& type) { return type.id() == TypeId::kFloat || type.id() == TypeId::kDouble; }

/// Says that a column is null in every row, or in none.
void SetNulls(bool all_null, ColumnBounds* bounds) {
  bounds->null_count = all_null ? 1 : 0;
  bounds->value_count = 1;
}

}  // namespace

arrow::Result<ScanFilter> ScanFilter::Make(std::vector<ExprPtr> conjuncts, std::vector<int32_t> field_ids, const Schema& schema,
                                           const TableMetadata& table) {
  ScanFilter filter;
  filter.conjuncts_ = std::move(conjuncts);
  filter.field_ids_ = std::move(field_ids);
  for (const int32_t id : filter.field_ids_) {
    const Field* field = id > 0 && schema.Parent(id) == nullptr ? schema.FindField(id) : nullptr;
    filter.column_types_.push_back(field != nullptr && field->type->is_primitive() ? field->type : nullptr);
  }
  for (const ExprPtr& conjunct : filter.conjuncts_) {
    for (const int column : expr::ReferencedColumns(*conjunct)) {
      if (static_cast<size_t>(column) >= filter.column_types_.size()) {
        return MakeError(ErrorKind::kInternal, "a filter refers to column {}, of which no field id is given", column);
      }
      if (filter.column_types_[column] != nullptr) filter.metric_fields_.push_back(filter.field_ids_[column]);
    }
  }
  std::sort(filter.metric_fields_.begin(), filter.metric_fields_.end());
  filter.metric_fields_.erase(std::unique(filter.metric_fields_.begin(), filter.metric_fields_.end()),
                              filter.metric_fields_.end());
  for (const PartitionSpec& spec : table.partition_specs) ARROW_RETURN_NOT_OK(filter.AddSpec(spec, table));
  return filter;
}

arrow::Status ScanFilter::AddSpec(const PartitionSpec& spec, const TableMetadata& table) {
  SpecFilter added;
  added.spec_id = spec.spec_id;
  const TypePtr tuple_type = table.TupleType(spec);
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    const PartitionField& field = spec.fields[i];
    const TransformKind kind = field.transform.kind();
    const TypePtr& value_type = tuple_type->fields()[i].type;
    if (kind == TransformKind::kVoid || kind == TransformKind::kUnknown || field.source_ids.size() != 1) continue;
    if (value_type->id() == TypeId::kUnknown) continue;
    for (size_t column = 0; column < field_ids_.size(); ++column) {
      if (field_ids_[column] != field.source_id() || column_types_[column] == nullptr) continue;
      added.columns.push_back({i, static_cast<int>(column), column_types_[column], value_type, field.transform});
    }
  }
  bool decides_all = true;
  for (const ExprPtr& conjunct : conjuncts_) {
    const auto used = expr::ReferencedColumns(*conjunct);
    const auto is_used = [&](const PartitionColumn& column) {
      return std::binary_search(used.begin(), used.end(), column.column);
    };
    if (std::any_of(added.columns.begin(), added.columns.end(), is_used)) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr seen, WithBuckets(conjunct, added.columns));
      added.conjuncts.push_back(std::move(seen));
      ARROW_ASSIGN_OR_RAISE(ExprPtr not_true, expr::MakeCall("is_not_true", {conjunct}));
      added.not_true.push_back(std::move(not_true));
    } else {
      decides_all = false;
    }
  }
  if (!decides_all) added.not_true.clear();
  specs_.push_back(std::move(added));
  return arrow::Status::OK();
}

arrow::Result<ExprPtr> ScanFilter::WithBuckets(const ExprPtr& conjunct, const std::vector<PartitionColumn>& columns) const {
  return expr::Transform(conjunct, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
    if (node->kind() != expr::ExprKind::kCall) return node;
    ExprPtr with = node;
    for (const PartitionColumn& column : columns) {
      if (column.transform.kind() != TransformKind::kBucket) continue;
      ARROW_ASSIGN_OR_RAISE(ExprPtr buckets, BucketsOf(checked_cast<const expr::CallExpr&>(*node), column));
      if (buckets != nullptr) with = expr::MakeAnd({with, std::move(buckets)});
    }
    return with;
  });
}

/// What `call` says of the column's bucket; null when it says nothing.
arrow::Result<ExprPtr> ScanFilter::BucketsOf(const expr::CallExpr& call, const PartitionColumn& column) const {
  const bool is_in = call.name() == "in";
  if (!is_in && call.name() != "=") return nullptr;
  std::vector<ExprPtr> items(call.children());
  if (!is_in && items[0]->kind() == expr::ExprKind::kLiteral) std::swap(items[0], items[1]);
  const expr::ColumnExpr* subject = ColumnBehindCasts(*items[0]);
  if (subject == nullptr || subject->index() != column.column) return nullptr;
  const auto bucket_field = arrow::field("bucket", arrow::int32());
  // Beyond the columns of the filter, those of the tuple.
  items[0] = expr::MakeColumn(static_cast<int>(field_ids_.size() + column.field), *bucket_field);
  for (size_t i = 1; i < items.size(); ++i) {
    if (items[i]->kind() != expr::ExprKind::kLiteral) return nullptr;
    const auto value = ValueOfColumn(*column.column_type, *checked_cast<const expr::LiteralExpr&>(*items[i]).value());
    if (!value) return nullptr;
    const auto bucket = column.transform.Apply(*column.column_type, *value);
    if (!bucket.ok()) return nullptr;
    const int32_t* number = std::get_if<int32_t>(&*bucket);
    items[i] = expr::MakeLiteral(number == nullptr ? arrow::MakeNullScalar(arrow::int32()) : arrow::MakeScalar(*number));
  }
  return expr::MakeCall(call.name(), std::move(items));
}

const ScanFilter::SpecFilter* ScanFilter::FindSpec(int32_t spec_id) const {
  for (const SpecFilter& spec : specs_) {
    if (spec.spec_id == spec_id) return &spec;
  }
  return nullptr;
}

ScanFilter::Bounds ScanFilter::PartitionBounds(const SpecFilter& spec, RangeOfField range_of) const {
  return [this, &spec, range_of = std::move(range_of)](int column) {
    ColumnBounds bounds;
    const auto columns = static_cast<int>(field_ids_.size());
    for (const PartitionColumn& candidate : spec.columns) {
      const bool is_bucket = candidate.transform.kind() == TransformKind::kBucket;
      if (candidate.column == column || (is_bucket && columns + static_cast<int>(candidate.field) == column)) {
        ColumnBounds range = range_of(candidate);
        // A bucket's own range is that of its numbers.
        if (is_bucket && candidate.column == column) range.min = range.max = nullptr;
        Narrow(range, &bounds);
      }
    }
    return bounds;
  };
}

ScanFilter::Bounds ScanFilter::TupleBounds(const SpecFilter& spec, const DataFile& file) const {
  return PartitionBounds(spec, [&file](const PartitionColumn& column) {
    ColumnBounds bounds;
    if (column.field >= file.partition.size()) return bounds;
    const Literal& value = file.partition[column.field];
    SetNulls(IsNull(value), &bounds);
    if (IsNull(value)) return bounds;
    bounds.may_contain_nan = IsFloating(*column.value_type) && IsNan(value);
    if (bounds.may_contain_nan) return bounds;
    if (column.transform.kind() == TransformKind::kBucket) {
      bounds.min = bounds.max = BoundScalar(*column.value_type, value);
    } else {
      ColumnRange range = RangeOfPartition(column.transform, *column.column_type, *column.value_type, &value, &value);
      bounds.min = std::move(range.min);
      bounds.max = std::move(range.max);
    }
    return bounds;
  });
}

bool ScanFilter::MayMatch(const ManifestFile& manifest) const {
  const SpecFilter* spec = FindSpec(manifest.spec_id);
  if (spec == nullptr || manifest.partitions.empty()) return true;
  const Bounds bounds = PartitionBounds(*spec, [&manifest](const PartitionColumn& column) {
    ColumnBounds bounds;
    if (column.field >= manifest.partitions.size()) return bounds;
    const FieldSummary& summary = manifest.partitions[column.field];
    if (!summary.contains_null) SetNulls(false, &bounds);
    bounds.may_contain_nan = summary.contains_nan.value_or(true);
    if (column.value_type->id() == TypeId::kUuid) return bounds;
    const auto lower = summary.lower ? DecodeBound(*column.value_type, *summary.lower) : std::nullopt;
    const auto upper = summary.upper ? DecodeBound(*column.value_type, *summary.upper) : std::nullopt;
    if (column.transform.kind() == TransformKind::kBucket) {
      if (lower) bounds.min = BoundScalar(*column.value_type, *lower);
      if (upper) bounds.max = BoundScalar(*column.value_type, *upper);
    } else {
      ColumnRange range = RangeOfPartition(column.transform, *column.column_type, *column.value_type, lower ? &*lower : nullptr,
                                           upper ? &*upper : nullptr);
      bounds.min = std::move(range.min);
      bounds.max = std::move(range.max);
    }
    return bounds;
  });
  return std::all_of(spec->conjuncts.begin(), spec->conjuncts.end(),
                     [&](const ExprPtr& conjunct) { return expr::MayMatch(*conjunct, bounds); });
}

bool ScanFilter::PartitionMayMatch(const DataFile& file) const {
  const SpecFilter* spec = FindSpec(file.spec_id);
  if (spec == nullptr || spec->conjuncts.empty()) return true;
  const Bounds bounds = TupleBounds(*spec, file);
  return std::all_of(spec->conjuncts.begin(), spec->conjuncts.end(),
                     [&](const ExprPtr& conjunct) { return expr::MayMatch(*conjunct, bounds); });
}

bool ScanFilter::IsAlwaysTrue(const DataFile& file) const {
  if (conjuncts_.empty()) return true;
  const SpecFilter* spec = FindSpec(file.spec_id);
  if (spec == nullptr || spec->not_true.empty()) return false;
  const Bounds bounds = TupleBounds(*spec, file);
  return std::none_of(spec->not_true.begin(), spec->not_true.end(),
                      [&](const ExprPtr& not_true) { return expr::MayMatch(*not_true, bounds); });
}

ColumnBounds ScanFilter::MetricBounds(const DataFile& file, int column) const {
  ColumnBounds bounds;
  const TypePtr& type = column_types_[static_cast<size_t>(column)];
  if (type == nullptr) return bounds;
  const int32_t id = field_ids_[static_cast<size_t>(column)];
  const auto count = [&](const ColumnCounts& counts) -> std::optional<int64_t> {
    const int64_t* found = FindColumn(counts, id);
    return found != nullptr && *found >= 0 ? std::optional<int64_t>(*found) : std::nullopt;
  };
  bounds.null_count = count(file.null_value_counts);
  bounds.value_count = count(file.value_counts);
  bounds.may_contain_nan = count(file.nan_value_counts) != 0;
  const std::string* lower = FindColumn(file.lower_bounds, id);
  const std::string* upper = FindColumn(file.upper_bounds, id);
  if (type->id() == TypeId::kUuid && (lower == nullptr || upper == nullptr || *lower != *upper)) return bounds;
  if (lower != nullptr) {
    if (const auto value = DecodeBound(*type, *lower)) bounds.min = BoundScalar(*type, *value);
  }
  if (upper != nullptr) {
    if (const auto value = DecodeBound(*type, *upper)) bounds.max = BoundScalar(*type, *value);
  }
  return bounds;
}

bool ScanFilter::MetricsMayMatch(const DataFile& file) const {
  const Bounds bounds = [&](int column) { return MetricBounds(file, column); };
  return std::all_of(conjuncts_.begin(), conjuncts_.end(),
                     [&](const ExprPtr& conjunct) { return expr::MayMatch(*conjunct, bounds); });
}

bool ScanFilter::DeletesMayMatch(const DataFile& file) const {
  if (!PartitionMayMatch(file)) return false;
  if (file.content != FileContent::kEqualityDeletes) return true;
  // Columns that are no keys are the data file's own, whatever the delete file holds of them.
  const Bounds bounds = [&](int column) {
    const int32_t id = field_ids_[static_cast<size_t>(column)];
    const bool is_key = std::find(file.equality_ids.begin(), file.equality_ids.end(), id) != file.equality_ids.end();
    return is_key ? MetricBounds(file, column) : ColumnBounds();
  };
  return std::all_of(conjuncts_.begin(), conjuncts_.end(),
                     [&](const ExprPtr& conjunct) { return expr::MayMatch(*conjunct, bounds); });
}

}  // namespace icebound::iceberg
