// SPDX-License-Identifier: Apache-2.0
#include "expr/compare_rows.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/util.h>
#include <arrow/util/checked_cast.h>

#include <vector>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/type_rules.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

Int128 IntervalSpan(const Interval& interval) {
  return (static_cast<Int128>(interval.months) * 30 + interval.days) * kNanosPerDay + interval.nanoseconds;
}

arrow::Result<std::shared_ptr<arrow::Array>> ToArray(const arrow::Datum& datum, int64_t num_rows, arrow::MemoryPool* pool) {
  if (datum.is_array()) return datum.make_array();
  return arrow::MakeArrayFromScalar(*datum.scalar(), num_rows, pool);
}

namespace {

/// Null handling shared by all: NULL equals NULL and is the greatest.
class NullAwareComparer : public RowComparer {
 public:
  NullAwareComparer(const arrow::Array& left, const arrow::Array& right) : left_(left), right_(right) {}
  int Compare(int64_t left_row, int64_t right_row) const final {
    const bool left_null = left_.IsNull(left_row), right_null = right_.IsNull(right_row);
    if (left_null || right_null) return static_cast<int>(left_null) - static_cast<int>(right_null);
    return CompareValid(left_row, right_row);
  }

 protected:
  virtual int CompareValid(int64_t left_row, int64_t right_row) const = 0;

 private:
  const arrow::Array& left_;
  const arrow::Array& right_;
};

template <typename T>
int ThreeWay(const T& left, const T& right) {
  if constexpr (std::is_floating_point_v<T>) {
    if (left != left || right != right) return static_cast<int>(left != left) - static_cast<int>(right != right);
  }
  return left < right ? -1 : (right < left ? 1 : 0);
}

template <typename Reader, typename Map>
class ValueComparer final : public NullAwareComparer {
 public:
  ValueComparer(const arrow::Array& left, const arrow::Array& right, Map map)
      : NullAwareComparer(left, right), left_(arrow::Datum(left.data())), right_(arrow::Datum(right.data())), map_(map) {}

 protected:
  int CompareValid(int64_t left_row, int64_t right_row) const override {
    return ThreeWay(map_(left_[left_row]), map_(right_[right_row]));
  }

 private:
  const Reader left_;
  const Reader right_;
  const Map map_;
};

template <typename Reader, typename Map>
std::unique_ptr<RowComparer> MakeValueComparer(const arrow::Array& left, const arrow::Array& right, Map map) {
  return std::make_unique<ValueComparer<Reader, Map>>(left, right, map);
}

class BooleanComparer final : public NullAwareComparer {
 public:
  BooleanComparer(const arrow::Array& left, const arrow::Array& right)
      : NullAwareComparer(left, right),
        left_(checked_cast<const arrow::BooleanArray&>(left)),
        right_(checked_cast<const arrow::BooleanArray&>(right)) {}

 protected:
  int CompareValid(int64_t left_row, int64_t right_row) const override {
    return static_cast<int>(left_.Value(left_row)) - static_cast<int>(right_.Value(right_row));
  }

 private:
  const arrow::BooleanArray& left_;
  const arrow::BooleanArray& right_;
};

class ListComparer final : public NullAwareComparer {
 public:
  ListComparer(const arrow::ListArray& left, const arrow::ListArray& right, std::unique_ptr<RowComparer> elements)
      : NullAwareComparer(left, right), left_(left), right_(right), elements_(std::move(elements)) {}

 protected:
  int CompareValid(int64_t left_row, int64_t right_row) const override {
    const int64_t left_length = left_.value_length(left_row), right_length = right_.value_length(right_row);
    for (int64_t i = 0; i < std::min(left_length, right_length); ++i) {
      if (const int order = elements_->Compare(left_.value_offset(left_row) + i, right_.value_offset(right_row) + i); order != 0)
        return order;
    }
    return ThreeWay(left_length, right_length);
  }

 private:
  const arrow::ListArray& left_;
  const arrow::ListArray& right_;
  const std::unique_ptr<RowComparer> elements_;
};

class StructComparer final : public NullAwareComparer {
 public:
  StructComparer(const arrow::Array& left, const arrow::Array& right, arrow::ArrayVector fields,
                 std::vector<std::unique_ptr<RowComparer>> comparers)
      : NullAwareComparer(left, right), fields_(std::move(fields)), comparers_(std::move(comparers)) {}

 protected:
  int CompareValid(int64_t left_row, int64_t right_row) const override {
    for (const auto& comparer : comparers_) {
      if (const int order = comparer->Compare(left_row, right_row); order != 0) return order;
    }
    return 0;
  }

 private:
  const arrow::ArrayVector fields_;  ///< keeps the sliced children alive
  const std::vector<std::unique_ptr<RowComparer>> comparers_;
};

arrow::Result<std::unique_ptr<RowComparer>> MakeStruct(const arrow::StructArray& left, const arrow::StructArray& right) {
  arrow::ArrayVector fields;
  std::vector<std::unique_ptr<RowComparer>> comparers;
  for (int i = 0; i < left.num_fields(); ++i) {
    fields.push_back(left.field(i));
    fields.push_back(right.field(i));
    ARROW_ASSIGN_OR_RAISE(auto comparer, RowComparer::Make(*fields[fields.size() - 2], *fields.back()));
    comparers.push_back(std::move(comparer));
  }
  return std::make_unique<StructComparer>(left, right, std::move(fields), std::move(comparers));
}

}  // namespace

arrow::Result<std::unique_ptr<RowComparer>> RowComparer::Make(const arrow::Array& left, const arrow::Array& right) {
  const auto same = [](const auto& value) { return value; };
  switch (left.type_id()) {
    case Type::BOOL:
      return std::make_unique<BooleanComparer>(left, right);
    case Type::INT16:
      return MakeValueComparer<ValueReader<int16_t>>(left, right, same);
    case Type::INT32:
    case Type::DATE32:
      return MakeValueComparer<ValueReader<int32_t>>(left, right, same);
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP:
      return MakeValueComparer<ValueReader<int64_t>>(left, right, same);
    case Type::DECIMAL64:
    case Type::DECIMAL128:
      return MakeValueComparer<DecimalReader>(left, right, same);
    case Type::FLOAT:
      return MakeValueComparer<ValueReader<float>>(left, right, same);
    case Type::DOUBLE:
      return MakeValueComparer<ValueReader<double>>(left, right, same);
    case Type::INTERVAL_MONTH_DAY_NANO:
      return MakeValueComparer<ValueReader<Interval>>(left, right, IntervalSpan);
    case Type::STRING:
    case Type::BINARY:
    case Type::FIXED_SIZE_BINARY:
    case Type::EXTENSION:
      if (left.type_id() == Type::EXTENSION && ClassOf(*left.type()) != TypeClass::kUuid) break;
      return MakeValueComparer<BytesReader>(left, right, same);
    case Type::LIST: {
      const auto& left_list = checked_cast<const arrow::ListArray&>(left);
      const auto& right_list = checked_cast<const arrow::ListArray&>(right);
      ARROW_ASSIGN_OR_RAISE(auto elements, Make(*left_list.values(), *right_list.values()));
      return std::make_unique<ListComparer>(left_list, right_list, std::move(elements));
    }
    case Type::STRUCT:
      return MakeStruct(checked_cast<const arrow::StructArray&>(left), checked_cast<const arrow::StructArray&>(right));
    default:
      break;
  }
  return MakeError(ErrorKind::kUnsupported, "could not identify a comparison function for type {}", SqlTypeName(*left.type()));
}

}  // namespace icebound::expr
