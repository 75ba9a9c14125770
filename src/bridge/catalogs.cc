// SPDX-License-Identifier: Apache-2.0
#include "bridge/catalogs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "bridge/metadata_tables/metadata_table.h"
#include "bridge/table_files.h"
#include "iceberg/catalog/make_catalog.h"
#include "iceberg/catalog/path_catalog.h"
#include "sql/nearest_name.h"

namespace icebound::bridge {
namespace {

/// Metadata on the session's ledger.
class LedgerMetadataMemory final : public iceberg::MetadataMemory {
 public:
  explicit LedgerMetadataMemory(memory::MemoryLedger* ledger) : consumer_(ledger->AddConsumer("table metadata")) {}
  arrow::MemoryPool* pool() override { return consumer_->pool(); }
  arrow::Status Reserve(int64_t bytes) override { return consumer_->Reserve(bytes); }
  void Release(int64_t bytes) override { consumer_->Release(bytes); }

 private:
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
};

std::string LowerCase(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string Dotted(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ".")); }

bool IsNotFound(const arrow::Status& status) { return GetErrorKind(status) == ErrorKind::kNotFound; }

bool LooksLikePath(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".json") || text.ends_with(".json.gz");
}

std::vector<std::string> SplitAtDots(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t dot = text.find('.'); dot != text.npos; dot = text.find('.', begin)) {
    parts.push_back(text.substr(begin, dot - begin));
    begin = dot + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

io::StorageProperties MergedStorage(const io::StorageProperties& session, const iceberg::StringPairs& catalog) {
  io::StorageProperties merged = session;
  for (const auto& [name, value] : catalog) {
    if (!value.empty()) merged[name] = value;
  }
  return merged;
}

}  // namespace

struct Catalogs::Attached {
  std::string name;
  std::unique_ptr<io::FileSystems> file_systems;
  std::vector<std::unique_ptr<io::FileSystems>> vended;  // with what the catalog said of single tables; plans may hold any
  std::unique_ptr<iceberg::Catalog> catalog;             // declared last: goes before what it uses

  /// Those of the catalog, or for a table that came with properties of its own, others.
  io::FileSystems* FileSystemsFor(const iceberg::StringPairs& properties, arrow::MemoryPool* pool) {
    if (properties.empty()) return file_systems.get();
    const io::StorageProperties merged = MergedStorage(file_systems->properties(), properties);
    for (const auto& known : vended) {
      if (known->properties() == merged) return known.get();
    }
    return vended.emplace_back(std::make_unique<io::FileSystems>(merged, pool)).get();
  }
};

Catalogs::Catalogs(memory::MemoryLedger* ledger, std::function<io::FileSystems*()> file_systems)
    : ledger_(ledger),
      file_systems_(std::move(file_systems)),
      memory_(std::make_shared<LedgerMetadataMemory>(ledger)),
      paths_(std::make_unique<iceberg::PathCatalog>(
          iceberg::CatalogContext{ResolveLocations(file_systems_, memory_->pool()), memory_}, /*single_writer=*/false)) {}

Catalogs::~Catalogs() = default;

arrow::Result<const iceberg::PyIcebergConfig*> Catalogs::Config() {
  if (!config_) {
    ARROW_ASSIGN_OR_RAISE(const auto surroundings, iceberg::ConfigSurroundings::OfThisProcess());
    ARROW_ASSIGN_OR_RAISE(config_, iceberg::PyIcebergConfig::Load(surroundings));
  }
  return &*config_;
}

arrow::Result<Catalogs::Attached*> Catalogs::OpenCatalog(const std::string& name, const iceberg::StringPairs& properties) {
  auto attached = std::make_unique<Attached>();
  attached->name = name;
  attached->file_systems =
      std::make_unique<io::FileSystems>(MergedStorage(file_systems_()->properties(), properties), ledger_->pool());
  const auto resolve = ResolveLocations([systems = attached->file_systems.get()] { return systems; }, memory_->pool());
  ARROW_ASSIGN_OR_RAISE(attached->catalog, iceberg::MakeCatalog(name, properties, {resolve, memory_}));
  attached_.push_back(std::move(attached));
  return attached_.back().get();
}

arrow::Status Catalogs::Attach(const std::string& name, const iceberg::StringPairs& properties) {
  if (name.empty()) return MakeError(ErrorKind::kInvalidInput, "a catalog needs a name");
  const std::lock_guard lock(mutex_);
  for (const auto& attached : attached_) {
    if (attached->name == name) return MakeError(ErrorKind::kInvalidInput, "catalog {} is attached already", name);
  }
  ARROW_ASSIGN_OR_RAISE(const auto* config, Config());
  ARROW_ASSIGN_OR_RAISE(const auto configured, config->CatalogProperties(name));
  if (!configured && iceberg::FindValue(properties, "uri") == nullptr && iceberg::FindValue(properties, "type") == nullptr) {
    ARROW_ASSIGN_OR_RAISE(const auto names, config->catalog_names());
    return MakeError(ErrorKind::kNotFound,
                     "there is no catalog {}: {} has none of that name, nor have PYICEBERG_CATALOG__... variables, and no uri or "
                     "type is given{}",
                     name, config->file().empty() ? "no .pyiceberg.yaml was found, which" : config->file(),
                     sql::SuggestionText(name, names));
  }
  const iceberg::StringPairs merged = iceberg::MergeProperties(configured.value_or(iceberg::StringPairs{}), properties);
  ARROW_ASSIGN_OR_RAISE(Attached * attached, OpenCatalog(name, merged));
  if (default_ == nullptr) default_ = attached;
  return arrow::Status::OK();
}

arrow::Result<Catalogs::Attached*> Catalogs::FindCatalog(const std::string& name) {
  for (const auto& attached : attached_) {
    if (attached->name == name) return attached.get();
  }
  // SQL folds unquoted names to lower case.
  for (const auto& attached : attached_) {
    if (LowerCase(attached->name) == name) return attached.get();
  }
  ARROW_ASSIGN_OR_RAISE(const auto* config, Config());
  ARROW_ASSIGN_OR_RAISE(const auto configured, config->CatalogProperties(name));
  if (!configured) return nullptr;
  return OpenCatalog(name, *configured);
}

arrow::Result<Catalogs::Attached*> Catalogs::DefaultCatalog() {
  if (default_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(const auto* config, Config());
    ARROW_ASSIGN_OR_RAISE(const std::string name, config->default_catalog_name());
    ARROW_ASSIGN_OR_RAISE(default_, FindCatalog(name));
  }
  return default_;
}

arrow::Result<std::vector<std::string>> Catalogs::CatalogNames() {
  ARROW_ASSIGN_OR_RAISE(const auto* config, Config());
  ARROW_ASSIGN_OR_RAISE(auto names, config->catalog_names());
  for (const auto& attached : attached_) names.push_back(attached->name);
  return names;
}

arrow::Result<NamedTable> Catalogs::LoadFrom(Attached& attached, const std::vector<std::string>& parts, const std::string& name) {
  const std::string key = attached.name + '\0' + fmt::format("{}", fmt::join(parts, std::string_view("\0", 1)));
  if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
  iceberg::TableIdentifier identifier{{parts.begin(), parts.end() - 1}, parts.back()};
  NamedTable table;
  table.name = name;
  ARROW_ASSIGN_OR_RAISE(table.loaded, attached.catalog->LoadTable(identifier));
  table.file_systems = attached.FileSystemsFor(table.loaded.storage_properties, ledger_->pool());
  table.resolve = ResolveLocations([systems = table.file_systems] { return systems; }, memory_->pool());
  table.catalog = attached.catalog.get();
  loaded_.emplace(key, table);
  return table;
}

arrow::Status Catalogs::Unknown(Attached& attached, const std::vector<std::string>& parts, const std::string& name,
                                const arrow::Status& status) {
  iceberg::Catalog& catalog = *attached.catalog;
  const iceberg::Namespace levels(parts.begin(), parts.end() - 1);
  ARROW_ASSIGN_OR_RAISE(const bool exists, catalog.NamespaceExists(levels));
  if (exists) {
    ARROW_ASSIGN_OR_RAISE(const auto tables, catalog.ListTables(levels));
    std::vector<std::string> names;
    for (const auto& table : tables) {
      // The catalog has it, so what is missing is the metadata file that it names.
      if (table.name == parts.back()) return MakeError(ErrorKind::kCorruptData, "table {}: {}", name, status.message());
      names.push_back(table.name);
    }
    std::string text = sql::SuggestionText(parts.back(), names);
    return MakeError(ErrorKind::kNotFound, "there is no table \"{}\" in namespace \"{}\" of catalog {}{}", parts.back(),
                     Dotted(levels), attached.name, text);
  }
  iceberg::Namespace known;
  for (const std::string& level : levels) {
    iceberg::Namespace deeper = known;
    deeper.push_back(level);
    ARROW_ASSIGN_OR_RAISE(const bool there, catalog.NamespaceExists(deeper));
    if (there) {
      known = std::move(deeper);
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const auto siblings, catalog.ListNamespaces(known));
    std::vector<std::string> names;
    for (const auto& sibling : siblings) names.push_back(sibling.back());
    if (known.empty() && parts.size() >= 3) {
      ARROW_ASSIGN_OR_RAISE(const auto catalogs, CatalogNames());
      names.insert(names.end(), catalogs.begin(), catalogs.end());
    }
    return MakeError(ErrorKind::kNotFound, "relation \"{}\" does not exist: there is no namespace \"{}\" in catalog {}{}", name,
                     Dotted(deeper), attached.name, sql::SuggestionText(level, names));
  }
  return status;
}

arrow::Status Catalogs::NoCatalog(const std::vector<std::string>& parts, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(const auto names, CatalogNames());
  std::string why;
  if (default_ == nullptr && !names.empty()) {
    why = fmt::format(": there is no default catalog, and \"{}\" is none of {}{}", parts.front(), fmt::join(names, ", "),
                      sql::SuggestionText(parts.front(), names));
  }
  return MakeError(ErrorKind::kNotFound, "relation \"{}\" does not exist{}", name, why);
}

arrow::Result<NamedTable> Catalogs::LoadName(const std::vector<std::string>& parts) {
  const std::lock_guard lock(mutex_);
  const std::string name = Dotted(parts);
  Attached* attached = nullptr;
  std::vector<std::string> inside = parts;
  if (parts.size() >= 3) {
    ARROW_ASSIGN_OR_RAISE(attached, FindCatalog(parts.front()));
    if (attached != nullptr) inside.erase(inside.begin());
  }
  if (attached == nullptr) {
    ARROW_ASSIGN_OR_RAISE(attached, DefaultCatalog());
  }
  if (attached == nullptr || inside.size() < 2) {
    return NoCatalog(parts, name);
  }
  auto table = LoadFrom(*attached, inside, name);
  if (table.ok() || !IsNotFound(table.status())) return table;
  const std::vector<std::string> shorter(inside.begin(), inside.end() - 1);
  if (shorter.size() < 2) return Unknown(*attached, inside, name, table.status());
  // Not a table, so the last part may say which of a table's metadata tables is meant.
  auto base = LoadFrom(*attached, shorter, Dotted({parts.begin(), parts.end() - 1}));
  if (!base.ok()) {
    const bool suffixed = IsMetadataTable(inside.back());
    return IsNotFound(base.status()) ? Unknown(*attached, suffixed ? shorter : inside, name, base.status()) : base.status();
  }
  ARROW_RETURN_NOT_OK(CheckMetadataTable(inside.back(), base->name));
  base->metadata_table = inside.back();
  return base;
}

arrow::Result<NamedTable> Catalogs::LoadFromPath(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const std::string key = '\0' + path;
  if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
  NamedTable table;
  table.name = path;
  ARROW_ASSIGN_OR_RAISE(table.loaded, paths_->LoadTable({{}, path}));
  table.resolve = ResolveLocations(file_systems_, memory_->pool());
  table.file_systems = file_systems_();
  table.catalog = paths_.get();
  loaded_.emplace(key, table);
  return table;
}

arrow::Result<NamedTable> Catalogs::LoadText(const std::string& text) {
  if (LooksLikePath(text)) return LoadFromPath(text);
  const std::vector<std::string> parts = SplitAtDots(text);
  const bool may_be_name = parts.size() >= 2 && std::none_of(parts.begin(), parts.end(), [](const auto& p) { return p.empty(); });
  if (!may_be_name) return LoadFromPath(text);
  auto by_name = LoadName(parts);
  if (by_name.ok() || !IsNotFound(by_name.status())) return by_name;
  auto by_path = LoadFromPath(text);
  return by_path.ok() || !IsNotFound(by_path.status()) ? by_path : by_name;
}

void Catalogs::ForgetLoaded() {
  const std::lock_guard lock(mutex_);
  loaded_.clear();
}

}  // namespace icebound::bridge
