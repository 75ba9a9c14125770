// SPDX-License-Identifier: Apache-2.0
//
// Rows a second of typical expressions over batches of 8192 rows shaped like TPC-H's lineitem.
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <random>

#include "expr/cast.h"
#include "expr/evaluate.h"
#include "expr/expr.h"
#include "expr/number_text.h"

namespace icebound::expr {
namespace {

constexpr int64_t kRows = 8192;

ExprPtr Call(const char* name, std::vector<ExprPtr> arguments) { return MakeCall(name, std::move(arguments)).ValueOrDie(); }
ExprPtr Integer(int value) { return MakeLiteral(std::make_shared<arrow::Int32Scalar>(value)); }
ExprPtr Text(const char* value) { return MakeLiteral(std::make_shared<arrow::StringScalar>(value)); }
ExprPtr Decimal(const char* value) {
  const auto shape = ShapeOfDecimal(value).ValueOrDie();
  return MakeLiteral(ScalarFromText(value, arrow::decimal128(shape.precision, shape.scale)).ValueOrDie());
}

/// a shipdate, b quantity, c price, d discount (numeric(15,2)), e order key, f comment, g ship mode (dictionary).
std::shared_ptr<arrow::RecordBatch> MakeBatch(bool narrow) {
  std::mt19937 random(1);
  const auto money = narrow ? arrow::decimal64(15, 2) : arrow::decimal128(15, 2);
  arrow::Date32Builder dates;
  arrow::Int64Builder keys;
  arrow::StringBuilder comments, modes;
  std::unique_ptr<arrow::ArrayBuilder> decimals[3];
  for (auto& builder : decimals) builder = arrow::MakeBuilder(money).ValueOrDie();
  const char* words[] = {"furiously", "ironic", "special", "deposits", "requests", "carefully", "final", "packages"};
  const char* kModes[] = {"AIR", "SHIP", "TRUCK", "MAIL", "RAIL", "FOB", "REG AIR"};
  for (int64_t i = 0; i < kRows; ++i) {
    bool ok = dates.Append(8036 + static_cast<int>(random() % 2526)).ok() &&
              keys.Append(static_cast<int64_t>(random() % 6'000'000)).ok();
    for (int column = 0; column < 3; ++column) {
      const int value =
          column == 1 ? 1 + static_cast<int>(random() % 10'000'000) : 1 + static_cast<int>(random() % (column == 0 ? 5000 : 10));
      const auto scalar = ScalarFromText(fmt::format("{}.{:02}", value / 100, value % 100), money).ValueOrDie();
      ok = ok && decimals[column]->AppendScalar(*scalar).ok();
    }
    std::string comment;
    for (int word = 0; word < 4; ++word) comment += std::string(words[random() % 8]) + " ";
    ok = ok && comments.Append(comment).ok() && modes.Append(kModes[random() % 7]).ok();
    if (!ok) std::abort();
  }
  arrow::ArrayVector columns = {dates.Finish().ValueOrDie(),
                                decimals[0]->Finish().ValueOrDie(),
                                decimals[1]->Finish().ValueOrDie(),
                                decimals[2]->Finish().ValueOrDie(),
                                keys.Finish().ValueOrDie(),
                                comments.Finish().ValueOrDie(),
                                arrow::compute::DictionaryEncode(modes.Finish().ValueOrDie()).ValueOrDie().make_array()};
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i)
    fields.push_back(arrow::field(std::string(1, static_cast<char>('a' + i)), columns[i]->type()));
  return arrow::RecordBatch::Make(arrow::schema(fields), kRows, columns);
}

void Measure(benchmark::State& state, ExprPtr (*make)(const std::vector<ExprPtr>& columns), bool narrow = false,
             bool filter = false) {
  const auto batch = MakeBatch(narrow);
  std::vector<ExprPtr> columns;
  for (int i = 0; i < batch->num_columns(); ++i) columns.push_back(MakeColumn(i, *batch->schema()->field(i)));
  const ExprPtr expr = make(columns);
  const EvalContext context{arrow::default_memory_pool(), 0};
  for (auto _ : state) {
    if (filter) {
      benchmark::DoNotOptimize(Filter(*expr, batch, context).ValueOrDie());
    } else {
      benchmark::DoNotOptimize(Evaluate(*expr, *batch, context).ValueOrDie());
    }
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

using Columns = const std::vector<ExprPtr>&;

ExprPtr DateFilter(Columns c) { return Call("<=", {c[0], Text("1998-09-02")}); }
ExprPtr Revenue(Columns c) { return Call("*", {c[2], Call("-", {Integer(1), c[3]})}); }
ExprPtr Charge(Columns c) { return Call("*", {Revenue(c), Call("+", {Integer(1), c[3]})}); }
ExprPtr Q6(Columns c) {
  return MakeAnd({Call(">=", {c[0], Text("1994-01-01")}), Call("<", {c[0], Text("1995-01-01")}),
                  Call(">=", {c[3], Decimal("0.05")}), Call("<=", {c[3], Decimal("0.07")}), Call("<", {c[1], Integer(24)})});
}
ExprPtr Quotient(Columns c) { return Call("/", {c[2], c[1]}); }
ExprPtr KeyPlusOne(Columns c) { return Call("+", {c[4], Integer(1)}); }
ExprPtr KeyModulo(Columns c) { return Call("%", {c[4], Integer(10)}); }
ExprPtr LikeInside(Columns c) { return Call("like", {c[5], Text("%special%requests%")}); }
ExprPtr LikePrefix(Columns c) { return Call("like", {c[5], Text("final%")}); }
ExprPtr ModeIn(Columns c) { return Call("in", {c[6], Text("MAIL"), Text("SHIP")}); }
ExprPtr KeyIn(Columns c) {
  std::vector<ExprPtr> arguments = {c[4]};
  for (int i = 0; i < 100; ++i) arguments.push_back(Integer(i * 37));
  return Call("in", std::move(arguments));
}
ExprPtr Year(Columns c) { return Call("extract", {Text("year"), c[0]}); }
ExprPtr CaseMode(Columns c) { return MakeCase({Call("=", {c[6], Text("MAIL")})}, {Revenue(c)}, Integer(0)).ValueOrDie(); }
ExprPtr Upper(Columns c) { return Call("upper", {c[5]}); }
ExprPtr Substring(Columns c) { return Call("substring", {c[5], Integer(1), Integer(5)}); }
ExprPtr MonthLater(Columns c) {
  return Call("+", {c[0], MakeCast(Text("1 month"), arrow::month_day_nano_interval()).ValueOrDie()});
}

BENCHMARK_CAPTURE(Measure, date_le, DateFilter);
BENCHMARK_CAPTURE(Measure, revenue_decimal128, Revenue);
BENCHMARK_CAPTURE(Measure, revenue_decimal64, Revenue, true);
BENCHMARK_CAPTURE(Measure, charge_decimal128, Charge);
BENCHMARK_CAPTURE(Measure, charge_decimal64, Charge, true);
BENCHMARK_CAPTURE(Measure, quotient, Quotient);
BENCHMARK_CAPTURE(Measure, filter_date, DateFilter, false, true);
BENCHMARK_CAPTURE(Measure, filter_q6_decimal128, Q6, false, true);
BENCHMARK_CAPTURE(Measure, filter_q6_decimal64, Q6, true, true);
BENCHMARK_CAPTURE(Measure, bigint_plus, KeyPlusOne);
BENCHMARK_CAPTURE(Measure, bigint_modulo, KeyModulo);
BENCHMARK_CAPTURE(Measure, like_inside, LikeInside);
BENCHMARK_CAPTURE(Measure, like_prefix, LikePrefix);
BENCHMARK_CAPTURE(Measure, dictionary_in, ModeIn);
BENCHMARK_CAPTURE(Measure, bigint_in_100, KeyIn);
BENCHMARK_CAPTURE(Measure, extract_year, Year);
BENCHMARK_CAPTURE(Measure, case_dictionary, CaseMode);
BENCHMARK_CAPTURE(Measure, upper, Upper);
BENCHMARK_CAPTURE(Measure, substring, Substring);
BENCHMARK_CAPTURE(Measure, date_plus_month, MonthLater);

}  // namespace
}  // namespace icebound::expr
