// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/aggregate_operator.h"

#include "exec/aggregate/aggregate_testing.h"

namespace icebound::exec::aggregate {
namespace {

using namespace test;  // NOLINT: this folder's own

void Must(const arrow::Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

/// Rows with columns of many types; `groups` different values of "k", in no order.
arrow::RecordBatchVector MakeRows(int64_t rows, int64_t groups, int64_t batch_rows = 1000) {
  Random random(static_cast<uint64_t>(rows * 31 + groups));
  arrow::Int64Builder k, x;
  arrow::Int32Builder i;
  arrow::StringBuilder s;
  arrow::Decimal128Builder d(arrow::decimal128(15, 2)), w(arrow::decimal128(30, 4));
  arrow::DoubleBuilder f;
  arrow::BooleanBuilder b;
  arrow::Date32Builder t;
  const auto null = [&] { return Uniform(random, 0, 9) == 0; };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t group = Uniform(random, 0, groups - 1);
    Must(k.Append(group));
    Must(null() ? x.AppendNull() : x.Append(Uniform(random, -1000000000000, 1000000000000)));
    Must(null() ? i.AppendNull() : i.Append(static_cast<int32_t>(Uniform(random, -50, 50))));
    const std::string text(static_cast<size_t>(Uniform(random, 0, 40)), static_cast<char>('a' + group % 26));
    Must(null() ? s.AppendNull() : s.Append(text + std::to_string(Uniform(random, 0, 20))));
    Must(null() ? d.AppendNull() : d.Append(arrow::Decimal128(Uniform(random, -100000, 100000))));
    Must(null() ? w.AppendNull()
                : w.Append(arrow::Decimal128(Uniform(random, -9, 9)) * arrow::Decimal128("10000000000000000000000")));
    Must(null() ? f.AppendNull() : f.Append(static_cast<double>(Uniform(random, -4000, 4000)) / 8));
    Must(null() ? b.AppendNull() : b.Append(Uniform(random, 0, 3) > 0));
    Must(null() ? t.AppendNull() : t.Append(static_cast<int32_t>(Uniform(random, 8000, 8100))));
  }
  arrow::FieldVector fields{arrow::field("k", arrow::int64(), false)};
  arrow::ArrayVector columns{k.Finish().ValueOrDie()};
  const auto add = [&](const char* name, arrow::ArrayBuilder* builder) {
    fields.push_back(arrow::field(name, builder->type()));
    columns.push_back(builder->Finish().ValueOrDie());
  };
  add("x", &x);
  add("i", &i);
  add("s", &s);
  add("d", &d);
  add("w", &w);
  add("f", &f);
  add("b", &b);
  add("t", &t);
  const auto whole = arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < rows; first += batch_rows) batches.push_back(whole->Slice(first, batch_rows));
  if (batches.empty()) batches.push_back(whole);
  return batches;
}

/// How a case is run.
struct Way {
  std::string name;
  int64_t memory_bytes;
  int threads;
  bool force_spill = false;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class AggregateWays : public ::testing::TestWithParam<Way> {
 protected:
  void Check(const AggregateCase& query, const arrow::RecordBatchVector& batches, bool ordered_input = false) {
    const Way& way = GetParam();
    World world(way.memory_bytes, way.threads);
    world.context.force_spill = way.force_spill;
    {
      const int streams = ordered_input ? 1 : way.threads;
      int64_t spilled_bytes = 0;
      ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, batches, streams, &spilled_bytes));
      ExpectSameRows(OutputRows(output), ModelRows(query, batches));
      if (way.force_spill && batches[0]->num_rows() > 0) {
        EXPECT_GT(spilled_bytes, 0);
      }
    }
    world.ExpectNothingHeld();
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, AggregateWays,
                         ::testing::Values(Way{"InMemory", 100 * kMiB, 1}, Way{"InMemoryTwo", 100 * kMiB, 2},
                                           Way{"Little", 2 * kMiB, 1}, Way{"LittleTwo", 3 * kMiB, 2},
                                           Way{"Forced", 40 * kMiB, 1, true}, Way{"ForcedTwo", 40 * kMiB, 2, true}),
                         [](const auto& info) { return info.param.name; });

TEST_P(AggregateWays, FixedStates) {
  for (const int64_t groups : {1, 7, 1200}) {
    const auto batches = MakeRows(6000, groups);
    AggregateCase query(batches[0]->schema());
    query.By({"k"});
    query.Add("count");
    for (const char* column : {"x", "i", "s", "d", "w", "f", "b", "t"}) query.Add("count", column);
    for (const char* function : {"sum", "avg", "min", "max"}) {
      for (const char* column : {"x", "i", "d", "w", "f"}) query.Add(function, column);
    }
    for (const char* function : {"min", "max"}) {
      for (const char* column : {"b", "t"}) query.Add(function, column);
    }
    for (const char* function : {"stddev_samp", "stddev_pop", "var_samp", "var_pop"}) query.Add(function, "f");
    query.Add("bool_and", "b");
    query.Add("bool_or", "b");
    Check(query, batches);
  }
}

TEST_P(AggregateWays, NoGroups) {
  for (const int64_t rows : {0, 1, 6000}) {
    const auto batches = MakeRows(rows, 5);
    AggregateCase query(batches[0]->schema());
    query.Add("count");
    query.Add("sum", "d");
    query.Add("avg", "x");
    query.Add("max", "s");
    query.Add("min", "f");
    query.Add("var_samp", "f");
    query.Add("count", "s").distinct = true;
    query.Add("sum", "i").distinct = true;
    query.Add("bool_or", "b");
    Check(query, batches);
  }
}

TEST_P(AggregateWays, DistinctRows) {
  const auto batches = MakeRows(6000, 50);
  AggregateCase query(batches[0]->schema());
  query.By({"i", "b", "k"});
  Check(query, batches);
}

TEST_P(AggregateWays, ByStringsAndMore) {
  const auto batches = MakeRows(6000, 30);
  AggregateCase query(batches[0]->schema());
  query.By({"s", "b", "t", "d"});
  query.Add("count");
  query.Add("sum", "x");
  Check(query, batches);
}

TEST_P(AggregateWays, ByFloats) {
  const auto batches = MakeRows(6000, 30);
  AggregateCase query(batches[0]->schema());
  query.By({"f"});
  query.Add("count");
  query.Add("max", "s");
  Check(query, batches);
}

TEST_P(AggregateWays, WideStates) {
  for (const int64_t groups : {1, 40, 3000}) {
    const auto batches = MakeRows(6000, groups);
    AggregateCase query(batches[0]->schema());
    query.By({"k"});
    query.Add("min", "s");
    query.Add("max", "s");
    query.Add("sum", "d");
    Check(query, batches);
  }
}

TEST_P(AggregateWays, FirstAndLastInOrder) {
  const auto batches = MakeRows(6000, 100);
  AggregateCase query(batches[0]->schema());
  query.By({"k"});
  for (const char* function : {"first", "last"}) {
    for (const char* column : {"s", "x", "b"}) {
      auto& call = query.Add(function, column);
      // A total order up to equal values.
      call.order_by = {{query.Column("d"), column[0] == 's', false},
                       {query.Column("x"), false, true},
                       {query.Column("s"), true},
                       {query.Column("b")}};
    }
  }
  Check(query, batches);
}

TEST_P(AggregateWays, DistinctArguments) {
  for (const int64_t groups : {1, 300}) {
    const auto batches = MakeRows(6000, groups);
    AggregateCase query(batches[0]->schema());
    query.By({"k"});
    query.Add("count");
    query.Add("count", "s").distinct = true;
    query.Add("count", "i").distinct = true;
    query.Add("sum", "i").distinct = true;
    query.Add("avg", "d").distinct = true;
    query.Add("stddev", "f").distinct = true;
    query.Add("max", "s").distinct = true;
    Check(query, batches);
  }
}

TEST_P(AggregateWays, OnlyDistinctArguments) {
  const auto batches = MakeRows(6000, 300);
  AggregateCase query(batches[0]->schema());
  query.By({"k"});
  query.Add("count", "s").distinct = true;
  Check(query, batches);
}

TEST_P(AggregateWays, Filters) {
  const auto batches = MakeRows(6000, 500);
  AggregateCase query(batches[0]->schema());
  const auto zero = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(45));
  const auto rare = expr::MakeCall(">", {query.Column("i"), zero}).ValueOrDie();
  query.By({"k"});
  query.Add("count").filter = rare;
  query.Add("count", "s").filter = query.Column("b");
  query.Add("sum", "d").filter = rare;
  query.Add("max", "s").filter = rare;
  query.Add("first", "x").filter = rare;
  query.calls.back().order_by = {{query.Column("x")}};
  auto& distinct = query.Add("count", "s");
  distinct.distinct = true;
  distinct.filter = rare;
  auto& list = query.Add("array_agg", "i");
  list.filter = rare;
  list.order_by = {{query.Column("i")}};
  Check(query, batches);
}

TEST_P(AggregateWays, FiltersGuardArguments) {
  const auto batches = MakeRows(3000, 50);
  AggregateCase query(batches[0]->schema());
  const auto zero = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(0));
  const auto hundred = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(100));
  const auto quotient = expr::MakeCall("/", {hundred, query.Column("i")}).ValueOrDie();
  const auto not_zero = expr::MakeCall("<>", {query.Column("i"), zero}).ValueOrDie();
  query.By({"k"});
  query.Add("count", "i").filter = not_zero;
  for (const bool distinct : {false, true}) {
    query.calls.push_back(expr::MakeAggregate("sum", {quotient}, /*star=*/false, {}).ValueOrDie());
    query.calls.back().filter = not_zero;
    query.calls.back().distinct = distinct;
  }
  World world(GetParam().memory_bytes, GetParam().threads);
  world.context.force_spill = GetParam().force_spill;
  EXPECT_OK(RunCase(&world, query, batches, GetParam().threads).status());
  query.calls.back().filter = nullptr;
  World other(GetParam().memory_bytes, GetParam().threads);
  const auto output = RunCase(&other, query, batches, GetParam().threads);
  EXPECT_EQ(GetErrorKind(output.status()), ErrorKind::kExecution);
}

TEST_P(AggregateWays, OrderedLists) {
  for (const int64_t groups : {1, 200}) {
    const auto batches = MakeRows(4000, groups);
    AggregateCase query(batches[0]->schema());
    query.By({"k"});
    query.Add("array_agg", "d").order_by = {{query.Column("d"), true, true}};
    query.Add("string_agg", "s").order_by = {{query.Column("s"), false, false}};
    auto& distinct = query.Add("string_agg", "s");
    distinct.distinct = true;
    distinct.order_by = {{query.Column("s"), true, false}};
    auto& items = query.Add("array_agg", "i");
    items.distinct = true;
    items.order_by = {{query.Column("i")}};
    query.Add("sum", "x");
    Check(query, batches);
  }
}

TEST_P(AggregateWays, ListsInArrivalOrder) {
  const auto batches = MakeRows(4000, 50);
  AggregateCase query(batches[0]->schema());
  query.By({"k"});
  query.Add("array_agg", "x");
  query.Add("string_agg", "s");
  Check(query, batches, /*ordered_input=*/true);
}

TEST_P(AggregateWays, FirstAsItCame) {
  const auto batches = MakeRows(4000, 50);
  if (GetParam().threads > 1) return;  // no order between streams
  AggregateCase query(batches[0]->schema());
  query.By({"k"});
  query.Add("first", "s");
  query.Add("last", "x");
  Check(query, batches, /*ordered_input=*/true);
}

TEST_P(AggregateWays, AnyValueIsOneOfThem) {
  const auto batches = MakeRows(4000, 3000);
  World world(GetParam().memory_bytes, GetParam().threads);
  world.context.force_spill = GetParam().force_spill;
  AggregateCase query(batches[0]->schema());
  query.By({"k"});
  query.Add("any_value", "s");
  ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, batches, GetParam().threads));
  std::map<std::string, std::set<std::string>> values;
  for (const auto& batch : batches) {
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      auto& texts = values[TextOf(*batch->column(0), i)];
      if (batch->column(3)->IsValid(i)) texts.insert(TextOf(*batch->column(3), i));
    }
  }
  size_t rows = 0;
  for (const auto& batch : output) {
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++rows) {
      const auto& texts = values[TextOf(*batch->column(0), i)];
      const std::string text = TextOf(*batch->column(1), i);
      EXPECT_TRUE(texts.empty() ? text == "NULL" : texts.contains(text)) << text;
    }
  }
  EXPECT_EQ(rows, values.size());
}

}  // namespace
}  // namespace icebound::exec::aggregate
