// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_schema.h"

#include <arrow/array/data.h>
#include <arrow/extension_type.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>

#include <map>
#include <set>

#include "base/error.h"

namespace icebound::io {
namespace {

using arrow::DataType;
using arrow::Field;
using arrow::Type;

constexpr char kExtensionName[] = "ARROW:extension:name";
constexpr char kExtensionMetadata[] = "ARROW:extension:metadata";

/// `field` in its plain type, with its metadata (field ids, comments); an extension type leaves its marks there.
std::shared_ptr<Field> PlainField(const Field& field) {
  std::shared_ptr<arrow::KeyValueMetadata> metadata = field.HasMetadata() ? field.metadata()->Copy() : nullptr;
  if (field.type()->id() == Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*field.type());
    if (metadata == nullptr) metadata = std::make_shared<arrow::KeyValueMetadata>();
    IgnoreError(metadata->Set(kExtensionName, extension.extension_name()));
    IgnoreError(metadata->Set(kExtensionMetadata, extension.Serialize()));
  }
  return arrow::field(field.name(), PlainType(field.type()), field.nullable(), std::move(metadata));
}

bool IsSignedInteger(Type::type id) { return id == Type::INT8 || id == Type::INT16 || id == Type::INT32 || id == Type::INT64; }
bool IsUnsignedInteger(Type::type id) {
  return id == Type::UINT8 || id == Type::UINT16 || id == Type::UINT32 || id == Type::UINT64;
}

/// Every value of `from` has the same value in `to`.
bool WidensTo(const DataType& from, const DataType& to) {
  const Type::type a = from.id(), b = to.id();
  if (a == Type::NA) return true;
  if (IsSignedInteger(a) && IsSignedInteger(b)) return from.bit_width() <= to.bit_width();
  if (IsUnsignedInteger(a) && IsUnsignedInteger(b)) return from.bit_width() <= to.bit_width();
  if (IsUnsignedInteger(a) && IsSignedInteger(b)) return from.bit_width() < to.bit_width();
  if (a == Type::FLOAT && b == Type::DOUBLE) return true;
  if (arrow::is_decimal(a) && arrow::is_decimal(b)) {
    const auto& narrow = static_cast<const arrow::DecimalType&>(from);
    const auto& wide = static_cast<const arrow::DecimalType&>(to);
    return narrow.scale() == wide.scale() && narrow.precision() <= wide.precision();
  }
  return false;
}

std::map<std::string, std::vector<int>> FieldsByName(const arrow::Schema& schema) {
  std::map<std::string, std::vector<int>> by_name;
  for (int i = 0; i < schema.num_fields(); ++i) by_name[schema.field(i)->name()].push_back(i);
  return by_name;
}

}  // namespace

std::shared_ptr<DataType> PlainType(const std::shared_ptr<DataType>& type) {
  switch (type->id()) {
    case Type::STRING_VIEW:
    case Type::LARGE_STRING:
      return arrow::utf8();
    case Type::BINARY_VIEW:
    case Type::LARGE_BINARY:
      return arrow::binary();
    case Type::DICTIONARY:
      return PlainType(static_cast<const arrow::DictionaryType&>(*type).value_type());
    case Type::RUN_END_ENCODED:
      return PlainType(static_cast<const arrow::RunEndEncodedType&>(*type).value_type());
    case Type::EXTENSION:
      return PlainType(static_cast<const arrow::ExtensionType&>(*type).storage_type());
    case Type::DECIMAL32:
    case Type::DECIMAL64: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(*type);
      return arrow::decimal128(decimal.precision(), decimal.scale());
    }
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return arrow::list(PlainField(*type->field(0)));
    case Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(PlainField(*type->field(0)), static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    case Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return std::make_shared<arrow::MapType>(PlainField(*map.key_field()), PlainField(*map.item_field()), map.keys_sorted());
    }
    case Type::STRUCT: {
      arrow::FieldVector children;
      for (int i = 0; i < type->num_fields(); ++i) children.push_back(PlainField(*type->field(i)));
      return arrow::struct_(std::move(children));
    }
    default:
      return type;
  }
}

std::shared_ptr<arrow::Schema> PlainSchema(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  for (const std::shared_ptr<Field>& field : schema.fields()) fields.push_back(PlainField(*field));
  return arrow::schema(std::move(fields), schema.metadata());
}

arrow::Result<std::string> PlainStoredSchema(std::string_view encoded, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const std::string decoded, arrow::util::base64_decode(encoded));
  arrow::io::BufferReader input(std::make_shared<arrow::Buffer>(std::string_view(decoded)));
  arrow::ipc::DictionaryMemo dictionaries;
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Schema> stored, arrow::ipc::ReadSchema(&input, &dictionaries));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> plain, arrow::ipc::SerializeSchema(*PlainSchema(*stored), pool));
  return arrow::util::base64_encode(std::string_view(*plain));
}

parquet::ArrowReaderProperties ReadProperties(arrow::MemoryPool* pool) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_io_context(arrow::io::IOContext(pool));
  properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  return properties;
}

bool SameLayout(const DataType& left, const DataType& right) {
  if (left.id() != right.id() || left.num_fields() != right.num_fields()) return false;
  if (left.num_fields() == 0) return left.Equals(right);
  if (left.id() == Type::FIXED_SIZE_LIST && static_cast<const arrow::FixedSizeListType&>(left).list_size() !=
                                                static_cast<const arrow::FixedSizeListType&>(right).list_size()) {
    return false;
  }
  for (int i = 0; i < left.num_fields(); ++i) {
    if (left.id() == Type::STRUCT && left.field(i)->name() != right.field(i)->name()) return false;
    if (!SameLayout(*left.field(i)->type(), *right.field(i)->type())) return false;
  }
  return true;
}

std::shared_ptr<arrow::ArrayData> Relabel(const std::shared_ptr<arrow::ArrayData>& data, const std::shared_ptr<DataType>& type) {
  std::shared_ptr<arrow::ArrayData> copy = data->Copy();
  copy->type = type;
  for (size_t i = 0; i < copy->child_data.size(); ++i) {
    copy->child_data[i] = Relabel(copy->child_data[i], type->field(static_cast<int>(i))->type());
  }
  return copy;
}

arrow::Result<std::vector<ColumnSource>> MatchColumns(const arrow::Schema& table, std::string_view table_file,
                                                      const arrow::Schema& file, std::string_view file_name) {
  std::map<std::string, std::vector<int>> left = FieldsByName(file);
  std::vector<ColumnSource> sources;
  for (const std::shared_ptr<Field>& column : table.fields()) {
    auto found = left.find(column->name());
    if (found == left.end() || found->second.empty()) {
      return MakeError(ErrorKind::kInvalidInput,
                       "files of one table must have the same columns: {} has column \"{}\" ({}), {} has not", table_file,
                       column->name(), column->type()->ToString(), file_name);
    }
    const int index = found->second.front();
    found->second.erase(found->second.begin());
    const DataType& type = *file.field(index)->type();
    const bool as_dictionary = column->type()->id() == Type::DICTIONARY && type.id() != Type::DICTIONARY;
    const DataType& wanted =
        as_dictionary ? *static_cast<const arrow::DictionaryType&>(*column->type()).value_type() : *column->type();
    const bool same = SameLayout(type, wanted);
    if (!same && (as_dictionary || !WidensTo(type, wanted))) {
      return MakeError(ErrorKind::kInvalidInput,
                       "files of one table must have the same column types: column \"{}\" is {} in {}, but {} in {}",
                       column->name(), wanted.ToString(), table_file, type.ToString(), file_name);
    }
    sources.push_back({.field_index = index, .as_dictionary = as_dictionary, .needs_cast = !same});
  }
  for (const auto& [name, indexes] : left) {
    if (indexes.empty()) continue;
    return MakeError(ErrorKind::kInvalidInput,
                     "files of one table must have the same columns: {} has column \"{}\" ({}), {} has not", file_name, name,
                     file.field(indexes.front())->type()->ToString(), table_file);
  }
  return sources;
}

}  // namespace icebound::io
