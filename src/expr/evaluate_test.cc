// SPDX-License-Identifier: Apache-2.0
#include "expr/evaluate.h"

#include <arrow/compute/api.h>

#include "expr/functions.h"
#include "expr/test_language.h"

namespace icebound::expr {
namespace {

std::shared_ptr<arrow::Array> ArrayFromText(const TypePtr& type, const std::vector<const char*>& values) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (const char* value : values) {
    EXPECT_TRUE(
        (value == nullptr ? builder->AppendNull() : builder->AppendScalar(*ScalarFromText(value, type).ValueOrDie())).ok());
  }
  return builder->Finish().ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  arrow::FieldVector fields;
  for (const auto& column : columns) fields.push_back(arrow::field("c" + std::to_string(fields.size()), column->type()));
  return arrow::RecordBatch::Make(arrow::schema(fields), columns.front()->length(), columns);
}

/// The values of an expression over a batch, as text joined by commas.
std::string Values(const char* text, const std::shared_ptr<arrow::RecordBatch>& batch) {
  const auto expr = ParseTest(text, batch->schema().get());
  if (!expr.ok()) return "error: " + expr.status().message();
  const auto array = EvaluateToArray(**expr, *batch, TestContext());
  if (!array.ok()) return "error: " + array.status().message();
  EXPECT_TRUE((*array)->ValidateFull().ok()) << (*array)->ValidateFull().ToString();
  EXPECT_EQ((*array)->length(), batch->num_rows());
  std::string joined;
  for (int64_t row = 0; row < (*array)->length(); ++row) {
    if (row > 0) joined += ",";
    joined += TextOfScalar((*array)->GetScalar(row).ValueOrDie());
  }
  return joined;
}

/// The rows a filter keeps, by the values of column 0.
std::string Kept(const char* text, const std::shared_ptr<arrow::RecordBatch>& batch) {
  const auto expr = ParseTest(text, batch->schema().get());
  if (!expr.ok()) return "error: " + expr.status().message();
  const auto kept = Filter(**expr, batch, TestContext());
  if (!kept.ok()) return "error: " + kept.status().message();
  if (*kept == nullptr) return "none";
  EXPECT_TRUE((*kept)->ValidateFull().ok());
  EXPECT_TRUE((*kept)->schema()->Equals(*batch->schema()));
  return (*kept == batch ? "all:" : "") + Values("$0", *kept);
}

TEST(Evaluate, CaseRunsBranchesOnlyForTheirRows) {
  const auto batch = BatchOf({ArrayFromText(arrow::int32(), {"0", "2", nullptr, "5", "0"}),
                              ArrayFromText(arrow::int32(), {"1", "2", "3", nullptr, "5"})});
  EXPECT_EQ(Values("(case (<> $0 0) (/ 10 $0) -1)", batch), "-1,5,-1,2,-1");
  EXPECT_EQ(Values("(case (= $0 0) -1 (/ 10 $0))", batch), "-1,5,NULL,2,-1");
  EXPECT_EQ(Values("(/ 10 $0)", batch), "error: division by zero");
  EXPECT_EQ(Values("(case (= $0 0) 'zero' (> (/ 10 $0) 3) 'small' (is_null $0) 'null')", batch), "zero,small,null,NULL,zero");
  EXPECT_EQ(Values("(case (= $0 0) (cast 'x' integer) $1)",
                   BatchOf({ArrayFromText(arrow::int32(), {"1"}), ArrayFromText(arrow::int32(), {"7"})})),
            "error: invalid input syntax for type integer: \"x\"");  // A literal is read when the statement is.
  EXPECT_EQ(Values("(case (= $0 1) $1 (= $0 2) (+ $1 1) (* $1 10))", batch), "10,3,30,NULL,50");
  // Nested: the inner CASE sees only the rows of its branch.
  EXPECT_EQ(Values("(case (= $0 0) 0 (case (> $0 3) (/ 100 (- $0 5)) (/ 100 $0)))", batch), "error: division by zero");
  EXPECT_EQ(Values("(case (= $0 0) 0 (case (> $0 5) (/ 100 (- $0 5)) (/ 100 $0)))", batch), "0,50,NULL,20,0");
}

TEST(Evaluate, CoalesceAndConnectivesStopWhenDecided) {
  const auto batch = BatchOf(
      {ArrayFromText(arrow::int32(), {"0", "2", nullptr, "5"}), ArrayFromText(arrow::int32(), {"1", nullptr, nullptr, "4"})});
  EXPECT_EQ(Values("(coalesce $1 (/ 10 $0))", batch), "1,5,NULL,4");
  EXPECT_EQ(Values("(and (<> $0 0) (> (/ 10 $0) 3))", batch), "false,true,NULL,false");
  EXPECT_EQ(Values("(or (= $0 0) (> (/ 10 $0) 3))", batch), "true,true,NULL,false");
  EXPECT_EQ(Values("(or (= $0 0) (> (/ 10 $0) 3) (is_null $0))", batch), "true,true,true,false");
  EXPECT_EQ(Values("(and (> (/ 10 $0) 3) (<> $0 0))", batch), "error: division by zero");
}

TEST(Evaluate, FilterKeepsTrueRowsOnly) {
  const auto batch = BatchOf({ArrayFromText(arrow::int32(), {"0", "1", nullptr, "3", "4", "5"}),
                              ArrayFromText(arrow::utf8(), {"a", "b", "c", nullptr, "e", "f"})});
  EXPECT_EQ(Kept("(> $0 1)", batch), "3,4,5");
  EXPECT_EQ(Kept("(> $0 9)", batch), "none");
  EXPECT_EQ(Kept("true", batch), "all:0,1,NULL,3,4,5");
  EXPECT_EQ(Kept("null", batch), "none");
  EXPECT_EQ(Kept("false", batch), "none");
  EXPECT_EQ(Kept("(or (is_null $0) (>= $0 0))", batch), "all:0,1,NULL,3,4,5");
  EXPECT_EQ(Kept("(<> $1 'b')", batch), "0,NULL,4,5");
  EXPECT_EQ(Kept("(not (= $0 1))", batch), "0,3,4,5");
  EXPECT_EQ(Kept("(and (<> $0 0) (> (/ 12 $0) 3))", batch), "1,3");
  EXPECT_EQ(Kept("(and (<> $0 0) (> (/ 12 $0) 2) (like $1 '%'))", batch), "1,4");
  EXPECT_EQ(Kept("(and (> (/ 12 $0) 2) (<> $0 0))", batch), "error: division by zero");
  EXPECT_EQ(Kept("(> $0 0)", batch->Slice(1, 3)), "1,3");
  EXPECT_EQ(Kept("(> $0 0)", batch->Slice(0, 0)), "none");
}

/// Every column type survives a filter, views included, in its own type.
TEST(Evaluate, FilterCarriesAllTypes) {
  const auto numbers = ArrayFromText(arrow::int32(), {"0", "1", "2", "3", "4"});
  const auto text = ArrayFromText(arrow::utf8(), {"zero", "one", nullptr, "three", "a text longer than a view holds inline"});
  const auto list_type = arrow::list(arrow::int32());
  auto builder = arrow::MakeBuilder(list_type).ValueOrDie();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(static_cast<arrow::ListBuilder&>(*builder).Append().ok());
    ASSERT_TRUE(static_cast<arrow::Int32Builder&>(*static_cast<arrow::ListBuilder&>(*builder).value_builder()).Append(i).ok());
  }
  std::vector<std::shared_ptr<arrow::Array>> columns = {numbers, text, builder->Finish().ValueOrDie()};
  for (const TypePtr& type : {arrow::large_utf8(), arrow::utf8_view(), arrow::binary()}) {
    columns.push_back(arrow::compute::Cast(*text, type).ValueOrDie());
  }
  columns.push_back(arrow::compute::DictionaryEncode(text).ValueOrDie().make_array());
  const auto batch = BatchOf(columns);
  const auto expr = ParseTest("(in $0 1 4)", batch->schema().get()).ValueOrDie();
  const auto kept = Filter(*expr, batch, TestContext()).ValueOrDie();
  ASSERT_TRUE(kept->ValidateFull().ok());
  const auto expected_rows = ArrayFromText(arrow::int64(), {"1", "4"});
  for (int i = 0; i < batch->num_columns(); ++i) {
    EXPECT_TRUE(kept->column(i)->type()->Equals(*batch->column(i)->type()));
    EXPECT_EQ(kept->num_rows(), 2);
    EXPECT_TRUE(kept->column(i)->GetScalar(0).ValueOrDie()->Equals(*batch->column(i)->GetScalar(1).ValueOrDie())) << i;
    EXPECT_TRUE(kept->column(i)->GetScalar(1).ValueOrDie()->Equals(*batch->column(i)->GetScalar(4).ValueOrDie())) << i;
  }
}

TEST(Evaluate, ColumnsComeInManyShapes) {
  const auto check = [](const TypePtr& physical, const TypePtr& logical, const std::vector<const char*>& values, const char* text,
                        const char* expected) {
    const auto column = arrow::compute::Cast(*ArrayFromText(logical, values), physical).ValueOrDie();
    EXPECT_EQ(Values(text, BatchOf({column})), expected) << physical->ToString();
  };
  check(arrow::int8(), arrow::int16(), {"1", nullptr, "-3"}, "(+ $0 1)", "2,NULL,-2");
  check(arrow::uint8(), arrow::int16(), {"255", nullptr}, "(+ $0 1)", "256,NULL");
  check(arrow::uint16(), arrow::int32(), {"65535", nullptr}, "(* $0 65535)", "error: integer out of range");
  check(arrow::uint32(), arrow::int64(), {"4294967295", nullptr}, "(+ $0 1)", "4294967296,NULL");
  check(arrow::uint64(), arrow::int64(), {"9223372036854775807", nullptr}, "(+ $0 1)", "9223372036854775808,NULL");
  check(arrow::timestamp(arrow::TimeUnit::SECOND), arrow::timestamp(arrow::TimeUnit::MICRO), {"2020-01-31 10:00", nullptr},
        "(+ $0 interval'1 month')", "2020-02-29 10:00:00,NULL");
  check(arrow::timestamp(arrow::TimeUnit::MILLI), arrow::timestamp(arrow::TimeUnit::MICRO), {"2020-01-31 10:00"},
        "(extract 'hour' $0)", "10");
  check(arrow::timestamp(arrow::TimeUnit::NANO), arrow::timestamp(arrow::TimeUnit::NANO), {"2020-01-31 10:00:00.123456789"},
        "(extract 'second' $0)", "0.123456");
  check(arrow::timestamp(arrow::TimeUnit::NANO), arrow::timestamp(arrow::TimeUnit::NANO), {"2020-01-31 10:00:00.123456789"},
        "(+ $0 interval'1 month')", "2020-02-29 10:00:00.123456789");
  check(arrow::date64(), arrow::date32(), {"2020-01-31", nullptr}, "(+ $0 1)", "2020-02-01,NULL");
  check(arrow::time32(arrow::TimeUnit::SECOND), arrow::time64(arrow::TimeUnit::MICRO), {"10:00", nullptr},
        "(+ $0 interval'1 hour')", "11:00:00,NULL");
  check(arrow::decimal32(5, 2), arrow::decimal128(5, 2), {"1.50", nullptr}, "(* $0 2)", "3.00,NULL");
  check(arrow::decimal64(15, 2), arrow::decimal128(15, 2), {"1.50", nullptr, "-7.25"}, "(* $0 (- 1 $0))",
        "-0.7500,NULL,-59.8125");
  check(arrow::decimal256(30, 2), arrow::decimal128(30, 2), {"1.50", nullptr}, "(* $0 2)", "3.00,NULL");
  check(arrow::large_utf8(), arrow::utf8(), {"Ab", nullptr}, "(upper $0)", "AB,NULL");
  check(arrow::utf8_view(), arrow::utf8(), {"Ab", nullptr, "a rather long text, longer than twelve"}, "(left $0 2)",
        "Ab,NULL,a ");
  check(arrow::dictionary(arrow::int8(), arrow::utf8()), arrow::utf8(), {"Ab", nullptr, "Ab", "c"}, "(|| (lower $0) '!')",
        "ab!,NULL,ab!,c!");
}

/// Buffers from files and streams are aligned to 8 bytes only.
TEST(Evaluate, DecimalsMayBeAlignedToEightBytes) {
  const auto column = ArrayFromText(arrow::decimal128(20, 2), {"1.50", nullptr, "-7.25", "100.00"});
  const auto& data = *column->data();
  std::shared_ptr<arrow::Buffer> shifted = arrow::AllocateBuffer(data.buffers[1]->size() + 8).ValueOrDie();
  std::memcpy(shifted->mutable_data() + 8, data.buffers[1]->data(), data.buffers[1]->size());
  const auto moved =
      arrow::MakeArray(arrow::ArrayData::Make(data.type, data.length, {data.buffers[0], arrow::SliceBuffer(shifted, 8)}));
  const auto batch = BatchOf({moved});
  EXPECT_EQ(Values("(negate $0)", batch), "-1.50,NULL,7.25,-100.00");
  EXPECT_EQ(Values("(abs $0)", batch), "1.50,NULL,7.25,100.00");
  EXPECT_EQ(Values("(+ $0 $0)", batch), "3.00,NULL,-14.50,200.00");
  EXPECT_EQ(Values("(< $0 1.75)", batch), "true,NULL,true,false");
  EXPECT_EQ(Values("(in $0 1.50 100)", batch), "true,NULL,false,true");
  EXPECT_EQ(Values("(round $0 1)", batch), "1.5,NULL,-7.3,100.0");
  EXPECT_EQ(Values("(cast $0 text)", batch), "1.50,NULL,-7.25,100.00");
}

TEST(Evaluate, DurationsAndRunsAndNullColumns) {
  auto durations = arrow::MakeBuilder(arrow::duration(arrow::TimeUnit::SECOND)).ValueOrDie();
  ASSERT_TRUE(static_cast<arrow::DurationBuilder&>(*durations).Append(90).ok());
  ASSERT_TRUE(durations->AppendNull().ok());
  EXPECT_EQ(Values("(+ date'2020-01-01' $0)", BatchOf({durations->Finish().ValueOrDie()})), "2020-01-01 00:01:30,NULL");
  const auto runs =
      arrow::compute::RunEndEncode(ArrayFromText(arrow::utf8(), {"a", "a", nullptr, "b"})).ValueOrDie().make_array();
  EXPECT_EQ(Values("(upper $0)", BatchOf({runs})), "A,A,NULL,B");
  const auto nulls = std::make_shared<arrow::NullArray>(2);
  EXPECT_EQ(Values("(is_null $0)", BatchOf({nulls})), "true,true");
  EXPECT_EQ(Values("(+ (cast $0 integer) 1)", BatchOf({nulls})), "NULL,NULL");
  EXPECT_EQ(Values("(coalesce (cast $0 text) 'x')", BatchOf({nulls})), "x,x");
}

/// A dictionary is worked on once a value, whatever nulls its indices and its values have.
TEST(Evaluate, DictionariesWithNullsAndUnusedValues) {
  const auto values = ArrayFromText(arrow::utf8(), {"apple", nullptr, "banana", "not a number"});
  const auto indices = ArrayFromText(arrow::int32(), {"0", "1", nullptr, "2", "0", "2"});
  const auto column =
      arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()), indices, values).ValueOrDie();
  const auto batch = BatchOf({column, ArrayFromText(arrow::utf8(), {"a", "b", "c", "d", "e", "f"})});
  EXPECT_EQ(Values("(like $0 '%an%')", batch), "false,NULL,NULL,true,false,true");
  EXPECT_EQ(Values("(= $0 'apple')", batch), "true,NULL,NULL,false,true,false");
  EXPECT_EQ(Values("(in $0 'apple' 'pear')", batch), "true,NULL,NULL,false,true,false");
  EXPECT_EQ(Values("(is_null $0)", batch), "false,true,true,false,false,false");
  EXPECT_EQ(Values("(is_distinct_from $0 null)", batch), "true,false,false,true,true,true");
  EXPECT_EQ(Values("(upper (substring $0 1 2))", batch), "AP,NULL,NULL,BA,AP,BA");
  EXPECT_EQ(Values("(|| $0 $1)", batch), "applea,NULL,NULL,bananad,applee,bananaf");
  EXPECT_EQ(Values("(length $0)", batch), "5,NULL,NULL,6,5,6");
  EXPECT_EQ(Values("(coalesce $0 'none')", batch), "apple,none,none,banana,apple,banana");
  EXPECT_EQ(Values("(case (= $0 'apple') $0 $1)", batch), "apple,b,c,d,apple,f");
  EXPECT_EQ(Values("$0", batch->Slice(2, 3)), "NULL,banana,apple");
  EXPECT_EQ(Values("(upper $0)", batch->Slice(2, 3)), "NULL,BANANA,APPLE");
  EXPECT_EQ(Kept("(= $0 'banana')", batch), "banana,banana");
  // The value that no row has must not fail the cast.
  const auto narrow = arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int16(), arrow::utf8()),
                                                         ArrayFromText(arrow::int16(), {"0", "2"}),
                                                         ArrayFromText(arrow::utf8(), {"12", "x", "7"}))
                          .ValueOrDie();
  EXPECT_EQ(Values("(cast $0 integer)", BatchOf({narrow})), "12,7");
}

TEST(Evaluate, NestedValues) {
  const auto list_type = arrow::list(arrow::int32());
  auto lists = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& elements = static_cast<arrow::Int32Builder&>(*lists->value_builder());
  ASSERT_TRUE(lists->Append().ok() && elements.AppendValues({1, 2, 3}).ok());
  ASSERT_TRUE(lists->AppendNull().ok());
  ASSERT_TRUE(lists->Append().ok());
  ASSERT_TRUE(lists->Append().ok() && elements.Append(7).ok() && elements.AppendNull().ok());
  const auto list = lists->Finish().ValueOrDie();
  const auto numbers = ArrayFromText(arrow::int32(), {"2", "1", "1", "5"});
  const auto record =
      arrow::StructArray::Make(arrow::ArrayVector{numbers, ArrayFromText(arrow::utf8(), {"x", nullptr, "y", "z"})},
                               std::vector<std::string>{"n", "s"})
          .ValueOrDie();
  const auto batch = BatchOf({list, numbers, record});
  EXPECT_EQ(Values("(subscript $0 1)", batch), "1,NULL,NULL,7");
  EXPECT_EQ(Values("(subscript $0 $1)", batch), "2,NULL,NULL,NULL");
  EXPECT_EQ(Values("(subscript $0 $1)", batch->Slice(3, 1)), "NULL");
  EXPECT_EQ(Values("(cardinality $0)", batch), "3,NULL,0,2");
  EXPECT_EQ(Values("(array_length $0 1)", batch), "3,NULL,NULL,2");
  EXPECT_EQ(Values("(array_contains $0 $1)", batch), "true,NULL,false,false");
  EXPECT_EQ(Values("(cardinality (|| $0 $0))", batch), "6,NULL,0,4");
  EXPECT_EQ(Values("(subscript (|| $0 $0) 4)", batch), "1,NULL,NULL,NULL");
  EXPECT_EQ(Values("(field $2 's')", batch), "x,NULL,y,z");
  EXPECT_EQ(Values("(+ (field $2 'n') 1)", batch), "3,2,2,6");
  EXPECT_EQ(Values("(field $2 'q')", batch), "error: the struct has no field \"q\"");
  EXPECT_EQ(Values("(= $0 $0)", batch), "true,NULL,true,true");
  EXPECT_EQ(Values("(< $2 $2)", batch), "false,false,false,false");
  EXPECT_EQ(Values("(subscript $1 1)", batch), "error: cannot subscript type integer because it does not support subscripting");
  EXPECT_EQ(
      Values("(+ $0 1)", batch),
      "error: operator does not exist: integer[] + integer; no candidate matches the argument types, explicit casts may help");
}

/// Values outside a slice, and hidden ones, do not fail a cast of a list or struct.
TEST(Evaluate, NestedCasts) {
  auto lists = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto& elements = static_cast<arrow::StringBuilder&>(*lists->value_builder());
  ASSERT_TRUE(lists->Append().ok() && elements.Append("x").ok());
  ASSERT_TRUE(lists->Append().ok() && elements.AppendValues({"1", "2"}).ok() && elements.AppendNull().ok());
  ASSERT_TRUE(lists->AppendNull().ok());
  ASSERT_TRUE(lists->Append().ok() && elements.Append("y").ok());
  const auto list = lists->Finish().ValueOrDie();
  const auto texts = ArrayFromText(arrow::utf8(), {"x", "5", nullptr, "y"});
  const auto record = arrow::StructArray::Make(arrow::ArrayVector{texts}, std::vector<std::string>{"n"}).ValueOrDie();
  const auto batch = BatchOf({list, record});
  const auto cast = [&](int column, const TypePtr& type, int64_t offset, int64_t length) {
    const auto expr = MakeCast(MakeColumn(column, *batch->schema()->field(column)), type).ValueOrDie();
    return EvaluateToArray(*expr, *batch->Slice(offset, length), TestContext());
  };
  const auto numbers = cast(0, arrow::list(arrow::int32()), 1, 2).ValueOrDie();
  ASSERT_TRUE(numbers->ValidateFull().ok());
  EXPECT_EQ(numbers->GetScalar(0).ValueOrDie()->ToString(), "list<item: int32>[1, 2, null]");
  EXPECT_TRUE(numbers->IsNull(1));
  EXPECT_FALSE(cast(0, arrow::list(arrow::int32()), 0, 2).ok());
  const auto record_type = arrow::struct_({arrow::field("n", arrow::int64())});
  const auto records = cast(1, record_type, 1, 2).ValueOrDie();
  ASSERT_TRUE(records->ValidateFull().ok());
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*static_cast<const arrow::StructArray&>(*records).field(0)).Value(0), 5);
  EXPECT_FALSE(cast(1, record_type, 0, 4).ok());
  EXPECT_FALSE(MakeCast(MakeColumn(1, *batch->schema()->field(1)), arrow::int32()).ok());
}

TEST(Evaluate, Maps) {
  auto builder = arrow::MakeBuilder(arrow::map(arrow::utf8(), arrow::int32())).ValueOrDie();
  auto& maps = static_cast<arrow::MapBuilder&>(*builder);
  auto& keys = static_cast<arrow::StringBuilder&>(*maps.key_builder());
  auto& items = static_cast<arrow::Int32Builder&>(*maps.item_builder());
  ASSERT_TRUE(maps.Append().ok() && keys.Append("a").ok() && items.Append(1).ok() && keys.Append("b").ok() &&
              items.Append(2).ok());
  ASSERT_TRUE(maps.AppendNull().ok());
  ASSERT_TRUE(maps.Append().ok() && keys.Append("b").ok() && items.AppendNull().ok());
  const auto batch = BatchOf({builder->Finish().ValueOrDie()});
  EXPECT_EQ(Values("(subscript $0 'b')", batch), "2,NULL,NULL");
  EXPECT_EQ(Values("(subscript $0 'a')", batch), "1,NULL,NULL");
  EXPECT_EQ(Values("(cardinality $0)", batch), "2,NULL,1");
  EXPECT_EQ(Values("(subscript (map_keys $0) 1)", batch), "a,NULL,b");
  EXPECT_EQ(Values("(subscript (map_values $0) 2)", batch), "2,NULL,NULL");
}

/// Nothing is allocated but from the pool that is given.
TEST(Evaluate, AllocatesFromTheGivenPoolOnly) {
  const auto pool = arrow::MemoryPool::CreateDefault();
  EvalContext context{pool.get(), 0};
  std::vector<const char*> numbers, texts;
  for (int i = 0; i < 1000; ++i) {
    numbers.push_back(i % 7 == 0 ? nullptr : "123456");
    texts.push_back(i % 5 == 0 ? nullptr : "Some text, rather long: 42");
  }
  const auto text = ArrayFromText(arrow::utf8(), texts);
  const auto batch =
      BatchOf({ArrayFromText(arrow::int32(), numbers), text, arrow::compute::DictionaryEncode(text).ValueOrDie().make_array(),
               arrow::compute::Cast(*text, arrow::utf8_view()).ValueOrDie(), ArrayFromText(arrow::decimal128(15, 2), numbers)});
  for (const char* expression : {
           "(+ $0 1)",
           "(/ $4 3)",
           "(* $4 (- 1 $4))",
           "(upper $1)",
           "(|| $1 $3)",
           "(like $1 '%text%')",
           "(like $2 '%text%')",
           "(ilike $1 'SOME%')",
           "(~ $1 'l.ng')",
           "(regexp_replace $1 'o' 'x' 'g')",
           "(case (> $0 5) (/ 10 $0) 7)",
           "(coalesce $0 (/ 10 $0))",
           "(cast $0 text)",
           "(cast $1 bytea)",
           "(in $0 1 2 3)",
           "(in $1 'a' 'b' 'c')",
           "(greatest $0 5 (+ $0 1))",
           "(and (> $0 1) (< (/ $0 2) 9))",
           "(is_distinct_from $0 5)",
           "(concat_ws ',' $0 $1)",
           "(initcap $1)",
           "(extract 'year' (+ date'2020-01-01' (% $0 1000)))",
           "(substring $2 2 3)",
           "(position $1 'text')",
           "(regexp_substr $1 '[0-9]+')",
       }) {
    SCOPED_TRACE(expression);
    const auto expr = ParseTest(expression, batch->schema().get()).ValueOrDie();
    const int64_t before = arrow::default_memory_pool()->total_bytes_allocated();
    {
      const auto value = EvaluateToArray(*expr, *batch, context);
      ASSERT_TRUE(value.ok()) << value.status().ToString();
      if ((*value)->type_id() == arrow::Type::BOOL) ASSERT_TRUE(Filter(*expr, batch, context).ok());
    }
    EXPECT_EQ(arrow::default_memory_pool()->total_bytes_allocated(), before);
    EXPECT_EQ(pool->bytes_allocated(), 0);
  }
}

/// A pool that refuses stops a function that makes a huge value.
TEST(Evaluate, HugeValuesStopAtThePoolsLimit) {
  arrow::CappedMemoryPool pool(arrow::default_memory_pool(), 1 << 20);
  const EvalContext context{&pool, 0};
  for (const char* text :
       {"(repeat 'x' 100000000)", "(lpad 'x' 100000000 'y')", "(replace (repeat 'x' 10000) 'x' (repeat 'y' 10000))"}) {
    const auto value = EvaluateConstant(*ParseTest(text).ValueOrDie(), context);
    EXPECT_TRUE(value.status().IsOutOfMemory()) << value.status().ToString();
  }
  EXPECT_EQ(RunTest("(repeat 'xyz' 2000000000)"), "error: requested length too large");
}

TEST(Evaluate, ClockIsTheStatements) {
  EXPECT_EQ(RunTest("(now)"), "2024-02-29 12:34:56.789012+00");
  EXPECT_EQ(RunTest("(current_timestamp)"), "2024-02-29 12:34:56.789012+00");
  EXPECT_EQ(RunTest("(localtimestamp)"), "2024-02-29 12:34:56.789012");
  EXPECT_EQ(RunTest("(current_date)"), "2024-02-29");
  EXPECT_EQ(RunTest("(current_time)"), "12:34:56.789012");
  EXPECT_EQ(RunTest("(age timestamp'2024-02-28')"), "1 day");
  EXPECT_EQ(RunTest("(- (current_date) 29)"), "2024-01-31");
}

TEST(Evaluate, RandomIsNewInEveryRow) {
  const auto batch = BatchOf({ArrayFromText(arrow::int32(), {"1", "2", "3", "4"})});
  const auto expr = ParseTest("(random)").ValueOrDie();
  EXPECT_FALSE(IsDeterministic(*expr));
  EXPECT_FALSE(IsConstant(*expr));
  const auto array = EvaluateToArray(*expr, *batch, TestContext()).ValueOrDie();
  const auto& values = static_cast<const arrow::DoubleArray&>(*array);
  ASSERT_EQ(values.length(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(values.Value(i), 0);
    EXPECT_LT(values.Value(i), 1);
    if (i > 0) EXPECT_NE(values.Value(i), values.Value(i - 1));
  }
  EXPECT_EQ(EvaluateToArray(*ParseTest("(+ (random) 1)").ValueOrDie(), *batch, TestContext()).ValueOrDie()->length(), 4);
}

TEST(Evaluate, ScalarsStayScalars) {
  const auto batch = BatchOf({ArrayFromText(arrow::int32(), {"1", "2"})});
  for (const char* text : {"(+ 1 2)", "(case true 1 (/ $0 0))", "(and false (= $0 1))", "(+ $0 null)", "(coalesce 1 $0)",
                           "(upper 'x')", "(in 5 1 2)"}) {
    const auto expr = ParseTest(text, batch->schema().get()).ValueOrDie();
    EXPECT_TRUE(Evaluate(*expr, *batch, TestContext()).ValueOrDie().is_scalar()) << text;
  }
}

TEST(Evaluate, ErrorsSayWhatIsWrong) {
  const auto batch = BatchOf({ArrayFromText(arrow::int32(), {"1", "2"})});
  const auto missing = MakeColumn(3, *arrow::field("gone", arrow::int32()));
  const auto status = Evaluate(*missing, *batch, TestContext()).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInternal);
  const auto divided = Evaluate(*ParseTest("(/ $0 0)", batch->schema().get()).ValueOrDie(), *batch, TestContext()).status();
  EXPECT_EQ(GetErrorKind(divided), ErrorKind::kExecution);
  EXPECT_EQ(GetErrorKind(ParseTest("(+ 1 'x')").status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(GetErrorKind(ParseTest("(nosuch 1)").status()), ErrorKind::kInvalidInput);
}

}  // namespace
}  // namespace icebound::expr
