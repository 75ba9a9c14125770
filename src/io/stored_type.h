// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>

namespace icebound::io {

enum class StoredDictionaries { kKept, kDecoded };

/// The type that a file declares for values of `type`. String and binary views are plain strings and binaries: files are read far
/// more often than written, and many readers cannot process views. Run-end encoded types are their values', and so are
/// dictionaries when they are to be decoded. Children of nested types alike; everything else stays.
std::shared_ptr<arrow::DataType> StoredType(const std::shared_ptr<arrow::DataType>& type, StoredDictionaries dictionaries);

/// Every field as StoredType says; names, nullability and metadata stay.
std::shared_ptr<arrow::Schema> StoredSchema(const arrow::Schema& schema, StoredDictionaries dictionaries);

/// An array in its stored type.
arrow::Result<std::shared_ptr<arrow::Array>> ToStoredType(std::shared_ptr<arrow::Array> array,
                                                          const std::shared_ptr<arrow::DataType>& stored,
                                                          arrow::MemoryPool* pool);

}  // namespace icebound::io
