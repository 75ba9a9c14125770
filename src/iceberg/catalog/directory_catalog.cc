// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/directory_catalog.h"

#include <algorithm>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

using arrow::fs::FileType;

arrow::Status CheckPart(const std::string& part) {
  if (!part.empty() && part[0] != '.' && part.find('/') == std::string::npos) return arrow::Status::OK();
  return MakeError(ErrorKind::kInvalidInput, "'{}' is no name for a directory: empty, with a / in it, or with a dot in front",
                   part);
}

}  // namespace

arrow::Result<std::string> DirectoryCatalog::DirectoryOf(const Namespace& levels) const {
  std::string directory = warehouse_;
  for (const std::string& level : levels) {
    ARROW_RETURN_NOT_OK(CheckPart(level));
    directory += "/" + level;
  }
  return directory;
}

arrow::Result<std::string> DirectoryCatalog::DirectoryOf(const TableIdentifier& identifier) const {
  ARROW_RETURN_NOT_OK(CheckPart(identifier.name));
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(identifier.levels));
  return directory + "/" + identifier.name;
}

arrow::Result<bool> DirectoryCatalog::NamespaceExists(const Namespace& levels) {
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(levels));
  ARROW_ASSIGN_OR_RAISE(const FileType type, tables_.store().TypeOf(directory));
  if (type != FileType::Directory) return false;
  ARROW_ASSIGN_OR_RAISE(const bool is_table, tables_.IsTable(directory));
  return !is_table;
}

arrow::Status DirectoryCatalog::RequireNamespace(const Namespace& levels, std::string* directory) const {
  ARROW_ASSIGN_OR_RAISE(*directory, DirectoryOf(levels));
  ARROW_ASSIGN_OR_RAISE(const FileType type, tables_.store().TypeOf(*directory));
  if (type == FileType::Directory) return arrow::Status::OK();
  return MakeError(ErrorKind::kNotFound, "there is no namespace '{}' in catalog {}: {} is no directory", NamespaceText(levels),
                   name(), *directory);
}

arrow::Result<std::vector<std::string>> DirectoryCatalog::Children(const std::string& directory, bool tables) const {
  std::vector<std::string> names;
  ARROW_RETURN_NOT_OK(tables_.store().VisitEntries(directory, [&](const std::string& name, FileType type) -> arrow::Status {
    if (type != FileType::Directory || !CheckPart(name).ok()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const bool is_table, tables_.IsTable(directory + "/" + name));
    if (is_table == tables) names.push_back(name);
    return arrow::Status::OK();
  }));
  std::sort(names.begin(), names.end());
  return names;
}

arrow::Result<std::vector<Namespace>> DirectoryCatalog::ListNamespaces(const Namespace& parent) {
  std::string directory;
  ARROW_RETURN_NOT_OK(RequireNamespace(parent, &directory));
  ARROW_ASSIGN_OR_RAISE(const auto names, Children(directory, /*tables=*/false));
  std::vector<Namespace> result;
  for (const std::string& child : names) {
    result.push_back(parent);
    result.back().push_back(child);
  }
  return result;
}

arrow::Result<StringPairs> DirectoryCatalog::NamespaceProperties(const Namespace& levels) {
  std::string directory;
  ARROW_RETURN_NOT_OK(RequireNamespace(levels, &directory));
  return StringPairs();
}

arrow::Status DirectoryCatalog::CreateNamespace(const Namespace& levels, const StringPairs& properties) {
  if (!properties.empty()) {
    return MakeError(ErrorKind::kUnsupported, "catalog {} is a directory, where namespaces have no properties", name());
  }
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(levels));
  ARROW_ASSIGN_OR_RAISE(const FileType type, tables_.store().TypeOf(directory));
  if (type != FileType::NotFound) return MakeError(ErrorKind::kInvalidInput, "{} exists already", directory);
  return tables_.store().CreateDirectory(directory);
}

arrow::Status DirectoryCatalog::DropNamespace(const Namespace& levels) {
  std::string directory;
  if (levels.empty()) return MakeError(ErrorKind::kInvalidInput, "no namespace is given");
  ARROW_RETURN_NOT_OK(RequireNamespace(levels, &directory));
  ARROW_RETURN_NOT_OK(tables_.store().VisitEntries(directory, [&](const std::string& entry, FileType) {
    return MakeError(ErrorKind::kInvalidInput, "namespace {} is not empty: {} is in {}", NamespaceText(levels), entry, directory);
  }));
  return tables_.store().DeleteDirectory(directory);
}

arrow::Result<std::vector<TableIdentifier>> DirectoryCatalog::ListTables(const Namespace& levels) {
  std::string directory;
  ARROW_RETURN_NOT_OK(RequireNamespace(levels, &directory));
  ARROW_ASSIGN_OR_RAISE(const auto names, Children(directory, /*tables=*/true));
  std::vector<TableIdentifier> result;
  for (const std::string& child : names) result.push_back({levels, child});
  return result;
}

arrow::Result<LoadedTable> DirectoryCatalog::LoadTable(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(identifier));
  return tables_.Load(identifier, directory);
}

arrow::Result<std::string> DirectoryCatalog::NewTableLocation(const TableIdentifier& identifier) {
  return DirectoryOf(identifier);
}

arrow::Result<LoadedTable> DirectoryCatalog::CreateTable(const TableIdentifier& identifier, TableMetadata metadata) {
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(identifier));
  if (metadata.location != directory) {
    return MakeError(ErrorKind::kUnsupported, "table {} of catalog {} can only be in {}, not in {}", identifier.ToString(),
                     name(), directory, metadata.location);
  }
  return tables_.Create(identifier, std::move(metadata));
}

arrow::Status DirectoryCatalog::DropTable(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const std::string directory, DirectoryOf(identifier));
  return tables_.Drop(identifier, directory);
}

arrow::Status DirectoryCatalog::RenameTable(const TableIdentifier& from, const TableIdentifier& to) {
  return MakeError(ErrorKind::kUnsupported, "{} cannot be renamed to {}: in catalog {} a table's name is its directory",
                   from.ToString(), to.ToString(), name());
}

arrow::Result<LoadedTable> DirectoryCatalog::CommitTable(const LoadedTable& base, TableMetadata updated) {
  return tables_.Commit(base, std::move(updated));
}

}  // namespace icebound::iceberg
