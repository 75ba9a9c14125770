// SPDX-License-Identifier: Apache-2.0
#include "sql/statement.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "sql/bind_context.h"
#include "sql/binder.h"
#include "sql/parser.h"
#include "sql/sql_error.h"

namespace icebound::sql {
namespace {

/// "InsertStmt" to "INSERT": for the statements that people try first.
struct StatementName {
  std::string_view node;
  std::string_view what;
};
constexpr std::array kUnsupportedStatements = {
    StatementName{"InsertStmt", "INSERT"},
    StatementName{"UpdateStmt", "UPDATE"},
    StatementName{"DeleteStmt", "DELETE"},
    StatementName{"MergeStmt", "MERGE"},
    StatementName{"CreateStmt", "CREATE TABLE"},
    StatementName{"CreateTableAsStmt", "CREATE TABLE AS"},
    StatementName{"DropStmt", "DROP"},
    StatementName{"AlterTableStmt", "ALTER TABLE"},
    StatementName{"TruncateStmt", "TRUNCATE"},
    StatementName{"VariableSetStmt", "SET"},
    StatementName{"VariableShowStmt", "SHOW"},
    StatementName{"TransactionStmt", "transactions"},
    StatementName{"PrepareStmt", "PREPARE"},
    StatementName{"ExecuteStmt", "EXECUTE"},
    StatementName{"DeclareCursorStmt", "cursors"},
};

// Fields that say where something stands, or repeat what another field says: the operator of BETWEEN, the type of call syntax.
constexpr std::array<std::string_view, 12> kSilentFields = {"version",  "location",   "arg_location",     "stmt_location",
                                                            "stmt_len", "funcformat", "relpersistence",   "typemod",
                                                            "typmod",   "defaction",  "rexpr_list_start", "rexpr_list_end"};

class StatementBinder {
 public:
  StatementBinder(BindContext& context, const ParsedStatement& parsed) : context_(context), parsed_(parsed), binder_(context) {}

  arrow::Result<BoundStatement> Bind() {
    const int begin = parsed_.tokens.front().begin;
    BoundStatement bound;
    bound.explain = parsed_.prefix.explain;
    bound.analyze = parsed_.prefix.analyze;
    Node node = parsed_.statement();
    if (node.Is("ExplainStmt")) {
      bound.explain = true;
      ARROW_ASSIGN_OR_RAISE(bound.analyze, BindExplainOptions(node));
      ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"query", "options"}));
      node = node["query"];
    }
    if (node.Is("CopyStmt")) {
      bound.kind = StatementKind::kCopy;
      ARROW_ASSIGN_OR_RAISE(bound.plan, binder_.BindCopy(node));
      return bound;
    }
    if (node.Is("ViewStmt")) {
      bound.kind = StatementKind::kCreateView;
      ARROW_ASSIGN_OR_RAISE(bound.plan, binder_.BindCreateView(node, &bound.views.emplace_back()));
      return bound;
    }
    if (node.Is("DropStmt") && node.Text("removeType") == "OBJECT_VIEW") {
      bound.kind = StatementKind::kDropView;
      ARROW_ASSIGN_OR_RAISE(bound.views, binder_.BindDropView(node, begin));
      return bound;
    }
    if (!node.Is("SelectStmt")) return Unsupported(node, begin);
    ARROW_ASSIGN_OR_RAISE(bound.plan, binder_.BindQuery(node, {}));
    return bound;
  }

 private:
  arrow::Status Unsupported(const Node& node, int offset) const {
    const auto known = std::find_if(kUnsupportedStatements.begin(), kUnsupportedStatements.end(),
                                    [&](const StatementName& name) { return node.Is(name.node); });
    return context_.Unsupported(offset, known != kUnsupportedStatements.end() ? known->what : "this statement");
  }

  /// Whether to analyze.
  arrow::Result<bool> BindExplainOptions(const Node& explain) const {
    bool analyze = false;
    for (const Node& option : explain["options"].items()) {
      const std::string_view name = option.Text("defname");
      if (name != "analyze") return context_.Unsupported(option.location(), fmt::format("EXPLAIN option {}", name));
      const Node value = option["arg"];
      const std::string_view text = value.Text("sval");
      const bool off = value.Is("Integer") ? value.Integer("ival") == 0 : text == "false" || text == "off";
      const bool on = !value || (value.Is("Integer") ? value.Integer("ival") == 1 : text == "true" || text == "on");
      if (!on && !off) return context_.Invalid(option.location(), "analyze requires a Boolean value");
      analyze = on;
    }
    return analyze;
  }

  BindContext& context_;
  const ParsedStatement& parsed_;
  Binder binder_;
};

}  // namespace

arrow::Result<BoundStatement> BindStatement(std::string_view text, plan::TableResolver& tables, const BindOptions& options) {
  if (!options.pool) return MakeError(ErrorKind::kInternal, "BindOptions::pool is not set");
  if (static_cast<int64_t>(text.size()) > options.statement_bytes_max) {
    return MakeError(ErrorKind::kInvalidInput, "the statement is too long: {} bytes, at most {}", text.size(),
                     options.statement_bytes_max);
  }
  const SourceText source =
      options.whole_text.empty() ? SourceText(text) : SourceText(options.whole_text, options.offset_in_whole, text);
  ARROW_ASSIGN_OR_RAISE(const ParsedStatement parsed, ParseStatement(source));
  BindContext context(source, parsed, tables, options);
  ARROW_ASSIGN_OR_RAISE(BoundStatement bound, StatementBinder(context, parsed).Bind());
  if (const auto unread = parsed.tree.FirstUnread(kSilentFields)) {
    return context.Unsupported(unread->location, fmt::format("this clause ({} of {})", unread->name, unread->owner));
  }
  return bound;
}

arrow::Result<std::vector<StatementText>> SplitStatements(std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<Token> tokens, ScanTokens(SourceText(text)));
  std::vector<StatementText> statements;
  int depth = 0;
  int begin = -1;
  int end = -1;
  auto finish = [&] {
    if (begin >= 0) {
      statements.push_back(
          {std::string(text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin))), static_cast<size_t>(begin)});
    }
    begin = -1;
    depth = 0;
  };
  for (const Token& token : tokens) {
    if (IsSymbol(text, token, ';') && depth <= 0) {
      finish();
      continue;
    }
    if (IsSymbol(text, token, '(')) ++depth;
    if (IsSymbol(text, token, ')')) --depth;
    if (begin < 0) begin = token.begin;
    end = token.end;
  }
  finish();
  return statements;
}

}  // namespace icebound::sql
