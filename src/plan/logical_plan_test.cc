// SPDX-License-Identifier: Apache-2.0
#include "plan/logical_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/batch_stream.h"

namespace icebound::plan {
namespace {

class FakeSource final : public TableSource {
 public:
  FakeSource() {
    const auto metadata = arrow::key_value_metadata({"PARQUET:field_id"}, {"7"});
    schema_ = arrow::schema({arrow::field("a", arrow::int32(), /*nullable=*/false, metadata), arrow::field("b", arrow::utf8())});
  }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return "fake"; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const ScanRequest&, runtime::QueryContext*) const override {
    return MakeError(ErrorKind::kInternal, "a fake table has no rows");
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
};

PlanPtr Scan(ScanRequest request) { return std::make_shared<ScanNode>(std::make_shared<FakeSource>(), "t", std::move(request)); }
PlanPtr Scan() {
  ScanRequest request;
  request.projection = {0, 1};
  return Scan(std::move(request));
}
expr::ExprPtr Column(const PlanPtr& plan, int index) { return expr::MakeColumn(index, *plan->schema()->field(index)); }
expr::ExprPtr Number(int32_t value) { return expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(value)); }

TEST(LogicalPlan, ScansHaveTheSchemaOfTheirProjection) {
  ScanRequest request;
  request.projection = {1, 0};
  request.limit = 10;
  request.ordered = true;
  request.filters = {expr::MakeCall("<", {expr::MakeColumn(1, *arrow::field("a", arrow::int32())), Number(3)}).ValueOrDie()};
  const PlanPtr scan = Scan(request);
  EXPECT_EQ(scan->schema()->field_names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(scan->Describe(), "Scan: t columns=[b, a] filters=[a < 3] limit=10 ordered");
}

TEST(LogicalPlan, ProjectionsKeepNullabilityAndFieldIdsOfColumns) {
  const PlanPtr scan = Scan();
  const PlanPtr project = std::make_shared<ProjectNode>(
      scan, std::vector<expr::ExprPtr>{Column(scan, 0), expr::MakeCall("+", {Column(scan, 0), Number(1)}).ValueOrDie()},
      std::vector<std::string>{"x", "y"});
  EXPECT_EQ(project->Describe(), "Project: a AS x, a + 1 AS y");
  EXPECT_FALSE(project->schema()->field(0)->nullable());
  EXPECT_EQ(project->schema()->field(0)->metadata()->Get("PARQUET:field_id").ValueOr(""), "7");
  EXPECT_TRUE(project->schema()->field(1)->nullable());
}

TEST(LogicalPlan, UnionsAreNullableWhenABranchIs) {
  const auto branch = [](bool nullable) -> PlanPtr {
    return std::make_shared<ValuesNode>(arrow::schema({arrow::field("x", arrow::int32(), nullable)}),
                                        std::vector<std::vector<expr::ExprPtr>>());
  };
  EXPECT_TRUE(UnionAllNode({branch(false), branch(true)}).schema()->field(0)->nullable());
  EXPECT_FALSE(UnionAllNode({branch(false), branch(false)}).schema()->field(0)->nullable());
}

TEST(LogicalPlan, ExplainIndentsChildren) {
  const PlanPtr scan = Scan();
  const PlanPtr filter = std::make_shared<FilterNode>(scan, expr::MakeCall("<", {Column(scan, 0), Number(3)}).ValueOrDie());
  const PlanPtr sort =
      std::make_shared<SortNode>(filter, std::vector<SortKey>{{Column(scan, 1), true, true}, {Column(scan, 0), false, false}}, 4);
  const PlanPtr limit = std::make_shared<LimitNode>(sort, std::nullopt, 2);
  const PlanPtr all = std::make_shared<UnionAllNode>(std::vector<PlanPtr>{limit, scan});
  const PlanPtr copy = std::make_shared<CopyNode>(all, "out.parquet", std::map<std::string, std::string>{{"format", "parquet"}});
  EXPECT_EQ(ExplainText(*copy),
            "Copy: to 'out.parquet' (format parquet)\n"
            "  UnionAll\n"
            "    Limit: all offset=2\n"
            "      Sort: b DESC NULLS FIRST, a ASC NULLS LAST fetch=4\n"
            "        Filter: a < 3\n"
            "          Scan: t columns=[a, b]\n"
            "    Scan: t columns=[a, b]\n");
}

expr::AggregateCall Aggregate(std::string_view name, const PlanPtr& plan, int column) {
  return expr::MakeAggregate(name, {Column(plan, column)}, /*star=*/false, {}).ValueOrDie();
}

TEST(LogicalPlan, AggregatesHaveGroupsThenCalls) {
  const PlanPtr scan = Scan();
  const AggregateNode node(scan, {Column(scan, 0)}, {Aggregate("count", scan, 1), Aggregate("max", scan, 0)}, {"a", "n", "m"});
  EXPECT_EQ(node.Describe(), "Aggregate: groups=[a] aggregates=[count(b), max(a)]");
  EXPECT_EQ(node.schema()->ToString(), "a: int32 not null\nn: int64 not null\nm: int32") << "only count is never NULL";
  EXPECT_EQ(AggregateNode(scan, {}, {Aggregate("count", scan, 1)}, {"n"}).Describe(), "Aggregate: aggregates=[count(b)]");
  EXPECT_EQ(AggregateNode(scan, {Column(scan, 1)}, {}, {"b"}).Describe(), "Aggregate: groups=[b]");
}

TEST(LogicalPlan, JoinsHaveTheColumnsOfTheirType) {
  using expr::JoinType;
  const PlanPtr scan = Scan();
  const auto columns = [&](JoinType type) {
    const JoinNode node(scan, scan, type, {});
    std::string text;
    for (const auto& field : node.schema()->fields()) {
      text += (text.empty() ? "" : " ") + field->name() + (field->nullable() ? "" : "!");
    }
    return text;
  };
  EXPECT_EQ(columns(JoinType::kInner), "a! b a! b");
  EXPECT_EQ(columns(JoinType::kLeft), "a! b a b") << "the side that can miss is nullable";
  EXPECT_EQ(columns(JoinType::kRight), "a b a! b");
  EXPECT_EQ(columns(JoinType::kFull), "a b a b");
  EXPECT_EQ(columns(JoinType::kLeftSemi), "a! b");
  EXPECT_EQ(columns(JoinType::kLeftAnti), "a! b");
  EXPECT_EQ(columns(JoinType::kLeftAntiNulls), "a! b");
  EXPECT_EQ(columns(JoinType::kLeftMark), "a! b mark!");
  EXPECT_EQ(columns(JoinType::kLeftMarkNulls), "a! b mark");
  EXPECT_EQ(columns(JoinType::kLeftSingle), "a! b a b");
}

TEST(LogicalPlan, JoinsShowTheirCondition) {
  const PlanPtr scan = Scan();
  expr::JoinCondition condition;
  condition.keys.push_back({Column(scan, 0), Column(scan, 0), false});
  condition.keys.push_back({Column(scan, 1), Column(scan, 1), true});
  condition.residual = expr::MakeCall("<", {Column(scan, 0), Number(3)}).ValueOrDie();
  EXPECT_EQ(JoinNode(scan, scan, expr::JoinType::kLeft, condition, /*build_left=*/true).Describe(),
            "LeftJoin: on [a = a, b IS NOT DISTINCT FROM b] where a < 3 build=left");
  EXPECT_EQ(JoinNode(scan, scan, expr::JoinType::kInner, {}).Describe(), "InnerJoin");
  EXPECT_EQ(ApplyNode(scan, scan, expr::JoinType::kLeftSingle, {}).Describe(), "LeftSingleApply");
  EXPECT_EQ(ApplyNode(scan, scan, expr::JoinType::kLeftMark, condition).schema()->field(2)->name(), "mark");
}

TEST(LogicalPlan, NodesOfTwoChildrenAreRebuilt) {
  const PlanPtr scan = Scan();
  ScanRequest swapped;
  swapped.projection = {1, 0};
  const PlanPtr other = Scan(swapped);
  for (const PlanPtr& node : std::vector<PlanPtr>{
           std::make_shared<JoinNode>(scan, scan, expr::JoinType::kFull, expr::JoinCondition(), true),
           std::make_shared<ApplyNode>(scan, scan, expr::JoinType::kLeftMark, expr::JoinCondition()),
           std::make_shared<SetOperationNode>(scan, scan, SetOperation::kExceptAll),
       }) {
    const PlanPtr rebuilt = node->WithChildren({scan, other});
    EXPECT_EQ(rebuilt->kind(), node->kind());
    EXPECT_EQ(rebuilt->Describe(), node->Describe());
    EXPECT_EQ(rebuilt->children(), (std::vector<PlanPtr>{scan, other}));
  }
  const PlanPtr aggregate = std::make_shared<AggregateNode>(scan, std::vector<expr::ExprPtr>{Column(scan, 0)},
                                                            std::vector<expr::AggregateCall>(), std::vector<std::string>{"x"});
  EXPECT_EQ(aggregate->WithChildren({scan})->schema()->field_names(), (std::vector<std::string>{"x"}));
}

TEST(LogicalPlan, SetOperationsHaveTheLeftNames) {
  const auto branch = [](const char* name, bool nullable) -> PlanPtr {
    return std::make_shared<ValuesNode>(arrow::schema({arrow::field(name, arrow::int32(), nullable)}),
                                        std::vector<std::vector<expr::ExprPtr>>());
  };
  const SetOperationNode node(branch("x", false), branch("y", true), SetOperation::kIntersect);
  EXPECT_EQ(node.schema()->ToString(), "x: int32");
  EXPECT_EQ(node.Describe(), "Intersect");
  EXPECT_EQ(SetOperationNode(branch("x", false), branch("y", true), SetOperation::kIntersectAll).Describe(), "IntersectAll");
  EXPECT_EQ(SetOperationNode(branch("x", false), branch("y", true), SetOperation::kExcept).Describe(), "Except");
}

TEST(LogicalPlan, NodesAreRebuiltOverOtherChildren) {
  const PlanPtr scan = Scan();
  ScanRequest narrower;
  narrower.projection = {0};
  const PlanPtr other = Scan(narrower);
  const PlanPtr values = std::make_shared<ValuesNode>(arrow::schema({arrow::field("x", arrow::int32())}),
                                                      std::vector<std::vector<expr::ExprPtr>>(5, {Number(1)}));
  EXPECT_EQ(values->Describe(), "Values: 5 rows: (1), (1), (1), ...");
  for (const PlanPtr& node : std::vector<PlanPtr>{
           std::make_shared<FilterNode>(scan, expr::MakeCall("<", {Column(scan, 0), Number(3)}).ValueOrDie()),
           std::make_shared<ProjectNode>(scan, std::vector<expr::ExprPtr>{Column(scan, 0)}, std::vector<std::string>{"x"}),
           std::make_shared<SortNode>(scan, std::vector<SortKey>{{Column(scan, 0)}}, std::nullopt),
           std::make_shared<LimitNode>(scan, 3, 1),
           std::make_shared<CopyNode>(scan, "x", std::map<std::string, std::string>()),
       }) {
    const PlanPtr rebuilt = node->WithChildren({other});
    EXPECT_EQ(rebuilt->kind(), node->kind());
    EXPECT_EQ(rebuilt->Describe(), node->Describe());
    EXPECT_EQ(rebuilt->child(), other);
  }
}

}  // namespace
}  // namespace icebound::plan
