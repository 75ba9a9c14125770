// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/sort_order.h"

#include <algorithm>

#include "base/error.h"
#include "iceberg/spec/source_ids.h"

namespace icebound::iceberg {
namespace {

/// True for the second of the two words.
arrow::Result<bool> SecondOf(std::string_view name, const std::string& word, std::string_view first, std::string_view second) {
  if (word == first) return false;
  if (word == second) return true;
  return MakeError(ErrorKind::kCorruptData, "'{}' is neither '{}' nor '{}': '{}'", name, first, second, word);
}

arrow::Result<SortField> ParseField(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  SortField field;
  ARROW_ASSIGN_OR_RAISE(const std::string transform, object.GetString("transform"));
  ARROW_ASSIGN_OR_RAISE(field.transform, Transform::Parse(transform));
  ARROW_ASSIGN_OR_RAISE(field.source_ids, ParseSourceIds(&object));
  ARROW_ASSIGN_OR_RAISE(const std::string direction, object.GetString("direction"));
  ARROW_ASSIGN_OR_RAISE(field.descending, SecondOf("direction", direction, "asc", "desc"));
  ARROW_ASSIGN_OR_RAISE(const std::string nulls, object.GetString("null-order"));
  ARROW_ASSIGN_OR_RAISE(field.nulls_first, SecondOf("null-order", nulls, "nulls-last", "nulls-first"));
  field.unknown_members = object.UnknownMembers();
  return field;
}

}  // namespace

arrow::Result<SortOrder> SortOrder::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  SortOrder order;
  ARROW_ASSIGN_OR_RAISE(order.order_id, object.GetInt32("order-id"));
  ARROW_ASSIGN_OR_RAISE(const std::string_view fields, object.Get("fields"));
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(fields));
  std::string_view element;
  while (elements.Next(&element)) {
    auto field = ParseField(element);
    if (!field.ok()) return WithContext(field.status(), ErrorKind::kCorruptData, fmt::format("sort order {}", order.order_id));
    order.fields.push_back(*std::move(field));
  }
  order.unknown_members = object.UnknownMembers();
  return order;
}

void SortOrder::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("order-id", order_id);
  writer->Key("fields");
  writer->BeginArray();
  for (const SortField& field : fields) {
    writer->BeginObject();
    writer->StringMember("transform", field.transform.ToString());
    WriteSourceIds(field.source_ids, writer);
    writer->StringMember("direction", field.descending ? "desc" : "asc");
    writer->StringMember("null-order", field.nulls_first ? "nulls-first" : "nulls-last");
    writer->Members(field.unknown_members);
    writer->EndObject();
  }
  writer->EndArray();
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Status SortOrder::CheckWritable(const Schema& schema) const {
  for (const SortField& field : fields) {
    const Field* source = schema.FindField(field.source_id());
    if (source == nullptr) {
      return MakeError(ErrorKind::kInvalidInput, "sort order {} is by column id {}, which does not exist", order_id,
                       field.source_id());
    }
    const arrow::Status taken = field.transform.CheckSource(*source->type);
    if (!taken.ok()) {
      return MakeError(ErrorKind::kInvalidInput, "sort order {}, column '{}': {}", order_id, schema.FullName(source->id),
                       taken.message());
    }
  }
  return arrow::Status::OK();
}

bool SortOrder::IsEquivalent(const SortOrder& other) const {
  return std::equal(fields.begin(), fields.end(), other.fields.begin(), other.fields.end(),
                    [](const SortField& left, const SortField& right) {
                      return left.source_ids == right.source_ids && left.transform == right.transform &&
                             left.descending == right.descending && left.nulls_first == right.nulls_first;
                    });
}

}  // namespace icebound::iceberg
