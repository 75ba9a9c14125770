// SPDX-License-Identifier: Apache-2.0
//
// icebound table TABLE: what the table is, and what it needs. The lists that grow with a table's age, its snapshots and refs, are
// queries, whose rows are written as they come.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "metrics_file.h"
#include "progress.h"

namespace icebound::cli {
namespace {

using nlohmann::ordered_json;

/// In text, of the newest snapshots.
constexpr int kSnapshotsShown = 10;

struct TableOptions {
  std::string table;
};

std::string Bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Time(int64_t ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", std::chrono::floor<std::chrono::seconds>(time));
}

/// The shell takes it as one word.
std::string Quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '/' || c == '_' || c == '-' || c == ':' || c == '@';
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string CommandOf(const TableDescription& table, const TableMaintenance& need, const GlobalOptions& global) {
  std::string command = "icebound";
  if (!global.catalog.empty()) command += " --catalog " + Quoted(global.catalog);
  return fmt::format("{} {} {}", command, need.action, Quoted(table.table));
}

std::string SqlText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::string MetadataQuery(const TableDescription& table, const char* columns, const char* metadata_table, const char* rest) {
  return fmt::format("SELECT {} FROM iceberg({}, metadata_table => '{}'){}", columns, SqlText(table.table), metadata_table, rest);
}

// --- text --------------------------------------------------------------------------------------------------------------------

void AppendSchema(const TableDescription& table, std::string* out) {
  *out += fmt::format("\nschema {}\n", table.schema_id);
  for (const TableColumn& column : table.columns) {
    *out += fmt::format("  {:>5}  {} {}{}{}\n", column.field_id, column.name, column.type, column.required ? " required" : "",
                        column.doc.empty() ? "" : "  -- " + column.doc);
  }
  *out += fmt::format("\npartition spec {}{}\n", table.spec_id, table.partition_fields.empty() ? ": unpartitioned" : "");
  for (const TablePartitionField& field : table.partition_fields) {
    *out += fmt::format("  {}: {}({})\n", field.name, field.transform, field.column);
  }
  *out += fmt::format("\nsort order {}{}\n", table.sort_order_id, table.sort_fields.empty() ? ": unsorted" : "");
  for (const TableSortField& field : table.sort_fields) {
    const std::string term = field.transform == "identity" ? field.column : fmt::format("{}({})", field.transform, field.column);
    *out += fmt::format("  {} {} NULLS {}\n", term, field.descending ? "DESC" : "ASC", field.nulls_first ? "FIRST" : "LAST");
  }
  *out += fmt::format("\nproperties{}\n", table.properties.empty() ? ": none" : "");
  for (const auto& [name, value] : table.properties) *out += fmt::format("  {} = {}\n", name, value);
}

void AppendFiles(const TableDescription& table, std::string* out) {
  const auto line = [&](const char* what, const TableFiles& files) {
    *out += fmt::format("  {:<22} {:>10} files {:>16} rows {:>12}\n", what, files.files, files.rows, Bytes(files.bytes));
  };
  *out += "\nfiles of the current snapshot\n";
  line("data", table.data_files);
  line("position deletes", table.position_delete_files);
  line("equality deletes", table.equality_delete_files);
  line("deletion vectors", table.deletion_vectors);
  *out += fmt::format("  {:<22} {:>10} files {:>21} {:>12}\n", "manifests", table.manifests, "", Bytes(table.manifest_bytes));
  int64_t most = 1;
  for (const TableSizeBucket& bucket : table.file_sizes) most = std::max(most, bucket.files);
  *out += "\nsizes of data files\n";
  for (const TableSizeBucket& bucket : table.file_sizes) {
    constexpr int64_t kBarWidth = 40;
    const std::string range = bucket.to_bytes ? fmt::format("{} to {}", Bytes(bucket.from_bytes), Bytes(*bucket.to_bytes))
                                              : fmt::format("from {}", Bytes(bucket.from_bytes));
    const auto width = static_cast<size_t>((bucket.files * kBarWidth + most - 1) / most);
    *out += fmt::format("  {:<24} {:>10} files {:>12} {}\n", range, bucket.files, Bytes(bucket.bytes), std::string(width, '#'));
  }
}

void AppendMaintenance(const TableDescription& table, const GlobalOptions& global, std::string* out) {
  *out += fmt::format("\nmaintenance{}\n", table.maintenance.empty() ? ": nothing to do" : "");
  for (const TableMaintenance& need : table.maintenance) {
    *out += fmt::format("  {}\n    $ {}\n", need.reason, CommandOf(table, need, global));
  }
  if (!table.maintenance.empty() && !table.read_only_reason.empty()) {
    *out += fmt::format("  Nothing can be committed to the table through this name: {}\n", table.read_only_reason);
  }
}

arrow::Status WriteRows(Session& session, const std::string& query, const char* format, StandardOutput& out) {
  ARROW_ASSIGN_OR_RAISE(auto result, session.Sql(query));
  return result->WriteStream(&out, format).status();
}

arrow::Status WriteText(Session& session, const TableDescription& table, const GlobalOptions& global, StandardOutput& out) {
  std::string text =
      fmt::format("table          {}\nlocation       {}\nmetadata       {}\nuuid           {}\nformat version {}\n", table.table,
                  table.location, table.metadata_location, table.uuid, table.format_version);
  text += !table.current_snapshot ? "snapshot       none\n"
                                  : fmt::format("snapshot       {} ({}, {})\n", table.current_snapshot->snapshot_id,
                                                table.current_snapshot->operation, Time(table.current_snapshot->committed_at_ms));
  AppendSchema(table, &text);
  AppendFiles(table, &text);
  text += fmt::format("\n{} snapshots{}\n", table.snapshots,
                      table.snapshots > kSnapshotsShown ? fmt::format(", of which the newest {}", kSnapshotsShown) : "");
  ARROW_RETURN_NOT_OK(out.Write(text));
  const std::string newest = fmt::format(" ORDER BY committed_at DESC, snapshot_id LIMIT {}", kSnapshotsShown);
  ARROW_RETURN_NOT_OK(
      WriteRows(session, MetadataQuery(table, "committed_at, snapshot_id, parent_id, operation", "snapshots", newest.c_str()),
                "table", out));
  ARROW_RETURN_NOT_OK(out.Write(fmt::format("\n{} branches and tags\n", table.refs)));
  ARROW_RETURN_NOT_OK(
      WriteRows(session, MetadataQuery(table, "name, type, snapshot_id", "refs", " ORDER BY type, name"), "table", out));
  text.clear();
  AppendMaintenance(table, global, &text);
  return out.Write(text);
}

// --- JSON --------------------------------------------------------------------------------------------------------------------

ordered_json FilesDocument(const TableFiles& files) {
  return {{"files", files.files}, {"rows", files.rows}, {"bytes", files.bytes}};
}

ordered_json SchemaDocument(const TableDescription& table) {
  ordered_json columns = ordered_json::array();
  for (const TableColumn& column : table.columns) {
    columns.push_back({{"id", column.field_id}, {"name", column.name}, {"type", column.type}, {"required", column.required}});
    if (!column.doc.empty()) columns.back()["doc"] = column.doc;
  }
  return {{"schema_id", table.schema_id}, {"columns", std::move(columns)}};
}

ordered_json LayoutDocument(const TableDescription& table) {
  ordered_json document;
  ordered_json partition = ordered_json::array();
  for (const TablePartitionField& field : table.partition_fields) {
    partition.push_back({{"name", field.name}, {"transform", field.transform}, {"column", field.column}});
  }
  document["partition_spec"] = {{"spec_id", table.spec_id}, {"fields", std::move(partition)}};
  ordered_json sort = ordered_json::array();
  for (const TableSortField& field : table.sort_fields) {
    sort.push_back({{"column", field.column},
                    {"transform", field.transform},
                    {"direction", field.descending ? "desc" : "asc"},
                    {"nulls", field.nulls_first ? "first" : "last"}});
  }
  document["sort_order"] = {{"order_id", table.sort_order_id}, {"fields", std::move(sort)}};
  return document;
}

ordered_json Document(const TableDescription& table, const GlobalOptions& global) {
  ordered_json document = {{"table", table.table},
                           {"uuid", table.uuid},
                           {"location", table.location},
                           {"metadata_location", table.metadata_location},
                           {"format_version", table.format_version},
                           {"last_sequence_number", table.last_sequence_number}};
  if (!table.read_only_reason.empty()) document["read_only_reason"] = table.read_only_reason;
  document["schema"] = SchemaDocument(table);
  document.update(LayoutDocument(table));
  document["properties"] = table.properties;
  document["current_snapshot_id"] = nullptr;
  if (table.current_snapshot) document["current_snapshot_id"] = table.current_snapshot->snapshot_id;
  document["data_files"] = FilesDocument(table.data_files);
  document["position_delete_files"] = FilesDocument(table.position_delete_files);
  document["equality_delete_files"] = FilesDocument(table.equality_delete_files);
  document["deletion_vectors"] = FilesDocument(table.deletion_vectors);
  document["manifests"] = {{"files", table.manifests}, {"bytes", table.manifest_bytes}};
  ordered_json sizes = ordered_json::array();
  for (const TableSizeBucket& bucket : table.file_sizes) {
    sizes.push_back({{"from_bytes", bucket.from_bytes},
                     {"to_bytes", bucket.to_bytes ? ordered_json(*bucket.to_bytes) : ordered_json()},
                     {"files", bucket.files},
                     {"bytes", bucket.bytes}});
  }
  document["data_file_sizes"] = std::move(sizes);
  ordered_json needs = ordered_json::array();
  for (const TableMaintenance& need : table.maintenance) {
    needs.push_back({{"action", need.action},
                     {"reason", need.reason},
                     {"count", need.count},
                     {"bytes", need.bytes},
                     {"command", CommandOf(table, need, global)}});
  }
  document["maintenance"] = std::move(needs);
  return document;
}

/// One object: the lists that may be long follow the rest, row by row.
arrow::Status WriteJson(Session& session, const TableDescription& table, const GlobalOptions& global, StandardOutput& out) {
  std::string text = Document(table, global).dump(2);
  text.resize(text.rfind('\n'));
  ARROW_RETURN_NOT_OK(out.Write(text + ",\n  \"snapshots\": "));
  ARROW_RETURN_NOT_OK(
      WriteRows(session, MetadataQuery(table, "*", "snapshots", " ORDER BY committed_at, snapshot_id"), "json", out));
  ARROW_RETURN_NOT_OK(out.Write(",\n  \"refs\": "));
  ARROW_RETURN_NOT_OK(WriteRows(session, MetadataQuery(table, "*", "refs", " ORDER BY type, name"), "json", out));
  return out.Write("}\n");
}

arrow::Status Describe(Session& session, const GlobalOptions& global, const TableOptions& options, StandardOutput& out) {
  ProgressBar progress([&session] { return session.metrics(); }, !global.quiet && !global.no_progress);
  ARROW_ASSIGN_OR_RAISE(const TableDescription table, session.DescribeTable(options.table));
  progress.Stop();
  return global.json ? WriteJson(session, table, global, out) : WriteText(session, table, global, out);
}

arrow::Status RunTable(const GlobalOptions& global, const TableOptions& options, StandardOutput& out) {
  CancelOnSignal cancel;
  ARROW_ASSIGN_OR_RAISE(auto session, OpenSession(global));
  cancel.Watch(session);
  ARROW_ASSIGN_OR_RAISE(MetricsFile metrics_file, MetricsFile::Open(global.metrics_path));
  const arrow::Status status = Describe(*session, global, options, out);
  const QueryMetrics metrics = session->metrics();
  const arrow::Status written = metrics_file.Write(MetricsDocument(metrics, {metrics.operators}));
  return status.ok() ? written : status;
}

}  // namespace

void AddTableCommand(CLI::App& app, const GlobalOptions& global, Action* action) {
  CLI::App* command = app.add_subcommand("table", "Show an Iceberg table: schema, snapshots, files, deletes, and what it needs");
  auto options = std::make_shared<TableOptions>();
  command->add_option("table", options->table, "catalog.namespace.name, a table's directory, or a metadata file")->required();
  command->callback([&global, options, action] {
    *action = [&global, options](StandardOutput& out) { return RunTable(global, *options, out); };
  });
}

}  // namespace icebound::cli
