// SPDX-License-Identifier: Apache-2.0
#include "exec/join/output_schema.h"

#include <utility>

#include "base/error.h"

namespace icebound::exec::join {

const std::shared_ptr<arrow::DataType>& ValueTypeOf(const std::shared_ptr<arrow::DataType>& type) {
  return type->id() == arrow::Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
}

std::shared_ptr<arrow::Schema> PlainSchema(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(field->WithType(ValueTypeOf(field->type())));
  return arrow::schema(std::move(fields), schema.metadata());
}

arrow::Result<std::shared_ptr<arrow::Schema>> PlainOutputSchema(const arrow::Schema& left, const arrow::Schema& right,
                                                                expr::JoinType type,
                                                                const std::shared_ptr<arrow::Schema>& output) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& field : left.fields()) types.push_back(ValueTypeOf(field->type()));
  if (expr::HasRightColumns(type)) {
    for (const auto& field : right.fields()) types.push_back(ValueTypeOf(field->type()));
  }
  if (type == expr::JoinType::kLeftMark || type == expr::JoinType::kLeftMarkNulls) types.push_back(arrow::boolean());
  auto plain = PlainSchema(*output);
  bool fits = plain->num_fields() == static_cast<int>(types.size());
  for (int i = 0; fits && i < plain->num_fields(); ++i) fits = plain->field(i)->type()->Equals(*types[static_cast<size_t>(i)]);
  if (!fits) {
    return MakeError(ErrorKind::kInternal, "the columns of a {} join are not those of its schema: {}", expr::JoinTypeName(type),
                     output->ToString());
  }
  return plain;
}

}  // namespace icebound::exec::join
