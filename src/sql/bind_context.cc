// SPDX-License-Identifier: Apache-2.0
#include "sql/bind_context.h"

#include <algorithm>

#include "sql/scope.h"

namespace icebound::sql {
namespace {

// Nested expressions and queries. Each level takes several stack frames here, and a few again when the expression is rewritten
// and evaluated; 500 levels stay below 2 MiB of stack, which every thread has.
constexpr int kDepthMax = 500;

// A plan of so many nodes comes from nested WITH clauses only, each using the one before it twice.
constexpr int64_t kPlanNodesMax = 10'000;

// A column costs about 120 bytes in each plan node that has it (mostly Arrow's index of names), so this many about 12 MiB. It is
// enough to join 100 tables of 20 columns, or 14 of 1000.
constexpr int64_t kJoinColumnsMax = 100'000;

}  // namespace

arrow::Status BindContext::Unsupported(int offset, std::string_view what) const {
  return source_.Error(ErrorKind::kUnsupported, offset, fmt::format("not supported yet: {}", what));
}

arrow::Status BindContext::Position(const arrow::Status& status, int offset) const {
  const bool data_error = GetErrorKind(status) == ErrorKind::kExecution;
  return source_.Position(data_error ? ErrorStatus(ErrorKind::kInvalidInput, status.message()) : status, offset);
}

arrow::Status BindContext::OnlyFields(const Node& node, std::initializer_list<std::string_view> known) const {
  for (std::string_view name : node.field_names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const int inner = node[name].FirstLocation();
    return Unsupported(inner >= 0 ? inner : node.FirstLocation(), node.type().empty()
                                                                      ? fmt::format("this clause ({})", name)
                                                                      : fmt::format("this clause ({} of {})", name, node.type()));
  }
  return arrow::Status::OK();
}

int BindContext::KeywordBefore(int offset, std::string_view keyword) const {
  int found = offset;
  for (const Token& token : parsed_.tokens) {
    if (offset >= 0 && token.begin >= offset) break;
    if (IsKeyword(source_.statement(), token, keyword)) found = token.begin;
  }
  return found;
}

int BindContext::KeywordAfter(int offset, std::string_view keyword) const {
  for (const Token& token : parsed_.tokens) {
    if (token.begin >= offset && IsKeyword(source_.statement(), token, keyword)) return token.begin;
  }
  return offset;
}

int BindContext::IdentifierAfter(int offset, std::string_view name) const {
  const auto means_name = [&](const Token& token) {
    std::string_view text =
        source_.statement().substr(static_cast<size_t>(token.begin), static_cast<size_t>(token.end - token.begin));
    const bool quoted = text.size() >= 2 && text.front() == '"';
    if (quoted) text = text.substr(1, text.size() - 2);
    const bool word = token.kind == TokenKind::kIdentifier || token.kind == TokenKind::kKeyword;
    return word && NameMatches(name, text, /*fold=*/!quoted);
  };
  const auto found = std::find_if(parsed_.tokens.begin(), parsed_.tokens.end(),
                                  [&](const Token& token) { return token.begin >= offset && means_name(token); });
  return found == parsed_.tokens.end() ? offset : found->begin;
}

arrow::Status BindContext::CheckDepth(int offset) const {
  if (depth_ <= kDepthMax) return arrow::Status::OK();
  return Invalid(offset, "the statement is nested too deeply: more than {} levels", kDepthMax);
}

arrow::Status BindContext::AddPlanNodes(int64_t count, int offset) {
  plan_nodes_ += count;
  if (plan_nodes_ <= kPlanNodesMax) return arrow::Status::OK();
  return Invalid(offset, "the statement is too large: its plan has more than {} steps", kPlanNodesMax);
}

arrow::Status BindContext::AddScan(const plan::TableSource& source, std::string_view table_name, int offset) {
  if (source.CanScanAgain()) return arrow::Status::OK();
  const bool scanned = std::any_of(one_shot_scans_.begin(), one_shot_scans_.end(),
                                   [&](const OneShotScan& scan) { return scan.source == &source; });
  if (scanned) {
    return Invalid(offset, "\"{}\" is a stream that can be read only once, and this statement reads it twice", table_name);
  }
  one_shot_scans_.push_back({&source, std::string(table_name)});
  return arrow::Status::OK();
}

arrow::Status BindContext::AddJoinColumns(int64_t count, int offset) {
  join_columns_ += count;
  if (join_columns_ <= kJoinColumnsMax) return arrow::Status::OK();
  return Invalid(offset, "the statement is too large: its joins have more than {} columns", kJoinColumnsMax);
}

arrow::Status BindContext::AddPlan(const plan::LogicalPlan& plan, int offset) {
  // Views into views may be deeper than any text.
  Nesting nesting(*this);
  ARROW_RETURN_NOT_OK(CheckDepth(offset));
  ARROW_RETURN_NOT_OK(AddPlanNodes(1, offset));
  const bool joins = plan.kind() == plan::PlanKind::kJoin || plan.kind() == plan::PlanKind::kApply;
  if (joins) ARROW_RETURN_NOT_OK(AddJoinColumns(plan.schema()->num_fields(), offset));
  if (plan.kind() == plan::PlanKind::kScan) {
    const auto& scan = static_cast<const plan::ScanNode&>(plan);
    ARROW_RETURN_NOT_OK(AddScan(*scan.source(), scan.table_name(), offset));
  }
  for (const plan::PlanPtr& child : plan.children()) ARROW_RETURN_NOT_OK(AddPlan(*child, offset));
  return arrow::Status::OK();
}

std::vector<BindContext::OneShotScan> BindContext::TakeOneShotScans(size_t first) {
  const auto begin = one_shot_scans_.begin() + static_cast<ptrdiff_t>(first);
  std::vector<OneShotScan> taken(begin, one_shot_scans_.end());
  one_shot_scans_.erase(begin, one_shot_scans_.end());
  return taken;
}

std::vector<std::string> NameParts(const Node& list) {
  std::vector<std::string> parts;
  for (const Node& item : list.items()) parts.emplace_back(item.Text("sval"));
  return parts;
}

}  // namespace icebound::sql
