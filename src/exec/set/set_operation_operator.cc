// SPDX-License-Identifier: Apache-2.0
#include "exec/set/set_operation_operator.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "exec/aggregate/hash_aggregator.h"
#include "exec/aggregate/key_columns.h"
#include "exec/aggregate/result_columns.h"
#include "expr/evaluate.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace aggregate {

/// How whole rows become group keys and come back: two counts a group, one of the left side's rows and one of the right's.
class GroupRows {
 public:
  static arrow::Result<std::unique_ptr<GroupRows>> Make(QueryContext* context, const arrow::Schema& schema) {
    std::unique_ptr<GroupRows> rows(new GroupRows(context));
    std::vector<expr::ExprPtr> columns;
    std::vector<bool> nullable;
    for (int i = 0; i < schema.num_fields(); ++i) {
      columns.push_back(expr::MakeColumn(i, *schema.field(i)));
      nullable.push_back(true);  // either side may have nulls
    }
    ARROW_ASSIGN_OR_RAISE(rows->keys_, KeyColumns::Make(columns, nullable));
    ARROW_ASSIGN_OR_RAISE(rows->counts_, ArgumentReader::Make({}));
    rows->states_.push_back(StateKind::kCount);
    rows->states_.push_back(StateKind::kCount);
    for (size_t k = 0; k < columns.size(); ++k) {
      if (!rows->keys_.IsSortKey(k)) continue;
      // The value behind a sort key: the first that came.
      ArgumentSpec spec{ArgumentForm::kPacked, columns[k], nullptr, /*takes_nulls=*/true, {}};
      ARROW_ASSIGN_OR_RAISE(auto reader, ArgumentReader::Make(std::move(spec)));
      rows->values_.push_back(std::move(reader));
      rows->value_columns_.push_back(k);
      ResultPlan plan;
      plan.type = columns[k]->type();
      plan.state = static_cast<int>(rows->states_.size());
      plan.bytes_form = BytesForm::kPacked;
      rows->results_.push_back(std::move(plan));
      rows->states_.push_back(StateKind::kFirstBytes);
    }
    for (const int side : {0, 1}) {
      rows->fed_[side].push_back({side});
      for (size_t v = 0; v < rows->values_.size(); ++v) rows->fed_[side].push_back({static_cast<int>(2 + v)});
    }
    return rows;
  }

  arrow::Result<std::unique_ptr<GroupLayout>> MakeLayout() const { return GroupLayout::Make(keys_.fields(), states_); }
  arrow::Status SetLayout(const GroupLayout* layout) {
    ARROW_ASSIGN_OR_RAISE(columns_, ResultColumns::Make(layout, results_));
    left_offset_ = layout->states()[0].offset;
    right_offset_ = layout->states()[1].offset;
    return arrow::Status::OK();
  }

  /// What the rows of one side (0: left) add.
  arrow::Result<GroupBatch> Read(const arrow::RecordBatch& batch, int side) const {
    const expr::EvalContext eval{consumer_->pool()};
    GroupBatch result;
    result.rows = batch.num_rows();
    ARROW_ASSIGN_OR_RAISE(result.keys, keys_.Read(batch, eval));
    result.states_of_argument = &fed_[side];
    ARROW_ASSIGN_OR_RAISE(ArgumentColumn count, counts_->Read(batch, eval));
    result.arguments.push_back(std::move(count));
    for (const auto& reader : values_) {
      ARROW_ASSIGN_OR_RAISE(ArgumentColumn value, reader->Read(batch, eval));
      result.arguments.push_back(std::move(value));
    }
    return result;
  }

  /// How often a row comes out.
  int64_t Copies(const uint8_t* row, SetOperationKind kind) const {
    const auto left = row::LoadAs<int64_t>(row + left_offset_);
    const auto right = row::LoadAs<int64_t>(row + right_offset_);
    switch (kind) {
      case SetOperationKind::kIntersect:
        return left > 0 && right > 0 ? 1 : 0;
      case SetOperationKind::kIntersectAll:
        return std::min(left, right);
      case SetOperationKind::kExcept:
        return left > 0 && right == 0 ? 1 : 0;
      case SetOperationKind::kExceptAll:
        return std::max<int64_t>(0, left - right);
    }
    return 0;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ToBatch(std::span<const uint8_t* const> rows,
                                                             const std::shared_ptr<arrow::Schema>& schema) const {
    ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector columns, columns_->Keys(rows, consumer_->pool()));
    for (size_t v = 0; v < value_columns_.size(); ++v) {
      ARROW_ASSIGN_OR_RAISE(columns[value_columns_[v]], columns_->Result(v, rows, consumer_->pool()));
    }
    return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(columns));
  }

 private:
  explicit GroupRows(QueryContext* context) : consumer_(context->ledger.AddConsumer("set operation rows")) {}

  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  KeyColumns keys_;
  std::unique_ptr<ArgumentReader> counts_;
  std::vector<std::unique_ptr<ArgumentReader>> values_;
  std::vector<size_t> value_columns_;
  std::vector<StateKind> states_;
  std::vector<std::vector<int>> fed_[2];  // by side and argument
  std::vector<ResultPlan> results_;
  std::unique_ptr<ResultColumns> columns_;
  uint32_t left_offset_ = 0;
  uint32_t right_offset_ = 0;
};

}  // namespace aggregate

namespace {

/// Gives each group's row as often as it comes out. A row that comes often is repeated a batch at a time.
class SetOperationStream final : public BatchStream {
 public:
  SetOperationStream(QueryContext* context, const aggregate::GroupRows* rows, SetOperationKind kind,
                     std::unique_ptr<aggregate::GroupRowStream> stream, const aggregate::GroupLayout* layout,
                     std::shared_ptr<arrow::Schema> schema, runtime::OperatorMetrics& metrics)
      : context_(*context),
        rows_(*rows),
        kind_(kind),
        stream_(std::move(stream)),
        layout_(*layout),
        schema_(std::move(schema)),
        metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    const runtime::OperatorTimer timer(metrics_);
    chosen_.clear();
    while (chosen_.empty()) {
      if (group_ == groups_.size()) {
        ARROW_ASSIGN_OR_RAISE(groups_, stream_->Next());
        group_ = 0;
        copies_given_ = 0;
        if (groups_.empty()) return nullptr;
      }
      Choose();
    }
    metrics_.rows.fetch_add(static_cast<int64_t>(chosen_.size()), std::memory_order_relaxed);
    return rows_.ToBatch(chosen_, schema_);
  }

 private:
  void Choose() {
    int64_t bytes = 0;
    while (group_ < groups_.size() && static_cast<int64_t>(chosen_.size()) < context_.batch_rows) {
      const uint8_t* row = groups_[group_];
      if (copies_given_ >= rows_.Copies(row, kind_)) {
        ++group_;
        copies_given_ = 0;
        continue;
      }
      bytes += layout_.StoredBytes(row);
      if (bytes > context_.batch_bytes && !chosen_.empty()) return;
      chosen_.push_back(row);
      ++copies_given_;
    }
  }

  const QueryContext& context_;
  const aggregate::GroupRows& rows_;
  const SetOperationKind kind_;
  const std::unique_ptr<aggregate::GroupRowStream> stream_;
  const aggregate::GroupLayout& layout_;
  const std::shared_ptr<arrow::Schema> schema_;
  runtime::OperatorMetrics& metrics_;
  std::span<const uint8_t* const> groups_;
  size_t group_ = 0;
  int64_t copies_given_ = 0;  // of that group
  std::vector<const uint8_t*> chosen_;
};

}  // namespace

arrow::Result<std::unique_ptr<SetOperationOperator>> SetOperationOperator::Make(QueryContext* context,
                                                                                std::unique_ptr<Operator> left,
                                                                                std::unique_ptr<Operator> right,
                                                                                SetOperationKind kind,
                                                                                const std::shared_ptr<arrow::Schema>& output) {
  ARROW_ASSIGN_OR_RAISE(const auto codec, row::RowCodec::Make(output));
  std::unique_ptr<SetOperationOperator> made(
      new SetOperationOperator(context, std::move(left), std::move(right), kind, codec->output_schema()));
  ARROW_ASSIGN_OR_RAISE(made->rows_, aggregate::GroupRows::Make(context, *output));
  ARROW_ASSIGN_OR_RAISE(auto layout, made->rows_->MakeLayout());
  ARROW_ASSIGN_OR_RAISE(made->counter_,
                        aggregate::HashAggregator::Make(context, "set operation", std::move(layout), &made->mutable_metrics()));
  ARROW_RETURN_NOT_OK(made->rows_->SetLayout(&made->counter_->layout()));
  return made;
}

SetOperationOperator::SetOperationOperator(QueryContext* context, std::unique_ptr<Operator> left, std::unique_ptr<Operator> right,
                                           SetOperationKind kind, std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "set operation", std::move(schema)), left_(std::move(left)), right_(std::move(right)), kind_(kind) {}

SetOperationOperator::~SetOperationOperator() = default;

arrow::Status SetOperationOperator::Prepare() {
  const int workers = context()->threads;
  ARROW_RETURN_NOT_OK(counter_->StartInput(workers));
  int side = 0;
  for (std::unique_ptr<Operator>* child : {&left_, &right_}) {
    ARROW_RETURN_NOT_OK((*child)->Prepare());
    ARROW_RETURN_NOT_OK(DrainInParallel(context(), child->get(), [&](int worker, BatchStream* stream) -> arrow::Status {
      while (true) {
        ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
        const runtime::OperatorTimer timer(mutable_metrics());
        if (batch == nullptr) return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(const aggregate::GroupBatch rows, rows_->Read(*batch, side));
        ARROW_RETURN_NOT_OK(counter_->Append(worker, rows));
      }
    }));
    child->reset();  // what a scan holds is worth more to the others
    ++side;
  }
  const runtime::OperatorTimer timer(mutable_metrics());
  for (int worker = 0; worker < workers; ++worker) ARROW_RETURN_NOT_OK(counter_->FinishWorker(worker));
  return counter_->FinishInput();
}

int SetOperationOperator::max_streams() const { return counter_->max_streams(); }

arrow::Result<std::unique_ptr<BatchStream>> SetOperationOperator::OpenStream() {
  ARROW_ASSIGN_OR_RAISE(auto stream, counter_->OpenStream());
  return std::make_unique<SetOperationStream>(context(), rows_.get(), kind_, std::move(stream), &counter_->layout(), schema(),
                                              mutable_metrics());
}

}  // namespace icebound::exec
