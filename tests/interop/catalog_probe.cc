// SPDX-License-Identifier: Apache-2.0
//
// What the tests beside this file drive: one step on a catalog, its outcome as JSON on one line.
//
//   catalog_probe CONFIG...                          from PyIceberg's configuration: {"default": ..., "catalogs": {...}}
//   catalog_probe NAME URI WAREHOUSE namespaces [PARENT]
//   catalog_probe NAME URI WAREHOUSE tables NAMESPACE
//   catalog_probe NAME URI WAREHOUSE load TABLE
//   catalog_probe NAME URI WAREHOUSE set TABLE KEY VALUE     commits one property
//   catalog_probe NAME URI WAREHOUSE replace TABLE           commits a snapshot of the same files
//   catalog_probe NAME URI WAREHOUSE evolve TABLE            commits a column z, a partition spec, a sort order, a tag, a
//   branch catalog_probe NAME URI WAREHOUSE expire TABLE            commits the removal of all snapshots but the current one
//   catalog_probe NAME URI WAREHOUSE create TABLE
//   catalog_probe NAME URI WAREHOUSE copy TABLE FROM         creates a table with the columns and snapshots of another
//   catalog_probe NAME URI WAREHOUSE rename TABLE TO
//   catalog_probe NAME URI WAREHOUSE drop TABLE
//   catalog_probe NAME URI WAREHOUSE create-namespace|drop-namespace NAMESPACE
//
// Options: --property KEY=VALUE (of the catalog); for commits --from METADATA_LOCATION (believes that the table still has that
// metadata), --kill-at POINT (ends with SIGKILL at an injection point), --wait-for FILE (loads, creates FILE.<pid>, and commits
// once FILE exists).
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/injection.h"
#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/make_catalog.h"
#include "iceberg/catalog/pyiceberg_config.h"

namespace icebound::iceberg {
namespace {

using nlohmann::json;

using Arguments = std::vector<std::string>;

std::string TakeOption(Arguments* arguments, const std::string& name) {
  for (size_t i = 0; i + 1 < arguments->size(); ++i) {
    if ((*arguments)[i] != name) continue;
    std::string value = (*arguments)[i + 1];
    arguments->erase(arguments->begin() + static_cast<ptrdiff_t>(i), arguments->begin() + static_cast<ptrdiff_t>(i) + 2);
    return value;
  }
  return "";
}

json Describe(const LoadedTable& table) {
  json properties = json::object();
  for (const auto& [key, value] : table.metadata->properties) properties[key] = value;
  return {{"location", table.metadata_location},
          {"uuid", table.metadata->table_uuid},
          {"properties", properties},
          {"snapshots", table.metadata->snapshots.size()},
          {"log", table.metadata->metadata_log.size()}};
}

arrow::Result<json> Config() {
  ARROW_ASSIGN_OR_RAISE(const ConfigSurroundings surroundings, ConfigSurroundings::OfThisProcess());
  ARROW_ASSIGN_OR_RAISE(const PyIcebergConfig config, PyIcebergConfig::Load(surroundings));
  json catalogs = json::object();
  ARROW_ASSIGN_OR_RAISE(const auto names, config.catalog_names());
  for (const std::string& name : names) {
    ARROW_ASSIGN_OR_RAISE(const auto properties, config.CatalogProperties(name));
    catalogs[name] = json::object();
    for (const auto& [key, value] : *properties) catalogs[name][key] = value;
  }
  ARROW_ASSIGN_OR_RAISE(const std::string default_name, config.default_catalog_name());
  return json{{"default", default_name}, {"catalogs", catalogs}};
}

/// The same files as a snapshot of its own.
TableMetadata Replaced(const TableMetadata& metadata) {
  TableMetadata changed = metadata;
  Snapshot snapshot = *metadata.current_snapshot();
  snapshot.parent_snapshot_id = snapshot.snapshot_id;
  snapshot.snapshot_id = std::chrono::steady_clock::now().time_since_epoch().count() * 16 + getpid() % 16;
  snapshot.sequence_number = ++changed.last_sequence_number;
  snapshot.timestamp_ms = std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  snapshot.SetSummary({{"operation", "replace"}});
  changed.snapshots.push_back(snapshot);
  changed.current_snapshot_id = snapshot.snapshot_id;
  for (SnapshotRef& ref : changed.refs) {
    if (ref.name == kMainBranch) ref.snapshot_id = snapshot.snapshot_id;
  }
  return changed;
}

arrow::Result<TableMetadata> Evolved(const TableMetadata& metadata) {
  TableMetadata changed = metadata;
  std::vector<Field> fields = metadata.current_schema().fields();
  fields.push_back({.id = ++changed.last_column_id, .name = "z", .type = Type::Of(TypeId::kString)});
  changed.current_schema_id = metadata.schemas.back()->schema_id() + 1;
  ARROW_ASSIGN_OR_RAISE(auto schema, Schema::Make(changed.current_schema_id, Type::Struct(std::move(fields))));
  changed.schemas.push_back(std::move(schema));
  ARROW_ASSIGN_OR_RAISE(const Transform bucket, Transform::Parse("bucket[4]"));
  PartitionSpec spec;
  spec.spec_id = metadata.partition_specs.back().spec_id + 1;
  spec.fields = {{.source_ids = {1}, .field_id = ++changed.last_partition_id, .name = "x_bucket", .transform = bucket}};
  changed.partition_specs.push_back(spec);
  changed.default_spec_id = spec.spec_id;
  ARROW_ASSIGN_OR_RAISE(const Transform identity, Transform::Parse("identity"));
  SortOrder order;
  order.order_id = metadata.sort_orders.back().order_id + 1;
  order.fields = {{.source_ids = {1}, .transform = identity, .descending = true, .nulls_first = false}};
  changed.sort_orders.push_back(order);
  changed.default_sort_order_id = order.order_id;
  changed.refs.push_back({.name = "tagged", .snapshot_id = *metadata.current_snapshot_id, .max_ref_age_ms = 86'400'000});
  changed.refs.push_back(
      {.name = "audit", .snapshot_id = metadata.snapshots[0].snapshot_id, .is_branch = true, .min_snapshots_to_keep = 3});
  return changed;
}

TableMetadata Expired(const TableMetadata& metadata) {
  TableMetadata changed = metadata;
  const int64_t kept = *metadata.current_snapshot_id;
  std::erase_if(changed.snapshots, [&](const Snapshot& snapshot) { return snapshot.snapshot_id != kept; });
  std::erase_if(changed.refs, [&](const SnapshotRef& ref) { return ref.snapshot_id != kept; });
  return changed;
}

arrow::Result<json> Commit(Catalog& catalog, const std::string& command, Arguments arguments) {
  const std::string from = TakeOption(&arguments, "--from");
  const std::string kill_at = TakeOption(&arguments, "--kill-at");
  const std::string wait_for = TakeOption(&arguments, "--wait-for");
  ARROW_ASSIGN_OR_RAISE(const TableIdentifier identifier, TableIdentifier::Parse(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(LoadedTable table, catalog.LoadTable(identifier));
  if (!from.empty()) table.metadata_location = from;
  std::unique_ptr<ScopedInjection> killer;
  if (!kill_at.empty()) {
    killer = std::make_unique<ScopedInjection>(kill_at, [](int64_t) {
      raise(SIGKILL);
      return arrow::Status::OK();
    });
  }
  if (!wait_for.empty()) {
    std::fclose(std::fopen(fmt::format("{}.{}", wait_for, getpid()).c_str(), "w"));
    while (!std::filesystem::exists(wait_for)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  TableMetadata updated;
  if (command == "set") updated = WithProperty(*table.metadata, arguments.at(1), arguments.at(2));
  if (command == "replace") updated = Replaced(*table.metadata);
  if (command == "expire") updated = Expired(*table.metadata);
  if (command == "evolve") {
    ARROW_ASSIGN_OR_RAISE(updated, Evolved(*table.metadata));
  }
  ARROW_ASSIGN_OR_RAISE(const LoadedTable committed, catalog.CommitTable(table, std::move(updated)));
  return Describe(committed);
}

arrow::Result<json> Create(Catalog& catalog, const std::string& command, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const TableIdentifier identifier, TableIdentifier::Parse(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(const std::string location, catalog.NewTableLocation(identifier));
  TableMetadata metadata = SmallTable(location);
  if (command == "copy") {
    ARROW_ASSIGN_OR_RAISE(const TableIdentifier from, TableIdentifier::Parse(arguments.at(1)));
    ARROW_ASSIGN_OR_RAISE(const LoadedTable original, catalog.LoadTable(from));
    const std::string uuid = metadata.table_uuid;
    metadata = *original.metadata;
    metadata.table_uuid = uuid;
    metadata.location = location;
  }
  ARROW_ASSIGN_OR_RAISE(const LoadedTable created, catalog.CreateTable(identifier, std::move(metadata)));
  return Describe(created);
}

arrow::Result<json> RenameOrDrop(Catalog& catalog, const std::string& command, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const TableIdentifier identifier, TableIdentifier::Parse(arguments.at(0)));
  if (command == "drop") {
    ARROW_RETURN_NOT_OK(catalog.DropTable(identifier));
  } else {
    ARROW_ASSIGN_OR_RAISE(const TableIdentifier to, TableIdentifier::Parse(arguments.at(1)));
    ARROW_RETURN_NOT_OK(catalog.RenameTable(identifier, to));
  }
  return json(nullptr);
}

arrow::Result<json> Run(Arguments arguments) {
  if (arguments.at(0) == "CONFIG") return Config();
  StringPairs properties = {{"uri", arguments.at(1)}, {"warehouse", arguments.at(2)}};
  for (std::string more = TakeOption(&arguments, "--property"); !more.empty(); more = TakeOption(&arguments, "--property")) {
    const size_t equals = more.find('=');
    properties.emplace_back(more.substr(0, equals), more.substr(equals + 1));
  }
  if (arguments[1] == "hadoop") properties = {{"type", "hadoop"}, {"warehouse", arguments[2]}};
  ARROW_ASSIGN_OR_RAISE(const auto catalog, MakeCatalog(arguments[0], properties, LocalContext()));
  const std::string command = arguments.at(3);
  arguments.erase(arguments.begin(), arguments.begin() + 4);
  json result = json::array();
  if (command == "namespaces") {
    const Namespace parent = arguments.empty() ? Namespace{} : SplitNamespace(arguments[0]);
    ARROW_ASSIGN_OR_RAISE(const auto namespaces, catalog->ListNamespaces(parent));
    for (const Namespace& levels : namespaces) result.push_back(NamespaceText(levels));
    return result;
  }
  if (command == "tables") {
    ARROW_ASSIGN_OR_RAISE(const auto tables, catalog->ListTables(SplitNamespace(arguments.at(0))));
    for (const TableIdentifier& table : tables) result.push_back(table.ToString());
    return result;
  }
  if (command == "create-namespace" || command == "drop-namespace") {
    const Namespace levels = SplitNamespace(arguments.at(0));
    ARROW_RETURN_NOT_OK(command == "drop-namespace" ? catalog->DropNamespace(levels) : catalog->CreateNamespace(levels, {}));
    return json(nullptr);
  }
  if (command == "create" || command == "copy") return Create(*catalog, command, arguments);
  if (command == "rename" || command == "drop") return RenameOrDrop(*catalog, command, arguments);
  if (command != "load") return Commit(*catalog, command, arguments);
  ARROW_ASSIGN_OR_RAISE(const TableIdentifier identifier, TableIdentifier::Parse(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(const LoadedTable table, catalog->LoadTable(identifier));
  return Describe(table);
}

}  // namespace
}  // namespace icebound::iceberg

int main(int argc, char** argv) {
  const auto result = icebound::iceberg::Run({argv + 1, argv + argc});
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    return icebound::ExitCode(result.status());
  }
  std::printf("%s\n", result->dump().c_str());
  return 0;
}
