// SPDX-License-Identifier: Apache-2.0
//
// Values of a record, pulled in the order in which they were written, into whatever the caller has.
//
//   value.ReadRecord([&](const Field& field, ValueReader& value) -> arrow::Status {
//     switch (field.id) {
//       case 100: return value.Read(&file.path);                  // required: null is an error
//       case 103: return value.Read(&file.record_count);          // an int is read as a long
//       case 140: return value.Read(&file.sort_order_id);         // std::optional: null is nullopt
//       case 132: return value.ReadArray([&](ValueReader& offset) { return ...; });
//       case 109: return value.ReadMap([&](ValueReader& key) { return key.Read(&id); },
//                                      [&](ValueReader& count) { return count.Read(&counts[id]); });
//       default:  return arrow::Status::OK();                     // what is not read is skipped
//     }
//   });
//
// This is the resolution by field id: fields are recognised by id and not by name or place; a field that the file does not have
// is never announced, so what it fills keeps its default; a field that nobody wants costs its skipping. Promotions: int to long,
// float to double. Nothing is allocated but what the caller's own types allocate, which is at most the size of the block read.
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

namespace icebound::iceberg::avro {

/// One value that stands next in a block. Read it once, with the call that fits its type, or not at all: whoever announced it
/// skips it then. Every failure is kCorruptData with the path of the field. Not thread safe; valid within the call that
/// announced it.
class ValueReader {
 public:
  /// The type of this value; of a union, the branch that is there. (Of a union that names no branch: null, and reading fails.)
  const Node& type() const { return *type_; }
  bool is_null() const { return type_->type == Type::kNull; }

  arrow::Status Read(bool* out);
  arrow::Status Read(int32_t* out);
  arrow::Status Read(int64_t* out);  ///< int and long
  arrow::Status Read(float* out);
  arrow::Status Read(double* out);            ///< float and double
  arrow::Status Read(std::string_view* out);  ///< string, bytes, fixed, and the symbol of an enum. Valid until the record ends.
  arrow::Status Read(std::string* out);
  template <typename T>
  arrow::Status Read(std::optional<T>* out) {
    if (is_null()) {
      out->reset();
      return Skip();
    }
    return Read(&out->emplace());
  }

  /// An array, or a map, of what Read knows. (The bytes are at most a few times those of the block.)
  template <typename T>
  arrow::Status Read(std::vector<T>* out) {
    out->clear();
    return ReadArray([&](ValueReader& element) { return element.Read(&out->emplace_back()); });
  }
  template <typename K, typename V>
  arrow::Status Read(std::map<K, V>* out) {
    out->clear();
    K key{};
    return ReadMap([&](ValueReader& reader) { return reader.Read(&key); },
                   [&](ValueReader& reader) { return reader.Read(&(*out)[key]); });
  }

  /// Calls `on_field(const Field&, ValueReader&) -> arrow::Status` for each field, in the file's order.
  template <typename OnField>
  arrow::Status ReadRecord(OnField&& on_field) {
    ARROW_RETURN_NOT_OK(Enter(Type::kRecord));
    for (const Field& field : type_->fields) {
      arrow::Status status = Child(*field.type, [&](ValueReader& value) { return on_field(field, value); });
      if (!status.ok()) [[unlikely]]
        return InField(field, status);
    }
    return Leave();
  }

  /// Calls `on_element(ValueReader&) -> arrow::Status` for each element.
  template <typename OnElement>
  arrow::Status ReadArray(OnElement&& on_element) {
    ARROW_RETURN_NOT_OK(Enter(Type::kArray));
    return ForEachItem([&] { return Child(*type_->element, on_element); });
  }

  /// Calls `on_key(ValueReader&)`, then `on_value(ValueReader&)`, for each entry of a map in either of its forms.
  template <typename OnKey, typename OnValue>
  arrow::Status ReadMap(OnKey&& on_key, OnValue&& on_value) {
    ARROW_RETURN_NOT_OK(EnterMap());
    const auto [key, value] = MapTypes();
    return ForEachItem([&]() -> arrow::Status {
      ARROW_RETURN_NOT_OK(Child(*key, on_key));
      return Child(*value, on_value);
    });
  }

  arrow::Status Skip();

 private:
  friend class RecordReader;
  ValueReader(BlockCursor* cursor, const Node& declared);

  /// Marks the value as read and looks at its type.
  arrow::Status Enter(Type expected);
  arrow::Status EnterMap();
  arrow::Status Leave();
  arrow::Status Take(Type expected);
  arrow::Status Mismatch(std::string_view wanted) const;
  static arrow::Status InField(const Field& field, const arrow::Status& status);
  std::pair<const Node*, const Node*> MapTypes() const;

  /// Announces the child that stands next, and skips it when the callback left it.
  template <typename OnValue>
  arrow::Status Child(const Node& declared, OnValue&& on_value) {
    ValueReader child(cursor_, declared);
    ARROW_RETURN_NOT_OK(on_value(child));
    return child.taken_ ? arrow::Status::OK() : child.Skip();
  }

  /// Runs `on_item` for every item of an array's or map's blocks.
  template <typename OnItem>
  arrow::Status ForEachItem(OnItem&& on_item) {
    for (;;) {
      int64_t count = 0;
      ARROW_RETURN_NOT_OK(cursor_->ReadItemCount(type_->min_item_bytes(), &count));
      if (count == 0) return Leave();
      for (int64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(on_item());
    }
  }

  BlockCursor* cursor_;
  const Node* type_;
  bool taken_ = false;
  arrow::Status branch_status_;  // of reading the number of a union's branch
};

}  // namespace icebound::iceberg::avro
