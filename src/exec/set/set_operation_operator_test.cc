// SPDX-License-Identifier: Apache-2.0
#include "exec/set/set_operation_operator.h"

#include "exec/aggregate/aggregate_testing.h"

namespace icebound::exec {
namespace {

using namespace aggregate::test;  // NOLINT: the same sources and texts

struct Way {
  std::string name;
  int64_t memory_bytes;
  int threads;
  bool force_spill = false;
};

/// For the names of tests in messages: not the bytes of the struct.
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

/// Rows (number, text, interval) of few values; nulls among them.
arrow::RecordBatchVector MakeRows(int64_t rows, int64_t values, uint64_t seed) {
  Random random(seed);
  arrow::Int64Builder number;
  arrow::StringBuilder text;
  arrow::MonthDayNanoIntervalBuilder interval;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t value = Uniform(random, 0, values - 1);
    EXPECT_TRUE((value % 11 == 0 ? number.AppendNull() : number.Append(value % 97)).ok());
    EXPECT_TRUE((value % 13 == 0 ? text.AppendNull() : text.Append("text of " + std::to_string(value))).ok());
    EXPECT_TRUE(interval.Append({0, static_cast<int32_t>(value % 3), 0}).ok());
  }
  const auto whole =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8()),
                                              arrow::field("v", arrow::month_day_nano_interval())}),
                               rows, {number.Finish().ValueOrDie(), text.Finish().ValueOrDie(), interval.Finish().ValueOrDie()});
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < rows; first += 700) batches.push_back(whole->Slice(first, 700));
  if (batches.empty()) batches.push_back(whole);
  return batches;
}

std::multiset<std::string> Model(SetOperationKind kind, const std::multiset<std::string>& left,
                                 const std::multiset<std::string>& right) {
  std::multiset<std::string> result;
  const std::set<std::string> distinct(left.begin(), left.end());
  for (const std::string& row : distinct) {
    const auto l = static_cast<int64_t>(left.count(row));
    const auto r = static_cast<int64_t>(right.count(row));
    int64_t copies = 0;
    if (kind == SetOperationKind::kIntersect) copies = r > 0 ? 1 : 0;
    if (kind == SetOperationKind::kIntersectAll) copies = std::min(l, r);
    if (kind == SetOperationKind::kExcept) copies = r == 0 ? 1 : 0;
    if (kind == SetOperationKind::kExceptAll) copies = std::max<int64_t>(0, l - r);
    for (int64_t i = 0; i < copies; ++i) result.insert(row);
  }
  return result;
}

class SetOperationWays : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, SetOperationWays,
                         ::testing::Values(Way{"InMemory", 100 * kMiB, 1}, Way{"InMemoryTwo", 100 * kMiB, 2},
                                           Way{"Little", 2 * kMiB, 1}, Way{"LittleTwo", 3 * kMiB, 2},
                                           Way{"Forced", 40 * kMiB, 1, true}, Way{"ForcedTwo", 40 * kMiB, 2, true}),
                         [](const auto& info) { return info.param.name; });

TEST_P(SetOperationWays, CountRowsBySide) {
  const Way& way = GetParam();
  const struct {
    int64_t left_rows, right_rows, values;
  } sizes[] = {{0, 100, 5}, {100, 0, 5}, {9000, 8000, 40}, {9000, 8000, 8000}};
  for (const auto& size : sizes) {
    const auto left = MakeRows(size.left_rows, size.values, 1);
    const auto right = MakeRows(size.right_rows, size.values, 2);
    for (const auto kind : {SetOperationKind::kIntersect, SetOperationKind::kIntersectAll, SetOperationKind::kExcept,
                            SetOperationKind::kExceptAll}) {
      World world(way.memory_bytes, way.threads);
      world.context.force_spill = way.force_spill;
      {
        auto left_child = std::make_unique<BatchesOperator>(&world.context, left[0]->schema(), left, way.threads);
        auto right_child = std::make_unique<BatchesOperator>(&world.context, right[0]->schema(), right, way.threads);
        ASSERT_OK_AND_ASSIGN(auto op, SetOperationOperator::Make(&world.context, std::move(left_child), std::move(right_child),
                                                                 kind, left[0]->schema()));
        ASSERT_OK_AND_ASSIGN(const auto output, RunOperator(&world, op.get()));
        ExpectSameRows(RowTexts(output), Model(kind, RowTexts(left), RowTexts(right)));
      }
      world.ExpectNothingHeld();
    }
  }
}

TEST(SetOperation, OneRowComesOutManyTimes) {
  // More copies than a batch holds.
  const auto left = MakeRows(30000, 1, 1);
  const auto right = MakeRows(10, 1, 1);
  World world(40 * kMiB, 1);
  auto left_child = std::make_unique<BatchesOperator>(&world.context, left[0]->schema(), left, 1);
  auto right_child = std::make_unique<BatchesOperator>(&world.context, right[0]->schema(), right, 1);
  ASSERT_OK_AND_ASSIGN(auto op, SetOperationOperator::Make(&world.context, std::move(left_child), std::move(right_child),
                                                           SetOperationKind::kExceptAll, left[0]->schema()));
  ASSERT_OK_AND_ASSIGN(const auto output, RunOperator(&world, op.get()));
  int64_t rows = 0;
  for (const auto& batch : output) rows += batch->num_rows();
  EXPECT_EQ(rows, 29990);
  EXPECT_EQ(op->metrics().rows.load(), 29990);
}

}  // namespace
}  // namespace icebound::exec
