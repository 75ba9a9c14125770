// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/make_catalog.h"

#include "base/error.h"
#include "iceberg/catalog/directory_catalog.h"
#include "iceberg/catalog/rest/rest_catalog.h"
#include "iceberg/catalog/sql_catalog.h"

namespace icebound::iceberg {
namespace {

arrow::Result<std::string> TypeOfCatalog(const std::string& name, const StringPairs& properties) {
  if (const std::string* type = FindValue(properties, "type"); type != nullptr && !type->empty()) {
    std::string lower = *type;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
  }
  const std::string* uri = FindValue(properties, "uri");
  if (uri == nullptr || uri->empty()) {
    return MakeError(ErrorKind::kInvalidInput,
                     "catalog {} has neither a type nor a uri: set them in .pyiceberg.yaml, or PYICEBERG_CATALOG__<NAME>__URI",
                     name);
  }
  if (uri->starts_with("http")) return "rest";
  if (uri->starts_with("thrift")) return "hive";
  if (uri->starts_with("sqlite") || uri->starts_with("postgresql")) return "sql";
  return MakeError(ErrorKind::kInvalidInput, "what kind of catalog {} is cannot be told by its uri '{}': set its type", name,
                   *uri);
}

}  // namespace

arrow::Result<std::unique_ptr<Catalog>> MakeCatalog(std::string name, StringPairs properties, CatalogContext context) {
  if (const std::string* python = FindValue(properties, "py-catalog-impl"); python != nullptr) {
    return MakeError(ErrorKind::kUnsupported, "catalog {} is a Python class, {}, which only Python can load", name, *python);
  }
  ARROW_ASSIGN_OR_RAISE(const std::string type, TypeOfCatalog(name, properties));
  if (type == "in-memory" && FindValue(properties, "uri") == nullptr) properties.emplace_back("uri", "sqlite:///:memory:");
  if (type == "sql" || type == "in-memory") return SqlCatalog::Open(std::move(name), properties, std::move(context));
  if (type == "hadoop") {
    const std::string* warehouse = FindValue(properties, "warehouse");
    if (warehouse == nullptr || warehouse->empty()) {
      return MakeError(ErrorKind::kInvalidInput, "catalog {} of type hadoop needs the property warehouse", name);
    }
    std::string root = *warehouse;
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    const std::string* single_writer = FindValue(properties, "single-writer");
    return std::make_unique<DirectoryCatalog>(std::move(name), std::move(root), std::move(context),
                                              single_writer != nullptr && *single_writer == "true");
  }
  if (type == "rest") return RestCatalog::Open(std::move(name), std::move(properties), std::move(context));
  return MakeError(ErrorKind::kUnsupported,
                   "catalog {} is of type {}, which is not supported: rest, sql, in-memory and hadoop are", name, type);
}

}  // namespace icebound::iceberg
