// SPDX-License-Identifier: Apache-2.0
//
// Lists, maps and structs: elements, fields, lengths, membership, concatenation.
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/checked_cast.h>

#include <limits>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/compare_rows.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;

/// The child rows that belong to a row of a list or map.
struct ChildRange {
  int64_t begin;
  int64_t length;
};

/// Lists with 32-bit offsets (list, map) and of fixed size, read alike.
class ListReader {
 public:
  static arrow::Result<ListReader> Make(const Datum& datum, int64_t num_rows, arrow::MemoryPool* pool) {
    ARROW_ASSIGN_OR_RAISE(auto array, ToArray(datum, num_rows, pool));
    const auto id = array->type_id();
    if (id != Type::LIST && id != Type::MAP && id != Type::FIXED_SIZE_LIST) {
      return MakeError(ErrorKind::kUnsupported, "functions of {}", array->type()->ToString());
    }
    return ListReader(std::move(array));
  }
  bool IsNull(int64_t row) const { return array_->IsNull(row); }
  ChildRange At(int64_t row) const {
    if (array_->type_id() == Type::FIXED_SIZE_LIST) {
      const auto& list = checked_cast<const arrow::FixedSizeListArray&>(*array_);
      return {list.value_offset(row), list.list_type()->list_size()};
    }
    const auto& list = checked_cast<const arrow::ListArray&>(*array_);
    return {list.value_offset(row), list.value_length(row)};
  }
  std::shared_ptr<arrow::Array> values() const {
    if (array_->type_id() == Type::FIXED_SIZE_LIST) return checked_cast<const arrow::FixedSizeListArray&>(*array_).values();
    return checked_cast<const arrow::ListArray&>(*array_).values();
  }
  const std::shared_ptr<arrow::Array>& array() const { return array_; }

 private:
  explicit ListReader(std::shared_ptr<arrow::Array> array) : array_(std::move(array)) {}
  std::shared_ptr<arrow::Array> array_;
};

/// The values at child rows (null where the row is null), in the logical type of the elements.
arrow::Result<Datum> TakeChildren(const std::shared_ptr<arrow::Array>& values, arrow::Int64Builder* rows, const TypePtr& type,
                                  const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto indices, rows->Finish());
  ARROW_ASSIGN_OR_RAISE(const Datum taken, arrow::compute::Take(Datum(values), Datum(indices),
                                                                arrow::compute::TakeOptions::NoBoundsCheck(), input.exec));
  return CastDatum(taken, type, indices->length(), input.context, input.exec);
}

/// list[i], from 1; NULL outside.
arrow::Result<Datum> ListSubscript(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader lists, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  const ValueReader<int64_t> subscript(input.arguments[1]);
  const ValidityReader valid(input.arguments[1]);
  arrow::Int64Builder rows(input.context.pool);
  ARROW_RETURN_NOT_OK(rows.Reserve(input.num_rows));
  for (int64_t row = 0; row < input.num_rows; ++row) {
    const ChildRange range = lists.IsNull(row) || !valid[row] ? ChildRange{0, 0} : lists.At(row);
    if (range.length > 0 && subscript[row] >= 1 && subscript[row] <= range.length) {
      rows.UnsafeAppend(range.begin + subscript[row] - 1);
    } else {
      rows.UnsafeAppendNull();
    }
  }
  return TakeChildren(lists.values(), &rows, input.type, input);
}

/// map[key]; NULL when there is no such key.
arrow::Result<Datum> MapSubscript(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader maps, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  const auto& map = checked_cast<const arrow::MapArray&>(*maps.array());
  ARROW_ASSIGN_OR_RAISE(auto keys_wanted, ToArray(input.arguments[1], input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(const Datum keys, ToLogical(Datum(map.keys()), input.context, input.exec));
  const auto keys_array = keys.make_array();
  ARROW_ASSIGN_OR_RAISE(const auto comparer, RowComparer::Make(*keys_array, *keys_wanted));
  arrow::Int64Builder rows(input.context.pool);
  ARROW_RETURN_NOT_OK(rows.Reserve(input.num_rows));
  for (int64_t row = 0; row < input.num_rows; ++row) {
    const ChildRange range = maps.IsNull(row) || keys_wanted->IsNull(row) ? ChildRange{0, 0} : maps.At(row);
    int64_t found = range.begin;
    while (found < range.begin + range.length && comparer->Compare(found, row) != 0) ++found;
    if (found < range.begin + range.length) {
      rows.UnsafeAppend(found);
    } else {
      rows.UnsafeAppendNull();
    }
  }
  return TakeChildren(map.items(), &rows, input.type, input);
}

TypePtr ElementType(const Expr& list) { return LogicalType(LogicalType(list.type())->field(0)->type()); }

/// subscript: list with an integer, map with its key type.
arrow::Result<Resolution> ResolveSubscript(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2) return NoSuchCall(family.name, arguments);
  const TypePtr type = LogicalType(arguments[0]->type());
  if (ClassOf(*type) == kList) {
    if (!IsInteger(ClassOf(*arguments[1]->type()))) {
      return MakeError(ErrorKind::kInvalidInput, "array subscript must have type integer");
    }
    ARROW_ASSIGN_OR_RAISE(arguments[1], CoerceTo(std::move(arguments[1]), arrow::int64()));
    const TypePtr element = ElementType(*arguments[0]);
    return Resolution{family.overloads[0], std::move(arguments), element};
  }
  if (ClassOf(*type) == kMap) {
    const auto& map = checked_cast<const arrow::MapType&>(*type);
    ARROW_ASSIGN_OR_RAISE(arguments[1], CoerceTo(std::move(arguments[1]), LogicalType(map.key_type())));
    return Resolution{family.overloads[1], std::move(arguments), LogicalType(map.item_type())};
  }
  return MakeError(ErrorKind::kInvalidInput, "cannot subscript type {} because it does not support subscripting",
                   SqlTypeName(*type));
}

int FieldIndex(const arrow::DataType& type, const Expr& name) {
  const auto& scalar = checked_cast<const arrow::StringScalar&>(*checked_cast<const LiteralExpr&>(name).value());
  return checked_cast<const arrow::StructType&>(type).GetFieldIndex(std::string(scalar.view()));
}

arrow::Result<Datum> StructField(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto array, ToArray(input.arguments[0], input.num_rows, input.context.pool));
  const int index = FieldIndex(*array->type(), *input.call->children()[1]);
  ARROW_ASSIGN_OR_RAISE(auto field, checked_cast<const arrow::StructArray&>(*array).GetFlattenedField(index, input.context.pool));
  return CastDatum(Datum(field), input.type, input.num_rows, input.context, input.exec);
}

arrow::Result<Resolution> ResolveStructField(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2 || !IsUntypedLiteral(*arguments[1]) || arguments[1]->type()->id() == Type::NA)
    return NoSuchCall(family.name, arguments);
  const TypePtr type = LogicalType(arguments[0]->type());
  if (ClassOf(*type) != kStruct) {
    return MakeError(ErrorKind::kInvalidInput, "column notation .{} applied to type {}, which is not a composite type",
                     checked_cast<const LiteralExpr&>(*arguments[1]).value()->ToString(), SqlTypeName(*type));
  }
  const int index = FieldIndex(*type, *arguments[1]);
  if (index < 0) {
    return MakeError(ErrorKind::kInvalidInput, "the struct has no field \"{}\"",
                     checked_cast<const LiteralExpr&>(*arguments[1]).value()->ToString());
  }
  return Resolution{family.overloads.front(), std::move(arguments), LogicalType(type->field(index)->type())};
}

/// Elements of a list or entries of a map.
arrow::Result<Datum> Cardinality(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader lists, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) {
    *out = static_cast<int32_t>(lists.At(row).length);
    return arrow::Status::OK();
  });
}

/// array_length(list, 1): NULL for an empty list and for other dimensions, as in PostgreSQL.
arrow::Result<Datum> ArrayLength(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader lists, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  const ValueReader<int64_t> dimension(input.arguments[1]);
  const ValidityReader valid(input.arguments[1]);
  arrow::Int32Builder builder(input.context.pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(input.num_rows));
  for (int64_t row = 0; row < input.num_rows; ++row) {
    const bool has_value = !lists.IsNull(row) && valid[row] && dimension[row] == 1 && lists.At(row).length > 0;
    if (has_value) {
      builder.UnsafeAppend(static_cast<int32_t>(lists.At(row).length));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto lengths, builder.Finish());
  return lengths;
}

arrow::Result<Datum> ArrayContains(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader lists, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(auto wanted, ToArray(input.arguments[1], input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(const Datum values, ToLogical(Datum(lists.values()), input.context, input.exec));
  const auto elements = values.make_array();
  ARROW_ASSIGN_OR_RAISE(const auto comparer, RowComparer::Make(*elements, *wanted));
  return MapRowsToBoolean(input, [&](int64_t row) {
    const ChildRange range = lists.At(row);
    for (int64_t i = range.begin; i < range.begin + range.length; ++i) {
      if (comparer->Compare(i, row) == 0) return true;
    }
    return false;
  });
}

arrow::Result<Resolution> ResolveArrayContains(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2 || ClassOf(*arguments[0]->type()) != kList) return NoSuchCall(family.name, arguments);
  const TypePtr element = ElementType(*arguments[0]);
  if (!IsUntypedLiteral(*arguments[1]) && !IsImplicitCast(ClassOf(*arguments[1]->type()), ClassOf(*element))) {
    return NoSuchCall(family.name, arguments);
  }
  ARROW_ASSIGN_OR_RAISE(arguments[1], CoerceTo(std::move(arguments[1]), element));
  return Resolution{family.overloads.front(), std::move(arguments), arrow::boolean()};
}

/// The keys or the values of each map as a list; offsets are the map's own.
template <bool kKeys>
arrow::Result<Datum> MapParts(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto array, ToArray(input.arguments[0], input.num_rows, input.context.pool));
  const auto& map = checked_cast<const arrow::MapArray&>(*array);
  auto data = map.data()->Copy();
  data->type = input.type;
  data->child_data = {(kKeys ? map.keys() : map.items())->data()};
  return data;
}

template <bool kKeys>
arrow::Result<TypePtr> MapPartsResult(const std::vector<ExprPtr>& arguments) {
  const TypePtr logical = LogicalType(arguments[0]->type());
  const auto& map = checked_cast<const arrow::MapType&>(*logical);
  return arrow::list(kKeys ? map.key_type() : map.item_type());
}

/// The elements of one list after those of the other. NULL is as an empty list unless both are.
arrow::Result<Datum> ListConcat(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const ListReader left, ListReader::Make(input.arguments[0], input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(const ListReader right, ListReader::Make(input.arguments[1], input.num_rows, input.context.pool));
  const auto left_values = left.values();
  ARROW_ASSIGN_OR_RAISE(auto all, arrow::Concatenate({left_values, right.values()}, input.context.pool));
  arrow::Int64Builder rows(input.context.pool);
  arrow::TypedBufferBuilder<int32_t> offsets(input.context.pool);
  arrow::TypedBufferBuilder<bool> validity(input.context.pool);
  ARROW_RETURN_NOT_OK(offsets.Append(0));
  const auto append = [&](const ListReader& lists, int64_t row, int64_t base) -> arrow::Status {
    if (lists.IsNull(row)) return arrow::Status::OK();
    const ChildRange range = lists.At(row);
    ARROW_RETURN_NOT_OK(rows.Reserve(range.length));
    for (int64_t i = 0; i < range.length; ++i) rows.UnsafeAppend(base + range.begin + i);
    return arrow::Status::OK();
  };
  for (int64_t row = 0; row < input.num_rows; ++row) {
    ARROW_RETURN_NOT_OK(append(left, row, 0));
    ARROW_RETURN_NOT_OK(append(right, row, left_values->length()));
    if (rows.length() > std::numeric_limits<int32_t>::max())
      return MakeError(ErrorKind::kExecution, "lists of one batch have too many elements");
    ARROW_RETURN_NOT_OK(offsets.Append(static_cast<int32_t>(rows.length())));
    ARROW_RETURN_NOT_OK(validity.Append(!left.IsNull(row) || !right.IsNull(row)));
  }
  ARROW_ASSIGN_OR_RAISE(const Datum values, TakeChildren(all, &rows, input.type->field(0)->type(), input));
  ARROW_ASSIGN_OR_RAISE(auto offsets_buffer, offsets.Finish());
  ARROW_ASSIGN_OR_RAISE(auto validity_buffer, validity.Finish());
  return arrow::ArrayData::Make(input.type, input.num_rows, {std::move(validity_buffer), std::move(offsets_buffer)},
                                {values.array()});
}

}  // namespace

void RegisterNested(FunctionRegistry* registry) {
  registry->Add({.name = "subscript", .kernel = ListSubscript, .can_fail = false});
  registry->Add({.name = "subscript", .kernel = MapSubscript, .can_fail = false});
  registry->SetResolver("subscript", ResolveSubscript);
  registry->Add({.name = "field", .kernel = StructField, .can_fail = false});
  registry->SetResolver("field", ResolveStructField);
  registry->Add(
      {.name = "cardinality", .parameters = {kList}, .result_type = Int32Result, .kernel = Cardinality, .can_fail = false});
  registry->Add(
      {.name = "cardinality", .parameters = {kMap}, .result_type = Int32Result, .kernel = Cardinality, .can_fail = false});
  registry->Add({.name = "array_length",
                 .parameters = {kList, kInt64},
                 .result_type = Int32Result,
                 .kernel = ArrayLength,
                 .can_fail = false});
  registry->Add({.name = "array_contains", .kernel = ArrayContains, .can_fail = false});
  registry->SetResolver("array_contains", ResolveArrayContains);
  registry->Add({.name = "map_keys",
                 .parameters = {kMap},
                 .result_type = MapPartsResult<true>,
                 .kernel = MapParts<true>,
                 .can_fail = false});
  registry->Add({.name = "map_values",
                 .parameters = {kMap},
                 .result_type = MapPartsResult<false>,
                 .kernel = MapParts<false>,
                 .can_fail = false});
  // The list overload of ||: its resolver (with the text ones) takes the second.
  registry->Add({.name = "||", .kernel = ListConcat, .strict = false, .can_fail = false});
}

}  // namespace icebound::expr
