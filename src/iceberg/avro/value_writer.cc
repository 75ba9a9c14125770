// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/value_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "iceberg/avro/schema_names.h"

namespace icebound::iceberg::avro {

namespace {

const Node kStringType = [] {
  Node node;
  node.type = Type::kString;
  return node;
}();

bool IsMap(const Node& node) {
  return node.type == Type::kMap || (node.type == Type::kArray && node.logical == LogicalType::kMap);
}

bool FitsText(const Node& node, std::string_view value) {
  switch (node.type) {
    case Type::kString:
    case Type::kBytes:
      return true;
    case Type::kFixed:
      return static_cast<int64_t>(value.size()) == node.fixed_bytes;
    case Type::kEnum:
      return std::find(node.symbols.begin(), node.symbols.end(), value) != node.symbols.end();
    default:
      return false;
  }
}

}  // namespace

template <typename Fits>
arrow::Status ValueWriter::TakeBranch(std::string_view what, const Fits& fits) {
  if (taken_) return MakeError(ErrorKind::kInternal, "a value of an Avro file is written twice");
  if (type_->type == Type::kUnion) {
    for (size_t i = 0; i < type_->branches.size(); ++i) {
      if (!fits(*type_->branches[i])) continue;
      ARROW_RETURN_NOT_OK(PutLong(static_cast<int64_t>(i)));
      type_ = type_->branches[i];
      taken_ = true;
      return arrow::Status::OK();
    }
  } else if (fits(*type_)) [[likely]] {
    taken_ = true;
    return arrow::Status::OK();
  }
  return MakeError(ErrorKind::kInternal, "{} is written where the schema says {}", what, ToString(*type_));
}

arrow::Status ValueWriter::Take(Type type) {
  return TakeBranch(TypeName(type), [type](const Node& node) { return node.type == type; });
}

arrow::Status ValueWriter::TakeMap() { return TakeBranch("map", IsMap); }

std::pair<const Node*, const Node*> ValueWriter::MapTypes() const {
  if (type_->type == Type::kMap) return {&kStringType, type_->element};
  return {type_->element->fields[0].type, type_->element->fields[1].type};
}

arrow::Status ValueWriter::PutLong(int64_t value) {
  ARROW_RETURN_NOT_OK(out_->Reserve(kMaxVarintBytes));
  uint8_t bytes[kMaxVarintBytes];
  const int length = EncodeLong(value, bytes);
  for (int i = 0; i < length; ++i) out_->UnsafeAppend(bytes[i]);
  return arrow::Status::OK();
}

arrow::Status ValueWriter::PutBytes(const void* data, int64_t size) {
  if (size == 0) return arrow::Status::OK();
  const int64_t begin = out_->size();
  ARROW_RETURN_NOT_OK(out_->Resize(begin + size));
  std::memcpy(out_->data() + begin, data, static_cast<size_t>(size));
  return arrow::Status::OK();
}

arrow::Status ValueWriter::WriteNull() {
  return TakeBranch("null", [](const Node& node) { return node.type == Type::kNull; });
}

arrow::Status ValueWriter::Write(bool value) {
  ARROW_RETURN_NOT_OK(Take(Type::kBoolean));
  const uint8_t byte = value ? 1 : 0;
  return PutBytes(&byte, 1);
}

arrow::Status ValueWriter::Write(int32_t value) {
  ARROW_RETURN_NOT_OK(TakeBranch("int", [](const Node& node) { return node.type == Type::kInt || node.type == Type::kLong; }));
  return PutLong(value);
}

arrow::Status ValueWriter::Write(int64_t value) {
  const bool is_int = value == static_cast<int32_t>(value);
  ARROW_RETURN_NOT_OK(
      TakeBranch("long", [is_int](const Node& node) { return node.type == Type::kLong || (is_int && node.type == Type::kInt); }));
  return PutLong(value);
}

arrow::Status ValueWriter::Write(float value) {
  ARROW_RETURN_NOT_OK(
      TakeBranch("float", [](const Node& node) { return node.type == Type::kFloat || node.type == Type::kDouble; }));
  if (type_->type == Type::kFloat) return PutBytes(&value, sizeof(value));
  const double wide = value;
  return PutBytes(&wide, sizeof(wide));
}

arrow::Status ValueWriter::Write(double value) {
  ARROW_RETURN_NOT_OK(Take(Type::kDouble));
  return PutBytes(&value, sizeof(value));
}

arrow::Status ValueWriter::Write(std::string_view value) {
  ARROW_RETURN_NOT_OK(TakeBranch("text or bytes", [value](const Node& node) { return FitsText(node, value); }));
  if (type_->type == Type::kEnum) {
    return PutLong(std::find(type_->symbols.begin(), type_->symbols.end(), value) - type_->symbols.begin());
  }
  if (type_->type != Type::kFixed) ARROW_RETURN_NOT_OK(PutLong(static_cast<int64_t>(value.size())));
  return PutBytes(value.data(), static_cast<int64_t>(value.size()));
}

arrow::Status ValueWriter::BeginItems(int64_t count) { return count > 0 ? PutLong(count) : arrow::Status::OK(); }

arrow::Status ValueWriter::EndItems(int64_t) { return PutLong(0); }

arrow::Status ValueWriter::InField(const Field& field, const arrow::Status& status) {
  const std::string id = field.id == kNoId ? "" : fmt::format(" (id {})", field.id);
  return WithContext(status, ErrorKind::kInternal, fmt::format("field {}{}", field.name, id));
}

}  // namespace icebound::iceberg::avro
