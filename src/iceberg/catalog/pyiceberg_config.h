// SPDX-License-Identifier: Apache-2.0
//
// PyIceberg's configuration, read as PyIceberg reads it, because people have it already:
//
//   file         the first .pyiceberg.yaml that says something, in $PYICEBERG_HOME, the home directory, the working directory.
//                Keys count in lower case; every scalar is text (`true` is "true", 010 is "010"). A key twice is an error
//   environment  PYICEBERG_CATALOG__PROD__S3__ENDPOINT=x is catalog.prod."s3.endpoint": the name in lower case is cut at the
//                first two "__", any later "__" is a dot, "_" is "-". It goes before the file
//
//   default-catalog: prod
//   catalog:
//     prod:
//       uri: sqlite:////data/catalog.db
#pragma once

#include <arrow/result.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/spec/snapshot.h"

namespace icebound::iceberg {

/// What the configuration depends on.
struct ConfigSurroundings {
  StringPairs environment;     ///< in the process's order
  std::string home_directory;  ///< may be empty
  std::string working_directory;

  static arrow::Result<ConfigSurroundings> OfThisProcess();
};

/// Text, or more values by name. A value.
struct ConfigValue {
  bool is_map = false;
  std::string text;
  std::map<std::string, ConfigValue> members;
};

/// Immutable; thread safe.
class PyIcebergConfig {
 public:
  /// kInvalidInput, with file and line or the variable's name, for what is malformed.
  static arrow::Result<PyIcebergConfig> Load(const ConfigSurroundings& surroundings);

  /// `default-catalog`, or "default".
  arrow::Result<std::string> default_catalog_name() const;
  arrow::Result<std::vector<std::string>> catalog_names() const;
  /// The properties of a catalog, its name in any case; nullopt when there is none. kInvalidInput when one is no text.
  arrow::Result<std::optional<StringPairs>> CatalogProperties(std::string_view name) const;
  /// The file that was read; empty for none.
  const std::string& file() const { return file_; }

 private:
  arrow::Result<const ConfigValue*> Catalogs() const;

  ConfigValue root_;
  std::string file_;
};

/// `over` takes precedence, except that an empty value never hides another.
StringPairs MergeProperties(StringPairs under, const StringPairs& over);

}  // namespace icebound::iceberg
