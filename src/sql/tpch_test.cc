// SPDX-License-Identifier: Apache-2.0
//
// The 22 queries of TPC-H, as they stand in benchmarks/queries/tpch, bind against the tables' schemas.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sql/fake_tables_test.h"

namespace icebound::sql {
namespace {

/// The columns of the tables as tpchgen writes them; none may be null.
constexpr std::string_view kTables =
    "customer: c_custkey long, c_name text, c_address text, c_nationkey long, c_phone text, c_acctbal money, c_mktsegment text, "
    "c_comment text;"
    "lineitem: l_orderkey long, l_partkey long, l_suppkey long, l_linenumber int, l_quantity money, l_extendedprice money, "
    "l_discount money, l_tax money, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate "
    "date, "
    "l_shipinstruct text, l_shipmode text, l_comment text;"
    "nation: n_nationkey long, n_name text, n_regionkey long, n_comment text;"
    "orders: o_orderkey long, o_custkey long, o_orderstatus text, o_totalprice money, o_orderdate date, o_orderpriority text, "
    "o_clerk text, o_shippriority int, o_comment text;"
    "part: p_partkey long, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, p_retailprice "
    "money, "
    "p_comment text;"
    "partsupp: ps_partkey long, ps_suppkey long, ps_availqty int, ps_supplycost money, ps_comment text;"
    "region: r_regionkey long, r_name text, r_comment text;"
    "supplier: s_suppkey long, s_name text, s_address text, s_nationkey long, s_phone text, s_acctbal money, s_comment text";

FakeTables TpchTables() {
  const std::map<std::string, std::shared_ptr<arrow::DataType>> types = {{"long", arrow::int64()},
                                                                         {"int", arrow::int32()},
                                                                         {"text", arrow::utf8_view()},
                                                                         {"date", arrow::date32()},
                                                                         {"money", arrow::decimal128(15, 2)}};
  FakeTables tables;
  std::istringstream all{std::string(kTables)};
  for (std::string table; std::getline(all, table, ';');) {
    const size_t colon = table.find(':');
    std::istringstream words(table.substr(colon + 1));
    arrow::FieldVector fields;
    std::string name, type;
    while (words >> name >> type) {
      if (type.ends_with(',')) type.pop_back();
      fields.push_back(arrow::field(name, types.at(type), /*nullable=*/false));
    }
    tables.Add(table.substr(0, colon), fields);
  }
  return tables;
}

/// The query's text, from the source tree around the build directory.
std::string QueryText(int number) {
  const std::string name = fmt::format("benchmarks/queries/tpch/q{:02}.sql", number);
  for (std::filesystem::path folder = std::filesystem::current_path();; folder = folder.parent_path()) {
    std::ifstream file(folder / name);
    if (file) return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (folder == folder.root_path()) break;
  }
  ADD_FAILURE() << name << " is not in a directory around the test's";
  return "";
}

arrow::Result<BoundStatement> Bind(const std::string& text, std::vector<std::shared_ptr<arrow::Scalar>> parameters = {}) {
  FakeTables tables = TpchTables();
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  options.parameters = std::move(parameters);
  return BindStatement(text, tables, options);
}

struct Shape {
  int applies = 0;
  int aggregates = 0;
  int scans = 0;
  bool operator==(const Shape&) const = default;
};

void Count(const plan::LogicalPlan& plan, Shape* shape) {
  shape->applies += plan.kind() == plan::PlanKind::kApply;
  shape->aggregates += plan.kind() == plan::PlanKind::kAggregate;
  shape->scans += plan.kind() == plan::PlanKind::kScan;
  for (const auto& child : plan.children()) Count(*child, shape);
}

TEST(Tpch, AllQueriesBind) {
  const std::vector<Shape> expected = {{0, 1, 1}, {1, 1, 9}, {0, 1, 3}, {1, 1, 2}, {0, 1, 6}, {0, 1, 1}, {0, 1, 6}, {0, 1, 8},
                                       {0, 1, 6}, {0, 1, 4}, {1, 2, 6}, {0, 1, 2}, {0, 2, 2}, {0, 1, 2}, {1, 3, 3}, {1, 1, 3},
                                       {1, 2, 3}, {1, 2, 4}, {0, 1, 2}, {3, 1, 5}, {2, 1, 6}, {2, 2, 3}};
  for (int number = 1; number <= 22; ++number) {
    const auto bound = Bind(QueryText(number));
    ASSERT_TRUE(bound.ok()) << "query " << number << "\n" << bound.status().ToString();
    Shape shape;
    Count(*bound->plan, &shape);
    EXPECT_EQ(shape, expected[static_cast<size_t>(number) - 1])
        << "query " << number << ": " << shape.applies << ", " << shape.aggregates << ", " << shape.scans << "\n"
        << plan::ExplainText(*bound->plan);
  }
}

TEST(Tpch, ParametersStandForConstants) {
  std::string text = QueryText(6);
  const auto replace = [&](std::string_view what, std::string_view with) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.replace(at, what.size(), with);
  };
  replace("date '1994-01-01'", "$1::date");
  replace("0.06", "$2");
  replace("24", "$3");
  const auto bound = Bind(text, {std::make_shared<arrow::StringScalar>("1994-01-01"), std::make_shared<arrow::DoubleScalar>(0.06),
                                 std::make_shared<arrow::Int64Scalar>(24)});
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_NE(plan::ExplainText(*bound->plan).find("l_shipdate >= DATE '1994-01-01'"), std::string::npos)
      << plan::ExplainText(*bound->plan);
}

}  // namespace
}  // namespace icebound::sql
