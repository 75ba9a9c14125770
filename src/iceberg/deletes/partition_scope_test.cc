// SPDX-License-Identifier: Apache-2.0
#include "iceberg/deletes/partition_scope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "iceberg/deletes/byte_strings.h"
#include "memory/memory_testing.h"

namespace icebound::iceberg {
namespace {

TypePtr TupleOf(const std::vector<TypePtr>& types) {
  std::vector<Field> fields;
  for (size_t i = 0; i < types.size(); ++i) {
    fields.push_back({.id = 1000 + static_cast<int32_t>(i), .name = "f" + std::to_string(i), .type = types[i]});
  }
  return Type::Struct(fields);
}

TEST(PartitionScope, BytesAreThoseOfTheHeader) {
  EXPECT_EQ(EncodePartitionScope(1, std::vector<Literal>{Literal(), std::string("a")}), std::string("\0\0\0\1\0\5\1\0\0\0a", 11));
  EXPECT_EQ(EncodePartitionScope(258, {}), std::string("\0\0\1\2", 4));
}

TEST(PartitionScope, ValuesOfPromotedColumnsKeepTheirBytes) {
  const auto of = [](Literal value) { return EncodePartitionScope(1, std::vector<Literal>{std::move(value)}); };
  EXPECT_EQ(of(int32_t{-7}), of(int64_t{-7}));
  EXPECT_EQ(of(1.5f), of(1.5));
  EXPECT_EQ(of(std::nan("1")), of(-std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(of(0.0), of(-0.0));
  EXPECT_NE(of(Literal()), of(std::string()));
  EXPECT_NE(of(int64_t{1}), of(true));
}

TEST(PartitionScope, ComesBackAsItWas) {
  const TypePtr type =
      TupleOf({Type::Of(TypeId::kBoolean), Type::Of(TypeId::kInt), Type::Of(TypeId::kLong), Type::Of(TypeId::kFloat),
               Type::Of(TypeId::kDouble), Type::Decimal(20, 2).ValueOrDie(), Type::Of(TypeId::kDate),
               Type::Of(TypeId::kTimestamp), Type::Of(TypeId::kString), Type::Of(TypeId::kUuid), Type::Of(TypeId::kString)});
  const std::vector<Literal> tuple = {true,
                                      std::numeric_limits<int32_t>::min(),
                                      std::numeric_limits<int64_t>::min(),
                                      -0.0f,
                                      1e300,
                                      arrow::Decimal128("-12345678901234567890"),
                                      int32_t{-1},
                                      int64_t{5},
                                      std::string("\0x", 2),
                                      std::string(16, '\xff'),
                                      Literal()};
  const auto decoded = DecodePartitionScope(EncodePartitionScope(-3, tuple), *type).ValueOrDie();
  EXPECT_EQ(decoded.spec_id, -3);
  ASSERT_EQ(decoded.tuple.size(), tuple.size());
  for (size_t i = 0; i < tuple.size(); ++i) {
    EXPECT_EQ(decoded.tuple[i].index(), tuple[i].index()) << i;
    EXPECT_TRUE(SameLiteral(decoded.tuple[i], tuple[i])) << i;
  }
}

TEST(PartitionScope, BytesThatAreNoneAreAFaultOfOurs) {
  const TypePtr type = TupleOf({Type::Of(TypeId::kString)});
  const std::string whole = EncodePartitionScope(1, std::vector<Literal>{std::string("abc")});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(GetErrorKind(DecodePartitionScope(whole.substr(0, size), *type).status()), ErrorKind::kInternal) << size;
  }
  EXPECT_FALSE(DecodePartitionScope(whole + "x", *type).ok());
}

TEST(ByteStrings, NumbersAreGivenInOrderAndFoundAgain) {
  const auto ledger = memory::MakeLedger(int64_t{32} << 20);
  const auto consumer = ledger->AddConsumer("strings");
  PathStrings paths(consumer.get());
  constexpr uint32_t kCount = 20000;
  const auto path = [](uint32_t i) {
    if (i < 3) return std::string(i == 0 ? "" : i == 1 ? "/" : "name");
    return "s3://bucket/" + std::to_string(i % 7) + "/" + std::to_string(i) + ".parquet";
  };
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(paths.Insert(path(i)).ValueOrDie(), i);
  }
  EXPECT_EQ(paths.size(), kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(paths.Find(path(i)), i);
    ASSERT_EQ(paths[i], path(i));
    const std::string other = path((i * 7919) % kCount);
    const int order = paths.Compare(other, i);
    ASSERT_EQ(order < 0, other < path(i));
    ASSERT_EQ(order > 0, other > path(i));
  }
  EXPECT_EQ(paths.Find("s3://bucket/1/3.parquet"), std::nullopt);
  EXPECT_EQ(paths.Find("elsewhere/3.parquet"), std::nullopt);
}

TEST(ByteStrings, ThatDoNotFitAreAnErrorAndStayWhatTheyWere) {
  const auto ledger = memory::MakeLedger(int64_t{32} << 20, memory::PoolPolicy::kFair, /*stall_timeout_ms=*/10);
  const auto consumer = ledger->AddConsumer("strings"), other = ledger->AddConsumer("other");
  memory::Reservation rest(other.get());
  ASSERT_TRUE(rest.ResizeTo(int64_t{28} << 20).ok());
  ByteStrings strings(consumer.get());
  uint32_t count = 0;
  arrow::Status status;
  while (status.ok() && count < 200000) {
    const auto number = strings.Insert(std::to_string(count) + std::string(40, 'x'));
    status = number.status();
    if (!number.ok()) break;
    EXPECT_EQ(*number, count++);
  }
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kMemoryLimit);
  EXPECT_GT(count, 20000);
  EXPECT_EQ(strings[count - 1], std::to_string(count - 1) + std::string(40, 'x'));
}

}  // namespace
}  // namespace icebound::iceberg
