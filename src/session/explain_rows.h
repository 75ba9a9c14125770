// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "exec/operator.h"
#include "icebound/metrics.h"

namespace icebound {

/// A column "QUERY PLAN" with a row a line of `text`: what the SQL statement EXPLAIN answers with.
std::unique_ptr<exec::Operator> MakeExplainRows(runtime::QueryContext* context, const std::string& text);

/// What EXPLAIN ANALYZE adds below the plan: rows, time, peak memory and spilled bytes by operator, and the statement's own
/// peaks.
std::string OperatorTable(const QueryMetrics& metrics);

}  // namespace icebound
