// SPDX-License-Identifier: Apache-2.0
//
// value IN (items). A list of literals becomes a set once, when the expression is made: fixed-width values are reduced to
// integers and kept in a flat table with open addressing, text and bytes in one with string views; up to eight items are compared
// one by one instead. Other lists are rewritten to a chain of =, joined by OR.
//
// The set's memory belongs to the statement, like the literals it is made of, and is in proportion to the SQL text.
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/checked_cast.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "base/error.h"
#include "expr/compare_rows.h"
#include "expr/compare_scalars.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

uint64_t Mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15ULL;
  return value ^ (value >> 29);
}
uint64_t HashOf(int64_t value) { return Mix(static_cast<uint64_t>(value)); }
uint64_t HashOf(Int128 value) { return Mix(static_cast<uint64_t>(value) ^ Mix(static_cast<uint64_t>(value >> 64))); }
uint64_t HashOf(std::string_view value) { return std::hash<std::string_view>()(value); }

/// A read-only hash set: open addressing at half load.
template <typename Key>
class FlatSet {
 public:
  explicit FlatSet(const std::vector<Key>& keys) : slots_(std::bit_ceil(keys.size() * 2 + 2)), used_(slots_.size(), 0) {
    for (const Key& key : keys) {
      const size_t slot = SlotOf(key);
      slots_[slot] = key;
      used_[slot] = 1;
    }
  }
  bool Contains(const Key& key) const { return used_[SlotOf(key)] != 0; }

 private:
  size_t SlotOf(const Key& key) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = HashOf(key) & mask;
    while (used_[slot] != 0 && slots_[slot] != key) slot = (slot + 1) & mask;
    return slot;
  }
  std::vector<Key> slots_;
  std::vector<uint8_t> used_;
};

/// Equal floating-point values get equal bits: one NaN, one zero.
int64_t FloatKey(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0;
  return std::bit_cast<int64_t>(value);
}

/// A list of few texts: comparing the first bytes of each is faster than hashing.
class FewTexts {
 public:
  static constexpr size_t kItemsMax = 8;

  explicit FewTexts(const std::vector<std::string_view>& texts) {
    for (const std::string_view text : texts) items_.push_back({HeadOf(text), text});
  }
  bool Contains(std::string_view value) const {
    const uint64_t head = HeadOf(value);
    for (const Item& item : items_) {
      if (item.head != head || item.text.size() != value.size()) continue;
      if (value.size() <= kHeadBytes || std::memcmp(item.text.data(), value.data(), value.size()) == 0) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kHeadBytes = 8;
  struct Item {
    uint64_t head;
    std::string_view text;
  };

  template <typename Word>
  static uint64_t Load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }
  /// The first 8 bytes, or all of them: different for different texts of one length up to 8.
  static uint64_t HeadOf(std::string_view text) {
    const char* bytes = text.data();
    const size_t size = text.size();
    if (size >= 8) return Load<uint64_t>(bytes);
    if (size >= 4) return Load<uint32_t>(bytes) | Load<uint32_t>(bytes + size - 4) << 32;
    if (size >= 2) return Load<uint16_t>(bytes) | Load<uint16_t>(bytes + size - 2) << 16;
    return size == 1 ? Load<uint8_t>(bytes) : 0;
  }

  std::vector<Item> items_;
};

/// The set of an IN list.
class InSet final : public PreparedCall {
 public:
  /// nullptr when an item is not a literal or its type has no set.
  static std::shared_ptr<const PreparedCall> Make(const std::vector<ExprPtr>& arguments) {
    const TypePtr type = LogicalType(arguments[0]->type());
    auto set = std::make_shared<InSet>();
    for (size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i]->kind() != ExprKind::kLiteral) return nullptr;
      const auto& value = checked_cast<const LiteralExpr&>(*arguments[i]).value();
      if (!value->is_valid) {
        set->has_null_ = true;
      } else if (!set->Add(*value, *type)) {
        return nullptr;
      }
    }
    set->integers_set_.emplace(set->integers_);
    set->wide_set_.emplace(set->wide_);
    set->texts_set_.emplace(set->texts_);
    if (set->texts_.size() <= FewTexts::kItemsMax) set->few_texts_.emplace(set->texts_);
    return set;
  }

  bool has_null() const { return has_null_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Test(const Datum& values, int64_t num_rows, arrow::MemoryPool* pool) const {
    switch (values.type()->id()) {
      case Type::BOOL:
        return TestBooleans(values, num_rows, pool);
      case Type::INT16:
        return TestIntegers<int16_t>(values, num_rows, pool, [](int16_t v) { return int64_t{v}; });
      case Type::INT32:
      case Type::DATE32:
        return TestIntegers<int32_t>(values, num_rows, pool, [](int32_t v) { return int64_t{v}; });
      case Type::INT64:
      case Type::TIME64:
      case Type::TIMESTAMP:
        return TestIntegers<int64_t>(values, num_rows, pool, [](int64_t v) { return v; });
      case Type::FLOAT:
        return TestIntegers<float>(values, num_rows, pool, [](float v) { return FloatKey(v); });
      case Type::DOUBLE:
        return TestIntegers<double>(values, num_rows, pool, FloatKey);
      case Type::DECIMAL64:
        return TestIntegers<int64_t>(values, num_rows, pool, [](int64_t v) { return v; });
      case Type::DECIMAL128: {
        const ValueReader<Int128> reader(values);
        return MapRowsToBits(num_rows, pool, [&](int64_t row) { return wide_set_->Contains(reader[row]); });
      }
      case Type::INTERVAL_MONTH_DAY_NANO: {
        const ValueReader<Interval> reader(values);
        return MapRowsToBits(num_rows, pool, [&](int64_t row) { return wide_set_->Contains(IntervalSpan(reader[row])); });
      }
      default: {
        const BytesReader reader(values);
        if (few_texts_) return MapRowsToBits(num_rows, pool, [&](int64_t row) { return few_texts_->Contains(reader[row]); });
        return MapRowsToBits(num_rows, pool, [&](int64_t row) { return texts_set_->Contains(reader[row]); });
      }
    }
  }

 private:
  bool Add(const arrow::Scalar& value, const arrow::DataType& type) {
    if (!value.type->Equals(type)) return false;
    switch (type.id()) {
      case Type::BOOL:
        integers_.push_back(checked_cast<const arrow::BooleanScalar&>(value).value);
        return true;
      case Type::INT16:
        integers_.push_back(ScalarValue<int16_t>(value));
        return true;
      case Type::INT32:
      case Type::DATE32:
        integers_.push_back(ScalarValue<int32_t>(value));
        return true;
      case Type::INT64:
      case Type::TIME64:
      case Type::TIMESTAMP:
      case Type::DECIMAL64:
        integers_.push_back(ScalarValue<int64_t>(value));
        return true;
      case Type::FLOAT:
        integers_.push_back(FloatKey(ScalarValue<float>(value)));
        return true;
      case Type::DOUBLE:
        integers_.push_back(FloatKey(ScalarValue<double>(value)));
        return true;
      case Type::DECIMAL128:
        wide_.push_back(ScalarValue<Int128>(value));
        return true;
      case Type::INTERVAL_MONTH_DAY_NANO:
        wide_.push_back(IntervalSpan(ScalarValue<Interval>(value)));
        return true;
      default: {
        const auto bytes = BytesOfScalar(value);
        if (!bytes) return false;
        texts_.emplace_back(*bytes);  // The literals outlive the call they belong to.
        return true;
      }
    }
  }

  template <typename T, typename KeyOf>
  arrow::Result<std::shared_ptr<arrow::Buffer>> TestIntegers(const Datum& values, int64_t num_rows, arrow::MemoryPool* pool,
                                                             KeyOf key_of) const {
    constexpr size_t kFewItems = 8;
    ARROW_ASSIGN_OR_RAISE(auto bits, AllocateBits(num_rows, pool));
    const BlockReader<T> reader(values);
    uint8_t bytes[kBlockRows];
    for (int64_t begin = 0; begin < num_rows; begin += kBlockRows) {
      const int64_t count = std::min(kBlockRows, num_rows - begin);
      const T* in = reader.At(begin);
      if (integers_.size() <= kFewItems) {  // A pass an item over the block is faster than hashing.
        std::memset(bytes, 0, count);
        for (const int64_t item : integers_) {
          for (int64_t i = 0; i < count; ++i) bytes[i] |= static_cast<uint8_t>(key_of(in[i]) == item);
        }
      } else {
        for (int64_t i = 0; i < count; ++i) bytes[i] = integers_set_->Contains(key_of(in[i]));
      }
      PackBits(bytes, count, bits->mutable_data(), begin);
    }
    return bits;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> TestBooleans(const Datum& values, int64_t num_rows,
                                                             arrow::MemoryPool* pool) const {
    const arrow::ArrayData& data = *values.array();
    return MapRowsToBits(num_rows, pool, [&](int64_t row) {
      return integers_set_->Contains(arrow::bit_util::GetBit(data.buffers[1]->data(), data.offset + row));
    });
  }

  bool has_null_ = false;
  std::vector<int64_t> integers_;
  std::vector<Int128> wide_;
  std::vector<std::string_view> texts_;
  std::optional<FlatSet<int64_t>> integers_set_;
  std::optional<FlatSet<Int128>> wide_set_;
  std::optional<FlatSet<std::string_view>> texts_set_;
  std::optional<FewTexts> few_texts_;
};

/// Found is true; not found is false, or null when the list holds a NULL.
template <bool kNegated>
arrow::Result<Datum> In(const KernelInput& input) {
  const auto* set = checked_cast<const InSet*>(input.call->prepared());
  if (set == nullptr) return MakeError(ErrorKind::kInternal, "IN without its set");
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments.first(1), input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(auto bits, set->Test(input.arguments[0], input.num_rows, input.context.pool));
  if (set->has_null()) {
    if (validity == nullptr) {
      validity = bits;
    } else {
      ARROW_ASSIGN_OR_RAISE(
          validity, arrow::internal::BitmapAnd(input.context.pool, validity->data(), 0, bits->data(), 0, input.num_rows, 0));
    }
  }
  if (kNegated) {
    ARROW_ASSIGN_OR_RAISE(bits, arrow::internal::InvertBitmap(input.context.pool, bits->data(), 0, input.num_rows));
  }
  return MakeArrayDatum(arrow::boolean(), input.num_rows, std::move(validity), std::move(bits));
}

/// The call over a literal list; value = item OR ... otherwise.
template <bool kNegated>
arrow::Result<ExprPtr> RewriteIn(std::vector<ExprPtr> arguments, TextPosition position) {
  if (arguments.size() < 2) return NoSuchCall("in", arguments);
  const auto is_literal = [](const ExprPtr& item) { return item->kind() == ExprKind::kLiteral; };
  const bool literals = std::all_of(arguments.begin() + 1, arguments.end(), is_literal);
  const auto common = CommonTypeOf(arguments);
  if (literals && common.ok() && ClassOf(**common) < TypeClass::kList) {
    std::vector<ExprPtr> coerced;
    for (const ExprPtr& argument : arguments) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr value, CoerceTo(argument, *common));
      coerced.push_back(std::move(value));
    }
    const Function* function = FunctionRegistry::Get().Find(kNegated ? "not_in" : "in")->overloads.front();
    // A literal that no plain conversion brings to the common type (1e300 among decimals) has no place in the set.
    if (std::all_of(coerced.begin() + 1, coerced.end(), is_literal)) {
      auto call = std::make_shared<CallExpr>(function, coerced, arrow::boolean(), position);
      if (call->prepared() != nullptr) return call;
    }
  }
  std::vector<ExprPtr> tests;
  for (size_t i = 1; i < arguments.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr test, MakeCall("=", {arguments[0], arguments[i]}, position));
    tests.push_back(std::move(test));
  }
  ExprPtr any = tests.front();
  if (tests.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(any, MakeCall("or", std::move(tests), position));
  }
  return kNegated ? MakeCall("not", {any}, position) : any;
}

}  // namespace

void RegisterIn(FunctionRegistry* registry) {
  registry->Add({.name = "in", .kernel = In<false>, .can_fail = false, .strategy = Strategy::kFirst, .prepare = InSet::Make});
  registry->AddRewriter("in", RewriteIn<false>);
  registry->Add({.name = "not_in", .kernel = In<true>, .can_fail = false, .strategy = Strategy::kFirst, .prepare = InSet::Make});
  registry->AddRewriter("not_in", RewriteIn<true>);
}

}  // namespace icebound::expr
