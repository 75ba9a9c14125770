// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/value_skip.h"

namespace icebound::iceberg::avro {

namespace {

arrow::Status SkipItems(const Node& node, BlockCursor* cursor) {
  for (;;) {
    int64_t count = 0;
    ARROW_RETURN_NOT_OK(cursor->SkipItems(node.min_item_bytes(), &count));
    if (count == 0) return arrow::Status::OK();
    if (node.type == Type::kArray && node.element->is_empty) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (node.type == Type::kMap) {
        std::string_view key;
        ARROW_RETURN_NOT_OK(cursor->ReadBytes(&key));
      }
      ARROW_RETURN_NOT_OK(SkipValue(*node.element, cursor));
    }
  }
}

arrow::Status SkipNested(const Node& node, BlockCursor* cursor) {
  ARROW_RETURN_NOT_OK(cursor->Enter());
  if (node.type == Type::kRecord) {
    for (const Field& field : node.fields) ARROW_RETURN_NOT_OK(SkipValue(*field.type, cursor));
  } else {
    ARROW_RETURN_NOT_OK(SkipItems(node, cursor));
  }
  cursor->Leave();
  return arrow::Status::OK();
}

}  // namespace

arrow::Status SkipValue(const Node& node, BlockCursor* cursor) {
  // Records of records of nothing would take time without taking bytes.
  if (node.is_empty) return arrow::Status::OK();
  int64_t number = 0;
  std::string_view bytes;
  switch (node.type) {
    case Type::kNull:
      return arrow::Status::OK();
    case Type::kBoolean:
      return cursor->ReadFixed(1, &bytes);
    case Type::kInt:
    case Type::kLong:
    case Type::kEnum:
      return cursor->ReadLong(&number);
    case Type::kFloat:
      return cursor->ReadFixed(4, &bytes);
    case Type::kDouble:
      return cursor->ReadFixed(8, &bytes);
    case Type::kFixed:
      return cursor->ReadFixed(node.fixed_bytes, &bytes);
    case Type::kBytes:
    case Type::kString:
      return cursor->ReadBytes(&bytes);
    case Type::kUnion:
      ARROW_RETURN_NOT_OK(cursor->ReadBranch(node.branches.size(), &number));
      return SkipValue(*node.branches[static_cast<size_t>(number)], cursor);
    case Type::kRecord:
    case Type::kArray:
    case Type::kMap:
      return SkipNested(node, cursor);
  }
  return arrow::Status::OK();
}

}  // namespace icebound::iceberg::avro
