// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sort_operator.h"

#include <utility>

#include "base/error.h"
#include "expr/evaluate.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {

arrow::Result<std::unique_ptr<SortOperator>> SortOperator::Make(QueryContext* context, std::unique_ptr<Operator> child,
                                                                std::vector<SortKeySpec> keys,
                                                                std::optional<int64_t> fetch_rows) {
  Input input = MakeInput(*child->schema(), keys);
  // The output's types are those of a row format; the sorter itself, which needs the operator's metrics, comes after
  // the operator.
  ARROW_ASSIGN_OR_RAISE(const auto format, sort::SortRowFormat::Make(input.schema, input.keys, child->schema()->num_fields()));
  std::unique_ptr<SortOperator> made(
      new SortOperator(context, std::move(child), std::move(input), format->output_schema(), fetch_rows));
  return made;
}

SortOperator::SortOperator(QueryContext* context, std::unique_ptr<Operator> child, Input input,
                           std::shared_ptr<arrow::Schema> schema, std::optional<int64_t> fetch_rows)
    : Operator(context, fetch_rows.has_value() ? "top-k" : "sort", std::move(schema)),
      child_(std::move(child)),
      input_(std::move(input)),
      fetch_rows_(fetch_rows),
      key_consumer_(context->ledger.AddConsumer("sort keys")) {}

SortOperator::~SortOperator() = default;

SortOperator::Input SortOperator::MakeInput(const arrow::Schema& child, const std::vector<SortKeySpec>& keys) {
  Input input;
  arrow::FieldVector fields = child.fields();
  for (const SortKeySpec& key : keys) {
    if (key.expr->kind() == expr::ExprKind::kColumn) {
      input.keys.push_back({static_cast<const expr::ColumnExpr&>(*key.expr).index(), key.descending, key.nulls_first});
    } else if (!expr::IsConstant(*key.expr)) {  // a constant orders nothing
      input.keys.push_back({static_cast<int>(fields.size()), key.descending, key.nulls_first});
      input.computed.push_back(key.expr);
      fields.push_back(arrow::field(key.expr->ToString(), key.expr->type()));
    }
  }
  input.schema = arrow::schema(std::move(fields), child.metadata());
  return input;
}

arrow::Status SortOperator::Prepare() {
  ARROW_RETURN_NOT_OK(child_->Prepare());
  sort::SorterOptions options;
  options.keys = input_.keys;
  options.output_columns = schema()->num_fields();
  options.fetch_rows = fetch_rows_;
  ARROW_ASSIGN_OR_RAISE(sorter_, sort::ExternalSorter::Make(context(), input_.schema, std::move(options), &mutable_metrics()));
  ARROW_RETURN_NOT_OK(sorter_->StartInput(WorkerCount(*context(), *child_)));
  ARROW_RETURN_NOT_OK(
      DrainInParallel(context(), child_.get(), [this](int worker, BatchStream* stream) { return Consume(worker, stream); }));
  child_.reset();  // what the scan holds is worth more to the merge
  const runtime::OperatorTimer timer(mutable_metrics());
  return sorter_->FinishInput();
}

std::optional<int64_t> SortOperator::RowsToCome() const {
  return std::min(rows_taken_.load(), fetch_rows_.value_or(std::numeric_limits<int64_t>::max()));
}

arrow::Status SortOperator::Consume(int worker, BatchStream* stream) {
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
    const runtime::OperatorTimer timer(mutable_metrics());
    if (batch == nullptr) return sorter_->FinishWorker(worker);
    rows_taken_.fetch_add(batch->num_rows(), std::memory_order_relaxed);
    if (!input_.computed.empty()) {
      ARROW_ASSIGN_OR_RAISE(batch, AddComputedKeys(batch));
    }
    ARROW_RETURN_NOT_OK(sorter_->Append(worker, *batch));
  }
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SortOperator::AddComputedKeys(
    const std::shared_ptr<arrow::RecordBatch>& batch) const {
  const expr::EvalContext eval{key_consumer_->pool(), context()->statement_time_us};
  arrow::ArrayVector columns = batch->columns();
  for (const expr::ExprPtr& key : input_.computed) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> column, expr::EvaluateToArray(*key, *batch, eval));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(input_.schema, batch->num_rows(), std::move(columns));
}

arrow::Result<std::unique_ptr<BatchStream>> SortOperator::OpenStream() { return sorter_->OpenStream(); }

}  // namespace icebound::exec
