// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <memory>

#include "plan/table_source.h"

namespace icebound::planner {

/// generate_series as a table of one column, called that, whose rows are made while they are read; none when a bound is NULL.
/// Series of integers are read by several streams side by side, those of timestamps by one. kInvalidInput for a step of zero.
arrow::Result<std::shared_ptr<plan::TableSource>> MakeSeriesTable(const plan::SeriesBounds& bounds);

}  // namespace icebound::planner
