// SPDX-License-Identifier: Apache-2.0
#include "session/explain_rows.h"

#include <arrow/scalar.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "base/byte_size.h"
#include "exec/set/values_operator.h"
#include "expr/expr.h"

namespace icebound {

std::unique_ptr<exec::Operator> MakeExplainRows(runtime::QueryContext* context, const std::string& text) {
  std::vector<std::vector<expr::ExprPtr>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows.push_back({expr::MakeLiteral(std::make_shared<arrow::StringScalar>(line))});
  }
  auto schema = arrow::schema({arrow::field("QUERY PLAN", arrow::utf8(), /*nullable=*/false)});
  return std::make_unique<exec::ValuesOperator>(context, std::move(rows), std::move(schema));
}

std::string OperatorTable(const QueryMetrics& metrics) {
  std::string text =
      fmt::format("{:<32} {:>14} {:>9} {:>11} {:>11} {:>6}\n", "operator", "rows", "seconds", "peak", "spilled", "levels");
  for (const OperatorMetrics& row : metrics.operators) {
    text += fmt::format("{:<32} {:>14} {:>9.3f} {:>11} {:>11} {:>6}\n", row.name, row.rows, row.seconds,
                        FormatBytes(row.peak_bytes), FormatBytes(row.spilled_bytes), row.spill_levels);
  }
  text += fmt::format("\nwall {:.3f} s, cpu {:.3f} s, ledger peak {}, resident peak {} (limit {}), spilled {} in {} files\n",
                      metrics.wall_seconds, metrics.cpu_seconds, FormatBytes(metrics.peak_ledger_bytes),
                      FormatBytes(metrics.peak_rss_bytes), FormatBytes(metrics.memory_limit_bytes),
                      FormatBytes(metrics.spilled_bytes), metrics.spill_files);
  return text;
}

}  // namespace icebound
