// SPDX-License-Identifier: Apache-2.0
//
// States alone: any split of the input, merged in any order, gives what one state gives that saw all of it.
#include "exec/aggregate/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "row/arrays_for_test.h"

namespace icebound::exec::aggregate {
namespace {

using row::LoadAs;
using row::test::Random;
using row::test::Uniform;

constexpr int32_t kValues = 200;

/// Values of every shape.
struct Input {
  std::vector<uint8_t> valid;
  std::vector<int64_t> ints;
  std::vector<Int128> wides;
  std::vector<double> doubles;
  std::vector<Interval> intervals;
  std::vector<std::string> texts;
  std::vector<std::string_view> bytes;

  explicit Input(Random& random) {
    for (int32_t i = 0; i < kValues; ++i) {
      valid.push_back(Uniform(random, 0, 4) > 0 ? 1 : 0);
      ints.push_back(row::test::RandomInteger(random));
      wides.push_back(static_cast<Int128>(row::test::RandomInteger(random)) * row::test::RandomInteger(random));
      doubles.push_back(static_cast<double>(Uniform(random, -1000, 1000)) / 4);
      intervals.push_back({static_cast<int32_t>(Uniform(random, -9, 9)), static_cast<int32_t>(Uniform(random, -9, 9)),
                           row::test::RandomInteger(random) / 2});
      texts.push_back(row::test::RandomBytes(false, random));
    }
    for (const std::string& text : texts) bytes.emplace_back(text);
  }
  SliceValues From(int32_t first, bool with_nulls) const {
    SliceValues values;
    values.valid = with_nulls ? valid.data() + first : nullptr;
    values.ints = ints.data() + first;
    values.wides = reinterpret_cast<const uint8_t*>(wides.data() + first);
    values.doubles = doubles.data() + first;
    values.intervals = reinterpret_cast<const uint8_t*>(intervals.data() + first);
    values.bytes = bytes.data() + first;
    return values;
  }
};

/// A state in a row at an odd offset, with room for strings.
struct State {
  static constexpr uint32_t kOffset = 5;
  State() : row(64, 0), room(1 << 16, 0) { space.Use(room.data(), room.data() + room.size()); }
  void Update(StateKind kind, const SliceValues& values, int32_t count) {
    const std::vector<uint8_t*> rows(static_cast<size_t>(count), row.data());
    ASSERT_TRUE(!IsByteString(kind) || space.HasRoom(StringBytes(values, count)));
    UpdateStates(kind, kOffset, rows.data(), count, values, &space);
  }
  void Merge(StateKind kind, const State& other) {
    uint8_t* into = row.data();
    const uint8_t* from = other.row.data();
    MergeStates(kind, kOffset, &into, &from, 1, &space);
  }
  std::string Text(StateKind kind) const {
    const uint8_t* state = row.data() + kOffset;
    if (IsByteString(kind)) return ByteString::Seen(state) ? "v" + std::string(ByteString::View(state)) : "none";
    if (kind == StateKind::kMoments) {
      return fmt::format("{} {:.6g} {:.6g}", LoadAs<int64_t>(state), LoadAs<double>(state + 8), LoadAs<double>(state + 16));
    }
    return std::string(reinterpret_cast<const char*>(state), StateBytes(kind));
  }
  std::vector<uint8_t> row;
  std::vector<uint8_t> room;
  StringSpace space;
};

class StateKinds : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, StateKinds, ::testing::Range(0, static_cast<int>(StateKind::kLastBytes) + 1));

TEST_P(StateKinds, PartsMergeToTheWhole) {
  const auto kind = static_cast<StateKind>(GetParam());
  Random random(static_cast<uint64_t>(GetParam()) + 1);
  for (const bool with_nulls : {false, true}) {
    const Input input(random);
    State whole;
    whole.Update(kind, input.From(0, with_nulls), kValues);
    for (int trial = 0; trial < 20; ++trial) {
      State merged;
      for (int32_t first = 0; first < kValues;) {
        const auto count = static_cast<int32_t>(std::min<int64_t>(Uniform(random, 1, 60), kValues - first));
        State part;
        part.Update(kind, input.From(first, with_nulls), count);
        merged.Merge(kind, State());
        merged.Merge(kind, part);
        first += count;
      }
      EXPECT_EQ(merged.Text(kind), whole.Text(kind));
    }
  }
}

TEST(State, SumsOf128BitsCarry) {
  const Int128 most = ~(static_cast<Int128>(1) << 127);
  const std::vector<Int128> values{most, most, most, -most, -most, -1};
  SliceValues slice;
  slice.wides = reinterpret_cast<const uint8_t*>(values.data());
  State state;
  state.Update(StateKind::kSumWide, slice, static_cast<int32_t>(values.size()));
  EXPECT_TRUE(LoadAs<Int128>(state.row.data() + State::kOffset + 1) == most - 1);
  EXPECT_EQ(LoadAs<int64_t>(state.row.data() + State::kOffset + 17), 0);
}

TEST(State, NanIsAboveAllNumbers) {
  const std::vector<double> values{1, std::nan(""), -std::numeric_limits<double>::infinity(), 7};
  SliceValues slice;
  slice.doubles = values.data();
  State least;
  State greatest;
  least.Update(StateKind::kMinDouble, slice, 4);
  greatest.Update(StateKind::kMaxDouble, slice, 4);
  EXPECT_TRUE(std::isinf(LoadAs<double>(least.row.data() + State::kOffset + 1)));
  EXPECT_TRUE(std::isnan(LoadAs<double>(greatest.row.data() + State::kOffset + 1)));
}

TEST(State, ByteStringsUseTheirSpaceAgain) {
  std::vector<uint8_t> room(64);
  StringSpace space;
  space.Use(room.data(), room.data() + room.size());
  std::vector<uint8_t> state(ByteString::kStateBytes, 0);
  ByteString::Store(state.data(), "twenty bytes, it has", &space);  // takes 32
  ByteString::Store(state.data(), "short", &space);
  EXPECT_EQ(ByteString::View(state.data()), "short");
  EXPECT_TRUE(space.HasRoom(32));
  ByteString::Store(state.data(), "one of twenty-four bytes", &space);  // in place of nothing: takes 32 again
  EXPECT_FALSE(space.HasRoom(1));
  ByteString::Store(state.data(), "another of thirty-two bytes long", &space);
  EXPECT_EQ(ByteString::View(state.data()), "another of thirty-two bytes long");
  EXPECT_LT(ByteString::Compare(state.data(), "another of thirty-two bytes loom"), 0);
  EXPECT_GT(ByteString::Compare(state.data(), "ano"), 0);
  EXPECT_LT(ByteString::Compare(state.data(), "b"), 0);
}

}  // namespace
}  // namespace icebound::exec::aggregate
