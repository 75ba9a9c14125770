// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/key_columns.h"

#include <arrow/array.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "exec/aggregate/byte_columns.h"

namespace icebound::exec::aggregate {
namespace {

using arrow::Type;

const std::shared_ptr<arrow::DataType>& ValueType(const std::shared_ptr<arrow::DataType>& type) {
  return type->id() == Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
}

/// Whether equal values of a type have equal packed bytes.
bool HasExactBytes(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::INTERVAL_DAY_TIME:
    case Type::INTERVAL_MONTH_DAY_NANO:
      return false;
    case Type::DICTIONARY:
      return HasExactBytes(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::EXTENSION:
      return HasExactBytes(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [](const auto& field) { return HasExactBytes(*field->type()); });
  }
}

/// The same values with one zero and one NaN.
template <typename Float>
arrow::Result<std::shared_ptr<arrow::Array>> Canonical(const std::shared_ptr<arrow::Array>& array, arrow::MemoryPool* pool) {
  const int64_t rows = array->length();
  const Float* values = array->data()->GetValues<Float>(1);
  const bool is_canonical = std::none_of(values, values + rows, [](Float value) { return value == 0 || std::isnan(value); });
  if (is_canonical) return array;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer((array->offset() + rows) * static_cast<int64_t>(sizeof(Float)), pool));
  auto* out = reinterpret_cast<Float*>(buffer->mutable_data()) + array->offset();
  for (int64_t i = 0; i < rows; ++i) {
    const Float value = values[i];
    out[i] = std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : (value == 0 ? Float{0} : value);
  }
  auto data = array->data()->Copy();
  data->buffers[1] = std::move(buffer);
  return arrow::MakeArray(data);
}

}  // namespace

arrow::Result<KeyColumns> KeyColumns::Make(std::vector<expr::ExprPtr> exprs, const std::vector<bool>& nullable) {
  KeyColumns keys;
  for (size_t k = 0; k < exprs.size(); ++k) {
    Source source;
    std::shared_ptr<arrow::DataType> type = ValueType(exprs[k]->type());
    bool may_be_null = nullable[k];
    source.is_float = exprs[k]->type()->id() == Type::FLOAT || exprs[k]->type()->id() == Type::DOUBLE;
    if (!source.is_float && !HasExactBytes(*type)) {
      ARROW_ASSIGN_OR_RAISE(source.encoder, row::SortKeyEncoder::Make({{type, /*nullable=*/true}}));
      type = arrow::large_binary();
      may_be_null = false;
    }
    keys.fields_.push_back(arrow::field(exprs[k]->ToString(), std::move(type), may_be_null));
    source.expr = std::move(exprs[k]);
    keys.sources_.push_back(std::move(source));
  }
  return keys;
}

bool KeyColumns::AnySortKey() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.encoder != nullptr; });
}

arrow::Result<arrow::ArrayVector> KeyColumns::Read(const arrow::RecordBatch& batch, const expr::EvalContext& context) const {
  arrow::ArrayVector columns;
  columns.reserve(sources_.size());
  for (const Source& source : sources_) {
    ARROW_ASSIGN_OR_RAISE(auto column, expr::EvaluateToArray(*source.expr, batch, context));
    if (source.encoder != nullptr) {
      // Without nulls: a null has a key, too.
      ARROW_ASSIGN_OR_RAISE(column, MakeByteColumn({source.encoder.get(), {column}}, batch.num_rows(), nullptr, context.pool));
    } else if (column->type_id() == Type::FLOAT) {
      ARROW_ASSIGN_OR_RAISE(column, Canonical<float>(column, context.pool));
    } else if (column->type_id() == Type::DOUBLE) {
      ARROW_ASSIGN_OR_RAISE(column, Canonical<double>(column, context.pool));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace icebound::exec::aggregate
