// SPDX-License-Identifier: Apache-2.0
//
// What the tests beside this file drive: one step on a catalog, its outcome as JSON on one line.
//
//   catalog_probe CONFIG...                          from PyIceberg's configuration: {"default": ..., "catalogs": {...}}
//   catalog_probe NAME URI WAREHOUSE namespaces
//   catalog_probe NAME URI WAREHOUSE tables NAMESPACE
//   catalog_probe NAME URI WAREHOUSE load TABLE
//   catalog_probe NAME URI WAREHOUSE set TABLE KEY VALUE [--from METADATA_LOCATION] [--kill-at POINT] [--wait-for FILE]
//
// `set` commits one property. --from makes it believe that the table still has that metadata; --kill-at ends the process with
// SIGKILL at an injection point; --wait-for loads, creates FILE.<pid>, and commits once FILE exists.
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

arrow::Result<json> Set(Catalog& catalog, Arguments arguments) {
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
  TableMetadata updated = WithProperty(*table.metadata, arguments.at(1), arguments.at(2));
  ARROW_ASSIGN_OR_RAISE(const LoadedTable committed, catalog.CommitTable(table, std::move(updated)));
  return Describe(committed);
}

arrow::Result<json> Run(Arguments arguments) {
  if (arguments.at(0) == "CONFIG") return Config();
  StringPairs properties = {{"uri", arguments.at(1)}, {"warehouse", arguments.at(2)}};
  if (arguments[1] == "hadoop") properties = {{"type", "hadoop"}, {"warehouse", arguments[2]}};
  ARROW_ASSIGN_OR_RAISE(const auto catalog, MakeCatalog(arguments[0], properties, LocalContext()));
  const std::string command = arguments.at(3);
  arguments.erase(arguments.begin(), arguments.begin() + 4);
  json result = json::array();
  if (command == "namespaces") {
    ARROW_ASSIGN_OR_RAISE(const auto namespaces, catalog->ListNamespaces({}));
    for (const Namespace& levels : namespaces) result.push_back(NamespaceText(levels));
    return result;
  }
  if (command == "tables") {
    ARROW_ASSIGN_OR_RAISE(const auto tables, catalog->ListTables(SplitNamespace(arguments.at(0))));
    for (const TableIdentifier& table : tables) result.push_back(table.ToString());
    return result;
  }
  if (command == "set") return Set(*catalog, arguments);
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
