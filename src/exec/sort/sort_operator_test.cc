// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sort_operator.h"

#include <gmock/gmock.h>

#include "exec/sort/sort_testing.h"

namespace icebound::exec {
namespace {

using row::test::Random;
using row::test::Uniform;
using namespace sort::test;  // NOLINT: this folder's own

/// Gives batches out to as many streams as are asked for.
class BatchesOperator final : public Operator {
 public:
  BatchesOperator(QueryContext* context, arrow::RecordBatchVector batches, int streams)
      : Operator(context, "batches", batches[0]->schema()), batches_(std::move(batches)), streams_(streams) {}

  arrow::Status Prepare() override {
    ++prepared_;
    return arrow::Status::OK();
  }
  int max_streams() const override { return streams_; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override {
    EXPECT_EQ(prepared_, 1);
    return std::make_unique<Stream>(this);
  }

 private:
  class Stream final : public BatchStream {
   public:
    explicit Stream(BatchesOperator* source) : source_(source) {}
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
      const size_t next = source_->next_++;
      return next < source_->batches_.size() ? source_->batches_[next] : nullptr;
    }

   private:
    BatchesOperator* const source_;
  };

  const arrow::RecordBatchVector batches_;
  const int streams_;
  int prepared_ = 0;
  std::atomic<size_t> next_{0};
};

arrow::RecordBatchVector SomeBatches(int64_t rows) {
  Random random(8);
  arrow::Int64Builder number;
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(number.Append(Uniform(random, -5000, 5000)).ok());
  const auto words = row::test::RandomArray(arrow::dictionary(arrow::int16(), arrow::utf8()), rows, 0.1, random);
  return MakeBatches({arrow::field("n", arrow::int64()), arrow::field("w", words->type())}, {number.Finish().ValueOrDie(), words},
                     500);
}

class SortOperatorTest : public ::testing::TestWithParam<int> {
 protected:
  arrow::Result<arrow::RecordBatchVector> Run(World* world, const arrow::RecordBatchVector& batches,
                                              std::vector<SortKeySpec> keys, std::optional<int64_t> fetch_rows = std::nullopt) {
    auto child = std::make_unique<BatchesOperator>(&world->context, batches, GetParam());
    ARROW_ASSIGN_OR_RAISE(auto sort, SortOperator::Make(&world->context, std::move(child), std::move(keys), fetch_rows));
    EXPECT_EQ(sort->max_streams(), 1);
    EXPECT_EQ(sort->schema()->field(1)->type()->id(), arrow::Type::STRING);
    ARROW_RETURN_NOT_OK(sort->Prepare());
    ARROW_ASSIGN_OR_RAISE(auto stream, sort->OpenStream());
    ARROW_ASSIGN_OR_RAISE(auto output, Drain(stream.get()));
    for (const auto& batch : output) EXPECT_TRUE(batch->schema()->Equals(*sort->schema()));
    return output;
  }
};

INSTANTIATE_TEST_SUITE_P(Streams, SortOperatorTest, ::testing::Values(1, 2, 5));

TEST_P(SortOperatorTest, ByColumn) {
  const auto batches = SomeBatches(20000);
  for (const int64_t memory_bytes : {kMiB, 60 * kMiB}) {
    World world(memory_bytes, 2);
    {
      const auto key = expr::MakeColumn(0, *batches[0]->schema()->field(0));
      ASSERT_OK_AND_ASSIGN(const auto output, Run(&world, batches, {{key, true, true}}));
      ExpectSorted(batches, output, {{0, true, true}});
    }
    world.ExpectNothingHeld();
  }
}

TEST_P(SortOperatorTest, FirstRowsByColumn) {
  const auto batches = SomeBatches(20000);
  World world(4 * kMiB, 2);
  {
    const auto key = expr::MakeColumn(0, *batches[0]->schema()->field(0));
    ASSERT_OK_AND_ASSIGN(const auto output, Run(&world, batches, {{key}}, 77));
    ExpectSorted(batches, output, {{0}}, 77);
  }
  world.ExpectNothingHeld();
}

TEST_P(SortOperatorTest, ByExpression) {
  const auto batches = SomeBatches(20000);
  World world(kMiB, 2);
  {
    const auto column = expr::MakeColumn(0, *batches[0]->schema()->field(0));
    const auto minus_one = expr::MakeLiteral(std::make_shared<arrow::Int64Scalar>(-1));
    ASSERT_OK_AND_ASSIGN(const auto negated, expr::MakeCall("*", {column, minus_one}));
    // A constant orders nothing.
    ASSERT_OK_AND_ASSIGN(const auto output, Run(&world, batches, {{minus_one}, {negated}}));
    ExpectSorted(batches, output, {{0, true}});
  }
  world.ExpectNothingHeld();
}

TEST(SortOperator, MetricsTellWhatHappened) {
  const auto batches = SomeBatches(20000);
  World world(kMiB, 2);
  const auto key = expr::MakeColumn(0, *batches[0]->schema()->field(0));
  auto child = std::make_unique<BatchesOperator>(&world.context, batches, 2);
  ASSERT_OK_AND_ASSIGN(auto sort, SortOperator::Make(&world.context, std::move(child), {{key}}));
  ASSERT_OK(sort->Prepare());
  ASSERT_OK_AND_ASSIGN(auto stream, sort->OpenStream());
  ASSERT_OK(Drain(stream.get()).status());
  const runtime::OperatorMetrics& metrics = sort->metrics();
  EXPECT_EQ(metrics.name, "sort");
  EXPECT_EQ(metrics.rows.load(), 20000);
  EXPECT_GT(metrics.busy_ns.load(), 0);
  EXPECT_GT(metrics.peak_bytes.load(), 0);
  EXPECT_GT(metrics.spilled_bytes.load(), 0);
  EXPECT_GE(metrics.spill_levels.load(), 1);
}

TEST(SortOperator, UnsupportedKeysAreRefusedWhenPlanned) {
  const auto type = arrow::dense_union({arrow::field("a", arrow::int32())});
  const auto array = arrow::MakeEmptyArray(type).ValueOrDie();
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("u", type)}), 0, {array});
  World world(kMiB, 1);
  auto child = std::make_unique<BatchesOperator>(&world.context, arrow::RecordBatchVector{batch}, 1);
  const auto key = expr::MakeColumn(0, *batch->schema()->field(0));
  EXPECT_EQ(GetErrorKind(SortOperator::Make(&world.context, std::move(child), {{key}}).status()), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace icebound::exec
