// SPDX-License-Identifier: Apache-2.0
//
// partitions is SQL over the files: whatever number of partitions there are, GROUP BY spills. Of the snapshots that files of a
// partition came with, the last one is told by the greatest (time, id), times that are not known first.
#include "bridge/metadata_tables/partitions_query.h"

#include "base/error.h"
#include "bridge/few_tables.h"
#include "bridge/metadata_tables/manifest_tables.h"
#include "sql/statement.h"

namespace icebound::bridge {
namespace {

constexpr std::string_view kCounts = R"(
  CAST(coalesce(sum(record_count) FILTER (WHERE content = 0), 0) AS bigint) AS record_count,
  CAST(count(*) FILTER (WHERE content = 0) AS integer) AS file_count,
  CAST(coalesce(sum(file_size_in_bytes) FILTER (WHERE content = 0), 0) AS bigint) AS total_data_file_size_in_bytes,
  CAST(coalesce(sum(record_count) FILTER (WHERE content = 1), 0) AS bigint) AS position_delete_record_count,
  CAST(count(*) FILTER (WHERE content = 1) AS integer) AS position_delete_file_count,
  CAST(coalesce(sum(record_count) FILTER (WHERE content = 2), 0) AS bigint) AS equality_delete_record_count,
  CAST(count(*) FILTER (WHERE content = 2) AS integer) AS equality_delete_file_count,
  max(committed_at) AS last_updated_at,
  last(snapshot_id ORDER BY committed_at NULLS FIRST, snapshot_id)
    FILTER (WHERE committed_at IS NOT NULL) AS last_updated_snapshot_id
FROM file_facts)";

}  // namespace

arrow::Result<plan::PlanPtr> MakePartitionsQuery(const NamedTable& table, const TableVersion& version, arrow::MemoryPool* pool) {
  auto facts = MakeFileFactsTable(table, version);
  const bool partitioned = facts->schema()->GetFieldIndex("partition") >= 0;
  const std::string text = partitioned ? fmt::format("SELECT partition, spec_id, {} GROUP BY partition, spec_id", kCounts)
                                       : fmt::format("SELECT {} HAVING count(*) > 0", kCounts);
  FewTables tables({{"file_facts", std::move(facts)}});
  sql::BindOptions options;
  options.pool = pool;
  ARROW_ASSIGN_OR_RAISE(auto bound, sql::BindStatement(text, tables, options));
  return std::move(bound.plan);
}

}  // namespace icebound::bridge
