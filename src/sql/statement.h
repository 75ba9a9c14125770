// SPDX-License-Identifier: Apache-2.0
//
// The entry to this folder: text to bound statement.
//
//     ARROW_ASSIGN_OR_RAISE(auto bound, sql::BindStatement("SELECT a FROM 'x.parquet' ORDER BY a", resolver, options));
//
// The steps, a file each: ScanTokens and ParseStatement (parser.cc, with quoted_paths.cc), then the Binder (binder.cc and
// bind_*.cc), which walks the parser's tree, resolves names (scope.cc) and types expressions (ExprBinder).
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/scalar.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/logical_plan.h"
#include "plan/table_source.h"

namespace icebound::sql {

/// Default for BindOptions::statement_bytes_max. Parsing and binding take up to about 400 bytes of memory for a byte of text (a
/// list of short literals), outside the ledger.
inline constexpr int64_t kStatementBytesMax = 256 * 1024;

struct BindOptions {
  arrow::MemoryPool* pool = nullptr;  ///< required: evaluates constants (LIMIT, typed literals)
  int64_t statement_time_us = 0;      ///< now(), microseconds since the epoch, UTC
  int64_t statement_bytes_max = kStatementBytesMax;

  /// $1, $2, ...: a string takes its type from its context, as a quoted one in the text does; the others have their own.
  std::vector<std::shared_ptr<arrow::Scalar>> parameters;

  /// When the statement is a part of a longer text (a file of statements), that text, so that errors show its lines. Empty: the
  /// statement alone.
  std::string_view whole_text;
  size_t offset_in_whole = 0;  ///< bytes
};

enum class StatementKind {
  kQuery,
  kCopy,
  kCreateView,  ///< keep `plan` as the view views.front(), in place of one of that name: ResolveView gives it from now on
  kDropView,    ///< forget the views; there is no plan
};

struct BoundStatement {
  StatementKind kind = StatementKind::kQuery;
  bool explain = false;  ///< EXPLAIN: show the plan instead of running it
  bool analyze = false;  ///< EXPLAIN ANALYZE: run it and show what happened
  plan::PlanPtr plan;    ///< not optimized yet
  /// Names of views, each in its parts. All checks are done: the one to create is free or to be replaced, those to drop exist.
  std::vector<std::vector<std::string>> views;
};

/// Binds one statement. Errors are kInvalidInput or kUnsupported and point at line, column and a caret (see sql_error.h); errors
/// of the resolver keep their kind.
arrow::Result<BoundStatement> BindStatement(std::string_view text, plan::TableResolver& tables, const BindOptions& options);

/// One statement of a longer text, without its semicolon and the blanks and comments around it.
struct StatementText {
  std::string text;
  size_t offset = 0;  ///< byte of the whole text where it begins: BindOptions::offset_in_whole
};

/// Splits at the semicolons outside parentheses, strings and comments; empty statements are dropped.
arrow::Result<std::vector<StatementText>> SplitStatements(std::string_view text);

}  // namespace icebound::sql
