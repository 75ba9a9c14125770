// SPDX-License-Identifier: Apache-2.0
#include "io/stored_type.h"

#include <arrow/compute/api.h>

namespace icebound::io {
namespace {

std::shared_ptr<arrow::Field> StoredField(const std::shared_ptr<arrow::Field>& field, StoredDictionaries dictionaries) {
  return field->WithType(StoredType(field->type(), dictionaries));
}

}  // namespace

std::shared_ptr<arrow::DataType> StoredType(const std::shared_ptr<arrow::DataType>& type, StoredDictionaries dictionaries) {
  const auto child = [&](int i) { return StoredField(type->field(i), dictionaries); };
  switch (type->id()) {
    case arrow::Type::STRING_VIEW:
      return arrow::utf8();
    case arrow::Type::BINARY_VIEW:
      return arrow::binary();
    case arrow::Type::RUN_END_ENCODED:
      return StoredType(static_cast<const arrow::RunEndEncodedType&>(*type).value_type(), dictionaries);
    case arrow::Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryType&>(*type);
      auto values = StoredType(encoded.value_type(), dictionaries);
      if (dictionaries == StoredDictionaries::kDecoded) return values;
      return arrow::dictionary(encoded.index_type(), std::move(values), encoded.ordered());
    }
    case arrow::Type::STRUCT: {
      arrow::FieldVector children;
      for (int i = 0; i < type->num_fields(); ++i) children.push_back(child(i));
      return arrow::struct_(std::move(children));
    }
    case arrow::Type::LIST:
      return arrow::list(child(0));
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(child(0));
    case arrow::Type::LIST_VIEW:
      return arrow::list_view(child(0));
    case arrow::Type::LARGE_LIST_VIEW:
      return arrow::large_list_view(child(0));
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(child(0), static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return std::make_shared<arrow::MapType>(StoredField(map.key_field(), dictionaries),
                                              StoredField(map.item_field(), dictionaries), map.keys_sorted());
    }
    default:
      return type;
  }
}

std::shared_ptr<arrow::Schema> StoredSchema(const arrow::Schema& schema, StoredDictionaries dictionaries) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(StoredField(field, dictionaries));
  return arrow::schema(std::move(fields), schema.metadata());
}

arrow::Result<std::shared_ptr<arrow::Array>> ToStoredType(std::shared_ptr<arrow::Array> array,
                                                          const std::shared_ptr<arrow::DataType>& stored,
                                                          arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context(pool);
  if (array->type_id() == arrow::Type::RUN_END_ENCODED) {
    ARROW_ASSIGN_OR_RAISE(auto decoded, arrow::compute::RunEndDecode(array, &context));
    array = decoded.make_array();
  }
  if (array->type()->Equals(*stored)) return array;
  ARROW_ASSIGN_OR_RAISE(auto cast, arrow::compute::Cast(array, stored, arrow::compute::CastOptions::Safe(), &context));
  return cast.make_array();
}

}  // namespace icebound::io
