// SPDX-License-Identifier: Apache-2.0
//
// CREATE VIEW and DROP VIEW. A view keeps the plan of its query, as it was bound: what its names meant then, it keeps reading,
// also when tables are registered anew. Nothing depends on the name of a view, so RESTRICT and CASCADE say the same.
#include <fmt/ranges.h>

#include <algorithm>

#include "sql/binder.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

std::string Dotted(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ".")); }

}  // namespace

arrow::Result<PlanPtr> Binder::BindCreateView(const Node& view, std::vector<std::string>* name) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(view, {"view", "aliases", "query", "replace", "options", "withCheckOption"}));
  const Node relation = view["view"];
  const Node query = view["query"];
  const int offset = relation.location();
  ARROW_RETURN_NOT_OK(
      context_.OnlyFields(relation, {"catalogname", "schemaname", "relname", "inh", "relpersistence", "location"}));
  relation.Flag("inh");
  if (relation.Text("relpersistence") == "u") {
    return context_.Invalid(offset, "views cannot be unlogged because they do not have storage");
  }
  if (const Node options = view["options"]) return context_.Unsupported(options.FirstLocation(), "options of views");
  if (view.Text("withCheckOption") != "NO_CHECK_OPTION") {
    return context_.Unsupported(context_.KeywordAfter(query.LastLocation(), "with"), "WITH CHECK OPTION");
  }
  for (const std::string_view field : {"catalogname", "schemaname", "relname"}) {
    if (relation[field]) name->emplace_back(relation.Text(field));
  }
  const bool replace = view.Flag("replace");
  const bool is_view = context_.tables().ResolveView(*name) != nullptr;
  if (!is_view && context_.tables().ResolveName(*name).ok()) {
    return replace ? context_.Invalid(offset, "\"{}\" is not a view", Dotted(*name))
                   : context_.Invalid(offset, "relation \"{}\" already exists", Dotted(*name));
  }
  if (is_view && !replace) return context_.Invalid(offset, "relation \"{}\" already exists", Dotted(*name));

  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, BindQuery(query, {}));
  std::vector<std::string> names = plan->schema()->field_names();
  const std::vector<std::string> aliases = NameParts(view["aliases"]);
  if (aliases.size() > names.size()) return context_.Invalid(offset, "CREATE VIEW specifies more column names than columns");
  std::copy(aliases.begin(), aliases.end(), names.begin());
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]) == 0) continue;
    return context_.Invalid(offset, "column \"{}\" specified more than once", names[i]);
  }
  if (aliases.empty()) return plan;
  std::vector<expr::ExprPtr> columns = ColumnsOf(*plan);
  return std::make_shared<plan::ProjectNode>(std::move(plan), std::move(columns), std::move(names));
}

arrow::Result<std::vector<std::vector<std::string>>> Binder::BindDropView(const Node& drop, int begin) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(drop, {"objects", "removeType", "behavior", "missing_ok"}));
  drop.Text("behavior");
  const bool missing_ok = drop.Flag("missing_ok");
  std::vector<std::vector<std::string>> views;
  int offset = context_.KeywordAfter(begin, "view");
  for (const Node& object : drop["objects"].items()) {
    std::vector<std::string> name = NameParts(object["items"]);
    offset = context_.IdentifierAfter(offset + 1, name.front());
    if (context_.tables().ResolveView(name) != nullptr) {
      if (std::find(views.begin(), views.end(), name) == views.end()) views.push_back(std::move(name));
      continue;
    }
    if (context_.tables().ResolveName(name).ok()) return context_.Invalid(offset, "\"{}\" is not a view", Dotted(name));
    if (missing_ok) continue;
    return context_.Position(MakeError(ErrorKind::kNotFound, "view \"{}\" does not exist", Dotted(name)), offset);
  }
  return views;
}

}  // namespace icebound::sql
