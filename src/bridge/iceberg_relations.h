// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include "bridge/catalogs.h"
#include "memory/memory_ledger.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// What a statement reads when it names a table: the rows of a version, or a metadata table. `at_fault` is set on error. The
/// ledger and the catalogs outlive what is returned.
arrow::Result<plan::ResolvedTable> ReadIceberg(const NamedTable& table, const plan::IcebergReference& reference,
                                               memory::MemoryLedger* ledger, plan::IcebergPart* at_fault);

}  // namespace icebound::bridge
