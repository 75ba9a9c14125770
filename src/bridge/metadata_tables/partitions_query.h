// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include "bridge/catalogs.h"
#include "bridge/table_version.h"
#include "plan/logical_plan.h"

namespace icebound::bridge {

/// Files added up by partition: the metadata table `partitions`. `pool` evaluates the query's constants.
arrow::Result<plan::PlanPtr> MakePartitionsQuery(const NamedTable& table, const TableVersion& version, arrow::MemoryPool* pool);

}  // namespace icebound::bridge
