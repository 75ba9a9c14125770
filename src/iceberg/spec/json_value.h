// SPDX-License-Identifier: Apache-2.0
//
// Single values as JSON (the specification's Appendix D): how defaults stand in a schema.
//
// A struct's value names its fields by id. A struct default holds no fields: `{}` means "made of the defaults of my fields", so a
// field that is missing takes its own default of the same kind, at every depth.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/scalar.h>

#include <memory>
#include <string_view>

#include "iceberg/spec/json_text.h"
#include "iceberg/spec/literal.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

enum class DefaultKind { kInitial, kWrite };

/// A value of a primitive type; `null` is null. Geometries (text there) are ErrorKind::kUnsupported: the format allows them no
/// value here but null.
arrow::Result<Literal> LiteralFromJson(const Type& type, std::string_view json);

/// ErrorKind::kInvalidInput for what JSON cannot hold: NaN and the infinities.
arrow::Status WriteLiteralJson(const Type& type, const Literal& value, JsonWriter* writer);

/// Ok when `json` is a value of `type`, nested ones included.
arrow::Status CheckJsonValue(const Type& type, std::string_view json);

/// A value of any type as Arrow holds it.
arrow::Result<std::shared_ptr<arrow::Scalar>> ScalarFromJson(const Type& type, std::string_view json, DefaultKind kind,
                                                             arrow::MemoryPool* pool);

/// What a field holds where nothing was written; null when it has no such default.
arrow::Result<std::shared_ptr<arrow::Scalar>> DefaultValue(const Field& field, DefaultKind kind, arrow::MemoryPool* pool);

}  // namespace icebound::iceberg
