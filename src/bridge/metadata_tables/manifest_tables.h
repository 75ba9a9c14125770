// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bridge/catalogs.h"
#include "bridge/table_version.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// The manifests of a version's snapshot.
std::shared_ptr<plan::TableSource> MakeManifestsTable(const NamedTable& table, const TableVersion& version);

enum class FileKinds { kAll, kData, kDeletes };
/// The live files of a version's snapshot.
std::shared_ptr<plan::TableSource> MakeFilesTable(const NamedTable& table, const TableVersion& version, FileKinds kinds);
/// All entries of the snapshot's manifests, those that say that a file was deleted included.
std::shared_ptr<plan::TableSource> MakeEntriesTable(const NamedTable& table, const TableVersion& version);

/// What partitions and descriptions are added up from, one row a live file:
///
///   partition            when the table was ever partitioned
///   spec_id, content, file_path, file_format, record_count, file_size_in_bytes
///   about_file           the one data file that position deletes are about
///   held_bytes           of a deletion vector: its part of the file
///   snapshot_id          that added the file
///   committed_at         of that snapshot; null when it has expired
std::shared_ptr<plan::TableSource> MakeFileFactsTable(const NamedTable& table, const TableVersion& version);

}  // namespace icebound::bridge
