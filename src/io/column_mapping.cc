// SPDX-License-Identifier: Apache-2.0
#include "io/column_mapping.h"

#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/error.h"

namespace icebound::io {
namespace {

using arrow::DataType;
using arrow::Type;

constexpr char kFieldIdKey[] = "PARQUET:field_id";

bool IsWideningInteger(const DataType& from, const DataType& to) {
  return arrow::is_signed_integer(from.id()) && arrow::is_signed_integer(to.id()) && from.bit_width() <= to.bit_width();
}

bool IsText(const DataType& type) { return type.id() == Type::STRING || type.id() == Type::BINARY; }

bool IsTimeOfDay(const DataType& type) { return type.id() == Type::TIME32 || type.id() == Type::TIME64; }

/// Whether values without children may become `to`: by the table format's promotions, or because file formats and writers differ
/// in how they say the same. Arrow's cast then refuses what a value cannot keep.
bool MayBecome(const DataType& from, const DataType& to) {
  if (from.id() == Type::NA || from.Equals(to)) return true;
  if (IsWideningInteger(from, to) || (IsText(from) && IsText(to)) || (IsTimeOfDay(from) && IsTimeOfDay(to))) return true;
  if (from.id() == Type::FLOAT && to.id() == Type::DOUBLE) return true;
  if (arrow::is_unsigned_integer(from.id()) && arrow::is_signed_integer(to.id())) return from.bit_width() < to.bit_width();
  if (arrow::is_decimal(from.id()) && arrow::is_decimal(to.id())) {
    const auto& narrow = static_cast<const arrow::DecimalType&>(from);
    const auto& wide = static_cast<const arrow::DecimalType&>(to);
    return narrow.scale() == wide.scale() && narrow.precision() <= wide.precision();
  }
  if (to.id() == Type::TIMESTAMP) return from.id() == Type::DATE32 || from.id() == Type::TIMESTAMP;
  return false;
}

/// Finds the columns of one file. Not thread safe.
class Matcher {
 public:
  Matcher(std::string_view file_name, const FieldIdMapping& mapping) : file_name_(file_name), mapping_(mapping) {}

  /// The id of each of these fields of the file; `path` leads to what they are fields of.
  arrow::Result<std::vector<int32_t>> IdsOf(const arrow::FieldVector& fields, std::vector<std::string_view>* path) const {
    std::vector<int32_t> ids;
    for (const std::shared_ptr<arrow::Field>& field : fields) {
      path->push_back(field->name());
      ids.push_back(IdOf(*field, *path));
      path->pop_back();
      if (ids.back() == kNoFieldId || std::find(ids.begin(), std::prev(ids.end()), ids.back()) == std::prev(ids.end())) continue;
      return MakeError(ErrorKind::kCorruptData, "{}: two columns have field id {}", file_name_, ids.back());
    }
    return ids;
  }

  bool HasStoredId(const arrow::Field& field) const { return FieldIdOf(field) != kNoFieldId; }

  arrow::Result<std::shared_ptr<const ValueMapping>> Map(const DataType& from, const std::shared_ptr<DataType>& to,
                                                         std::vector<std::string_view>* path) const {
    auto mapping = std::make_shared<ValueMapping>();
    mapping->type = to;
    if (from.id() != to->id() || from.num_fields() == 0) {
      if (from.num_fields() > 0 || to->num_fields() > 0 || !MayBecome(from, *to)) {
        if (from.id() != Type::NA) return TypeError(from, *to, *path);
      }
      mapping->needs_cast = !from.Equals(*to);
      return mapping;
    }
    switch (to->id()) {
      case Type::STRUCT:
        ARROW_RETURN_NOT_OK(MapStruct(from, path, mapping.get()));
        return mapping;
      case Type::LIST:
        return MapItems(from, {"element"}, path, std::move(mapping));
      case Type::MAP:
        return MapItems(*from.field(0)->type(), {"key", "value"}, path, std::move(mapping));
      default:
        return TypeError(from, *to, *path);
    }
  }

  arrow::Status TypeError(const DataType& from, const DataType& to, const std::vector<std::string_view>& path) const {
    return MakeError(ErrorKind::kUnsupported, "{}: column \"{}\" is {} there, which cannot become the table's {}", file_name_,
                     fmt::join(path, "."), from.ToString(), to.ToString());
  }

  std::shared_ptr<arrow::Scalar> DefaultOf(int32_t id) const {
    if (mapping_.defaults == nullptr) return nullptr;
    const auto found = mapping_.defaults->find(id);
    return found == mapping_.defaults->end() ? nullptr : found->second;
  }

 private:
  int32_t IdOf(const arrow::Field& field, const std::vector<std::string_view>& path) const {
    const int32_t id = FieldIdOf(field);
    if (id != kNoFieldId || mapping_.names == nullptr || !*mapping_.names) return id;
    return (*mapping_.names)(path).value_or(kNoFieldId);
  }

  arrow::Status MapStruct(const DataType& from, std::vector<std::string_view>* path, ValueMapping* mapping) const {
    ARROW_ASSIGN_OR_RAISE(const std::vector<int32_t> ids, IdsOf(from.fields(), path));
    const arrow::FieldVector& fields = mapping->type->fields();
    const bool by_name = std::any_of(fields.begin(), fields.end(), [](const auto& f) { return FieldIdOf(*f) == kNoFieldId; });
    // A variant that is shredded has its value in more places than these.
    if (by_name && from.fields().size() != fields.size()) return TypeError(from, *mapping->type, *path);
    for (const std::shared_ptr<arrow::Field>& wanted : fields) {
      ValueMapping::Child child;
      const int32_t id = FieldIdOf(*wanted);
      if (id == kNoFieldId) {
        child.index = static_cast<const arrow::StructType&>(from).GetFieldIndex(wanted->name());
      } else if (const auto found = std::find(ids.begin(), ids.end(), id); found != ids.end()) {
        child.index = static_cast<int>(found - ids.begin());
      }
      if (child.index >= 0) {
        path->push_back(from.field(child.index)->name());
        ARROW_ASSIGN_OR_RAISE(child.mapping, Map(*from.field(child.index)->type(), wanted->type(), path));
        path->pop_back();
      } else {
        child.missing = DefaultOf(id);
      }
      if (child.mapping == nullptr) {
        auto missing = std::make_shared<ValueMapping>();
        missing->type = wanted->type();
        child.mapping = std::move(missing);
      }
      mapping->children.push_back(std::move(child));
    }
    return arrow::Status::OK();
  }

  /// Element of a list, key and value of a map: there is one of each, whatever its id.
  arrow::Result<std::shared_ptr<const ValueMapping>> MapItems(const DataType& from, const std::vector<std::string_view>& names,
                                                              std::vector<std::string_view>* path,
                                                              std::shared_ptr<ValueMapping> mapping) const {
    const DataType& to = mapping->type->id() == Type::MAP ? *mapping->type->field(0)->type() : *mapping->type;
    for (size_t i = 0; i < names.size(); ++i) {
      ValueMapping::Child child{.index = static_cast<int>(i)};
      path->push_back(names[i]);
      ARROW_ASSIGN_OR_RAISE(child.mapping, Map(*from.field(child.index)->type(), to.field(child.index)->type(), path));
      path->pop_back();
      mapping->children.push_back(std::move(child));
    }
    return mapping;
  }

  const std::string_view file_name_;
  const FieldIdMapping& mapping_;
};

bool HasIdBelow(const arrow::Field& field) {
  if (FieldIdOf(field) != kNoFieldId) return true;
  const arrow::FieldVector& children = field.type()->fields();
  return std::any_of(children.begin(), children.end(), [](const auto& child) { return HasIdBelow(*child); });
}

/// The column of the wanted id among the file's; -1 when there is none. By name only where nothing better is known of the file.
int FindStored(const arrow::Schema& file, const std::vector<int32_t>& ids, int32_t wanted, bool by_name) {
  for (int i = 0; i < file.num_fields(); ++i) {
    if (ids[static_cast<size_t>(i)] != wanted) continue;
    if ((FieldIdOf(*file.field(i)) == kNoFieldId) == by_name) return i;
  }
  return -1;
}

arrow::Result<std::shared_ptr<arrow::Array>> MapChild(const std::shared_ptr<arrow::Array>& values,
                                                      const ValueMapping::Child& child, int64_t rows,
                                                      arrow::compute::ExecContext* context) {
  if (child.index >= 0) return MapValues(values, *child.mapping, context);
  if (child.missing != nullptr) return arrow::MakeArrayFromScalar(*child.missing, rows, context->memory_pool());
  return arrow::MakeArrayOfNull(child.mapping->type, rows, context->memory_pool());
}

}  // namespace

int32_t FieldIdOf(const arrow::Field& field) {
  if (!field.HasMetadata()) return kNoFieldId;
  const int index = field.metadata()->FindKey(kFieldIdKey);
  if (index < 0) return kNoFieldId;
  const std::string& text = field.metadata()->value(index);
  int32_t id = kNoFieldId;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && end == text.data() + text.size() ? id : kNoFieldId;
}

bool HasFieldIds(const arrow::Schema& file) {
  return std::any_of(file.fields().begin(), file.fields().end(), [](const auto& field) { return HasIdBelow(*field); });
}

arrow::Result<std::vector<ColumnSource>> MatchByFieldId(const arrow::Schema& wanted, const arrow::Schema& file,
                                                        std::string_view file_name, const FieldIdMapping& mapping) {
  const Matcher matcher(file_name, mapping);
  std::vector<std::string_view> path;
  ARROW_ASSIGN_OR_RAISE(const std::vector<int32_t> ids, matcher.IdsOf(file.fields(), &path));
  std::vector<ColumnSource> sources;
  for (const std::shared_ptr<arrow::Field>& column : wanted.fields()) {
    const int32_t id = FieldIdOf(*column);
    ColumnSource source;
    const auto constant = mapping.constants.find(id);
    const auto row_number = mapping.row_numbers.find(id);
    const bool is_known = constant != mapping.constants.end() || row_number != mapping.row_numbers.end();
    source.field_index = FindStored(file, ids, id, /*by_name=*/false);
    if (!source.is_stored() && !is_known) source.field_index = FindStored(file, ids, id, /*by_name=*/true);
    if (source.is_stored()) {
      const arrow::Field& stored = *file.field(source.field_index);
      path = {stored.name()};
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const ValueMapping> values, matcher.Map(*stored.type(), column->type(), &path));
      source.needs_cast = values->needs_cast;
      if (column->type()->num_fields() > 0 && !source.needs_cast) source.mapping = std::move(values);
    }
    if (!source.is_stored() || mapping.filled.contains(id)) {
      if (row_number != mapping.row_numbers.end()) source.first_row_number = row_number->second;
      if (constant != mapping.constants.end()) source.constant = constant->second;
    }
    if (!source.is_stored() && !is_known) source.constant = matcher.DefaultOf(id);
    if (!source.is_stored() && source.constant == nullptr && !source.first_row_number.has_value()) {
      if (mapping.required.contains(id)) {
        return MakeError(ErrorKind::kCorruptData, "{} has no column with field id {}: \"{}\", which must not be NULL", file_name,
                         id, column->name());
      }
      source.constant = arrow::MakeNullScalar(column->type());
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

arrow::Result<std::shared_ptr<arrow::Array>> MapValues(const std::shared_ptr<arrow::Array>& values, const ValueMapping& mapping,
                                                       arrow::compute::ExecContext* context) {
  if (mapping.children.empty() && !mapping.needs_cast) {
    return values->type()->Equals(*mapping.type) ? values : arrow::MakeArray(Relabel(values->data(), mapping.type));
  }
  if (mapping.needs_cast) {
    return arrow::compute::Cast(*values, mapping.type, arrow::compute::CastOptions::Safe(), context);
  }
  std::shared_ptr<arrow::ArrayData> mapped = values->data()->Copy();
  mapped->type = mapping.type;
  if (mapping.type->id() == Type::STRUCT) {
    // Children lie beside their parent: its offset is theirs.
    const int64_t rows = values->offset() + values->length();
    mapped->child_data.clear();
    for (const ValueMapping::Child& child : mapping.children) {
      std::shared_ptr<arrow::Array> stored;
      if (child.index >= 0) stored = arrow::MakeArray(values->data()->child_data[static_cast<size_t>(child.index)]);
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> array, MapChild(stored, child, rows, context));
      mapped->child_data.push_back(array->data());
    }
    return arrow::MakeArray(std::move(mapped));
  }
  std::shared_ptr<arrow::ArrayData> items = values->data()->child_data.front();
  if (mapping.type->id() == Type::LIST) {
    ARROW_ASSIGN_OR_RAISE(const auto array, MapValues(arrow::MakeArray(items), *mapping.children.front().mapping, context));
    mapped->child_data = {array->data()};
    return arrow::MakeArray(std::move(mapped));
  }
  items = items->Copy();
  items->type = mapping.type->field(0)->type();
  for (size_t i = 0; i < mapping.children.size(); ++i) {
    const auto stored = arrow::MakeArray(items->child_data[i]);
    ARROW_ASSIGN_OR_RAISE(const auto array, MapValues(stored, *mapping.children[i].mapping, context));
    items->child_data[i] = array->data();
  }
  mapped->child_data = {std::move(items)};
  return arrow::MakeArray(std::move(mapped));
}

}  // namespace icebound::io
