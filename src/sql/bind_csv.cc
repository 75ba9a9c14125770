// SPDX-License-Identifier: Apache-2.0
//
// FROM read_csv('path', option => value, ...): a quoted path with options. Names and values are text here, as those of COPY; the
// reader knows which exist.
#include "sql/binder.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

/// The text of a constant; nullopt for anything else.
std::optional<std::string> ConstantText(const Node& constant) {
  if (const Node text = constant["sval"]) return std::string(text.Text("sval"));
  if (const Node number = constant["ival"]) return std::to_string(number.Integer("ival"));
  if (const Node boolean = constant["boolval"]) return boolean.Flag("boolval") ? "true" : "false";
  return std::nullopt;
}

}  // namespace

arrow::Result<Binder::FromItem> Binder::BindCsv(const Node& function, const Node& alias, int offset) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(function, {"funcname", "args", "funcformat", "location"}));
  std::optional<std::string> path;
  std::vector<std::pair<std::string, std::string>> options;
  for (const Node& argument : function["args"].items()) {
    const bool is_option = argument.Is("NamedArgExpr");
    const int at = argument.FirstLocation();
    if (is_option) ARROW_RETURN_NOT_OK(context_.OnlyFields(argument, {"arg", "name", "argnumber", "location"}));
    if (is_option) argument.Integer("argnumber");
    const Node constant = is_option ? argument["arg"] : argument;
    const std::optional<std::string> text = constant.Is("A_Const") ? ConstantText(constant) : std::nullopt;
    if (!text) return context_.Unsupported(at, "anything but text, whole numbers, true and false as arguments of read_csv");
    if (is_option) {
      options.emplace_back(argument.Text("name"), *text);
    } else if (path) {
      return context_.Invalid(at, "read_csv takes one path, and then options: name => value");
    } else {
      path = text;
    }
  }
  if (!path || path->empty()) return context_.Invalid(offset, "read_csv takes a path as a string");
  auto source = context_.tables().ResolveCsv(*path, options);
  if (!source.ok()) return context_.Position(source.status(), offset);
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, ScanOf(std::move(source).MoveValueUnsafe(), *path, offset));
  return Aliased(std::move(plan), {{"read_csv"}, {}}, alias, offset);
}

}  // namespace icebound::sql
