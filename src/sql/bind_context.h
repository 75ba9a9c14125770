// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/logical_plan.h"
#include "plan/table_source.h"
#include "sql/parser.h"
#include "sql/sql_error.h"
#include "sql/statement.h"

namespace icebound::sql {

/// What every part of the binder shares for one statement: its text, the tables, and the ways to fail. Not thread safe; used on
/// one thread.
class BindContext {
 public:
  BindContext(const SourceText& source, const ParsedStatement& parsed, plan::TableResolver& tables, const BindOptions& options)
      : source_(source), parsed_(parsed), tables_(tables), options_(options) {}
  BindContext(const BindContext&) = delete;
  BindContext& operator=(const BindContext&) = delete;

  plan::TableResolver& tables() const { return tables_; }
  const BindOptions& options() const { return options_; }

  // --- failing -------------------------------------------------------------------------------------------------------------

  /// kInvalidInput at `offset`.
  template <typename... Args>
  [[nodiscard]] arrow::Status Invalid(int offset, fmt::format_string<Args...> format, Args&&... args) const {
    return source_.Error(ErrorKind::kInvalidInput, offset, fmt::format(format, std::forward<Args>(args)...));
  }

  /// kUnsupported at `offset`: "not supported yet: <what>".
  [[nodiscard]] arrow::Status Unsupported(int offset, std::string_view what) const;

  /// Adds the position to an error that has none. What fails while a statement is bound is the statement's fault: an execution
  /// error becomes kInvalidInput.
  [[nodiscard]] arrow::Status Position(const arrow::Status& status, int offset) const;

  template <typename T>
  [[nodiscard]] arrow::Result<T> Position(arrow::Result<T> result, int offset) const {
    if (result.ok()) return result;
    return Position(result.status(), offset);
  }

  /// Fails when `node` has a field that its reader does not know: a clause that nobody handles must never be ignored.
  [[nodiscard]] arrow::Status OnlyFields(const Node& node, std::initializer_list<std::string_view> known) const;

  // --- positions that the parser's tree leaves out ---------------------------------------------------------------------------

  /// Where the last `keyword` before byte `offset` stands; `offset` itself when there is none.
  int KeywordBefore(int offset, std::string_view keyword) const;
  /// Where the first `keyword` at or after `offset` stands; `offset` itself when there is none.
  int KeywordAfter(int offset, std::string_view keyword) const;
  /// The same for the identifier that means `name`.
  int IdentifierAfter(int offset, std::string_view name) const;

  // --- outer columns ---------------------------------------------------------------------------------------------------------

  /// Called for every column of an outer query, with the depth of the scope that has it.
  void NoteOuterReference(int depth) { outermost_reference_ = std::min(outermost_reference_, depth); }
  /// The smallest depth noted since the value was last exchanged.
  int ExchangeOutermostReference(int depth) { return std::exchange(outermost_reference_, depth); }
  static constexpr int kNoReference = std::numeric_limits<int>::max();

  // --- limits ----------------------------------------------------------------------------------------------------------------

  /// Held while a nested query or expression is bound. Recursion is bounded because the text comes from strangers.
  class Nesting {
   public:
    explicit Nesting(BindContext& context) : context_(context) { ++context_.depth_; }
    ~Nesting() { --context_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    BindContext& context_;
  };
  [[nodiscard]] arrow::Status CheckDepth(int offset) const;

  /// Counts `count` plan nodes of the statement: views into views must not grow the plan without end.
  [[nodiscard]] arrow::Status AddPlanNodes(int64_t count, int offset);
  int64_t plan_nodes() const { return plan_nodes_; }
  /// Counts the columns of a join: each has those of all joins below it, so their number grows with the square of the tables'.
  [[nodiscard]] arrow::Status AddJoinColumns(int64_t count, int offset);

  struct OneShotScan {
    const plan::TableSource* source;
    std::string table_name;
  };
  /// Called for every scan in the plan; a one-shot source may appear once.
  [[nodiscard]] arrow::Status AddScan(const plan::TableSource& source, std::string_view table_name, int offset);
  /// Counts the nodes and scans of a plan that was bound before and is used once more.
  [[nodiscard]] arrow::Status AddPlan(const plan::LogicalPlan& plan, int offset);
  size_t one_shot_scan_count() const { return one_shot_scans_.size(); }
  /// Removes and gives the one-shot scans added since their count was `first`.
  std::vector<OneShotScan> TakeOneShotScans(size_t first);

 private:
  const SourceText& source_;
  const ParsedStatement& parsed_;
  plan::TableResolver& tables_;
  const BindOptions& options_;
  int depth_ = 0;
  int outermost_reference_ = kNoReference;
  int64_t plan_nodes_ = 0;
  int64_t join_columns_ = 0;
  std::vector<OneShotScan> one_shot_scans_;
};

/// The String items of a list: qualified names.
std::vector<std::string> NameParts(const Node& list);

}  // namespace icebound::sql
