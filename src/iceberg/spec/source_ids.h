// SPDX-License-Identifier: Apache-2.0
//
// The columns that a partition or sort field is made of: "source-id" for one, "source-ids" (v3) for a transform of several.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <vector>

#include "iceberg/spec/json_text.h"

namespace icebound::iceberg {

inline arrow::Result<std::vector<int32_t>> ParseSourceIds(JsonObject* object) {
  // Some writers give both; the list says more.
  ARROW_ASSIGN_OR_RAISE(const auto single, object->FindInt32("source-id"));
  if (object->Find("source-ids")) return object->GetInt32List("source-ids");
  if (single) return std::vector<int32_t>{*single};
  ARROW_RETURN_NOT_OK(object->GetInt32("source-id").status());
  return std::vector<int32_t>();
}

inline void WriteSourceIds(const std::vector<int32_t>& ids, JsonWriter* writer) {
  if (ids.size() == 1) {
    writer->IntMember("source-id", ids[0]);
  } else {
    writer->IntListMember("source-ids", ids);
  }
}

}  // namespace icebound::iceberg
