// SPDX-License-Identifier: Apache-2.0
#include "row/type_shape.h"

#include <arrow/extension_type.h>
#include <arrow/util/checked_cast.h>

#include "base/error.h"

namespace icebound::row {

using arrow::DataType;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

arrow::Status Unsupported(const DataType& type, std::string_view context) {
  return MakeError(ErrorKind::kUnsupported, "{}: values of type {} cannot be sorted or kept in rows", context, type.ToString());
}

arrow::Result<TypeShape> MakeAny(const std::shared_ptr<DataType>& type, std::string_view context);

arrow::Result<std::shared_ptr<arrow::Field>> AddChild(const std::shared_ptr<arrow::Field>& field, std::string_view context,
                                                      TypeShape* parent) {
  ARROW_ASSIGN_OR_RAISE(TypeShape child, MakeAny(field->type(), context));
  child.nullable = field->nullable();
  if (child.layout == Layout::kDictionary) child.children[0].nullable = field->nullable();
  auto output = field->WithType(child.output_type);
  parent->children.push_back(std::move(child));
  return output;
}

arrow::Result<TypeShape> MakeNested(const std::shared_ptr<DataType>& type, std::string_view context) {
  TypeShape shape;
  shape.id = type->id();
  arrow::FieldVector fields;
  for (const auto& field : type->fields()) {
    ARROW_ASSIGN_OR_RAISE(auto output, AddChild(field, context, &shape));
    fields.push_back(std::move(output));
  }
  switch (type->id()) {
    case Type::LIST:
      shape.layout = Layout::kList;
      shape.output_type = arrow::list(fields[0]);
      break;
    case Type::LARGE_LIST:
      shape.layout = Layout::kLargeList;
      shape.output_type = arrow::large_list(fields[0]);
      break;
    case Type::LIST_VIEW:
      shape.layout = Layout::kListView;
      shape.output_type = arrow::list_view(fields[0]);
      break;
    case Type::LARGE_LIST_VIEW:
      shape.layout = Layout::kLargeListView;
      shape.output_type = arrow::large_list_view(fields[0]);
      break;
    case Type::FIXED_SIZE_LIST:
      shape.layout = Layout::kFixedList;
      shape.list_size = checked_cast<const arrow::FixedSizeListType&>(*type).list_size();
      shape.output_type = arrow::fixed_size_list(fields[0], shape.list_size);
      break;
    case Type::MAP: {
      shape.layout = Layout::kList;
      const bool keys_sorted = checked_cast<const arrow::MapType&>(*type).keys_sorted();
      ARROW_ASSIGN_OR_RAISE(shape.output_type, arrow::MapType::Make(fields[0], keys_sorted));
      break;
    }
    default:
      shape.layout = Layout::kStruct;
      shape.output_type = arrow::struct_(fields);
  }
  return shape;
}

arrow::Result<TypeShape> MakeLeaf(const std::shared_ptr<DataType>& type, std::string_view context) {
  TypeShape shape;
  shape.id = type->id();
  shape.output_type = type;
  switch (type->id()) {
    case Type::NA:
      shape.layout = Layout::kNull;
      return shape;
    case Type::BOOL:
      shape.layout = Layout::kBool;
      shape.value_bytes = shape.packed_bytes = 1;
      return shape;
    case Type::STRING:
    case Type::BINARY:
      shape.layout = Layout::kString;
      return shape;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      shape.layout = Layout::kLargeString;
      return shape;
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      shape.layout = Layout::kStringView;
      return shape;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      shape.layout = Layout::kDecimal;
      shape.value_bytes = checked_cast<const arrow::DecimalType&>(*type).byte_width();
      shape.packed_bytes =
          std::min(shape.value_bytes, PackedDecimalBytes(checked_cast<const arrow::DecimalType&>(*type).precision()));
      return shape;
    default:
      break;
  }
  if (!arrow::is_fixed_width(type->id())) return Unsupported(*type, context);
  shape.layout = type->id() == Type::FIXED_SIZE_BINARY ? Layout::kBytes : Layout::kFixed;
  shape.value_bytes = shape.packed_bytes = checked_cast<const arrow::FixedWidthType&>(*type).bit_width() / 8;
  return shape;
}

arrow::Result<TypeShape> MakeAny(const std::shared_ptr<DataType>& type, std::string_view context) {
  switch (type->id()) {
    case Type::EXTENSION: {
      const auto& storage = checked_cast<const arrow::ExtensionType&>(*type).storage_type();
      ARROW_ASSIGN_OR_RAISE(TypeShape shape, MakeAny(storage, context));
      // An extension over a dictionary would come out over plain values, which it does not allow.
      if (!shape.output_type->Equals(*storage)) return Unsupported(*type, context);
      shape.output_type = type;
      return shape;
    }
    case Type::DICTIONARY: {
      TypeShape shape;
      shape.layout = Layout::kDictionary;
      shape.id = Type::DICTIONARY;
      ARROW_ASSIGN_OR_RAISE(TypeShape value, MakeAny(checked_cast<const arrow::DictionaryType&>(*type).value_type(), context));
      if (value.layout == Layout::kDictionary) return Unsupported(*type, context);
      shape.output_type = value.output_type;
      shape.children.push_back(std::move(value));
      return shape;
    }
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
    case Type::FIXED_SIZE_LIST:
    case Type::MAP:
    case Type::STRUCT:
      return MakeNested(type, context);
    case Type::SPARSE_UNION:
    case Type::DENSE_UNION:
    case Type::RUN_END_ENCODED:
      return Unsupported(*type, context);
    default:
      return MakeLeaf(type, context);
  }
}

}  // namespace

arrow::Result<TypeShape> TypeShape::Make(const std::shared_ptr<arrow::DataType>& type, std::string_view context) {
  ARROW_ASSIGN_OR_RAISE(TypeShape shape, MakeAny(type, context));
  if (shape.layout != Layout::kDictionary) return shape;
  TypeShape value = std::move(shape.children[0]);
  return value;
}

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  const DataType* storage = &type;
  while (storage->id() == Type::EXTENSION) storage = checked_cast<const arrow::ExtensionType&>(*storage).storage_type().get();
  return *storage;
}

const arrow::DataType& ValueStorageOf(const arrow::DataType& type) {
  const DataType& storage = StorageOf(type);
  if (storage.id() != Type::DICTIONARY) return storage;
  return StorageOf(*checked_cast<const arrow::DictionaryType&>(storage).value_type());
}

int32_t PackedDecimalBytes(int32_t precision) {
  if (precision <= 9) return 4;
  if (precision <= 18) return 8;
  return precision <= 38 ? 16 : 32;
}

}  // namespace icebound::row
