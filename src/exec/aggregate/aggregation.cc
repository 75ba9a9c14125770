// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/aggregation.h"

#include <arrow/array/util.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "expr/evaluate.h"
#include "runtime/operator_timer.h"
#include "runtime/worker_pool.h"

namespace icebound::exec::aggregate {
/// The distinct values of one set of arguments in each group.
struct Aggregation::DistinctSource {
  expr::ExprPtr filter;
  KeyColumns values;
  std::unique_ptr<HashAggregator> groups;        // of (keys, values)
  std::unique_ptr<ArgumentReader> value_reader;  // when the value comes as a sort key: the value itself is state 0
  std::vector<std::vector<int>> value_states;
  std::unique_ptr<ResultColumns> columns;
  std::shared_ptr<arrow::Schema> schema;
  Arguments arguments;
};

struct Aggregation::OrderedSource {
  expr::ExprPtr filter;
  std::unique_ptr<OrderedValues> values;
  Arguments arguments;
};

// --- making -----------------------------------------------------------------------------------------------------------------

arrow::Result<Aggregation::Arguments> Aggregation::Arguments::Make(const ArgumentPlan& plan) {
  Arguments arguments;
  for (const ArgumentSpec& spec : plan.specs) {
    ARROW_ASSIGN_OR_RAISE(auto reader, ArgumentReader::Make(spec));
    arguments.readers.push_back(std::move(reader));
  }
  arguments.states = plan.states;
  return arguments;
}

void Aggregation::Arguments::AddExprs(std::vector<expr::ExprPtr>* exprs) const {
  for (const auto& reader : readers) {
    const ArgumentSpec& spec = reader->spec();
    if (spec.value != nullptr) exprs->push_back(spec.value);
    if (spec.filter != nullptr) exprs->push_back(spec.filter);
    for (const expr::AggregateOrder& order : spec.order) exprs->push_back(order.expr);
  }
}

arrow::Status Aggregation::Arguments::Read(const arrow::RecordBatch& batch, const expr::EvalContext& eval,
                                           GroupBatch* out) const {
  out->rows = batch.num_rows();
  out->states_of_argument = &states;
  out->arguments.reserve(readers.size());
  for (const auto& reader : readers) {
    ARROW_ASSIGN_OR_RAISE(ArgumentColumn column, reader->Read(batch, eval));
    out->arguments.push_back(std::move(column));
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Schema>> Aggregation::OutputSchema(const std::shared_ptr<arrow::Schema>& output) {
  ARROW_ASSIGN_OR_RAISE(const auto codec, row::RowCodec::Make(output));
  return codec->output_schema();
}

Aggregation::Aggregation(QueryContext* context, runtime::OperatorMetrics* metrics)
    : context_(context), metrics_(metrics), consumer_(context->ledger.AddConsumer("aggregate input")) {}

Aggregation::~Aggregation() = default;

arrow::Result<std::unique_ptr<Aggregation>> Aggregation::Make(QueryContext* context, const std::shared_ptr<arrow::Schema>& input,
                                                              std::vector<expr::ExprPtr> groups,
                                                              const std::vector<expr::AggregateCall>& aggregates,
                                                              const std::shared_ptr<arrow::Schema>& output,
                                                              runtime::OperatorMetrics* metrics) {
  std::unique_ptr<Aggregation> made(new Aggregation(context, metrics));
  made->output_schema_ = output;
  made->call_count_ = aggregates.size();
  std::vector<bool> nullable;
  for (size_t k = 0; k < groups.size(); ++k) nullable.push_back(output->field(static_cast<int>(k))->nullable());
  ARROW_ASSIGN_OR_RAISE(made->keys_, KeyColumns::Make(groups, nullable));
  std::vector<expr::ExprPtr> sort_keys;
  for (size_t k = 0; k < groups.size(); ++k) {
    const bool is_sort_key = made->keys_.IsSortKey(k);
    made->sort_key_result_.push_back(is_sort_key ? static_cast<int>(aggregates.size() + sort_keys.size()) : -1);
    if (is_sort_key) sort_keys.push_back(groups[k]);
  }
  ARROW_ASSIGN_OR_RAISE(AggregatePlan plan, PlanAggregates(*input, aggregates, sort_keys, static_cast<int>(groups.size())));
  ARROW_ASSIGN_OR_RAISE(made->input_, Arguments::Make(plan.input));
  made->input_.AddExprs(&groups);
  made->parts_ = expr::SharedParts(std::move(groups));
  ARROW_ASSIGN_OR_RAISE(auto layout, GroupLayout::Make(made->keys_.fields(), plan.states));
  ARROW_ASSIGN_OR_RAISE(made->groups_, HashAggregator::Make(context, "aggregate", std::move(layout), metrics));
  ARROW_ASSIGN_OR_RAISE(made->results_, ResultColumns::Make(&made->groups_->layout(), std::move(plan.results)));
  for (const DistinctPlan& distinct : plan.distinct) ARROW_RETURN_NOT_OK(made->MakeDistinct(distinct));
  for (OrderedPlan& ordered : plan.ordered) ARROW_RETURN_NOT_OK(made->MakeOrdered(std::move(ordered)));
  // A source without a filter has all groups.
  const bool has_whole_source =
      std::any_of(made->distinct_.begin(), made->distinct_.end(), [](const auto& source) { return source->filter == nullptr; }) ||
      std::any_of(made->ordered_.begin(), made->ordered_.end(), [](const auto& source) { return source->filter == nullptr; });
  made->takes_input_ = !made->input_.readers.empty() || !has_whole_source;
  return made;
}

arrow::Status Aggregation::MakeDistinct(const DistinctPlan& plan) {
  auto source = std::make_unique<DistinctSource>();
  source->filter = plan.filter;
  ARROW_ASSIGN_OR_RAISE(source->values, KeyColumns::Make(plan.values, std::vector<bool>(plan.values.size(), true)));
  arrow::FieldVector fields = keys_.fields();
  fields.insert(fields.end(), source->values.fields().begin(), source->values.fields().end());
  std::vector<StateKind> states;
  std::vector<ResultPlan> results;
  const expr::ExprPtr& value = plan.values.front();
  if (source->values.IsSortKey(0)) {
    states.push_back(StateKind::kFirstBytes);
    ArgumentSpec spec{ArgumentForm::kPacked, value, nullptr, /*takes_nulls=*/true, {}};
    ARROW_ASSIGN_OR_RAISE(source->value_reader, ArgumentReader::Make(std::move(spec)));
    source->value_states = {{0}};
    ResultPlan result;
    result.type = value->type();
    result.state = 0;
    result.bytes_form = BytesForm::kPacked;
    results.push_back(std::move(result));
  }
  ARROW_ASSIGN_OR_RAISE(auto layout, GroupLayout::Make(fields, states));
  ARROW_ASSIGN_OR_RAISE(source->groups, HashAggregator::Make(context_, "distinct", std::move(layout), metrics_));
  ARROW_ASSIGN_OR_RAISE(source->columns, ResultColumns::Make(&source->groups->layout(), std::move(results)));
  fields.back() = arrow::field(value->ToString(), value->type());
  source->schema = arrow::schema(std::move(fields));
  ARROW_ASSIGN_OR_RAISE(source->arguments, Arguments::Make(plan.arguments));
  distinct_.push_back(std::move(source));
  return arrow::Status::OK();
}

arrow::Status Aggregation::MakeOrdered(OrderedPlan plan) {
  auto source = std::make_unique<OrderedSource>();
  source->filter = plan.filter;
  ARROW_ASSIGN_OR_RAISE(source->values, OrderedValues::Make(context_, &groups_->layout(), std::move(plan.calls)));
  ARROW_ASSIGN_OR_RAISE(source->arguments, Arguments::Make(plan.arguments));
  ordered_.push_back(std::move(source));
  return arrow::Status::OK();
}

// --- input ------------------------------------------------------------------------------------------------------------------

arrow::Status Aggregation::StartInput(int workers) {
  workers_ = workers;
  const int peers = PeerCount();
  ARROW_RETURN_NOT_OK(groups_->StartInput(workers, peers));
  for (const auto& source : distinct_) ARROW_RETURN_NOT_OK(source->groups->StartInput(workers, peers));
  for (const auto& source : ordered_) ARROW_RETURN_NOT_OK(source->values->StartInput(workers));
  return arrow::Status::OK();
}

arrow::Status Aggregation::Append(int worker, const std::shared_ptr<arrow::RecordBatch>& batch) {
  GroupBatch group_batch;
  expr::PartValues parts(parts_);
  expr::EvalContext eval_once = eval();
  eval_once.parts = &parts;
  ARROW_ASSIGN_OR_RAISE(group_batch.keys, keys_.Read(*batch, eval_once));
  if (!distinct_.empty() || !ordered_.empty()) ARROW_RETURN_NOT_OK(AppendToSources(worker, batch, group_batch.keys));
  if (!takes_input_) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(input_.Read(*batch, eval_once, &group_batch));
  return groups_->Append(worker, group_batch);
}

arrow::Status Aggregation::AppendToSources(int worker, const std::shared_ptr<arrow::RecordBatch>& batch,
                                           const arrow::ArrayVector& keys) {
  // The rows that pass a filter, with their keys.
  const auto pass = [&](const expr::ExprPtr& filter, std::shared_ptr<arrow::RecordBatch>* passed,
                        arrow::ArrayVector* passed_keys) -> arrow::Status {
    *passed = batch;
    *passed_keys = keys;
    if (filter == nullptr) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(*passed, expr::Filter(*filter, batch, eval()));
    if (*passed == nullptr || *passed == batch) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(*passed_keys, keys_.Read(**passed, eval()));
    return arrow::Status::OK();
  };
  std::shared_ptr<arrow::RecordBatch> passed;
  for (const auto& source : distinct_) {
    GroupBatch values;
    ARROW_RETURN_NOT_OK(pass(source->filter, &passed, &values.keys));
    if (passed == nullptr) continue;
    values.rows = passed->num_rows();
    ARROW_ASSIGN_OR_RAISE(const arrow::ArrayVector columns, source->values.Read(*passed, eval()));
    values.keys.insert(values.keys.end(), columns.begin(), columns.end());
    values.states_of_argument = &source->value_states;
    if (source->value_reader != nullptr) {
      ARROW_ASSIGN_OR_RAISE(ArgumentColumn column, source->value_reader->Read(*passed, eval()));
      values.arguments.push_back(std::move(column));
    }
    ARROW_RETURN_NOT_OK(source->groups->Append(worker, values));
  }
  for (const auto& source : ordered_) {
    arrow::ArrayVector passed_keys;
    ARROW_RETURN_NOT_OK(pass(source->filter, &passed, &passed_keys));
    if (passed != nullptr) ARROW_RETURN_NOT_OK(source->values->Append(worker, *passed, passed_keys, eval()));
  }
  return arrow::Status::OK();
}

arrow::Status Aggregation::FinishWorker(int worker) {
  for (const auto& source : distinct_) ARROW_RETURN_NOT_OK(source->groups->FinishWorker(worker));
  for (const auto& source : ordered_) ARROW_RETURN_NOT_OK(source->values->FinishWorker(worker));
  return arrow::Status::OK();
}

arrow::Status Aggregation::FinishInput() {
  for (auto& source : distinct_) {
    ARROW_RETURN_NOT_OK(DrainDistinct(source.get()));
    source.reset();
  }
  for (auto& source : ordered_) {
    ARROW_RETURN_NOT_OK(DrainOrdered(source.get()));
    source.reset();
  }
  distinct_.clear();
  ordered_.clear();
  if (keys_.fields().empty()) {
    // One row, also over no input.
    GroupBatch nothing;
    nothing.rows = 1;
    ARROW_RETURN_NOT_OK(groups_->Append(0, nothing));
  }
  for (int worker = 0; worker < workers_; ++worker) ARROW_RETURN_NOT_OK(groups_->FinishWorker(worker));
  return groups_->FinishInput();
}

/// Gives the distinct values of all groups to the groups.
arrow::Status Aggregation::DrainDistinct(DistinctSource* source) {
  HashAggregator& values = *source->groups;
  ARROW_RETURN_NOT_OK(values.FinishInput());
  return runtime::RunOnThreads(std::min(workers_, values.max_streams()), [&](int worker) -> arrow::Status {
    const runtime::OperatorTimer timer(*metrics_);
    ARROW_ASSIGN_OR_RAISE(const auto stream, values.OpenStream());
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, stream->Next());
      if (rows.empty()) return arrow::Status::OK();
      ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector columns, source->columns->Keys(rows, consumer_->pool()));
      if (source->columns->count() > 0) {
        ARROW_ASSIGN_OR_RAISE(columns.back(), source->columns->Result(0, rows, consumer_->pool()));
      }
      GroupBatch batch;
      batch.keys.assign(columns.begin(), columns.end() - 1);
      const auto record_batch = arrow::RecordBatch::Make(source->schema, static_cast<int64_t>(rows.size()), std::move(columns));
      ARROW_RETURN_NOT_OK(source->arguments.Read(*record_batch, eval(), &batch));
      ARROW_RETURN_NOT_OK(groups_->Append(worker, batch));
    }
  });
}

arrow::Status Aggregation::DrainOrdered(OrderedSource* source) {
  const runtime::OperatorTimer timer(*metrics_);
  ARROW_RETURN_NOT_OK(source->values->FinishInput());
  const size_t key_count = keys_.fields().size();
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, source->values->Next(consumer_->pool()));
    if (batch == nullptr) break;
    GroupBatch group_batch;
    group_batch.keys.assign(batch->columns().begin(), batch->columns().begin() + static_cast<std::ptrdiff_t>(key_count));
    ARROW_RETURN_NOT_OK(source->arguments.Read(*batch, eval(), &group_batch));
    ARROW_RETURN_NOT_OK(groups_->Append(0, group_batch));
  }
  source->values->AddMetricsTo(metrics_);
  return arrow::Status::OK();
}

// --- output -----------------------------------------------------------------------------------------------------------------

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Aggregation::MakeOutput(std::span<const uint8_t* const> rows) const {
  arrow::MemoryPool* pool = groups_->pool();
  ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector columns, results_->Keys(rows, pool));
  for (size_t k = 0; k < sort_key_result_.size(); ++k) {
    if (sort_key_result_[k] < 0) continue;
    ARROW_ASSIGN_OR_RAISE(columns[k], results_->Result(static_cast<size_t>(sort_key_result_[k]), rows, pool));
  }
  for (size_t i = 0; i < call_count_; ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, results_->Result(i, rows, pool));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(output_schema_, static_cast<int64_t>(rows.size()), std::move(columns));
}

class AggregationStream final : public BatchStream {
 public:
  AggregationStream(const Aggregation* aggregation, std::unique_ptr<GroupRowStream> rows, runtime::OperatorMetrics& metrics)
      : aggregation_(*aggregation), rows_(std::move(rows)), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    const runtime::OperatorTimer timer(metrics_);
    ARROW_ASSIGN_OR_RAISE(const auto rows, rows_->Next());
    if (rows.empty()) return nullptr;
    metrics_.rows.fetch_add(static_cast<int64_t>(rows.size()), std::memory_order_relaxed);
    return aggregation_.MakeOutput(rows);
  }

 private:
  const Aggregation& aggregation_;
  const std::unique_ptr<GroupRowStream> rows_;
  runtime::OperatorMetrics& metrics_;
};

arrow::Result<std::unique_ptr<BatchStream>> Aggregation::OpenStream() {
  ARROW_ASSIGN_OR_RAISE(auto rows, groups_->OpenStream());
  return std::make_unique<AggregationStream>(this, std::move(rows), *metrics_);
}

}  // namespace icebound::exec::aggregate
