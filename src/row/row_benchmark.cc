// SPDX-License-Identifier: Apache-2.0
//
// Nanoseconds a row of sort keys, packed rows and hashes, on batches of 8192 rows shaped like TPC-H lineitem.
//
// The rows are random but fixed: 8-digit keys, money below 100'000, dates of seven years, comments of 10 to 43 bytes, two flags
// of one byte, an instruction and a mode of 3 to 17 bytes. Beyond the caches: `arena_mib` spreads the destination rows over an
// arena of that size, visited in random order, as the output of a sort is.
#include <arrow/api.h>
#include <arrow/util/decimal.h>
#include <benchmark/benchmark.h>

#include <numeric>
#include <random>

#include "row/hash.h"
#include "row/row_codec.h"
#include "row/sort_key.h"

namespace icebound::row {
namespace {

constexpr int64_t kRows = 8192;

enum class TextKind { kString, kView, kDictionary };

using Random = std::mt19937_64;

int64_t Uniform(Random& random, int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> Column(std::shared_ptr<arrow::DataType> type, Value&& value) {
  Builder builder(std::move(type), arrow::default_memory_pool());
  for (int64_t i = 0; i < kRows; ++i) (void)builder.Append(value());
  return builder.Finish().ValueOrDie();
}

template <typename Value>
std::shared_ptr<arrow::Array> Text(TextKind kind, Value&& value) {
  if (kind == TextKind::kView) return Column<arrow::StringViewBuilder>(arrow::utf8_view(), value);
  if (kind == TextKind::kString) return Column<arrow::StringBuilder>(arrow::utf8(), value);
  arrow::StringDictionary32Builder builder;
  for (int64_t i = 0; i < kRows; ++i) (void)builder.Append(value());
  std::shared_ptr<arrow::Array> array;
  (void)builder.Finish(&array);
  return array;
}

std::shared_ptr<arrow::RecordBatch> Lineitem(TextKind kind, bool nullable) {
  Random random(1);
  const auto integers = [&](int64_t high) {
    return Column<arrow::Int64Builder>(arrow::int64(), [&random, high] { return Uniform(random, 1, high); });
  };
  const auto money_type = arrow::decimal128(15, 2);
  const auto money = [&](int64_t high) {
    return Column<arrow::Decimal128Builder>(money_type, [&random, high] { return arrow::Decimal128(Uniform(random, 0, high)); });
  };
  const auto dates = [&] {
    return Column<arrow::Date32Builder>(arrow::date32(),
                                        [&random] { return static_cast<int32_t>(Uniform(random, 8036, 10591)); });
  };
  const auto words = [&](TextKind text_kind, std::vector<std::string> list) {
    return Text(text_kind, [&random, list = std::move(list)] { return list[random() % list.size()]; });
  };
  const auto comment = [&] {
    std::string text(static_cast<size_t>(Uniform(random, 10, 43)), ' ');
    for (char& c : text) c = static_cast<char>(Uniform(random, 'a', 'z'));
    return text;
  };
  const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns{
      {"l_orderkey", integers(6'000'000)},
      {"l_partkey", integers(200'000)},
      {"l_suppkey", integers(10'000)},
      {"l_linenumber", Column<arrow::Int32Builder>(arrow::int32(), [&] { return static_cast<int32_t>(Uniform(random, 1, 7)); })},
      {"l_quantity", money(5'000)},
      {"l_extendedprice", money(10'000'000)},
      {"l_discount", money(10)},
      {"l_tax", money(8)},
      {"l_returnflag", words(kind, {"A", "N", "R"})},
      {"l_linestatus", words(kind, {"F", "O"})},
      {"l_shipdate", dates()},
      {"l_commitdate", dates()},
      {"l_receiptdate", dates()},
      {"l_shipinstruct", words(kind, {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"})},
      {"l_shipmode", words(kind, {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"})},
      {"l_comment", Text(kind == TextKind::kDictionary ? TextKind::kString : kind, comment)}};
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type(), nullable));
    arrays.push_back(array);
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), kRows, std::move(arrays));
}

/// Places for the rows of one batch: one after the other, or (with `arena_mib`) each at a random place of a large arena.
class Places {
 public:
  Places(const std::vector<uint32_t>& sizes, int64_t arena_mib) {
    const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    arena_.resize(static_cast<size_t>(std::max(total, arena_mib << 20)));
    const int64_t stride = static_cast<int64_t>(arena_.size()) / kRows;
    Random random(2);
    int64_t offset = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      rows_.push_back(arena_.data() +
                      (arena_mib > 0 ? static_cast<int64_t>(i) * stride + Uniform(random, 0, stride - 1024) : offset));
      offset += sizes[i];
    }
    if (arena_mib > 0) std::shuffle(rows_.begin(), rows_.end(), Random(3));
  }
  const std::vector<uint8_t*>& rows() const { return rows_; }
  std::vector<const uint8_t*> const_rows() const { return {rows_.begin(), rows_.end()}; }

 private:
  std::vector<uint8_t> arena_;
  std::vector<uint8_t*> rows_;
};

void SetRows(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kRows);
  state.counters["ns_row"] = benchmark::Counter(static_cast<double>(state.iterations() * kRows) * 1e-9,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

struct Rows {
  std::shared_ptr<arrow::RecordBatch> batch;
  std::unique_ptr<RowCodec> codec;
  std::vector<uint32_t> sizes;

  explicit Rows(const benchmark::State& state)
      : batch(Lineitem(static_cast<TextKind>(state.range(0)), state.range(1) != 0)), sizes(kRows, 0) {
    codec = RowCodec::Make(batch->schema()).ValueOrDie();
    (void)codec->AddSizes(*batch, 0, sizes);
  }
};

void RowEncode(benchmark::State& state) {
  Rows rows(state);
  const Places places(rows.sizes, state.range(2));
  for (auto _ : state) {
    std::fill(rows.sizes.begin(), rows.sizes.end(), 0);
    if (!rows.codec->AddSizes(*rows.batch, 0, rows.sizes).ok()) state.SkipWithError("sizes");
    if (!rows.codec->Encode(*rows.batch, 0, places.rows()).ok()) state.SkipWithError("encode");
  }
  SetRows(state);
}

void RowDecode(benchmark::State& state) {
  const Rows rows(state);
  const Places places(rows.sizes, state.range(2));
  (void)rows.codec->Encode(*rows.batch, 0, places.rows());
  const auto pointers = places.const_rows();
  for (auto _ : state) {
    auto decoded = rows.codec->Decode(pointers, arrow::default_memory_pool());
    if (!decoded.ok()) state.SkipWithError("decode");
    benchmark::DoNotOptimize(decoded);
  }
  SetRows(state);
}

void RowHash(benchmark::State& state) {
  const auto batch = Lineitem(static_cast<TextKind>(state.range(0)), state.range(1) != 0);
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : batch->columns()) types.push_back(column->type());
  const auto hasher = RowHasher::Make(types).ValueOrDie();
  std::vector<uint64_t> hashes(kRows);
  for (auto _ : state) {
    if (!hasher->Hash(batch->columns(), 0, hashes).ok()) state.SkipWithError("hash");
    benchmark::DoNotOptimize(hashes.data());
  }
  SetRows(state);
}

const std::vector<std::string> kKeySets[] = {
    {"l_shipdate", "l_orderkey", "l_linenumber"}, {"l_comment"}, {"l_extendedprice"}, {"l_shipmode"}};

struct Keys {
  arrow::ArrayVector columns;
  std::unique_ptr<SortKeyEncoder> encoder;
  std::vector<uint32_t> lengths;

  explicit Keys(const benchmark::State& state) : lengths(kRows, 0) {
    const auto batch = Lineitem(static_cast<TextKind>(state.range(0)), state.range(1) != 0);
    std::vector<SortField> fields;
    for (const auto& name : kKeySets[state.range(3)]) {
      columns.push_back(batch->GetColumnByName(name));
      fields.push_back({columns.back()->type(), state.range(1) != 0, state.range(4) != 0, false});
    }
    encoder = SortKeyEncoder::Make(std::move(fields)).ValueOrDie();
    (void)encoder->AddLengths(columns, 0, lengths);
  }
};

void KeyEncode(benchmark::State& state) {
  Keys keys(state);
  const Places places(keys.lengths, state.range(2));
  for (auto _ : state) {
    std::fill(keys.lengths.begin(), keys.lengths.end(), 0);
    if (!keys.encoder->AddLengths(keys.columns, 0, keys.lengths).ok()) state.SkipWithError("lengths");
    std::vector<uint8_t*> cursors = places.rows();
    if (!keys.encoder->Encode(keys.columns, 0, cursors).ok()) state.SkipWithError("encode");
  }
  SetRows(state);
}

void KeyDecode(benchmark::State& state) {
  const Keys keys(state);
  const Places places(keys.lengths, state.range(2));
  std::vector<uint8_t*> writers = places.rows();
  (void)keys.encoder->Encode(keys.columns, 0, writers);
  for (auto _ : state) {
    std::vector<const uint8_t*> cursors = places.const_rows();
    auto decoded = keys.encoder->Decode(cursors, {}, arrow::default_memory_pool());
    if (!decoded.ok()) state.SkipWithError("decode");
    benchmark::DoNotOptimize(decoded);
  }
  SetRows(state);
}

const std::vector<std::string> kRowArguments{"text", "nullable", "arena_mib"};
const std::vector<std::string> kKeyArguments{"text", "nullable", "arena_mib", "keys", "descending"};

BENCHMARK(RowEncode)->ArgNames(kRowArguments)->ArgsProduct({{0, 1, 2}, {0, 1}, {0}})->Args({1, 0, 256});
BENCHMARK(RowDecode)->ArgNames(kRowArguments)->ArgsProduct({{0, 1, 2}, {0, 1}, {0}})->Args({1, 0, 256});
BENCHMARK(RowHash)->ArgNames({"text", "nullable"})->ArgsProduct({{0, 1, 2}, {0}});
BENCHMARK(KeyEncode)->ArgNames(kKeyArguments)->ArgsProduct({{0, 1}, {0}, {0}, {0, 1, 2, 3}, {0, 1}})->Args({1, 1, 0, 0, 0});
BENCHMARK(KeyDecode)->ArgNames(kKeyArguments)->ArgsProduct({{0, 1}, {0}, {0}, {0, 1}, {0, 1}})->Args({1, 0, 256, 1, 0});

}  // namespace
}  // namespace icebound::row
