// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_row_filter.h"

#include <arrow/record_batch.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "expr/evaluate.h"

namespace icebound::io {

namespace {

/// A dictionary of so many values is always worth evaluating.
constexpr int64_t kSmallDictionary = 1024;

/// The keys of a join are asked no more when, of so many rows, more than this part passed.
constexpr int64_t kTrialRows = 65536;
constexpr double kPassMax = 0.75;

}  // namespace

arrow::Result<std::shared_ptr<const ParquetRowFilter>> ParquetRowFilter::Make(const std::vector<expr::ExprPtr>& filters,
                                                                              std::vector<ParquetProbeFilter> probe_filters,
                                                                              std::shared_ptr<arrow::Schema> schema,
                                                                              int64_t statement_time_us) {
  auto filter = std::make_shared<ParquetRowFilter>();
  filter->schema_ = std::move(schema);
  filter->statement_time_us_ = statement_time_us;
  for (const expr::ExprPtr& expr : filters) {
    Conjunct conjunct{.expr = expr, .columns = expr::ReferencedColumns(*expr)};
    if (conjunct.columns.empty() || conjunct.columns.back() >= filter->schema_->num_fields()) {
      return MakeError(ErrorKind::kInternal, "a scan's filter {} over {} columns", expr->ToString(),
                       filter->schema_->num_fields());
    }
    conjunct.by_value = conjunct.columns.size() == 1 && !expr::CanFail(*expr) && expr::IsDeterministic(*expr);
    filter->columns_.insert(filter->columns_.end(), conjunct.columns.begin(), conjunct.columns.end());
    filter->conjuncts_.push_back(std::move(conjunct));
  }
  for (const ParquetProbeFilter& probe : probe_filters) {
    filter->columns_.insert(filter->columns_.end(), probe.columns.begin(), probe.columns.end());
  }
  filter->probe_filters_ = std::move(probe_filters);
  std::sort(filter->columns_.begin(), filter->columns_.end());
  filter->columns_.erase(std::unique(filter->columns_.begin(), filter->columns_.end()), filter->columns_.end());
  return filter;
}

arrow::Result<ParquetRowFilter::Predicate> ParquetRowFilter::Combine(const std::vector<bool>& chosen) const {
  Predicate predicate;
  std::vector<expr::ExprPtr> exprs;
  std::vector<int> number(static_cast<size_t>(schema_->num_fields()), -1);
  arrow::FieldVector fields;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    exprs.push_back(conjuncts_[i].expr);
    for (const int column : conjuncts_[i].columns) {
      if (number[static_cast<size_t>(column)] >= 0) continue;
      number[static_cast<size_t>(column)] = static_cast<int>(predicate.columns.size());
      predicate.columns.push_back(column);
      fields.push_back(schema_->field(column));
    }
  }
  predicate.schema = arrow::schema(std::move(fields));
  ARROW_ASSIGN_OR_RAISE(predicate.expr, expr::RemapColumns(expr::MakeAnd(std::move(exprs)), number));
  return predicate;
}

ParquetWindowFilter::ParquetWindowFilter(std::shared_ptr<const ParquetRowFilter> filter, memory::MemoryConsumer* consumer)
    : filter_(std::move(filter)),
      consumer_(consumer),
      probes_(filter_->probe_filters_.size()),
      positions_(consumer),
      bitmap_(consumer) {}

void ParquetWindowFilter::StartRowGroup() {
  tables_.clear();
  for (Probe& probe : probes_) probe.table.reset();
}

arrow::Result<const ParquetRowFilter::Predicate*> ParquetWindowFilter::PredicateOf(const std::vector<bool>& chosen) {
  const auto found = predicates_.find(chosen);
  if (found != predicates_.end()) return &found->second;
  ARROW_ASSIGN_OR_RAISE(ParquetRowFilter::Predicate predicate, filter_->Combine(chosen));
  return &predicates_.emplace(chosen, std::move(predicate)).first->second;
}

/// The table of all conjuncts over this column alone; null when there are none, or the dictionary is too large.
arrow::Result<const ParquetWindowFilter::Table*> ParquetWindowFilter::TableOf(int column, FlatColumn* flat,
                                                                              int64_t rows_to_come) {
  const auto found = tables_.find(column);
  if (found != tables_.end()) return found->second.is_usable ? &found->second : nullptr;
  Table table{.passes = memory::LedgerVector<uint8_t>(consumer_)};
  std::vector<bool> chosen;
  for (const ParquetRowFilter::Conjunct& conjunct : filter_->conjuncts_) {
    chosen.push_back(conjunct.by_value && conjunct.columns.front() == column);
  }
  const bool has_conjuncts = std::find(chosen.begin(), chosen.end(), true) != chosen.end();
  const int64_t values = flat->dictionary_size() + 1;
  if (has_conjuncts && values <= std::max(rows_to_come, kSmallDictionary)) {
    ARROW_ASSIGN_OR_RAISE(const ParquetRowFilter::Predicate* predicate, PredicateOf(chosen));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> dictionary, flat->DictionaryAndNull());
    const auto batch = arrow::RecordBatch::Make(predicate->schema, values, {std::move(dictionary)});
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> passing,
                          expr::SelectRows(*predicate->expr, *batch, {consumer_->pool(), filter_->statement_time_us_}));
    ARROW_RETURN_NOT_OK(table.passes.Resize(values));
    table.is_usable = true;
    table.all_pass = passing == nullptr;
    const int32_t* positions = table.all_pass ? nullptr : passing->data()->GetValues<int32_t>(1);
    for (int64_t i = 0; positions != nullptr && i < passing->length(); ++i) table.passes[positions[i]] = 1;
  }
  const Table& kept = tables_.emplace(column, std::move(table)).first->second;
  return kept.is_usable ? &kept : nullptr;
}

void ParquetWindowFilter::Keep(const uint32_t* slots, const uint8_t* passes) {
  int32_t* positions = positions_.data();
  int64_t kept = 0;
  // Without branches: which rows pass is rarely predictable.
  if (all_pass_) {
    for (int64_t i = 0; i < count_; ++i) {
      positions[kept] = static_cast<int32_t>(i);
      kept += passes[slots[i]];
    }
  } else {
    for (int64_t i = 0; i < count_; ++i) {
      const int32_t row = positions[i];
      positions[kept] = row;
      kept += passes[slots[row]];
    }
  }
  all_pass_ = all_pass_ && kept == count_;
  count_ = kept;
}

arrow::Status ParquetWindowFilter::Exclude(const Window& window) {
  const int64_t bytes = arrow::bit_util::BytesForBits(window.rows);
  if (bitmap_.size() < bytes) ARROW_RETURN_NOT_OK(bitmap_.Resize(bytes));
  std::memset(bitmap_.data(), 0xff, static_cast<size_t>(bytes));
  if (window.excluded_or_null->Clear(window.first_row, window.rows, bitmap_.data()) == 0) return arrow::Status::OK();
  all_pass_ = false;
  count_ = 0;
  for (int64_t i = 0; i < window.rows; ++i) {
    positions_[count_] = static_cast<int32_t>(i);
    count_ += arrow::bit_util::GetBit(bitmap_.data(), i);
  }
  return arrow::Status::OK();
}

arrow::Status ParquetWindowFilter::Apply(const Window& window) {
  if (positions_.size() < window.rows) ARROW_RETURN_NOT_OK(positions_.Resize(window.rows));
  count_ = window.rows;
  all_pass_ = true;
  if (window.excluded_or_null != nullptr) ARROW_RETURN_NOT_OK(Exclude(window));
  if (count_ == 0) return arrow::Status::OK();
  std::vector<bool> rest(filter_->conjuncts_.size(), true);
  for (const int column : filter_->columns_) {
    FlatColumn* flat = window.flat_or_null(column);
    if (flat == nullptr || !flat->has_dictionary_slots()) continue;
    ARROW_ASSIGN_OR_RAISE(const Table* table, TableOf(column, flat, window.rows_to_come));
    if (table == nullptr) continue;
    if (!table->all_pass) Keep(flat->slots(), table->passes.data());
    if (count_ == 0) return arrow::Status::OK();
    for (size_t i = 0; i < rest.size(); ++i) {
      const ParquetRowFilter::Conjunct& conjunct = filter_->conjuncts_[i];
      if (conjunct.by_value && conjunct.columns.front() == column) rest[i] = false;
    }
  }
  if (std::find(rest.begin(), rest.end(), true) != rest.end()) {
    ARROW_ASSIGN_OR_RAISE(const ParquetRowFilter::Predicate* predicate, PredicateOf(rest));
    ARROW_RETURN_NOT_OK(EvaluateRest(*predicate, window));
  }
  for (size_t i = 0; i < probes_.size() && count_ > 0; ++i) {
    ARROW_RETURN_NOT_OK(ApplyProbe(filter_->probe_filters_[i], window, &probes_[i]));
  }
  return arrow::Status::OK();
}

arrow::Status ParquetWindowFilter::ApplyProbe(const ParquetProbeFilter& filter, const Window& window, Probe* probe) {
  const runtime::KeyTest* test = filter.filter->test_or_null();
  if (test == nullptr) return arrow::Status::OK();
  const bool pays = probe->tested_rows < kTrialRows ||
                    static_cast<double>(probe->passed_rows) < kPassMax * static_cast<double>(probe->tested_rows);
  if (!pays) return arrow::Status::OK();
  const int64_t tested_rows = count_;
  FlatColumn* flat = filter.columns.size() == 1 ? window.flat_or_null(filter.columns.front()) : nullptr;
  const bool has_dictionary = flat != nullptr && flat->has_dictionary_slots();
  if (has_dictionary && !probe->table.has_value()) {
    // As many rows as pass here are expected to pass in the rest of the row group.
    const double part = static_cast<double>(count_) / static_cast<double>(window.rows);
    const bool is_less_work = static_cast<double>(flat->dictionary_size()) < part * static_cast<double>(window.rows_to_come);
    if (is_less_work) ARROW_RETURN_NOT_OK(TestDictionary(*test, flat, probe));
  }
  if (has_dictionary && probe->table.has_value()) {
    Keep(flat->slots(), probe->table->passes.data());
  } else {
    ARROW_RETURN_NOT_OK(TestRows(*test, filter, window));
  }
  probe->tested_rows += tested_rows;
  probe->passed_rows += count_;
  return arrow::Status::OK();
}

arrow::Status ParquetWindowFilter::TestDictionary(const runtime::KeyTest& test, FlatColumn* flat, Probe* probe) {
  Table table{.passes = memory::LedgerVector<uint8_t>(consumer_)};
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> values, flat->DictionaryAndNull());
  ARROW_RETURN_NOT_OK(table.passes.Resize(values->length()));
  std::fill(table.passes.begin(), table.passes.end(), 1);
  ARROW_RETURN_NOT_OK(test.Test({values}, table.passes.span(), consumer_->pool()));
  probe->table.emplace(std::move(table));
  return arrow::Status::OK();
}

arrow::Status ParquetWindowFilter::TestRows(const runtime::KeyTest& test, const ParquetProbeFilter& filter,
                                            const Window& window) {
  arrow::ArrayVector keys;
  for (const int column : filter.columns) {
    ARROW_ASSIGN_OR_RAISE(keys.emplace_back(), window.values(column, positions(), count_));
  }
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(count_, consumer_->pool()));
  uint8_t* pass = bytes->mutable_data();
  std::memset(pass, 1, static_cast<size_t>(count_));
  ARROW_RETURN_NOT_OK(test.Test(keys, {pass, static_cast<size_t>(count_)}, consumer_->pool()));
  int32_t* rows = positions_.data();
  int64_t kept = 0;
  for (int64_t i = 0; i < count_; ++i) {
    rows[kept] = all_pass_ ? static_cast<int32_t>(i) : rows[i];
    kept += pass[i];
  }
  all_pass_ = all_pass_ && kept == count_;
  count_ = kept;
  return arrow::Status::OK();
}

arrow::Status ParquetWindowFilter::EvaluateRest(const ParquetRowFilter::Predicate& predicate, const Window& window) {
  arrow::ArrayVector columns;
  for (const int column : predicate.columns) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), window.values(column, positions(), count_));
  }
  const auto batch = arrow::RecordBatch::Make(predicate.schema, count_, std::move(columns));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> passing,
                        expr::SelectRows(*predicate.expr, *batch, {consumer_->pool(), filter_->statement_time_us_}));
  if (passing == nullptr) return arrow::Status::OK();
  const int32_t* passed = passing->data()->GetValues<int32_t>(1);
  int32_t* rows = positions_.data();
  // Ascending: what is read has not been overwritten.
  for (int64_t i = 0; i < passing->length(); ++i) rows[i] = all_pass_ ? passed[i] : rows[passed[i]];
  all_pass_ = false;
  count_ = passing->length();
  return arrow::Status::OK();
}

}  // namespace icebound::io
