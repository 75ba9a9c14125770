// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bridge/catalogs.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// Each keeps the metadata that its rows are read from.
std::shared_ptr<plan::TableSource> MakeSnapshotsTable(const NamedTable& table);
std::shared_ptr<plan::TableSource> MakeHistoryTable(const NamedTable& table);
std::shared_ptr<plan::TableSource> MakeRefsTable(const NamedTable& table);
std::shared_ptr<plan::TableSource> MakeMetadataLogTable(const NamedTable& table);

}  // namespace icebound::bridge
