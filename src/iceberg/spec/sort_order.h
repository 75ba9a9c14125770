// SPDX-License-Identifier: Apache-2.0
//
// Sort orders: what a table wants its files sorted by.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/json_text.h"
#include "iceberg/spec/schema.h"
#include "iceberg/spec/transform.h"

namespace icebound::iceberg {

/// The order of unsorted tables, which has no fields.
constexpr int32_t kUnsortedOrderId = 0;

struct SortField {
  std::vector<int32_t> source_ids;
  Transform transform;
  bool descending = false;
  bool nulls_first = true;
  std::string unknown_members;

  int32_t source_id() const { return source_ids.empty() ? 0 : source_ids[0]; }
};

/// A value.
struct SortOrder {
  int32_t order_id = kUnsortedOrderId;
  std::vector<SortField> fields;
  std::string unknown_members;

  static arrow::Result<SortOrder> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;

  bool is_unsorted() const { return fields.empty(); }

  /// ErrorKind::kInvalidInput when rows of `schema` cannot be sorted so.
  arrow::Status CheckWritable(const Schema& schema) const;

  /// The same sources, transforms, directions and places of nulls, whatever the ids are.
  bool IsEquivalent(const SortOrder& other) const;
};

}  // namespace icebound::iceberg
