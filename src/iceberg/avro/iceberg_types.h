// SPDX-License-Identifier: Apache-2.0
//
// Iceberg's types as Avro's, with the names and attributes that Iceberg writes (table specification, appendix A).
//
//   nested structs are records "r<field id>", decimals and UUIDs are fixed, geometry and geography are bytes, a variant is a
// record
//   of metadata and value, optional fields are unions with null, and default to it
#pragma once

#include <string>
#include <vector>

#include "iceberg/avro/schema.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg::avro {

/// A record of these fields: of a partition, or of a data file.
const Node* RecordOf(std::string name, const std::vector<iceberg::Field>& fields, SchemaBuilder* builder);

/// A field of a record, for those who add their own fields around a table's.
Field FieldOf(const iceberg::Field& field, SchemaBuilder* builder);

}  // namespace icebound::iceberg::avro
