// SPDX-License-Identifier: Apache-2.0
#include "expr/row_set.h"

#include <arrow/api.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace icebound::expr {
namespace {

/// Booleans with runs of one value, of any density, with or without nulls, sliced.
std::shared_ptr<arrow::Array> RandomBooleans(int64_t rows, int64_t offset, std::mt19937_64& random) {
  const double density = std::vector<double>{0, 0.02, 0.5, 0.98, 1}[random() % 5];
  const bool nulls = random() % 2 == 0;
  arrow::BooleanBuilder builder;
  while (builder.length() < rows + offset) {
    const auto run = static_cast<int64_t>(random() % 4 == 0 ? random() % 200 : 1);
    const bool value = std::uniform_real_distribution<>()(random) < density;
    const bool is_null = nulls && random() % 7 == 0;
    for (int64_t i = 0; i < run && builder.length() < rows + offset; ++i) {
      EXPECT_TRUE((is_null ? builder.AppendNull() : builder.Append(value)).ok());
    }
  }
  return builder.Finish().ValueOrDie()->Slice(offset);
}

TEST(RowSet, PositionsAreThoseOfALoop) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const auto rows = static_cast<int64_t>(random() % 700);
    const auto condition = RandomBooleans(rows, static_cast<int64_t>(random() % 20), random);
    const auto& booleans = static_cast<const arrow::BooleanArray&>(*condition);
    for (const bool when_true : {true, false}) {
      std::vector<int32_t> expected;
      for (int64_t i = 0; i < rows; ++i) {
        if ((booleans.IsValid(i) && booleans.Value(i)) == when_true) expected.push_back(static_cast<int32_t>(i));
      }
      ASSERT_OK_AND_ASSIGN(const auto positions, PositionsWhere(condition, rows, when_true, arrow::default_memory_pool()));
      const auto& values = static_cast<const arrow::Int32Array&>(*positions);
      ASSERT_EQ(std::vector<int32_t>(values.raw_values(), values.raw_values() + values.length()), expected);
    }
  }
}

}  // namespace
}  // namespace icebound::expr
