// SPDX-License-Identifier: Apache-2.0
//
// What the tests of aggregation share: a source of batches, a runner, and the model: a map from keys to rows, and for each
// aggregate a loop over the rows' values that knows nothing of states.
#pragma once

#include <arrow/api.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exec/aggregate/aggregate_operator.h"
#include "exec/sort/sort_testing.h"
#include "expr/evaluate.h"

namespace icebound::exec::aggregate::test {

using row::test::Random;
using row::test::Uniform;
using sort::test::kMiB;
using sort::test::World;

/// Gives batches out to as many streams as are asked for.
class BatchesOperator final : public Operator {
 public:
  BatchesOperator(QueryContext* context, std::shared_ptr<arrow::Schema> schema, arrow::RecordBatchVector batches, int streams)
      : Operator(context, "batches", std::move(schema)), batches_(std::move(batches)), streams_(streams) {}

  arrow::Status Prepare() override { return arrow::Status::OK(); }
  int max_streams() const override { return streams_; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override { return std::make_unique<Stream>(this); }

 private:
  class Stream final : public BatchStream {
   public:
    explicit Stream(BatchesOperator* source) : source_(source) {}
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
      const size_t next = source_->next_++;
      return next < source_->batches_.size() ? source_->batches_[next] : nullptr;
    }

   private:
    BatchesOperator* const source_;
  };

  const arrow::RecordBatchVector batches_;
  const int streams_;
  std::atomic<size_t> next_{0};
};

/// The rows of an operator, from all of its streams, each on its own thread, copied out of the ledger's memory.
inline arrow::Result<arrow::RecordBatchVector> RunOperator(World* world, Operator* op) {
  ARROW_RETURN_NOT_OK(op->Prepare());
  std::mutex mutex;
  arrow::RecordBatchVector result;
  ARROW_RETURN_NOT_OK(DrainInParallel(&world->context, op, [&](int, BatchStream* stream) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto batches, sort::test::Drain(stream));
    std::lock_guard lock(mutex);
    result.insert(result.end(), batches.begin(), batches.end());
    return arrow::Status::OK();
  }));
  for (const auto& batch : result) {
    EXPECT_TRUE(batch->schema()->Equals(*op->schema())) << batch->schema()->ToString() << op->schema()->ToString();
    EXPECT_LE(batch->num_rows(), world->context.batch_rows);
  }
  return result;
}

/// A query over one input.
struct AggregateCase {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<expr::ExprPtr> groups;
  std::vector<expr::AggregateCall> calls;

  explicit AggregateCase(std::shared_ptr<arrow::Schema> input) : schema(std::move(input)) {}

  expr::ExprPtr Column(const std::string& name) const {
    const int index = schema->GetFieldIndex(name);
    EXPECT_GE(index, 0) << name;
    return expr::MakeColumn(index, *schema->field(index));
  }
  AggregateCase& By(const std::vector<std::string>& names) {
    for (const std::string& name : names) groups.push_back(Column(name));
    return *this;
  }
  /// `function` of a column; "count" of nothing is count(*).
  expr::AggregateCall& Add(const std::string& function, const std::string& argument = "") {
    std::vector<expr::ExprPtr> arguments;
    if (!argument.empty()) arguments.push_back(Column(argument));
    if (function == "string_agg") arguments.push_back(expr::MakeLiteral(std::make_shared<arrow::StringScalar>("-")));
    calls.push_back(expr::MakeAggregate(function, arguments, argument.empty(), {}).ValueOrDie());
    return calls.back();
  }
  std::shared_ptr<arrow::Schema> Output() const {
    arrow::FieldVector fields;
    for (const auto& group : groups) {
      const bool is_column = group->kind() == expr::ExprKind::kColumn;
      const bool nullable = !is_column || schema->field(static_cast<const expr::ColumnExpr&>(*group).index())->nullable();
      fields.push_back(arrow::field(group->ToString(), group->type(), nullable));
    }
    for (const auto& call : calls) {
      const bool counts = call.kind == expr::AggregateKind::kCount || call.kind == expr::AggregateKind::kCountStar;
      fields.push_back(arrow::field(call.ToString(), call.type, !counts));
    }
    return arrow::schema(fields);
  }
};

inline arrow::Result<arrow::RecordBatchVector> RunCase(World* world, const AggregateCase& query,
                                                       const arrow::RecordBatchVector& batches, int streams,
                                                       int64_t* spilled_bytes = nullptr) {
  auto child = std::make_unique<BatchesOperator>(&world->context, query.schema, batches, streams);
  ARROW_ASSIGN_OR_RAISE(auto op,
                        AggregateOperator::Make(&world->context, std::move(child), query.groups, query.calls, query.Output()));
  ARROW_ASSIGN_OR_RAISE(auto result, RunOperator(world, op.get()));
  if (spilled_bytes != nullptr) *spilled_bytes = op->metrics().spilled_bytes.load();
  return result;
}

// --- the model --------------------------------------------------------------------------------------------------------------

/// Doubles that sums of another order make have the same text.
inline std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  // Pushed off the ties that rounding would decide by the last bit.
  return std::abs(value) < 1e-9 ? "0" : fmt::format("{:.7g}", value * (1 + 1e-10));
}

/// A value as text, such that equal values have equal texts.
inline std::string TextOf(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "NULL";
  const auto scalar = array.GetScalar(row).ValueOrDie();
  if (scalar->type->id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
    return TextOf(*dictionary.dictionary(), dictionary.GetValueIndex(row));
  }
  if (scalar->type->id() == arrow::Type::DOUBLE || scalar->type->id() == arrow::Type::FLOAT) {
    const double value = scalar->type->id() == arrow::Type::DOUBLE
                             ? static_cast<const arrow::DoubleScalar&>(*scalar).value
                             : static_cast<double>(static_cast<const arrow::FloatScalar&>(*scalar).value);
    return NumberText(value);
  }
  return scalar->ToString();
}

inline std::multiset<std::string> RowTexts(const arrow::RecordBatchVector& batches) {
  std::multiset<std::string> rows;
  for (const auto& batch : batches) {
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      std::string text;
      for (int c = 0; c < batch->num_columns(); ++c) text += TextOf(*batch->column(c), i) + " | ";
      rows.insert(std::move(text));
    }
  }
  return rows;
}

/// A value the model computes with.
struct Cell {
  bool is_null = true;
  __int128 integer = 0;
  double number = 0;
  std::string text;       // of TextOf
  std::string raw;        // strings
  std::string separator;  // string_agg
};

inline Cell CellAt(const arrow::Array& array, int64_t row) {
  using arrow::Type;
  Cell cell;
  cell.text = TextOf(array, row);
  cell.is_null = cell.text == "NULL" && array.IsNull(row);
  if (cell.is_null) return cell;
  switch (array.type_id()) {
    case Type::BOOL:
      cell.integer = static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0;
      break;
    case Type::INT16:
      cell.integer = static_cast<const arrow::Int16Array&>(array).Value(row);
      break;
    case Type::INT32:
      cell.integer = static_cast<const arrow::Int32Array&>(array).Value(row);
      break;
    case Type::DATE32:
      cell.integer = static_cast<const arrow::Date32Array&>(array).Value(row);
      break;
    case Type::INT64:
      cell.integer = static_cast<const arrow::Int64Array&>(array).Value(row);
      break;
    case Type::DECIMAL64:
      cell.integer = array.data()->GetValues<int64_t>(1)[row];
      break;
    case Type::DECIMAL128:
      std::memcpy(&cell.integer, static_cast<const arrow::Decimal128Array&>(array).GetValue(row), 16);
      break;
    case Type::FLOAT:
      cell.number = static_cast<double>(static_cast<const arrow::FloatArray&>(array).Value(row));
      break;
    case Type::DOUBLE:
      cell.number = static_cast<const arrow::DoubleArray&>(array).Value(row);
      break;
    case Type::STRING:
    case Type::BINARY:
      cell.raw = static_cast<const arrow::BinaryArray&>(array).GetString(row);
      break;
    default:
      break;
  }
  return cell;
}

inline std::string DecimalText(__int128 value, int scale) {
  arrow::Decimal128 decimal(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
  return decimal.ToString(scale);
}

inline int ScaleOf(const arrow::DataType& type) {
  return arrow::is_decimal(type.id()) ? static_cast<const arrow::DecimalType&>(type).scale() : 0;
}

/// The cells of one call in one group: filtered, in arrival order.
struct ModelGroup {
  std::vector<Cell> cells;
  std::vector<std::vector<Cell>> order;  // beside cells
};

/// Orders cells as ORDER BY of the call says.
inline void SortModel(const expr::AggregateCall& call, ModelGroup* group) {
  std::vector<size_t> places(group->cells.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto less = [&](size_t a, size_t b) {
    for (size_t t = 0; t < call.order_by.size(); ++t) {
      const Cell& left = group->order[a][t];
      const Cell& right = group->order[b][t];
      if (left.is_null || right.is_null) {
        if (left.is_null == right.is_null) continue;
        return call.order_by[t].nulls_first ? left.is_null : right.is_null;
      }
      const auto key = [](const Cell& cell) { return std::make_tuple(cell.integer, cell.number, cell.raw); };
      if (key(left) == key(right)) continue;
      return (key(left) < key(right)) != call.order_by[t].descending;
    }
    return false;
  };
  std::stable_sort(places.begin(), places.end(), less);
  std::vector<Cell> sorted;
  for (const size_t place : places) sorted.push_back(group->cells[place]);
  group->cells = std::move(sorted);
}

inline std::string ModelResult(const expr::AggregateCall& call, ModelGroup group) {
  using expr::AggregateKind;
  SortModel(call, &group);
  std::vector<Cell> cells = group.cells;
  if (call.distinct) {
    std::set<std::string> seen;
    std::erase_if(cells, [&](const Cell& cell) { return !seen.insert(cell.is_null ? "" : "v" + cell.text).second; });
  }
  const auto kind = call.kind;
  if (kind == AggregateKind::kCountStar) return std::to_string(cells.size());
  if (kind == AggregateKind::kArrayAgg) {
    if (cells.empty()) return "NULL";
    std::string text;
    for (const Cell& cell : cells) text += cell.text + ",";
    return text;
  }
  if (kind == AggregateKind::kFirst || kind == AggregateKind::kLast) {
    return cells.empty() ? "NULL" : (kind == AggregateKind::kFirst ? cells.front() : cells.back()).text;
  }
  std::erase_if(cells, [](const Cell& cell) { return cell.is_null; });
  if (kind == AggregateKind::kCount) return std::to_string(cells.size());
  if (cells.empty()) return "NULL";
  const arrow::DataType& type = *call.arguments[0]->type();
  const auto count = static_cast<int64_t>(cells.size());
  __int128 sum = 0;
  double number_sum = 0;
  for (const Cell& cell : cells) {
    sum += cell.integer;
    number_sum += cell.number;
  }
  switch (kind) {
    case AggregateKind::kSum:
      if (call.type->id() == arrow::Type::DOUBLE) return NumberText(number_sum);
      return DecimalText(sum, ScaleOf(type));
    case AggregateKind::kAvg: {
      if (call.type->id() == arrow::Type::DOUBLE) return NumberText(number_sum / static_cast<double>(count));
      __int128 scaled = sum;
      for (int i = ScaleOf(type); i < ScaleOf(*call.type); ++i) scaled *= 10;
      __int128 quotient = scaled / count;
      const __int128 rest = scaled % count;
      if ((rest < 0 ? -rest : rest) * 2 >= count) quotient += scaled < 0 ? -1 : 1;
      return DecimalText(quotient, ScaleOf(*call.type));
    }
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr: {
      const bool is_min = kind == AggregateKind::kMin || kind == AggregateKind::kBoolAnd;
      const auto less = [](const Cell& a, const Cell& b) {
        if (std::isnan(a.number) || std::isnan(b.number)) return !std::isnan(a.number) && std::isnan(b.number);
        return std::make_tuple(a.integer, a.number, a.raw) < std::make_tuple(b.integer, b.number, b.raw);
      };
      return (is_min ? *std::min_element(cells.begin(), cells.end(), less) : *std::max_element(cells.begin(), cells.end(), less))
          .text;
    }
    case AggregateKind::kStringAgg: {
      std::string text;
      for (size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? cells[i].separator : "") + cells[i].raw;
      return text;
    }
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop: {
      const bool sample = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kVarSamp;
      if (sample && count < 2) return "NULL";
      const double mean = number_sum / static_cast<double>(count);
      double squares = 0;
      for (const Cell& cell : cells) squares += (cell.number - mean) * (cell.number - mean);
      const double variance = squares / static_cast<double>(sample ? count - 1 : count);
      const bool root = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop;
      return NumberText(root ? std::sqrt(variance) : variance);
    }
    default:
      ADD_FAILURE() << "the model does not know " << call.ToString();
      return "";
  }
}

/// What the rows should be, as RowTexts; lists as their items' texts.
inline std::multiset<std::string> ModelRows(const AggregateCase& query, const arrow::RecordBatchVector& batches) {
  const expr::EvalContext eval{arrow::default_memory_pool()};
  std::map<std::string, std::vector<ModelGroup>> groups;
  if (query.groups.empty()) groups[""].resize(query.calls.size());
  for (const auto& batch : batches) {
    const auto column = [&](const expr::ExprPtr& e) { return expr::EvaluateToArray(*e, *batch, eval).ValueOrDie(); };
    arrow::ArrayVector keys;
    for (const auto& group : query.groups) keys.push_back(column(group));
    std::vector<std::string> key_of_row;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      std::string key;
      for (const auto& array : keys) key += TextOf(*array, i) + " | ";
      groups[key].resize(query.calls.size());
      key_of_row.push_back(std::move(key));
    }
    for (size_t c = 0; c < query.calls.size(); ++c) {
      const expr::AggregateCall& call = query.calls[c];
      const auto filter = call.filter == nullptr ? nullptr : column(call.filter);
      arrow::ArrayVector arguments;
      for (const auto& argument : call.arguments) arguments.push_back(column(argument));
      arrow::ArrayVector order;
      for (const auto& term : call.order_by) order.push_back(column(term.expr));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        if (filter != nullptr && TextOf(*filter, i) != "true") continue;
        ModelGroup& group = groups[key_of_row[static_cast<size_t>(i)]][c];
        Cell cell;
        if (!arguments.empty()) cell = CellAt(*arguments[0], i);
        if (arguments.size() > 1) cell.separator = CellAt(*arguments[1], i).raw;
        group.cells.push_back(std::move(cell));
        std::vector<Cell>& terms = group.order.emplace_back();
        for (const auto& term : order) terms.push_back(CellAt(*term, i));
      }
    }
  }
  std::multiset<std::string> rows;
  for (const auto& [key, calls] : groups) {
    std::string text = key;
    for (size_t c = 0; c < query.calls.size(); ++c) text += ModelResult(query.calls[c], calls[c]) + " | ";
    rows.insert(std::move(text));
  }
  return rows;
}

inline std::string Shorten(std::string text) { return text.size() > 1000 ? text.substr(0, 1000) + "..." : text; }

inline void ExpectSameRows(const std::multiset<std::string>& actual, const std::multiset<std::string>& expected) {
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::set_difference(expected.begin(), expected.end(), actual.begin(), actual.end(), std::back_inserter(missing));
  std::set_difference(actual.begin(), actual.end(), expected.begin(), expected.end(), std::back_inserter(extra));
  EXPECT_EQ(actual.size(), expected.size());
  EXPECT_TRUE(missing.empty()) << missing.size() << " missing, first: " << Shorten(missing.front());
  EXPECT_TRUE(extra.empty()) << extra.size() << " extra, first: " << Shorten(extra.front());
}

/// RowTexts with lists as the model shows them.
inline std::multiset<std::string> OutputRows(const arrow::RecordBatchVector& batches) {
  std::multiset<std::string> rows;
  for (const auto& batch : batches) {
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      std::string text;
      for (int c = 0; c < batch->num_columns(); ++c) {
        const arrow::Array& column = *batch->column(c);
        if (column.type_id() == arrow::Type::LIST && column.IsValid(i)) {
          const auto items = static_cast<const arrow::ListArray&>(column).value_slice(i);
          for (int64_t item = 0; item < items->length(); ++item) text += TextOf(*items, item) + ",";
        } else {
          text += TextOf(column, i);
        }
        text += " | ";
      }
      rows.insert(std::move(text));
    }
  }
  return rows;
}

}  // namespace icebound::exec::aggregate::test
