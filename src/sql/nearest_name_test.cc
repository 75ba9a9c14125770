// SPDX-License-Identifier: Apache-2.0
#include "sql/nearest_name.h"

#include <gtest/gtest.h>

namespace icebound::sql {
namespace {

TEST(NearestName, FindsTypingErrors) {
  const std::vector<std::string> names = {"l_orderkey", "l_shipdate", "l_commitdate", "l_tax"};
  EXPECT_EQ(NearestName("l_shipdat", names), "l_shipdate");
  EXPECT_EQ(NearestName("l_shpidate", names), "l_shipdate") << "neighbours swapped";
  EXPECT_EQ(NearestName("L_TAX", names), "l_tax") << "case does not count";
  EXPECT_EQ(NearestName("l_taxx", names), "l_tax");
  EXPECT_EQ(NearestName("orderkey", names), "l_orderkey");
}

TEST(NearestName, KeepsQuietWhenNothingIsNear) {
  const std::vector<std::string> names = {"alpha", "b"};
  EXPECT_EQ(NearestName("zulu", names), std::nullopt);
  EXPECT_EQ(NearestName("c", names), std::nullopt) << "replacing every letter is no typing error";
  EXPECT_EQ(NearestName("x", {}), std::nullopt);
  EXPECT_EQ(NearestName(std::string(100'000, 'a'), {std::string(100'000, 'a')}), std::nullopt) << "not worth the quadratic time";
}

TEST(SuggestionText, IsASentenceOrNothing) {
  EXPECT_EQ(SuggestionText("alpa", {"alpha"}), "; did you mean \"alpha\"?");
  EXPECT_EQ(SuggestionText("zulu", {"alpha"}), "");
}

}  // namespace
}  // namespace icebound::sql
