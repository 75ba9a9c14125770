// SPDX-License-Identifier: Apache-2.0
//
// A partition scope: a partition spec and one tuple of it, as bytes. Two files are in one partition exactly when the bytes are
// the same, so whatever joins deletes with data by partition (the planner's index, the join of equality deletes) uses these.
//
//     spec id, 4 bytes, most significant first | for every field of the spec, in its order:
//
//     00                                       null
//     01  1 byte                               boolean
//     02  8 bytes, least significant first     int, long, date, time, timestamp: what is promoted keeps its bytes
//     03  8 bytes, least significant first     float, double, as the bits of a double: every NaN is one, -0.0 is not +0.0
//     04  16 bytes, least significant first    decimal, unscaled
//     05  length (4 bytes) | the bytes         string, uuid, fixed, binary
//
// Example: spec 1, tuple (NULL, 'a') is 00 00 00 01 | 00 | 05 01 00 00 00 61.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/literal.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

/// Replaces `scope`, whose room is kept.
void EncodePartitionScope(int32_t spec_id, std::span<const Literal> tuple, std::string* scope);

inline std::string EncodePartitionScope(int32_t spec_id, std::span<const Literal> tuple) {
  std::string scope;
  EncodePartitionScope(spec_id, tuple, &scope);
  return scope;
}

struct PartitionScope {
  int32_t spec_id = 0;
  std::vector<Literal> tuple;
};

/// What was encoded: `tuple_type` is that of the scope's spec (TableMetadata::TupleType). kInternal for other bytes.
arrow::Result<PartitionScope> DecodePartitionScope(std::string_view scope, const Type& tuple_type);

/// The spec of a scope; the bytes are those of EncodePartitionScope.
int32_t SpecOfScope(std::string_view scope);

}  // namespace icebound::iceberg
