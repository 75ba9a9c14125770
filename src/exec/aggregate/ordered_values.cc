// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/ordered_values.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer_builder.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "exec/aggregate/byte_columns.h"

namespace icebound::exec::aggregate {
namespace {

std::string_view BinaryAt(const arrow::RecordBatch& batch, int column, int64_t row) {
  return static_cast<const arrow::LargeBinaryArray&>(*batch.column(column)).GetView(row);
}

arrow::Status TooLong(std::string_view what) { return MakeError(ErrorKind::kExecution, "{} of one group passes 2 GiB", what); }

bool EqualOrNull(const expr::ExprPtr& left, const expr::ExprPtr& right) {
  if (left == nullptr || right == nullptr) return left == right;
  return expr::Equals(*left, *right);
}

bool SameExprs(const std::vector<expr::ExprPtr>& left, const std::vector<expr::ExprPtr>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const expr::ExprPtr& a, const expr::ExprPtr& b) { return expr::Equals(*a, *b); });
}

}  // namespace

bool SharesOrder(const expr::AggregateCall& left, const expr::AggregateCall& right) {
  const bool same_order =
      std::equal(left.order_by.begin(), left.order_by.end(), right.order_by.begin(), right.order_by.end(),
                 [](const expr::AggregateOrder& a, const expr::AggregateOrder& b) {
                   return a.descending == b.descending && a.nulls_first == b.nulls_first && expr::Equals(*a.expr, *b.expr);
                 });
  return same_order && left.distinct == right.distinct && EqualOrNull(left.filter, right.filter) &&
         (!left.distinct || SameExprs(left.arguments, right.arguments));
}

// --- values of one call -----------------------------------------------------------------------------------------------------

/// Collects the values of groups. Groups that have ended are taken away by Take, the last one may go on.
class OrderedValues::ValueColumn {
 public:
  virtual ~ValueColumn() = default;
  virtual arrow::Status Add(const arrow::RecordBatch& batch, int64_t begin, int64_t end) = 0;
  virtual arrow::Status EndGroup() = 0;
  /// One value for each ended group.
  virtual arrow::Result<std::shared_ptr<arrow::Array>> Take() = 0;
};

/// array_agg: sorted rows are the lists' items already.
class OrderedValues::ListColumn final : public ValueColumn {
 public:
  ListColumn(int column, std::shared_ptr<arrow::DataType> type, arrow::MemoryPool* pool)
      : column_(column), type_(std::move(type)), pool_(pool) {}

  arrow::Status Add(const arrow::RecordBatch& batch, int64_t begin, int64_t end) override {
    pieces_.push_back(batch.column(column_)->Slice(begin, end - begin));
    items_ += end - begin;
    if (items_ > std::numeric_limits<int32_t>::max()) return TooLong("array_agg");
    return arrow::Status::OK();
  }
  arrow::Status EndGroup() override {
    ends_.push_back(static_cast<int32_t>(items_));
    ended_pieces_ = pieces_.size();
    return arrow::Status::OK();
  }
  arrow::Result<std::shared_ptr<arrow::Array>> Take() override {
    const auto rest = static_cast<std::ptrdiff_t>(ended_pieces_);
    const arrow::ArrayVector ended(pieces_.begin(), pieces_.begin() + rest);
    pieces_.erase(pieces_.begin(), pieces_.begin() + rest);
    ended_pieces_ = 0;
    std::shared_ptr<arrow::Array> items;
    if (ended.empty()) {
      ARROW_ASSIGN_OR_RAISE(items, arrow::MakeEmptyArray(type_->field(0)->type(), pool_));
    } else {
      ARROW_ASSIGN_OR_RAISE(items, arrow::Concatenate(ended, pool_));
    }
    const auto rows = static_cast<int64_t>(ends_.size());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets, arrow::AllocateBuffer((rows + 1) * 4, pool_));
    auto* offset = reinterpret_cast<int32_t*>(offsets->mutable_data());
    offset[0] = 0;
    std::copy(ends_.begin(), ends_.end(), offset + 1);
    items_ -= ends_.empty() ? 0 : ends_.back();
    ends_.clear();
    return std::make_shared<arrow::ListArray>(type_, rows, std::move(offsets), std::move(items));
  }

 private:
  const int column_;
  const std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* const pool_;
  arrow::ArrayVector pieces_;
  size_t ended_pieces_ = 0;
  int64_t items_ = 0;
  std::vector<int32_t> ends_;
};

/// string_agg: each value but the first after its own row's separator; nulls are passed over.
class OrderedValues::TextColumn final : public ValueColumn {
 public:
  TextColumn(int value, int separator, arrow::MemoryPool* pool)
      : value_(value), separator_(separator), builder_(pool), text_(pool) {}

  arrow::Status Add(const arrow::RecordBatch& batch, int64_t begin, int64_t end) override {
    const auto& values = static_cast<const arrow::StringArray&>(*batch.column(value_));
    const auto& separators = static_cast<const arrow::StringArray&>(*batch.column(separator_));
    for (int64_t i = begin; i < end; ++i) {
      if (values.IsNull(i)) continue;
      if (has_value_ && separators.IsValid(i)) {
        const std::string_view separator = separators.GetView(i);
        ARROW_RETURN_NOT_OK(text_.Append(separator.data(), static_cast<int64_t>(separator.size())));
      }
      has_value_ = true;
      const std::string_view value = values.GetView(i);
      ARROW_RETURN_NOT_OK(text_.Append(value.data(), static_cast<int64_t>(value.size())));
    }
    if (text_.length() > std::numeric_limits<int32_t>::max() - 1) return TooLong("string_agg");
    return arrow::Status::OK();
  }
  arrow::Status EndGroup() override {
    const bool has_value = std::exchange(has_value_, false);
    if (!has_value) return builder_.AppendNull();
    ARROW_RETURN_NOT_OK(builder_.Append(reinterpret_cast<const char*>(text_.data()), static_cast<int32_t>(text_.length())));
    text_.Rewind(0);
    return arrow::Status::OK();
  }
  arrow::Result<std::shared_ptr<arrow::Array>> Take() override { return builder_.Finish(); }

 private:
  const int value_;
  const int separator_;
  arrow::StringBuilder builder_;  // of ended groups
  arrow::BufferBuilder text_;     // of the last one
  bool has_value_ = false;
};

// --- input ------------------------------------------------------------------------------------------------------------------

OrderedValues::OrderedValues(runtime::QueryContext* context, const GroupLayout* layout) : context_(context), layout_(*layout) {}

OrderedValues::~OrderedValues() = default;

arrow::Result<std::unique_ptr<OrderedValues>> OrderedValues::Make(runtime::QueryContext* context, const GroupLayout* layout,
                                                                  OrderedCalls calls) {
  std::unique_ptr<OrderedValues> values(new OrderedValues(context, layout));
  values->calls_ = std::move(calls.calls);
  ARROW_RETURN_NOT_OK(values->PlanColumns());
  return values;
}

/// Lays out the sorter's columns, and makes it.
arrow::Status OrderedValues::PlanColumns() {
  const expr::AggregateCall& first = calls_.front();
  const auto column_of = [this](const expr::ExprPtr& expr) {
    const auto found =
        std::find_if(columns_.begin(), columns_.end(), [&](const expr::ExprPtr& other) { return expr::Equals(*expr, *other); });
    if (found != columns_.end()) return static_cast<int>(found - columns_.begin());
    columns_.push_back(expr);
    return static_cast<int>(columns_.size()) - 1;
  };
  for (const expr::AggregateCall& call : calls_) {
    std::vector<int>& arguments = arguments_.emplace_back();
    for (const expr::ExprPtr& argument : call.arguments) arguments.push_back(column_of(argument));
  }
  argument_count_ = static_cast<int>(columns_.size());
  arrow::FieldVector fields{arrow::field("key", arrow::large_binary(), false)};
  for (const expr::ExprPtr& column : columns_) fields.push_back(arrow::field(column->ToString(), column->type()));
  if (first.distinct) {
    std::vector<row::SortField> sort_fields;
    for (const expr::ExprPtr& column : columns_) sort_fields.push_back({column->type()});
    ARROW_ASSIGN_OR_RAISE(distinct_, row::SortKeyEncoder::Make(std::move(sort_fields)));
    fields.push_back(arrow::field("distinct", arrow::large_binary(), false));
  }
  sort::SorterOptions options;
  options.output_columns = static_cast<int>(fields.size());
  options.keys.push_back({0});
  for (const expr::AggregateOrder& order : first.order_by) {
    const int column = column_of(order.expr);
    int place = column + 1;
    if (column >= argument_count_) {
      place = static_cast<int>(fields.size());
      fields.push_back(arrow::field(order.expr->ToString(), order.expr->type()));
    }
    options.keys.push_back({place, order.descending, order.nulls_first});
  }
  if (first.distinct) {
    options.keys.push_back({1 + argument_count_});
  } else {
    options.keys.push_back({static_cast<int>(fields.size())});
    fields.push_back(arrow::field("number", arrow::int64(), false));
  }
  input_schema_ = arrow::schema(std::move(fields));
  ARROW_ASSIGN_OR_RAISE(sorter_, sort::ExternalSorter::Make(context_, input_schema_, std::move(options), &metrics_));
  arrow::FieldVector output = layout_.key_codec().output_schema()->fields();
  for (const expr::AggregateCall& call : calls_) output.push_back(arrow::field(call.ToString(), call.type));
  schema_ = arrow::schema(std::move(output));
  return arrow::Status::OK();
}

arrow::Status OrderedValues::StartInput(int workers) { return sorter_->StartInput(workers); }

arrow::Status OrderedValues::Append(int worker, const arrow::RecordBatch& batch, const arrow::ArrayVector& keys,
                                    const expr::EvalContext& eval) {
  const int64_t rows = batch.num_rows();
  ByteColumnParts key_parts;
  key_parts.codec_or_null = &layout_.key_codec();
  key_parts.packed = arrow::RecordBatch::Make(layout_.key_schema(), rows, keys);
  ARROW_ASSIGN_OR_RAISE(auto key, MakeByteColumn(key_parts, rows, nullptr, eval.pool));
  arrow::ArrayVector columns{std::move(key)};
  arrow::ArrayVector order_terms;
  for (size_t i = 0; i < columns_.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, expr::EvaluateToArray(*columns_[i], batch, eval));
    (static_cast<int>(i) < argument_count_ ? columns : order_terms).push_back(std::move(column));
  }
  if (distinct_ != nullptr) {
    const arrow::ArrayVector arguments(columns.begin() + 1, columns.end());
    ARROW_ASSIGN_OR_RAISE(auto distinct, MakeByteColumn({distinct_.get(), arguments}, rows, nullptr, eval.pool));
    columns.push_back(std::move(distinct));
  }
  columns.insert(columns.end(), order_terms.begin(), order_terms.end());
  if (distinct_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> numbers, arrow::AllocateBuffer(rows * 8, eval.pool));
    const int64_t first = next_number_.fetch_add(rows, std::memory_order_relaxed);
    for (int64_t i = 0; i < rows; ++i) reinterpret_cast<int64_t*>(numbers->mutable_data())[i] = first + i;
    columns.push_back(std::make_shared<arrow::Int64Array>(rows, std::move(numbers)));
  }
  return sorter_->Append(worker, *arrow::RecordBatch::Make(input_schema_, rows, std::move(columns)));
}

arrow::Status OrderedValues::FinishWorker(int worker) { return sorter_->FinishWorker(worker); }

arrow::Status OrderedValues::FinishInput() { return sorter_->FinishInput(); }

void OrderedValues::AddMetricsTo(runtime::OperatorMetrics* metrics) const {
  metrics->spilled_bytes.fetch_add(metrics_.spilled_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  runtime::RaiseTo(metrics->spill_levels, metrics_.spill_levels.load(std::memory_order_relaxed));
  runtime::RaiseTo(metrics->peak_bytes, metrics_.peak_bytes.load(std::memory_order_relaxed));
}

// --- output -----------------------------------------------------------------------------------------------------------------

arrow::Result<std::shared_ptr<arrow::RecordBatch>> OrderedValues::Next(arrow::MemoryPool* pool) {
  if (stream_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(stream_, sorter_->OpenStream());
    keys_ = std::make_unique<arrow::BufferBuilder>(pool);
    for (size_t i = 0; i < calls_.size(); ++i) {
      const std::vector<int>& arguments = arguments_[i];
      if (calls_[i].kind == expr::AggregateKind::kArrayAgg) {
        values_.push_back(std::make_unique<ListColumn>(1 + arguments[0], calls_[i].type, pool));
      } else {
        values_.push_back(std::make_unique<TextColumn>(1 + arguments[0], 1 + arguments[1], pool));
      }
    }
  }
  while (!at_end_) {
    ARROW_RETURN_NOT_OK(context_->cancellation.Check());
    ARROW_ASSIGN_OR_RAISE(const auto batch, stream_->Next());
    if (batch == nullptr) {
      at_end_ = true;
      if (in_group_) ARROW_RETURN_NOT_OK(EndGroup());
    } else {
      ARROW_RETURN_NOT_OK(AddSorted(*batch));
    }
    const size_t ended_groups = key_ends_.size() - (in_group_ ? 1 : 0);
    if (ended_groups > 0) return TakeEnded(ended_groups, pool);
  }
  return nullptr;
}

arrow::Status OrderedValues::EndGroup() {
  in_group_ = false;
  for (const auto& value : values_) ARROW_RETURN_NOT_OK(value->EndGroup());
  return arrow::Status::OK();
}

arrow::Status OrderedValues::AddSorted(const arrow::RecordBatch& batch) {
  const auto add = [&](int64_t begin, int64_t end) -> arrow::Status {
    if (begin == end) return arrow::Status::OK();
    for (const auto& value : values_) ARROW_RETURN_NOT_OK(value->Add(batch, begin, end));
    return arrow::Status::OK();
  };
  int64_t begin = 0;  // of the rows to add to the current group
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    const std::string_view key = BinaryAt(batch, 0, i);
    bool is_new_group = !in_group_;
    if (in_group_) {
      const int64_t key_begin = key_ends_.size() > 1 ? key_ends_[key_ends_.size() - 2] : 0;
      is_new_group = key != std::string_view(reinterpret_cast<const char*>(keys_->data()) + key_begin,
                                             static_cast<size_t>(key_ends_.back() - key_begin));
    }
    bool is_duplicate = false;
    if (distinct_ != nullptr) {
      const std::string_view value = BinaryAt(batch, 1 + argument_count_, i);
      is_duplicate = !is_new_group && value == last_distinct_;
      if (!is_duplicate) last_distinct_ = value;
    }
    if (!is_new_group && !is_duplicate) continue;
    ARROW_RETURN_NOT_OK(add(begin, i));
    begin = is_duplicate ? i + 1 : i;
    if (is_duplicate) continue;
    if (in_group_) ARROW_RETURN_NOT_OK(EndGroup());
    in_group_ = true;
    ARROW_RETURN_NOT_OK(keys_->Append(key.data(), static_cast<int64_t>(key.size())));
    key_ends_.push_back(keys_->length());
  }
  return add(begin, batch.num_rows());
}

/// A batch of the groups that have ended, which are forgotten.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> OrderedValues::TakeEnded(size_t groups, arrow::MemoryPool* pool) {
  std::vector<const uint8_t*> keys;
  for (size_t i = 0; i < groups; ++i) keys.push_back(keys_->data() + (i == 0 ? 0 : key_ends_[i - 1]));
  // A key of no bytes still has to be somewhere.
  if (keys_->data() == nullptr) std::fill(keys.begin(), keys.end(), reinterpret_cast<const uint8_t*>(this));
  ARROW_ASSIGN_OR_RAISE(const auto key_batch, layout_.key_codec().Decode(keys, pool));
  arrow::ArrayVector columns = key_batch->columns();
  for (const auto& value : values_) {
    ARROW_ASSIGN_OR_RAISE(auto column, value->Take());
    columns.push_back(std::move(column));
  }
  auto rest = std::make_unique<arrow::BufferBuilder>(pool);
  if (in_group_) {
    const int64_t begin = key_ends_[groups - 1];
    ARROW_RETURN_NOT_OK(rest->Append(keys_->data() + begin, key_ends_.back() - begin));
    key_ends_.assign(1, rest->length());
  } else {
    key_ends_.clear();
  }
  keys_ = std::move(rest);
  return arrow::RecordBatch::Make(schema_, static_cast<int64_t>(groups), std::move(columns));
}

}  // namespace icebound::exec::aggregate
