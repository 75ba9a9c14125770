// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <memory>
#include <string>

#include "icebound/source_options.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"
#include "plan/table_source.h"

namespace icebound::planner {

/// A CSV file, directory or glob as a table of the plan. `file_systems` and `ledger` must outlive it.
arrow::Result<std::shared_ptr<plan::TableSource>> OpenCsvTable(const std::string& path, const CsvReadOptions& options,
                                                               io::FileSystems* file_systems, memory::MemoryLedger* ledger);

}  // namespace icebound::planner
