// SPDX-License-Identifier: Apache-2.0
//
// One value of a partition tuple, as manifests hold it in Avro.
#pragma once

#include <arrow/result.h>

#include "iceberg/avro/value_reader.h"
#include "iceberg/spec/literal.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

/// Reads `value` as one of `type`: what was promoted since is widened, a date may be an int, and decimals and UUIDs stand in
/// their several Avro forms. A partition field whose column nobody knows any more (type unknown) is taken as it stands.
arrow::Result<Literal> ReadPartitionValue(avro::ValueReader& value, const Type& type);

}  // namespace icebound::iceberg
