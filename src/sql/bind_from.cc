// SPDX-License-Identifier: Apache-2.0
//
// FROM: tables, quoted paths, subqueries, and lists of them; and WITH, whose queries are tables too. Joins are in bind_join.cc.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "expr/evaluate.h"
#include "expr/type_rules.h"
#include "sql/binder.h"
#include "sql/nearest_name.h"
#include "sql/quoted_paths.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

std::string StringArgument(const Node& argument) { return std::string(argument["sval"].Text("sval")); }

/// The table name of a path: "lineitem" for 'dir/lineitem.parquet', so that columns can be qualified without an alias. Empty for
/// globs and directories.
std::string NameOfPath(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  name = name.substr(0, name.find('.'));
  return name.find_first_of("*?[]{}") == std::string_view::npos ? std::string(name) : std::string();
}

}  // namespace

const CommonTable* CommonTableScope::Find(const std::string& name) const {
  for (const CommonTableScope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto found = scope->tables_.find(name);
    if (found != scope->tables_.end()) return &found->second;
  }
  return nullptr;
}

void CommonTableScope::AppendNames(std::vector<std::string>* names) const {
  for (const CommonTableScope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& entry : scope->tables_) names->push_back(entry.first);
  }
}

arrow::Status Binder::BindWith(const Node& with, const QueryEnvironment& environment, CommonTableScope* scope) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(with, {"ctes", "recursive", "location"}));
  if (with.Flag("recursive")) {
    return context_.Unsupported(context_.KeywordBefore(with["ctes"].FirstLocation(), "with"), "WITH RECURSIVE");
  }
  for (const Node& common : with["ctes"].items()) {
    const std::string name(common.Text("ctename"));
    ARROW_ASSIGN_OR_RAISE(CommonTable table, BindCommonTable(common, {scope, environment.outer, nullptr}));
    if (!scope->Add(name, std::move(table))) {
      return context_.Invalid(common.location(), "WITH query name \"{}\" specified more than once", name);
    }
  }
  return arrow::Status::OK();
}

arrow::Result<CommonTable> Binder::BindCommonTable(const Node& common, const QueryEnvironment& environment) {
  const int offset = common.location();
  if (common["search_clause"]) return context_.Unsupported(offset, "SEARCH");
  if (common["cycle_clause"]) return context_.Unsupported(offset, "CYCLE");
  // MATERIALIZED and NOT MATERIALIZED say how, not what.
  ARROW_RETURN_NOT_OK(context_.OnlyFields(common, {"ctename", "aliascolnames", "ctematerialized", "ctequery", "location"}));
  common.Text("ctematerialized");
  if (!common["ctequery"].Is("SelectStmt")) return context_.Unsupported(offset, "WITH queries that change data");
  const int64_t nodes_before = context_.plan_nodes();
  const size_t scans_before = context_.one_shot_scan_count();
  const int outer_depth = environment.outer ? environment.outer->depth() : -1;
  const int outermost_before = context_.ExchangeOutermostReference(BindContext::kNoReference);
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, BindQuery(common["ctequery"], environment));
  const int outermost = context_.ExchangeOutermostReference(outermost_before);
  context_.NoteOuterReference(outermost);
  const std::vector<std::string> names = NameParts(common["aliascolnames"]);
  if (static_cast<int>(names.size()) > plan->schema()->num_fields()) {
    return context_.Invalid(offset, "WITH query \"{}\" has {} columns available but {} columns specified", common.Text("ctename"),
                            plan->schema()->num_fields(), names.size());
  }
  if (!names.empty()) {
    std::vector<std::string> all = plan->schema()->field_names();
    std::copy(names.begin(), names.end(), all.begin());
    plan = std::make_shared<plan::ProjectNode>(plan, ColumnsOf(*plan), std::move(all));
  }
  // Defining the query reads nothing; every use of its name will.
  CommonTable table{std::move(plan), context_.plan_nodes() - nodes_before + 1, context_.TakeOneShotScans(scans_before), {}};
  if (outermost <= outer_depth) table.bound_depth = outer_depth;
  return table;
}

arrow::Result<Binder::FromClause> Binder::BindFrom(const Node& select, const QueryEnvironment& environment) {
  FromClause from;
  from.scope = std::make_unique<Scope>(environment.outer);
  const std::vector<Node> items = select["fromClause"].items();
  if (items.empty()) {
    // One row without columns, so that the select list is evaluated once.
    from.plan =
        std::make_shared<plan::ValuesNode>(arrow::schema(arrow::FieldVector{}), std::vector<std::vector<expr::ExprPtr>>(1));
    return from;
  }
  ARROW_ASSIGN_OR_RAISE(FromItem joined, BindFromItem(items.front(), environment));
  ARROW_RETURN_NOT_OK(AddTables(joined, from.scope.get(), items.front().FirstLocation()));
  for (size_t i = 1; i < items.size(); ++i) {
    JoinSides sides;
    sides.offset = items[i].FirstLocation();
    sides.lateral = HasLateral(items[i]);
    if (sides.lateral) {
      ARROW_ASSIGN_OR_RAISE(sides.right, BindRightSide(items[i], joined, environment));
    } else {
      ARROW_ASSIGN_OR_RAISE(sides.right, BindFromItem(items[i], environment));
    }
    sides.left = std::move(joined);
    ARROW_RETURN_NOT_OK(CheckWidth(sides));
    const size_t tables_before = sides.left.tables.size();
    joined = Combine(std::move(sides), {});
    const FromItem added{nullptr, {joined.tables.begin() + static_cast<ptrdiff_t>(tables_before), joined.tables.end()}};
    ARROW_RETURN_NOT_OK(AddTables(added, from.scope.get(), items[i].FirstLocation()));
  }
  from.plan = std::move(joined.plan);
  return from;
}

arrow::Status Binder::AddTables(const FromItem& item, Scope* scope, int offset) {
  for (const ScopeTable& table : item.tables) ARROW_RETURN_NOT_OK(context_.Position(scope->AddTable(table), offset));
  return arrow::Status::OK();
}

arrow::Result<Binder::FromItem> Binder::BindFromItem(const Node& node, const QueryEnvironment& environment) {
  BindContext::Nesting nesting(context_);
  const int offset = node.FirstLocation();
  ARROW_RETURN_NOT_OK(context_.CheckDepth(offset));
  ARROW_RETURN_NOT_OK(context_.AddPlanNodes(1, offset));
  if (node.Is("RangeVar")) return BindTableName(node, environment);
  if (node.Is("RangeFunction")) return BindTableFunction(node);
  if (node.Is("RangeSubselect")) return BindSubquery(node, environment);
  if (node.Is("JoinExpr")) return BindJoin(node, environment);
  if (node.Is("RangeTableSample")) {
    return context_.Unsupported(context_.KeywordBefore(node.location(), "tablesample"), "TABLESAMPLE");
  }
  return context_.Unsupported(offset, fmt::format("{} in FROM", node.type()));
}

arrow::Result<PlanPtr> Binder::ScanOf(std::shared_ptr<plan::TableSource> source, const std::string& name, int offset) {
  ARROW_RETURN_NOT_OK(context_.AddScan(*source, name, offset));
  plan::ScanRequest request;
  request.projection.resize(static_cast<size_t>(source->schema()->num_fields()));
  std::iota(request.projection.begin(), request.projection.end(), 0);
  return std::make_shared<plan::ScanNode>(std::move(source), name, std::move(request));
}

arrow::Result<PlanPtr> Binder::PlanOf(plan::ResolvedTable table, const std::string& name, int offset) {
  if (table.query == nullptr) return ScanOf(std::move(table.source), name, offset);
  ARROW_RETURN_NOT_OK(context_.AddPlan(*table.query, offset));
  return std::move(table.query);
}

arrow::Status Binder::UnknownTable(const arrow::Status& status, const std::vector<std::string>& parts,
                                   const QueryEnvironment& environment, int offset) {
  const bool suggested = status.message().find("did you mean") != std::string::npos;
  if (GetErrorKind(status) != ErrorKind::kNotFound || suggested) return context_.Position(status, offset);
  std::vector<std::string> names = context_.tables().TableNames();
  if (environment.common_tables) environment.common_tables->AppendNames(&names);
  const std::string suggestion = SuggestionText(fmt::format("{}", fmt::join(parts, ".")), names);
  return context_.Position(MakeError(ErrorKind::kNotFound, "{}{}", status.message(), suggestion), offset);
}

arrow::Result<Binder::FromItem> Binder::BindTableName(const Node& node, const QueryEnvironment& environment) {
  const int offset = node.location();
  if (!node.Flag("inh")) return context_.Unsupported(offset, "FROM ONLY");
  ARROW_RETURN_NOT_OK(
      context_.OnlyFields(node, {"catalogname", "schemaname", "relname", "inh", "relpersistence", "alias", "location"}));
  std::vector<std::string> parts;
  for (const std::string_view field : {"catalogname", "schemaname", "relname"}) {
    if (!node[field]) continue;
    for (std::string& level : SplitLevels(std::string(node.Text(field)))) parts.push_back(std::move(level));
  }
  ARROW_ASSIGN_OR_RAISE(const std::optional<PlanPtr> query, BindNamedQuery(parts, environment, offset));
  PlanPtr plan = query.value_or(nullptr);
  int hidden_columns = 0;
  if (!query) {
    auto table = context_.tables().ResolveName(parts);
    if (!table.ok()) return UnknownTable(table.status(), parts, environment, offset);
    hidden_columns = table->hidden_columns;
    ARROW_ASSIGN_OR_RAISE(plan, PlanOf(std::move(table).MoveValueUnsafe(), fmt::format("{}", fmt::join(parts, ".")), offset));
  }
  return Aliased(std::move(plan), {std::move(parts), {}}, node["alias"], offset, hidden_columns);
}

arrow::Result<std::optional<PlanPtr>> Binder::BindNamedQuery(const std::vector<std::string>& parts,
                                                             const QueryEnvironment& environment, int offset) {
  const CommonTable* common =
      parts.size() == 1 && environment.common_tables ? environment.common_tables->Find(parts.front()) : nullptr;
  if (!common) {
    PlanPtr view = context_.tables().ResolveView(parts);
    if (!view) return std::nullopt;
    ARROW_RETURN_NOT_OK(context_.AddPlan(*view, offset));
    return view;
  }
  ARROW_RETURN_NOT_OK(context_.AddPlanNodes(common->plan_nodes, offset));
  for (const BindContext::OneShotScan& scan : common->one_shot_scans) {
    ARROW_RETURN_NOT_OK(context_.AddScan(*scan.source, scan.table_name, offset));
  }
  const int depth = environment.outer ? environment.outer->depth() : -1;
  if (common->bound_depth && *common->bound_depth != depth) {
    return context_.Unsupported(offset, "a WITH query that uses columns of an outer query, inside a further subquery");
  }
  return common->plan;
}

arrow::Result<Binder::FromItem> Binder::BindTableFunction(const Node& node) {
  const int offset = node.FirstLocation();
  if (node.Flag("ordinality")) return context_.Unsupported(offset, "WITH ORDINALITY");
  if (node.Flag("is_rowsfrom")) return context_.Unsupported(offset, "ROWS FROM");
  if (node["coldeflist"]) return context_.Unsupported(offset, "column definitions after a table function");
  // LATERAL changes nothing for functions of constants, and others are refused.
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"lateral", "ordinality", "is_rowsfrom", "functions", "alias"}));
  node.Flag("lateral");
  const Node function = node["functions"].items().front()["items"].items().front();
  if (!function.Is("FuncCall")) return context_.Unsupported(offset, "expressions as tables");
  const std::string name = NameParts(function["funcname"]).back();
  if (name == kPathFunction) return BindPath(function, node["alias"], offset);
  if (name == "iceberg") return BindIceberg(function, node["alias"], offset);
  if (name == "read_csv") return BindCsv(function, node["alias"], offset);
  if (name == "generate_series") return BindSeries(function, node["alias"], offset);
  return context_.Unsupported(offset, fmt::format("the table function {}", name));
}

arrow::Result<Binder::FromItem> Binder::BindPath(const Node& function, const Node& alias, int offset) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(function, {"funcname", "args", "funcformat", "location"}));
  const std::vector<Node> arguments = function["args"].items();
  if (arguments.size() != 1 || !arguments.front()["sval"]) {
    return context_.Invalid(offset, "{} takes one path as a string", kPathFunction);
  }
  const std::string path = StringArgument(arguments.front());
  if (path.empty()) return context_.Invalid(offset, "the path of the table is empty");
  auto source = context_.tables().ResolvePath(path);
  if (!source.ok()) return context_.Position(source.status(), offset);
  ScopeTable table;
  const std::string table_name = NameOfPath(path);
  if (!table_name.empty()) table.qualifier = {table_name};
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, ScanOf(std::move(source).MoveValueUnsafe(), path, offset));
  return Aliased(std::move(plan), std::move(table), alias, offset);
}

arrow::Result<Binder::FromItem> Binder::BindSeries(const Node& function, const Node& alias, int offset) {
  ARROW_ASSIGN_OR_RAISE(const plan::SeriesBounds bounds, BindSeriesBounds(function, offset));
  ARROW_ASSIGN_OR_RAISE(auto source, context_.Position(context_.tables().ResolveSeries(bounds), offset));
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, ScanOf(std::move(source), "generate_series", offset));
  ARROW_ASSIGN_OR_RAISE(FromItem item, Aliased(std::move(plan), {{"generate_series"}, {}}, alias, offset));
  // The alias of a function with one value a row names that value, too.
  if (alias && !alias["colnames"]) {
    ScopeTable& table = item.tables.front();
    table.columns.front().field = table.columns.front().field->WithName(table.qualifier.front());
  }
  return item;
}

arrow::Result<plan::SeriesBounds> Binder::BindSeriesBounds(const Node& function, int offset) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(function, {"funcname", "args", "funcformat", "location"}));
  const Scope no_columns;
  ExprBinder binder(context_, *this, {no_columns, Clause::kTableFunction});
  ARROW_ASSIGN_OR_RAISE(std::vector<expr::ExprPtr> arguments, binder.BindList(function["args"].items()));
  const size_t given = arguments.size();
  if (given < 2 || given > 3) return context_.Invalid(offset, "generate_series takes start, stop and an optional step");
  auto common = expr::CommonTypeOf({arguments[0], arguments[1]});
  if (!common.ok()) return context_.Invalid(offset, "generate_series {}", common.status().message());
  expr::TypeClass type_class = expr::ClassOf(**common);
  const bool untyped = std::all_of(arguments.begin(), arguments.end(), [](const auto& e) { return expr::IsUntypedLiteral(*e); });
  std::shared_ptr<arrow::DataType> type = *common;
  std::shared_ptr<arrow::DataType> step_type = arrow::month_day_nano_interval();
  if (expr::IsTemporal(type_class)) {
    // PostgreSQL makes timestamps with time zone of dates.
    if (type_class == expr::TypeClass::kDate) type = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    if (given == 2) return context_.Invalid(offset, "generate_series of timestamps takes start, stop and step");
  } else {
    if (given == 2) arguments.push_back(expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(1), {offset}));
    common = untyped ? arrow::int32() : expr::CommonTypeOf(arguments);
    if (!common.ok() || !expr::IsInteger(expr::ClassOf(**common))) {
      return context_.Unsupported(offset, "generate_series of anything but integers and timestamps");
    }
    type = step_type = expr::ClassOf(**common) == expr::TypeClass::kInt64 ? arrow::int64() : arrow::int32();
  }
  std::vector<std::shared_ptr<arrow::Scalar>> values;
  const expr::EvalContext evaluation{context_.options().pool, context_.options().statement_time_us};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const int at = arguments[i]->position().offset >= 0 ? arguments[i]->position().offset : offset;
    if (!expr::IsConstant(*arguments[i])) return context_.Unsupported(at, "volatile functions as arguments of functions in FROM");
    ARROW_ASSIGN_OR_RAISE(auto value, context_.Position(expr::CoerceTo(arguments[i], i < 2 ? type : step_type), at));
    ARROW_ASSIGN_OR_RAISE(values.emplace_back(), context_.Position(expr::EvaluateConstant(*value, evaluation), at));
  }
  return plan::SeriesBounds{values[0], values[1], values[2]};
}

arrow::Result<Binder::FromItem> Binder::BindSubquery(const Node& node, const QueryEnvironment& environment) {
  const int offset = node.FirstLocation();
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"lateral", "subquery", "alias"}));
  // Without LATERAL a subquery sees the names around the whole query, not its neighbours.
  const bool lateral = node.Flag("lateral") && environment.lateral != nullptr;
  const QueryEnvironment inner{environment.common_tables, lateral ? environment.lateral : environment.outer, nullptr};
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, BindQuery(node["subquery"], inner));
  return Aliased(std::move(plan), {}, node["alias"], offset);
}

arrow::Result<Binder::FromItem> Binder::Aliased(PlanPtr plan, ScopeTable table, const Node& alias, int offset,
                                                int hidden_columns) {
  table = MakeScopeTable(std::move(table.qualifier), plan->schema()->fields());
  const size_t shown = table.columns.size() - static_cast<size_t>(hidden_columns);
  for (size_t i = shown; i < table.columns.size(); ++i) table.columns[i].hidden = true;
  FromItem item{std::move(plan), {}};
  if (alias) {
    ARROW_RETURN_NOT_OK(context_.OnlyFields(alias, {"aliasname", "colnames"}));
    table.qualifier = {std::string(alias.Text("aliasname"))};
    const std::vector<std::string> names = NameParts(alias["colnames"]);
    if (names.size() > shown) {
      return context_.Invalid(offset, "table \"{}\" has {} columns available but {} columns specified", table.qualifier.front(),
                              shown, names.size());
    }
    for (size_t i = 0; i < names.size(); ++i) table.columns[i].field = table.columns[i].field->WithName(names[i]);
  }
  item.tables.push_back(std::move(table));
  return item;
}

}  // namespace icebound::sql
