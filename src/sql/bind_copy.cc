// SPDX-License-Identifier: Apache-2.0
//
// COPY (query) TO 'file' (options) and COPY table TO 'file'. Option names and values are text here; the writer of the format
// knows which exist.
#include <algorithm>

#include "sql/binder.h"

namespace icebound::sql {

using plan::PlanPtr;

arrow::Result<PlanPtr> Binder::BindCopy(const Node& copy) {
  const int offset = copy.FirstLocation();
  if (copy.Flag("is_from")) return context_.Unsupported(context_.KeywordBefore(-1, "from"), "COPY ... FROM");
  if (copy.Flag("is_program")) return context_.Unsupported(context_.KeywordBefore(-1, "program"), "COPY ... TO PROGRAM");
  if (!copy["filename"]) return context_.Unsupported(context_.KeywordBefore(-1, "stdout"), "COPY ... TO STDOUT");
  ARROW_RETURN_NOT_OK(
      context_.OnlyFields(copy, {"relation", "query", "attlist", "is_from", "is_program", "filename", "options"}));
  ARROW_ASSIGN_OR_RAISE(PlanPtr source, BindCopySource(copy));
  ARROW_ASSIGN_OR_RAISE(auto options, BindCopyOptions(copy));
  const std::string path(copy.Text("filename"));
  if (path.empty()) return context_.Invalid(offset, "the path of COPY ... TO is empty");
  return std::make_shared<plan::CopyNode>(std::move(source), path, std::move(options));
}

arrow::Result<PlanPtr> Binder::BindCopySource(const Node& copy) {
  if (const Node query = copy["query"]) {
    if (!query.Is("SelectStmt")) return context_.Unsupported(query.FirstLocation(), "COPY of a statement that changes data");
    return BindQuery(query, {});
  }
  ARROW_ASSIGN_OR_RAISE(FromItem item, BindTableName(copy["relation"], {}));
  const std::vector<std::string> names = NameParts(copy["attlist"]);
  if (names.empty()) return item.plan;
  Scope scope;
  ARROW_RETURN_NOT_OK(scope.AddTable(std::move(item.tables.front())));
  std::vector<expr::ExprPtr> exprs;
  std::vector<std::string> output_names;
  for (const std::string& name : names) {
    ARROW_ASSIGN_OR_RAISE(const ResolvedColumn column,
                          context_.Position(scope.ResolveColumn({name}), copy["relation"].location()));
    exprs.push_back(expr::MakeColumn(column.index, *column.field));
    output_names.push_back(column.field->name());
  }
  return std::make_shared<plan::ProjectNode>(std::move(item.plan), std::move(exprs), std::move(output_names));
}

arrow::Result<std::map<std::string, std::string>> Binder::BindCopyOptions(const Node& copy) {
  std::map<std::string, std::string> options;
  for (const Node& option : copy["options"].items()) {
    const int offset = option.location();
    ARROW_RETURN_NOT_OK(context_.OnlyFields(option, {"defname", "arg", "defaction", "location", "arg_location"}));
    std::string name(option.Text("defname"));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const Node value = option["arg"];
    std::string text = "true";  // an option without a value is a switch
    if (value.Is("String")) {
      text = value.Text("sval");
    } else if (value.Is("Integer")) {
      text = std::to_string(value.Integer("ival"));
    } else if (value.Is("Float")) {
      text = value.Text("fval");
    } else if (value.Is("Boolean")) {
      text = value.Flag("boolval") ? "true" : "false";
    } else if (value) {
      return context_.Unsupported(offset, fmt::format("this value of the COPY option {}", name));
    }
    if (!options.emplace(name, text).second) return context_.Invalid(offset, "COPY option \"{}\" is given twice", name);
  }
  return options;
}

}  // namespace icebound::sql
