// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/sql_catalog.h"

#include <set>

#include "base/error.h"
#include "base/injection.h"
#include "iceberg/catalog/commit_lookup.h"

namespace icebound::iceberg {
namespace {

constexpr std::string_view kCreateTables =
    "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
    "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
    "iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, table_namespace, table_name))";
constexpr std::string_view kCreateProperties =
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT "
    "NULL, property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000) NOT NULL, "
    "PRIMARY KEY (catalog_name, namespace, property_key))";

bool IsTrue(const std::string* text, bool default_value) {
  if (text == nullptr) return default_value;
  return *text == "true" || *text == "True" || *text == "1" || *text == "yes" || *text == "on";
}

std::string StripSlashes(std::string text) {
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

arrow::Result<std::string> SqlitePathOfUri(const std::string& uri) {
  for (const std::string_view scheme : {"sqlite://", "sqlite+pysqlite://"}) {
    if (!uri.starts_with(scheme)) continue;
    std::string path = uri.substr(scheme.size());
    if (path.find('?') != std::string::npos) {
      return MakeError(ErrorKind::kUnsupported,
                       "parameters in the catalog URI '{}' are not supported: leave out what follows the ?", uri);
    }
    if (path.empty()) return ":memory:";
    if (!path.starts_with('/')) return MakeError(ErrorKind::kInvalidInput, "'{}' names a host: a SQLite file is local", uri);
    return path.size() == 1 ? ":memory:" : path.substr(1);
  }
  return MakeError(ErrorKind::kUnsupported, "SQL catalogs are kept in SQLite files (sqlite:///path): '{}'", uri);
}

arrow::Result<std::unique_ptr<SqlCatalog>> SqlCatalog::Open(std::string name, const StringPairs& properties,
                                                            CatalogContext context) {
  const std::string* uri = FindValue(properties, "uri");
  if (uri == nullptr) return MakeError(ErrorKind::kInvalidInput, "catalog {} has no property uri", name);
  ARROW_ASSIGN_OR_RAISE(const std::string path, SqlitePathOfUri(*uri));
  const std::string* schema_version = FindValue(properties, "schema_version");
  if (schema_version != nullptr && *schema_version != "v0" && *schema_version != "v1") {
    return MakeError(ErrorKind::kInvalidInput, "catalog {}: schema_version is neither v0 nor v1: '{}'", name, *schema_version);
  }
  const bool create_tables = IsTrue(FindValue(properties, "init_catalog_tables"), true);
  const std::string* warehouse = FindValue(properties, "warehouse");
  ARROW_ASSIGN_OR_RAISE(auto charge, MetadataCharge::Make(context.memory, kSqliteHeldBytes));
  ARROW_ASSIGN_OR_RAISE(auto database, SqliteDatabase::Open(path, create_tables));
  std::unique_ptr<SqlCatalog> catalog(new SqlCatalog(std::move(name), warehouse == nullptr ? "" : StripSlashes(*warehouse),
                                                     std::move(context), std::move(database), std::move(charge)));
  ARROW_RETURN_NOT_OK(catalog->Prepare(create_tables, schema_version != nullptr && *schema_version == "v1"));
  return catalog;
}

arrow::Status SqlCatalog::Prepare(bool create_tables, bool upgrade) {
  ARROW_ASSIGN_OR_RAISE(const auto tables,
                        database_->Query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name IN "
                                         "('iceberg_tables', 'iceberg_namespace_properties')"));
  if (tables.size() < 2) {
    if (!create_tables) return MakeError(ErrorKind::kNotFound, "catalog {}: the file has no tables of a catalog", name());
    ARROW_RETURN_NOT_OK(database_->Transact([&]() -> arrow::Status {
      ARROW_RETURN_NOT_OK(database_->Run(kCreateTables));
      return database_->Run(kCreateProperties);
    }));
  }
  const auto find_type_column = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const auto columns,
                          database_->Query("SELECT 1 FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'"));
    has_type_column_ = !columns.empty();
    return arrow::Status::OK();
  };
  ARROW_RETURN_NOT_OK(find_type_column());
  if (has_type_column_ || !upgrade) return arrow::Status::OK();
  return database_->Transact([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(find_type_column());
    if (has_type_column_) return arrow::Status::OK();
    has_type_column_ = true;
    return database_->Run("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)");
  });
}

arrow::Status SqlCatalog::NotFound(const TableIdentifier& identifier) const {
  return MakeError(ErrorKind::kNotFound, "there is no table {} in catalog {}", identifier.ToString(), name());
}

arrow::Result<bool> SqlCatalog::HasNamespace(const std::string& key) {
  // '/' is the character after '.': everything that begins with "key." lies between the two.
  ARROW_ASSIGN_OR_RAISE(const auto rows,
                        database_->Query("SELECT 1 FROM iceberg_tables WHERE catalog_name = ?1 AND (table_namespace = ?2 OR "
                                         "(table_namespace > ?2 || '.' AND table_namespace < ?2 || '/')) UNION "
                                         "SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND (namespace = ?2 "
                                         "OR (namespace > ?2 || '.' AND namespace < ?2 || '/')) LIMIT 1",
                                         {name(), key}));
  return !rows.empty();
}

arrow::Status SqlCatalog::RequireNamespace(const Namespace& levels, std::string* key) {
  ARROW_ASSIGN_OR_RAISE(*key, NamespaceKey(levels));
  ARROW_ASSIGN_OR_RAISE(const bool exists, HasNamespace(*key));
  if (exists) return arrow::Status::OK();
  return MakeError(ErrorKind::kNotFound, "there is no namespace {} in catalog {}", *key, name());
}

arrow::Result<std::vector<Namespace>> SqlCatalog::ListNamespaces(const Namespace& parent) {
  const std::lock_guard lock(mutex_);
  std::string prefix;
  if (!parent.empty()) {
    ARROW_RETURN_NOT_OK(RequireNamespace(parent, &prefix));
    prefix += '.';
  }
  std::set<std::string> children;
  ARROW_RETURN_NOT_OK(
      database_->Run("SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1 UNION "
                     "SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1",
                     {name()}, [&](const SqliteDatabase::Row& row) {
                       const std::string& key = *row[0];
                       if (!key.starts_with(prefix) || key.size() == prefix.size()) return arrow::Status::OK();
                       children.insert(key.substr(0, key.find('.', prefix.size())));
                       return arrow::Status::OK();
                     }));
  std::vector<Namespace> result;
  for (const std::string& child : children) result.push_back(SplitNamespace(child));
  return result;
}

arrow::Result<bool> SqlCatalog::NamespaceExists(const Namespace& levels) {
  ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(levels));
  const std::lock_guard lock(mutex_);
  return HasNamespace(key);
}

arrow::Result<StringPairs> SqlCatalog::NamespaceProperties(const Namespace& levels) {
  const std::lock_guard lock(mutex_);
  std::string key;
  ARROW_RETURN_NOT_OK(RequireNamespace(levels, &key));
  StringPairs properties;
  ARROW_RETURN_NOT_OK(
      database_->Run("SELECT property_key, property_value FROM iceberg_namespace_properties "
                     "WHERE catalog_name = ?1 AND namespace = ?2 ORDER BY property_key",
                     {name(), key}, [&](const SqliteDatabase::Row& row) {
                       properties.emplace_back(row[0].value_or(""), row[1].value_or(""));
                       return arrow::Status::OK();
                     }));
  return properties;
}

arrow::Status SqlCatalog::CreateNamespace(const Namespace& levels, const StringPairs& properties) {
  ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(levels));
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const bool exists, HasNamespace(key));
    if (exists) return MakeError(ErrorKind::kInvalidInput, "namespace {} exists already in catalog {}", key, name());
    const StringPairs minimal = {{"exists", "true"}};
    for (const auto& [property, value] : properties.empty() ? minimal : properties) {
      ARROW_RETURN_NOT_OK(
          database_->Run("INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, "
                         "property_value) VALUES (?1, ?2, ?3, ?4)",
                         {name(), key, property, value}));
    }
    return arrow::Status::OK();
  });
}

arrow::Status SqlCatalog::DropNamespace(const Namespace& levels) {
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    std::string key;
    ARROW_RETURN_NOT_OK(RequireNamespace(levels, &key));
    ARROW_RETURN_NOT_OK(
        database_->Run("DELETE FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2", {name(), key}));
    ARROW_ASSIGN_OR_RAISE(const bool exists, HasNamespace(key));
    if (!exists) return arrow::Status::OK();
    return MakeError(ErrorKind::kInvalidInput, "namespace {} of catalog {} holds tables or namespaces: drop these first", key,
                     name());
  });
}

arrow::Result<std::vector<TableIdentifier>> SqlCatalog::ListTables(const Namespace& levels) {
  const std::lock_guard lock(mutex_);
  std::string key;
  ARROW_RETURN_NOT_OK(RequireNamespace(levels, &key));
  std::string sql = "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2";
  if (has_type_column_) sql += " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)";
  std::vector<TableIdentifier> tables;
  ARROW_RETURN_NOT_OK(database_->Run(sql + " ORDER BY table_name", {name(), key}, [&](const SqliteDatabase::Row& row) {
    tables.push_back({SplitNamespace(key), row[0].value_or("")});
    return arrow::Status::OK();
  }));
  return tables;
}

arrow::Result<std::optional<std::string>> SqlCatalog::MetadataLocation(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(identifier.levels));
  std::string sql =
      "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3";
  if (has_type_column_) sql += " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)";
  ARROW_ASSIGN_OR_RAISE(const auto rows, database_->Query(sql, {name(), key, identifier.name}));
  if (rows.empty()) return std::nullopt;
  return rows[0][0];
}

arrow::Result<LoadedTable> SqlCatalog::LoadTable(const TableIdentifier& identifier) {
  ICEBOUND_INJECT("catalog.load");
  std::optional<std::string> location;
  {
    const std::lock_guard lock(mutex_);
    ARROW_ASSIGN_OR_RAISE(location, MetadataLocation(identifier));
  }
  if (!location) return NotFound(identifier);
  return store_.Load(identifier, *location);
}

arrow::Result<std::string> SqlCatalog::NewTableLocation(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const StringPairs properties, NamespaceProperties(identifier.levels));
  if (const std::string* location = FindValue(properties, "location"); location != nullptr && !location->empty()) {
    return StripSlashes(*location) + "/" + identifier.name;
  }
  if (warehouse_.empty()) {
    return MakeError(ErrorKind::kInvalidInput, "catalog {} has no property warehouse: say where table {} goes", name(),
                     identifier.ToString());
  }
  ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(identifier.levels));
  return fmt::format("{}/{}/{}", warehouse_, key, identifier.name);
}

arrow::Status SqlCatalog::Insert(const LoadedTable& table) {
  ICEBOUND_INJECT("catalog.swap");
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    std::string key;
    ARROW_RETURN_NOT_OK(RequireNamespace(table.identifier.levels, &key));
    const arrow::Status inserted = database_->Run(
        has_type_column_ ? "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, "
                           "iceberg_type) VALUES (?1, ?2, ?3, ?4, 'TABLE')"
                         : "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, "
                           "metadata_location) VALUES (?1, ?2, ?3, ?4)",
        {name(), key, table.identifier.name, table.metadata_location});
    if (GetErrorKind(inserted) != ErrorKind::kInvalidInput) return inserted;
    return MakeError(ErrorKind::kInvalidInput, "table {} exists already in catalog {}", table.identifier.ToString(), name());
  });
}

arrow::Result<LoadedTable> SqlCatalog::CreateTable(const TableIdentifier& identifier, TableMetadata metadata) {
  {
    const std::lock_guard lock(mutex_);
    std::string key;
    ARROW_RETURN_NOT_OK(RequireNamespace(identifier.levels, &key));
  }
  ARROW_ASSIGN_OR_RAISE(const MetadataCodec codec, CodecOf(metadata));
  ARROW_ASSIGN_OR_RAISE(std::string location, NewMetadataLocation(metadata, ""));
  ARROW_ASSIGN_OR_RAISE(StagedMetadata staged, store_.Stage(identifier, std::move(location), std::move(metadata), codec, 0));
  ARROW_RETURN_NOT_OK(store_.WriteNew(staged));
  arrow::Status inserted = Insert(staged.table);
  if (GetErrorKind(inserted) == ErrorKind::kCommitUnknown) {
    auto now = LoadTable(identifier);
    if (now.ok() && now->metadata->table_uuid == staged.table.metadata->table_uuid) inserted = arrow::Status::OK();
  }
  if (inserted.ok()) return staged.table;
  if (GetErrorKind(inserted) != ErrorKind::kCommitUnknown) store_.Delete(staged.table.metadata_location);
  return inserted;
}

arrow::Status SqlCatalog::DropTable(const TableIdentifier& identifier) {
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const auto location, MetadataLocation(identifier));
    if (!location) return NotFound(identifier);
    ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(identifier.levels));
    return database_->Run("DELETE FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3",
                          {name(), key, identifier.name});
  });
}

arrow::Status SqlCatalog::RenameTable(const TableIdentifier& from, const TableIdentifier& to) {
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    std::string to_key;
    ARROW_RETURN_NOT_OK(RequireNamespace(to.levels, &to_key));
    ARROW_ASSIGN_OR_RAISE(const auto location, MetadataLocation(from));
    if (!location) return NotFound(from);
    ARROW_ASSIGN_OR_RAISE(const std::string from_key, NamespaceKey(from.levels));
    const arrow::Status renamed = database_->Run(
        "UPDATE iceberg_tables SET table_namespace = ?4, table_name = ?5 "
        "WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3",
        {name(), from_key, from.name, to_key, to.name});
    if (GetErrorKind(renamed) != ErrorKind::kInvalidInput) return renamed;
    return MakeError(ErrorKind::kInvalidInput, "table {} exists already in catalog {}", to.ToString(), name());
  });
}

arrow::Status SqlCatalog::Swap(const LoadedTable& base, const std::string& new_location) {
  ICEBOUND_INJECT("catalog.swap");
  ARROW_ASSIGN_OR_RAISE(const std::string key, NamespaceKey(base.identifier.levels));
  const std::lock_guard lock(mutex_);
  return database_->Transact([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(database_->Run(
        "UPDATE iceberg_tables SET metadata_location = ?5, previous_metadata_location = ?4 WHERE catalog_name = ?1 "
        "AND table_namespace = ?2 AND table_name = ?3 AND metadata_location = ?4",
        {name(), key, base.identifier.name, base.metadata_location, new_location}));
    if (database_->changed_rows() == 1) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const auto now, MetadataLocation(base.identifier));
    if (!now) return NotFound(base.identifier);
    return MakeError(ErrorKind::kCommitConflict, "another commit to {} came first: its metadata file is {} now, no longer {}",
                     base.identifier.ToString(), *now, base.metadata_location);
  });
}

arrow::Result<LoadedTable> SqlCatalog::CommitTable(const LoadedTable& base, TableMetadata updated) {
  ARROW_RETURN_NOT_OK(FollowBase(base, &updated));
  ARROW_ASSIGN_OR_RAISE(const MetadataCodec codec, CodecOf(updated));
  ARROW_ASSIGN_OR_RAISE(std::string location, NewMetadataLocation(updated, base.metadata_location));
  ARROW_ASSIGN_OR_RAISE(StagedMetadata staged,
                        store_.Stage(base.identifier, std::move(location), std::move(updated), codec, base.text_bytes));
  ARROW_RETURN_NOT_OK(store_.WriteNew(staged));
  const std::string& new_location = staged.table.metadata_location;
  arrow::Status swapped = Swap(base, new_location);
  if (GetErrorKind(swapped) == ErrorKind::kCommitUnknown) {
    swapped = JudgeCommit(base, new_location, LoadTable(base.identifier), swapped, /*request_is_over=*/true);
  }
  if (swapped.ok()) {
    DeleteForgottenMetadata(store_, base, *staged.table.metadata);
    return staged.table;
  }
  if (GetErrorKind(swapped) != ErrorKind::kCommitUnknown) store_.Delete(new_location);
  return swapped;
}

}  // namespace icebound::iceberg
