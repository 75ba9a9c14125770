// SPDX-License-Identifier: Apache-2.0
#include "exec/set/values_operator.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include <algorithm>

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

bool HoldsExtension(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) return true;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [](const auto& field) { return HoldsExtension(*field->type()); });
}

class ValuesStream final : public BatchStream {
 public:
  ValuesStream(const std::vector<std::vector<expr::ExprPtr>>& rows, std::shared_ptr<arrow::Schema> schema, int64_t batch_rows,
               expr::EvalContext eval, runtime::OperatorMetrics& metrics)
      : rows_(rows), schema_(std::move(schema)), batch_rows_(batch_rows), eval_(eval), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    const int64_t count = std::min<int64_t>(batch_rows_, static_cast<int64_t>(rows_.size()) - next_row_);
    if (count <= 0) return nullptr;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (int column = 0; column < schema_->num_fields(); ++column) {
      const bool has_builder = !HoldsExtension(*schema_->field(column)->type());
      ARROW_ASSIGN_OR_RAISE(auto array, has_builder ? BuildColumn(column, count) : JoinColumn(column, count));
      columns.push_back(std::move(array));
    }
    next_row_ += count;
    metrics_.rows.fetch_add(count, std::memory_order_relaxed);
    return arrow::RecordBatch::Make(schema_, count, std::move(columns));
  }

 private:
  arrow::Result<std::shared_ptr<arrow::Array>> BuildColumn(int column, int64_t count) const {
    ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(schema_->field(column)->type(), eval_.pool));
    for (int64_t row = next_row_; row < next_row_ + count; ++row) {
      ARROW_ASSIGN_OR_RAISE(auto value, expr::EvaluateConstant(*rows_[row][column], eval_));
      // A builder takes no scalar of the type that only NULL has.
      ARROW_RETURN_NOT_OK(value->is_valid ? builder->AppendScalar(*value) : builder->AppendNull());
    }
    return builder->Finish();
  }

  /// Arrow has no builders for extension types (uuid), but makes an array of a scalar of any type.
  arrow::Result<std::shared_ptr<arrow::Array>> JoinColumn(int column, int64_t count) const {
    arrow::ArrayVector values;
    for (int64_t row = next_row_; row < next_row_ + count; ++row) {
      ARROW_ASSIGN_OR_RAISE(auto value, expr::EvaluateConstant(*rows_[row][column], eval_));
      ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(*value, 1, eval_.pool));
      values.push_back(std::move(array));
    }
    return arrow::Concatenate(values, eval_.pool);
  }

  const std::vector<std::vector<expr::ExprPtr>>& rows_;
  const std::shared_ptr<arrow::Schema> schema_;
  const int64_t batch_rows_;
  const expr::EvalContext eval_;
  runtime::OperatorMetrics& metrics_;
  int64_t next_row_ = 0;
};

}  // namespace

ValuesOperator::ValuesOperator(QueryContext* context, std::vector<std::vector<expr::ExprPtr>> rows,
                               std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "values", std::move(schema)), rows_(std::move(rows)), consumer_(context->ledger.AddConsumer("values")) {}

arrow::Result<std::unique_ptr<BatchStream>> ValuesOperator::OpenStream() {
  return std::make_unique<ValuesStream>(rows_, schema(), context()->batch_rows,
                                        expr::EvalContext{consumer_->pool(), context()->statement_time_us}, mutable_metrics());
}

}  // namespace icebound::exec
