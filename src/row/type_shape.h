// SPDX-License-Identifier: Apache-2.0
//
// What the encoders of this folder need to know of an Arrow type: how its values lie in buffers, how many bytes a packed value
// takes, and which type comes back out. Computed once when an encoder is made, so that no loop looks at an arrow::DataType.
#pragma once

#include <arrow/array/data.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace icebound::row {

/// The buffer layouts that loops tell apart. Many types share one: a date32 and an int32 are both kFixed of 4 bytes.
enum class Layout : uint8_t {
  kNull,           ///< no buffers
  kBool,           ///< one bit a value
  kFixed,          ///< `value_bytes` a value (1, 2, 4, 8 or 16), packed as they are
  kBytes,          ///< `value_bytes` a value, any number of them: fixed_size_binary
  kDecimal,        ///< `value_bytes` a value, packed as an integer of `packed_bytes`
  kString,         ///< 32-bit offsets
  kLargeString,    ///< 64-bit offsets
  kStringView,     ///< 16-byte views
  kList,           ///< 32-bit offsets, one child; maps too
  kLargeList,      ///< 64-bit offsets
  kListView,       ///< 32-bit offsets and sizes
  kLargeListView,  ///< 64-bit offsets and sizes
  kFixedList,      ///< `list_size` items a value
  kStruct,
  kDictionary,  ///< only below the top level; the one child is the value type
};

/// A plain value; copy it freely except in loops.
struct TypeShape {
  Layout layout = Layout::kNull;
  arrow::Type::type id = arrow::Type::NA;  ///< of the storage type: never an extension
  int32_t value_bytes = 0;                 ///< kFixed, kBytes, kDecimal: bytes of a value in Arrow's buffer; kBool: 1
  int32_t packed_bytes = 0;                ///< the same layouts: bytes of a packed value
  int32_t list_size = 0;                   ///< kFixedList
  bool nullable = true;                    ///< as the parent's field says; true at the top
  std::vector<TypeShape> children;
  std::shared_ptr<arrow::DataType> output_type;  ///< the type with dictionaries replaced by their value types at any depth

  bool is_fixed() const { return layout >= Layout::kBool && layout <= Layout::kDecimal; }
  bool is_string() const { return layout >= Layout::kString && layout <= Layout::kStringView; }
  bool is_nested() const { return layout >= Layout::kList && layout <= Layout::kStruct; }

  /// `context` opens the message of a type that is not supported ("column l_tax"). A dictionary at the top is seen through: its
  /// shape is that of its value type.
  static arrow::Result<TypeShape> Make(const std::shared_ptr<arrow::DataType>& type, std::string_view context);
};

/// The type below extensions and, at the top, below a dictionary: what a column must hold to be encoded by a shape made from
/// `type`.
const arrow::DataType& StorageOf(const arrow::DataType& type);
const arrow::DataType& ValueStorageOf(const arrow::DataType& type);

/// Bytes of an integer that holds every decimal of this precision: 4, 8, 16 or 32.
int32_t PackedDecimalBytes(int32_t precision);

}  // namespace icebound::row
