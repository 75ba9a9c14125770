// SPDX-License-Identifier: Apache-2.0
//
// The name mapping of a table (property schema.name-mapping.default): field ids for files that were written without any. It is
// used only for columns that have no id of their own. A name is one name however many dots it has; several names may stand for
// one field; a field without an id exists in files only.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/json_text.h"
#include "iceberg/spec/schema.h"

namespace icebound::iceberg {

inline constexpr std::string_view kNameMappingProperty = "schema.name-mapping.default";

struct MappedField {
  std::vector<std::string> names;
  std::optional<int32_t> field_id;
  std::vector<MappedField> fields;  ///< of a struct; "element" of a list; "key" and "value" of a map
  std::string unknown_members;
};

/// A value.
struct NameMapping {
  std::vector<MappedField> fields;

  /// From the text of the property, which is not yet checked JSON.
  static arrow::Result<NameMapping> Parse(std::string_view json);
  std::string ToJson() const;

  /// What maps every column of `schema` by the name it has now.
  static NameMapping Of(const Schema& schema);
};

/// The field among `fields` that goes by `name`; null when there is none.
const MappedField* FindMapped(const std::vector<MappedField>& fields, std::string_view name);

}  // namespace icebound::iceberg
