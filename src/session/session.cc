// SPDX-License-Identifier: Apache-2.0
//
// Where a session begins, and the road of a statement through the layers: bind, optimize, plan; running is the result's business.
#include <arrow/compute/initialize.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/byte_size.h"
#include "base/error.h"
#include "bridge/table_description.h"
#include "memory/process_tuning.h"
#include "optimizer/optimizer.h"
#include "optimizer/plan_rewrite.h"
#include "planner/planner.h"
#include "planner/reader_table.h"
#include "session/explain_rows.h"
#include "session/query_result.h"
#include "session/session_impl.h"
#include "sql/parse_cost.h"
#include "sql/sql_error.h"

namespace icebound {
namespace {

/// Longest statement, a bound of the parser's positions; memory (sql/parse_cost.h) is nearly always the first to refuse.
constexpr int64_t kStatementBytesMax = int64_t{16} << 20;

/// A plan that holds less is not worth a reservation of its own: the ledger's emergency reserve covers it.
constexpr int64_t kSmallPlanBytes = int64_t{256} << 10;

/// What a statement answers that only defines something: no columns, no rows.
plan::PlanPtr NoRows() {
  return std::make_shared<plan::ValuesNode>(arrow::schema(arrow::FieldVector{}), std::vector<std::vector<expr::ExprPtr>>{});
}

int64_t NowMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

arrow::Status CheckConfig(const BoundedSessionConfig& config) {
  if (config.target_partitions && *config.target_partitions < 1) {
    return MakeError(ErrorKind::kInvalidInput, "target_partitions must be at least 1, not {}", *config.target_partitions);
  }
  if (config.batch_size && (*config.batch_size < 1 || *config.batch_size > (int64_t{1} << 20))) {
    return MakeError(ErrorKind::kInvalidInput, "batch_size must lie between 1 and 1048576 rows, not {}", *config.batch_size);
  }
  if (config.spill_limit_bytes && *config.spill_limit_bytes < 0) {
    return MakeError(ErrorKind::kInvalidInput, "spill_limit_bytes must not be negative, not {}", *config.spill_limit_bytes);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<Session>> CreateBoundedSession(const BoundedSessionConfig& config) {
  ARROW_ASSIGN_OR_RAISE(auto session, SessionImpl::Make(config));
  return session;
}

arrow::Result<std::shared_ptr<SessionImpl>> SessionImpl::Make(const BoundedSessionConfig& config) {
  ARROW_RETURN_NOT_OK(CheckConfig(config));
  if (config.owns_process) memory::TuneProcessForBound();
  // Before the baseline is taken: what the libraries hold once they are awake is not ours to lend.
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  std::shared_ptr<SessionImpl> session(new SessionImpl());
  SessionResources& resources = session->resources_;
  memory::MemoryLedgerOptions ledger;
  ledger.limit_bytes = config.memory_limit_bytes;
  ledger.inside_host = !config.owns_process;
  ledger.baseline_bytes = config.owns_process ? memory::MeasureBaseline() : 0;
  ledger.policy = config.pool == PoolPolicy::kGreedy ? memory::PoolPolicy::kGreedy : memory::PoolPolicy::kFair;
  ARROW_ASSIGN_OR_RAISE(resources.ledger, memory::MemoryLedger::Make(ledger));
  spill::DiskManagerOptions disk;
  disk.directory = config.spill_directory.value_or("");
  disk.limit_bytes = config.spill_limit_bytes;
  disk.pool = resources.ledger->pool();
  ARROW_ASSIGN_OR_RAISE(resources.disk, spill::DiskManager::Make(disk));
  resources.memory_limit_bytes = config.memory_limit_bytes;
  resources.threads = config.target_partitions.value_or(UsableCpus());
  resources.batch_rows = config.batch_size.value_or(8192);
  return session;
}

SessionImpl::~SessionImpl() = default;

arrow::Status SessionImpl::RegisterParquet(std::string name, const std::string& path_or_glob_or_dir,
                                           const ParquetReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto table, catalog_.OpenParquet(path_or_glob_or_dir, options));
  return catalog_.Register(std::move(name), std::move(table));
}

arrow::Status SessionImpl::RegisterCsv(std::string name, const std::string& path_or_glob_or_dir, const CsvReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto table, catalog_.OpenCsv(path_or_glob_or_dir, options));
  return catalog_.Register(std::move(name), std::move(table));
}

arrow::Status SessionImpl::RegisterArrow(std::string name, std::shared_ptr<arrow::RecordBatchReader> reader) {
  if (reader == nullptr) return MakeError(ErrorKind::kInvalidInput, "the reader registered as \"{}\" is null", name);
  auto table = std::make_shared<planner::ReaderTable>(name, std::move(reader));
  return catalog_.Register(std::move(name), std::move(table));
}

arrow::Status SessionImpl::SetProperty(const std::string& key, const std::string& value) {
  if (key.empty()) return MakeError(ErrorKind::kInvalidInput, "a property needs a name");
  catalog_.SetProperty(key, value);
  return arrow::Status::OK();
}

arrow::Status SessionImpl::AttachCatalog(const std::string& name, const std::map<std::string, std::string>& properties) {
  return catalog_.AttachCatalog(name, properties);
}

arrow::Result<TableDescription> SessionImpl::DescribeTable(const std::string& table) {
  const TableCatalog::StatementView one_version(&catalog_);
  ARROW_ASSIGN_OR_RAISE(const bridge::NamedTable named, catalog_.LoadIceberg(table));
  const auto run = [this](const std::string& text, plan::TableResolver& tables) { return RunOver(text, tables); };
  return bridge::DescribeTable(named, NowMilliseconds(), resources_.ledger.get(), run);
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> SessionImpl::RunOver(const std::string& text,
                                                                              plan::TableResolver& tables) {
  std::unique_ptr<Statement> statement = NewStatement();
  ARROW_ASSIGN_OR_RAISE(const sql::BoundStatement bound, Bind({}, {text, 0}, {}, tables, statement.get()));
  ARROW_ASSIGN_OR_RAISE(auto root, planner::PlanOperators(*bound.plan, statement->mutable_context(), catalog_.file_systems()));
  statement->set_root(std::move(root));
  return QueryResult(shared_from_this(), std::move(statement), ResultKind::kRows).ToReader();
}

std::unique_ptr<Statement> SessionImpl::NewStatement() {
  resources_.cancellation.Reset();  // a Cancel() is meant for what ran before
  return std::make_unique<Statement>(resources_, metrics_.Begin());
}

arrow::Result<sql::BoundStatement> SessionImpl::Bind(std::string_view script, const ScriptStatement& part,
                                                     const QueryParameters& parameters, plan::TableResolver& tables,
                                                     Statement* statement) {
  // Scanning, parsing and binding work on plain heap, outside the pools: reserve for each before it begins.
  memory::Reservation& heap = statement->plan_memory();
  ARROW_RETURN_NOT_OK(heap.ResizeTo(sql::ScanBytesMax(part.text)));
  const int64_t parse_bytes = sql::ParseBytesMax(part.text);
  ARROW_RETURN_NOT_OK(heap.ResizeTo(parse_bytes));
  if (std::find(parameters.begin(), parameters.end(), nullptr) != parameters.end()) {
    return MakeError(ErrorKind::kInvalidInput, "a parameter is a null pointer; NULL is arrow::MakeNullScalar");
  }
  sql::BindOptions options;
  options.pool = resources_.ledger->pool();
  options.statement_time_us = statement->context().statement_time_us;
  options.parameters = parameters;
  options.whole_text = script;
  options.offset_in_whole = part.offset;
  options.statement_bytes_max = kStatementBytesMax;
  const TableCatalog::StatementView one_version(&catalog_);
  ARROW_ASSIGN_OR_RAISE(sql::BoundStatement bound, sql::BindStatement(part.text, tables, options));
  if (bound.kind == sql::StatementKind::kDropView) return bound;
  const sql::SourceText source = script.empty() ? sql::SourceText(part.text) : sql::SourceText(script, part.offset, part.text);
  optimizer::OptimizerOptions rules{.pool = options.pool, .statement_time_us = options.statement_time_us};
  rules.point_at = [&source](const arrow::Status& error, expr::TextPosition at) { return source.Position(error, at.offset); };
  ARROW_ASSIGN_OR_RAISE(plan::PlanPtr optimized, optimizer::Optimize(bound.plan, rules));
  // A view is kept as it was bound, for the statements that use it; what cannot be done with it is said now, where its text is.
  if (bound.kind == sql::StatementKind::kCreateView) {
    ARROW_ASSIGN_OR_RAISE(bound.plan, optimizer::WithoutPositions(bound.plan));
    return bound;
  }
  bound.plan = std::move(optimized);
  const int64_t plan_bytes = sql::PlanBytesMax(parse_bytes);
  sql::StatementLines lines(source);
  ARROW_RETURN_NOT_OK(heap.ResizeTo(plan_bytes >= kSmallPlanBytes ? plan_bytes + lines.bytes() : 0));
  statement->set_lines(std::move(lines));
  return bound;
}

arrow::Result<std::unique_ptr<Result>> SessionImpl::SqlInScript(std::string_view script, const ScriptStatement& part,
                                                                const QueryParameters& parameters) {
  std::unique_ptr<Statement> statement = NewStatement();
  ARROW_ASSIGN_OR_RAISE(const sql::BoundStatement bound, Bind(script, part, parameters, catalog_, statement.get()));
  ResultKind kind = ResultKind::kRows;
  if (bound.explain) {
    kind = ResultKind::kPlan;
    ARROW_ASSIGN_OR_RAISE(const std::string shown, ExplainBound(bound, bound.analyze, statement.get()));
    statement->set_root(MakeExplainRows(statement->mutable_context(), shown));
  } else if (bound.kind == sql::StatementKind::kCreateView || bound.kind == sql::StatementKind::kDropView) {
    kind = ResultKind::kDefinition;
    ARROW_RETURN_NOT_OK(DefineViews(bound, sql::PlanBytesMax(sql::ParseBytesMax(part.text))));
    ARROW_ASSIGN_OR_RAISE(auto root, planner::PlanOperators(*NoRows(), statement->mutable_context(), catalog_.file_systems()));
    statement->set_root(std::move(root));
  } else {
    ARROW_ASSIGN_OR_RAISE(auto root, planner::PlanOperators(*bound.plan, statement->mutable_context(), catalog_.file_systems()));
    statement->set_root(std::move(root));
    if (bound.kind == sql::StatementKind::kCopy) kind = ResultKind::kCount;
    statement->set_counts_output(kind == ResultKind::kRows);
  }
  return std::make_unique<QueryResult>(shared_from_this(), std::move(statement), kind);
}

arrow::Status SessionImpl::DefineViews(const sql::BoundStatement& bound, int64_t plan_bytes) {
  for (const std::vector<std::string>& name : bound.views) {
    if (bound.kind == sql::StatementKind::kCreateView) {
      ARROW_RETURN_NOT_OK(catalog_.SetView(name, bound.plan, plan_bytes));
    } else {
      catalog_.DropView(name);
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::vector<ScriptStatement>> SessionImpl::SplitStatements(std::string_view text) const {
  auto consumer = resources_.ledger->AddConsumer("parser");
  memory::Reservation heap(consumer.get());
  ARROW_RETURN_NOT_OK(heap.ResizeTo(sql::ScanBytesMax(text) + static_cast<int64_t>(text.size())));
  ARROW_ASSIGN_OR_RAISE(auto parts, sql::SplitStatements(text));
  std::vector<ScriptStatement> statements;
  for (sql::StatementText& part : parts) statements.push_back({std::move(part.text), part.offset});
  return statements;
}

arrow::Result<std::string> SessionImpl::Explain(std::string_view text, bool analyze) {
  std::unique_ptr<Statement> statement = NewStatement();
  ARROW_ASSIGN_OR_RAISE(const sql::BoundStatement bound, Bind({}, {std::string(text), 0}, {}, catalog_, statement.get()));
  return ExplainBound(bound, analyze || bound.analyze, statement.get());
}

arrow::Result<std::string> SessionImpl::ExplainBound(const sql::BoundStatement& bound, bool analyze, Statement* statement) {
  std::string text = plan::ExplainText(*bound.plan);
  if (!analyze) return text;
  ARROW_ASSIGN_OR_RAISE(auto root, planner::PlanOperators(*bound.plan, statement->mutable_context(), catalog_.file_systems()));
  statement->set_root(std::move(root));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, statement->Next());
    if (batch == nullptr) break;
  }
  return text + "\n" + OperatorTable(statement->metrics().Snapshot());
}

}  // namespace icebound
