// SPDX-License-Identifier: Apache-2.0
#include "exec/join/output_schema.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "row/row_codec.h"

namespace icebound::exec::join {

const std::shared_ptr<arrow::DataType>& ValueTypeOf(const std::shared_ptr<arrow::DataType>& type) {
  return type->id() == arrow::Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
}

arrow::Result<std::shared_ptr<arrow::Schema>> PlainSchema(const std::shared_ptr<arrow::Schema>& schema) {
  ARROW_ASSIGN_OR_RAISE(const auto codec, row::RowCodec::Make(schema));
  return codec->output_schema();
}

arrow::Result<std::shared_ptr<arrow::Schema>> PlainOutputSchema(const std::shared_ptr<arrow::Schema>& left,
                                                                const std::shared_ptr<arrow::Schema>& right, expr::JoinType type,
                                                                const std::shared_ptr<arrow::Schema>& output) {
  ARROW_ASSIGN_OR_RAISE(const auto plain_left, PlainSchema(left));
  ARROW_ASSIGN_OR_RAISE(const auto plain_right, PlainSchema(right));
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& field : plain_left->fields()) types.push_back(field->type());
  if (expr::HasRightColumns(type)) {
    for (const auto& field : plain_right->fields()) types.push_back(field->type());
  }
  if (type == expr::JoinType::kLeftMark || type == expr::JoinType::kLeftMarkNulls) types.push_back(arrow::boolean());
  ARROW_ASSIGN_OR_RAISE(auto plain, PlainSchema(output));
  bool fits = plain->num_fields() == static_cast<int>(types.size());
  for (int i = 0; fits && i < plain->num_fields(); ++i) fits = plain->field(i)->type()->Equals(*types[static_cast<size_t>(i)]);
  if (!fits) {
    return MakeError(ErrorKind::kInternal, "the columns of a {} join are not those of its schema: {}", expr::JoinTypeName(type),
                     output->ToString());
  }
  return plain;
}

}  // namespace icebound::exec::join
