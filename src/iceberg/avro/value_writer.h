// SPDX-License-Identifier: Apache-2.0
//
// The mirror of value_reader.h: the schema asks for its fields in its order, and the caller gives the one that is asked for.
//
//   value.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
//     switch (field.id) {
//       case 100: return value.Write(file.path);
//       case 140: return value.Write(file.sort_order_id);         // std::optional: nullopt is null
//       case 132: return value.WriteArray(offsets.size(), [&](int64_t i, ValueWriter& offset) { return offset.Write(offsets[i]);
// });
//       default:  return arrow::Status::OK();                     // nothing written: null, or an error where null is not allowed
//     }
//   });
//
// What is written must fit the schema: a union takes the first branch that the value fits. A failure is kInternal (the program
// gave a wrong value) and leaves the file as it was before the record.
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"
#include "memory/ledger_vector.h"

namespace icebound::iceberg::avro {

/// The bytes of the block being filled.
using BlockBytes = memory::LedgerVector<uint8_t>;

/// The place of one value. Write it once, or not at all. Not thread safe; valid within the call that asked for it.
class ValueWriter {
 public:
  /// The declared type; a union stays one.
  const Node& type() const { return *type_; }

  arrow::Status WriteNull();
  arrow::Status Write(bool value);
  arrow::Status Write(int32_t value);           ///< int and long
  arrow::Status Write(int64_t value);           ///< long, and int when it fits
  arrow::Status Write(float value);             ///< float and double
  arrow::Status Write(double value);            ///< double
  arrow::Status Write(std::string_view value);  ///< string, bytes, fixed of this size, enum with this symbol
  arrow::Status Write(const std::string& value) { return Write(std::string_view(value)); }
  arrow::Status Write(const char* value) { return Write(std::string_view(value)); }
  template <typename T>
  arrow::Status Write(const std::optional<T>& value) {
    return value.has_value() ? Write(*value) : WriteNull();
  }

  /// An array, or a map, of what Write knows.
  template <typename T>
  arrow::Status Write(const std::vector<T>& values) {
    return WriteArray(static_cast<int64_t>(values.size()),
                      [&](int64_t i, ValueWriter& element) { return element.Write(values[static_cast<size_t>(i)]); });
  }
  template <typename K, typename V>
  arrow::Status Write(const std::map<K, V>& entries) {
    auto entry = entries.begin();
    return WriteMap(
        static_cast<int64_t>(entries.size()), [&](int64_t, ValueWriter& key) { return key.Write(entry->first); },
        [&](int64_t, ValueWriter& value) { return value.Write((entry++)->second); });
  }

  /// Calls `on_field(const Field&, ValueWriter&) -> arrow::Status` for each field of the schema.
  template <typename OnField>
  arrow::Status WriteRecord(OnField&& on_field) {
    ARROW_RETURN_NOT_OK(Take(Type::kRecord));
    for (const Field& field : type_->fields) {
      arrow::Status status = Child(*field.type, [&](ValueWriter& value) { return on_field(field, value); });
      if (!status.ok()) [[unlikely]]
        return InField(field, status);
    }
    return arrow::Status::OK();
  }

  /// Calls `on_element(int64_t, ValueWriter&) -> arrow::Status` for each of `count` elements.
  template <typename OnElement>
  arrow::Status WriteArray(int64_t count, OnElement&& on_element) {
    ARROW_RETURN_NOT_OK(Take(Type::kArray));
    ARROW_RETURN_NOT_OK(BeginItems(count));
    for (int64_t i = 0; i < count; ++i) {
      ARROW_RETURN_NOT_OK(Child(*type_->element, [&](ValueWriter& value) { return on_element(i, value); }));
    }
    return EndItems(count);
  }

  /// Calls `on_key(int64_t, ValueWriter&)`, then `on_value(int64_t, ValueWriter&)`, for each of `count` entries; a map in either
  /// of its forms.
  template <typename OnKey, typename OnValue>
  arrow::Status WriteMap(int64_t count, OnKey&& on_key, OnValue&& on_value) {
    ARROW_RETURN_NOT_OK(TakeMap());
    const auto [key, value] = MapTypes();
    ARROW_RETURN_NOT_OK(BeginItems(count));
    for (int64_t i = 0; i < count; ++i) {
      ARROW_RETURN_NOT_OK(Child(*key, [&](ValueWriter& writer) { return on_key(i, writer); }));
      ARROW_RETURN_NOT_OK(Child(*value, [&](ValueWriter& writer) { return on_value(i, writer); }));
    }
    return EndItems(count);
  }

 private:
  friend class RecordWriter;
  ValueWriter(BlockBytes* out, const Node& declared) : out_(out), type_(&declared) {}

  /// Marks the value as written; chooses a union's branch of `type` and writes its number.
  arrow::Status Take(Type type);
  arrow::Status TakeMap();
  template <typename Fits>
  arrow::Status TakeBranch(std::string_view what, const Fits& fits);
  std::pair<const Node*, const Node*> MapTypes() const;
  arrow::Status BeginItems(int64_t count);
  arrow::Status EndItems(int64_t count);
  arrow::Status PutLong(int64_t value);
  arrow::Status PutBytes(const void* data, int64_t size);
  static arrow::Status InField(const Field& field, const arrow::Status& status);

  template <typename OnValue>
  arrow::Status Child(const Node& declared, OnValue&& on_value) {
    ValueWriter child(out_, declared);
    ARROW_RETURN_NOT_OK(on_value(child));
    return child.taken_ ? arrow::Status::OK() : child.WriteNull();
  }

  BlockBytes* out_;
  const Node* type_;
  bool taken_ = false;
};

}  // namespace icebound::iceberg::avro
