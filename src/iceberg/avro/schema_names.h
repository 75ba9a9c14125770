// SPDX-License-Identifier: Apache-2.0
//
// The words of a schema's JSON, and small facts about types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "iceberg/avro/schema.h"

namespace icebound::iceberg::avro {

std::string_view TypeName(Type type);
/// The type of a word that needs no further attributes ("long"), or nullopt.
std::optional<Type> PrimitiveByName(std::string_view name);

bool IsTimestamp(LogicalType logical);
/// As it stands in logicalType ("local-timestamp-micros" is read as well, and never written).
std::string LogicalTypeName(const Node& node);

/// Bytes that every value of the type takes, without what is below it.
int64_t FixedMinBytes(const Node& node);

/// A name that Avro allows, made as Iceberg makes it; `name` itself when it is one.
std::string AvroName(std::string_view name);

}  // namespace icebound::iceberg::avro
