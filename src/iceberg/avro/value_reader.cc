// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/value_reader.h"

#include <fmt/format.h>

#include "base/error.h"
#include "iceberg/avro/schema_names.h"
#include "iceberg/avro/value_skip.h"

namespace icebound::iceberg::avro {

namespace {

const Node kNullType = [] {
  Node node;
  node.type = Type::kNull;
  return node;
}();
const Node kStringType = [] {
  Node node;
  node.type = Type::kString;
  node.min_bytes = 1;
  return node;
}();

}  // namespace

ValueReader::ValueReader(BlockCursor* cursor, const Node& declared) : cursor_(cursor), type_(&declared) {
  if (declared.type != Type::kUnion) return;
  int64_t branch = 0;
  branch_status_ = cursor->ReadBranch(declared.branches.size(), &branch);
  type_ = branch_status_.ok() ? declared.branches[static_cast<size_t>(branch)] : &kNullType;
}

arrow::Status ValueReader::Mismatch(std::string_view wanted) const {
  ARROW_RETURN_NOT_OK(branch_status_);
  if (taken_) return MakeError(ErrorKind::kInternal, "a value of an Avro file is read twice");
  return MakeError(ErrorKind::kCorruptData, "{} instead of {}", ToString(*type_), wanted);
}

arrow::Status ValueReader::Take(Type expected) {
  if (type_->type != expected || taken_ || !branch_status_.ok()) [[unlikely]]
    return Mismatch(TypeName(expected));
  taken_ = true;
  return arrow::Status::OK();
}

arrow::Status ValueReader::Read(bool* out) {
  ARROW_RETURN_NOT_OK(Take(Type::kBoolean));
  return cursor_->ReadBoolean(out);
}

arrow::Status ValueReader::Read(int32_t* out) {
  ARROW_RETURN_NOT_OK(Take(Type::kInt));
  return cursor_->ReadInt(out);
}

arrow::Status ValueReader::Read(int64_t* out) {
  if (type_->type == Type::kInt) {
    int32_t value = 0;
    ARROW_RETURN_NOT_OK(Read(&value));
    *out = value;
    return arrow::Status::OK();
  }
  ARROW_RETURN_NOT_OK(Take(Type::kLong));
  return cursor_->ReadLong(out);
}

arrow::Status ValueReader::Read(float* out) {
  ARROW_RETURN_NOT_OK(Take(Type::kFloat));
  return cursor_->ReadFloat(out);
}

arrow::Status ValueReader::Read(double* out) {
  if (type_->type == Type::kFloat) {
    float value = 0;
    ARROW_RETURN_NOT_OK(Read(&value));
    *out = value;
    return arrow::Status::OK();
  }
  ARROW_RETURN_NOT_OK(Take(Type::kDouble));
  return cursor_->ReadFloat(out);
}

arrow::Status ValueReader::Read(std::string_view* out) {
  switch (type_->type) {
    case Type::kFixed:
      ARROW_RETURN_NOT_OK(Take(Type::kFixed));
      return cursor_->ReadFixed(type_->fixed_bytes, out);
    case Type::kEnum: {
      ARROW_RETURN_NOT_OK(Take(Type::kEnum));
      int32_t symbol = 0;
      ARROW_RETURN_NOT_OK(cursor_->ReadInt(&symbol));
      if (symbol < 0 || symbol >= static_cast<int64_t>(type_->symbols.size())) {
        return MakeError(ErrorKind::kCorruptData, "{} has no symbol number {}", ToString(*type_), symbol);
      }
      *out = type_->symbols[static_cast<size_t>(symbol)];
      return arrow::Status::OK();
    }
    case Type::kBytes:
      ARROW_RETURN_NOT_OK(Take(Type::kBytes));
      return cursor_->ReadBytes(out);
    default:
      ARROW_RETURN_NOT_OK(Take(Type::kString));
      return cursor_->ReadBytes(out);
  }
}

arrow::Status ValueReader::Read(std::string* out) {
  std::string_view view;
  ARROW_RETURN_NOT_OK(Read(&view));
  out->assign(view);
  return arrow::Status::OK();
}

arrow::Status ValueReader::Enter(Type expected) {
  ARROW_RETURN_NOT_OK(Take(expected));
  return cursor_->Enter();
}

arrow::Status ValueReader::EnterMap() {
  const bool is_array = type_->type == Type::kArray && type_->logical == LogicalType::kMap;
  return Enter(is_array ? Type::kArray : Type::kMap);
}

arrow::Status ValueReader::Leave() {
  cursor_->Leave();
  return arrow::Status::OK();
}

std::pair<const Node*, const Node*> ValueReader::MapTypes() const {
  if (type_->type == Type::kMap) return {&kStringType, type_->element};
  return {type_->element->fields[0].type, type_->element->fields[1].type};
}

arrow::Status ValueReader::InField(const Field& field, const arrow::Status& status) {
  const std::string id = field.id == kNoId ? "" : fmt::format(" (id {})", field.id);
  return WithContext(status, ErrorKind::kCorruptData, fmt::format("field {}{}", field.name, id));
}

arrow::Status ValueReader::Skip() {
  if (taken_ || !branch_status_.ok()) [[unlikely]]
    return Mismatch("");
  taken_ = true;
  return SkipValue(*type_, cursor_);
}

}  // namespace icebound::iceberg::avro
