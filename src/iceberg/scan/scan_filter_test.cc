// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/scan_filter.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "expr/test_language.h"
#include "iceberg/scan/scan_testing.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// Column $n of a filter is the field n + 1.
struct Column {
  const char* name;
  const char* type;
};
constexpr Column kColumns[] = {{"i", "long"},           {"s", "string"},        {"d", "double"},      {"t", "date"},
                               {"n", "decimal(10, 2)"}, {"b", "boolean"},       {"ts", "timestamp"},  {"k", "int"},
                               {"u", "uuid"},           {"tn", "timestamp_ns"}, {"tz", "timestamptz"}};
constexpr int kColumnCount = static_cast<int>(std::size(kColumns));

std::string SchemaFields() {
  std::string text;
  for (int i = 0; i < kColumnCount; ++i) {
    text += fmt::format(R"({}{{"id": {}, "name": "{}", "required": false, "type": "{}"}})", i == 0 ? "" : ",", i + 1,
                        kColumns[i].name, kColumns[i].type);
  }
  return text;
}

struct SpecField {
  int column;
  std::string transform;
};
std::string SpecText(int32_t spec_id, const std::vector<SpecField>& fields) {
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i) {
    text += fmt::format(R"({}{{"name": "f{}", "transform": "{}", "source-id": {}, "field-id": {}}})", i == 0 ? "" : ",", i,
                        fields[i].transform, fields[i].column + 1, 1000 + i);
  }
  return fmt::format(R"({{"spec-id": {}, "fields": [{}]}})", spec_id, text);
}

TestTable TableOf(const std::vector<SpecField>& fields) { return TestTable(SchemaFields(), SpecText(0, fields), 3); }

std::vector<int32_t> FieldIds() {
  std::vector<int32_t> ids;
  for (int i = 0; i < kColumnCount; ++i) ids.push_back(i + 1);
  return ids;
}

expr::ExprPtr Parse(const TableMetadata& table, const std::string& text) {
  return expr::ParseTest(text, ToArrowSchema(table.current_schema()).get()).ValueOrDie();
}

ScanFilter FilterOf(const TestTable& table, const std::string& text) {
  return ScanFilter::Make({Parse(*table.metadata, text)}, FieldIds(), table.metadata->current_schema(), *table.metadata)
      .ValueOrDie();
}

DataFile FileOfTuple(std::vector<Literal> tuple) {
  DataFile file;
  file.partition = std::move(tuple);
  return file;
}

const std::string kAlways = "always", kMay = "may", kNever = "never";

/// What a filter makes of a file whose one partition value is this.
std::string Outcome(const SpecField& field, const Literal& value, const std::string& text) {
  const TestTable table = TableOf({field});
  const ScanFilter filter = FilterOf(table, text);
  const DataFile file = FileOfTuple({value});
  if (!filter.PartitionMayMatch(file)) return kNever;
  return filter.IsAlwaysTrue(file) ? kAlways : kMay;
}

TEST(ScanFilter, IdentityDecides) {
  EXPECT_EQ(Outcome({0, "identity"}, int64_t{5}, "(= $0 5)"), kAlways);
  EXPECT_EQ(Outcome({0, "identity"}, int64_t{5}, "(< $0 5)"), kNever);
  EXPECT_EQ(Outcome({0, "identity"}, int64_t{5}, "(is_null $0)"), kNever);
  EXPECT_EQ(Outcome({0, "identity"}, Literal(), "(is_null $0)"), kAlways);
  EXPECT_EQ(Outcome({0, "identity"}, Literal(), "(= $0 5)"), kNever);
  EXPECT_EQ(Outcome({0, "identity"}, Literal(), "(not (= $0 5))"), kNever);
  EXPECT_EQ(Outcome({0, "identity"}, int64_t{5}, "(or (= $0 6) (= $7 1))"), kMay);
  EXPECT_EQ(Outcome({0, "identity"}, int64_t{5}, "(and (= $0 5) (= $7 1))"), kMay);
  EXPECT_EQ(Outcome({1, "identity"}, std::string("abc"), "(like $1 'ab%')"), kAlways);
  EXPECT_EQ(Outcome({1, "identity"}, std::string("abc"), "(like $1 'b%')"), kNever);
  EXPECT_EQ(Outcome({5, "identity"}, true, "(not $5)"), kNever);
  EXPECT_EQ(Outcome({8, "identity"}, std::string(16, '\x11'), "(= $8 uuid'11111111-1111-1111-1111-111111111111')"), kAlways);
  EXPECT_EQ(Outcome({8, "identity"}, std::string(16, '\x11'), "(= $8 uuid'11111111-1111-1111-1111-111111111112')"), kNever);
}

TEST(ScanFilter, BucketsDecideEqualityAndLists) {
  const auto bucket = [](const std::string& transform, int64_t value) {
    return Transform::Parse(transform).ValueOrDie().Apply(*Type::Of(TypeId::kLong), Literal(value)).ValueOrDie();
  };
  const Literal of_5 = bucket("bucket[16]", 5), of_6 = bucket("bucket[16]", 6);
  ASSERT_FALSE(SameLiteral(of_5, of_6));
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_5, "(= $0 5)"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(= 5 $0)"), kNever);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(= $0 5.5)"), kMay);  // no value of the column: not understood
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(in $0 5 7 null)"), SameLiteral(bucket("bucket[16]", 7), of_6) ? kMay : kNever);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(in $0 5 6)"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(or (= $0 5) (> $0 100))"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(and (= $0 5) (= $7 100))"), kNever);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(not (= $0 5))"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(<> $0 6)"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(< $0 6)"), kMay);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, Literal(), "(= $0 5)"), kNever);
  EXPECT_EQ(Outcome({0, "bucket[16]"}, of_6, "(is_null $0)"), kNever);
  // An int hashes as the long that it may become.
  EXPECT_EQ(Outcome({7, "bucket[16]"}, of_6, "(= $7 5)"), kNever);
  EXPECT_EQ(Outcome({7, "bucket[16]"}, of_5, "(= $7 bigint'5')"), kMay);
  EXPECT_EQ(Outcome({7, "bucket[16]"}, of_6, "(= $7 bigint'5')"), kNever);
}

TEST(ScanFilter, TruncatedValuesAreRanges) {
  EXPECT_EQ(Outcome({0, "truncate[10]"}, int64_t{-10}, "(and (>= $0 -10) (<= $0 -1))"), kAlways);
  EXPECT_EQ(Outcome({0, "truncate[10]"}, int64_t{-10}, "(>= $0 0)"), kNever);
  EXPECT_EQ(Outcome({0, "truncate[10]"}, int64_t{-10}, "(= $0 -1)"), kMay);
  EXPECT_EQ(Outcome({4, "truncate[50]"}, arrow::Decimal128(100), "(>= $4 1.50)"), kNever);
  EXPECT_EQ(Outcome({4, "truncate[50]"}, arrow::Decimal128(100), "(>= $4 1.49)"), kMay);
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("ab"), "(= $1 'abz')"), kMay);
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("ab"), "(like $1 'aa%')"), kNever);
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("ab"), "(> $1 'ac')"), kNever);
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("ab"), "(< $1 'ab')"), kNever);
  // Shorter than the width: it is the value.
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("a"), "(> $1 'a')"), kNever);
  EXPECT_EQ(Outcome({1, "truncate[2]"}, std::string("a"), "(= $1 'a')"), kAlways);
}

TEST(IcebergRules, Rule17TruncatedNumbersThatWrappedAreNotPruned) {
  // The multiple of 10 at or below the lowest int does not fit; it came out near the highest.
  const Literal wrapped =
      Transform::Truncate(10).ValueOrDie().Apply(*Type::Of(TypeId::kInt), std::numeric_limits<int32_t>::min()).ValueOrDie();
  EXPECT_GT(std::get<int32_t>(wrapped), 0);
  EXPECT_EQ(Outcome({7, "truncate[10]"}, wrapped, "(< $7 0)"), kMay);
  EXPECT_EQ(Outcome({0, "truncate[10]"}, Literal(int64_t{std::get<int32_t>(wrapped)}), "(< $0 0)"), kMay);
}

// Case 25 of the public failures.
TEST(IcebergRules, Rule17TimesBefore1970) {
  const std::string before = "(< $6 timestamp'1970-01-01 00:00:00')";
  for (const char* transform : {"year", "month", "day", "hour"}) {
    EXPECT_EQ(Outcome({6, transform}, int32_t{-1}, before), kAlways) << transform;
    EXPECT_EQ(Outcome({6, transform}, int32_t{1}, before), kNever) << transform;
    // Old writers rounded up: what they call unit 0 may be before it.
    EXPECT_EQ(Outcome({6, transform}, int32_t{0}, before), kMay) << transform;
  }
  EXPECT_EQ(Outcome({6, "hour"}, int32_t{-1}, "(= $6 timestamp'1969-12-31 23:59:59')"), kMay);
  EXPECT_EQ(Outcome({6, "hour"}, int32_t{-3}, "(= $6 timestamp'1969-12-31 23:59:59')"), kNever);
}

TEST(ScanFilter, TimeUnitsAreRanges) {
  // 2020-02: month 601; 2020-02-29: day 18321.
  EXPECT_EQ(Outcome({6, "month"}, int32_t{601}, "(>= $6 timestamp'2020-02-01 00:00:00')"), kAlways);
  EXPECT_EQ(Outcome({6, "month"}, int32_t{601}, "(>= $6 timestamp'2020-03-01 00:00:00')"), kNever);
  EXPECT_EQ(Outcome({6, "day"}, int32_t{18321}, "(= (cast $6 date) date'2020-02-29')"), kAlways);
  EXPECT_EQ(Outcome({6, "day"}, int32_t{18321}, "(>= $6 timestamp'2020-03-01 00:00:00')"), kNever);
  EXPECT_EQ(Outcome({9, "day"}, int32_t{18321}, "(>= $9 timestamp'2020-03-01 00:00:00')"), kNever);
  EXPECT_EQ(Outcome({9, "day"}, int32_t{18321}, "(< $9 timestamp'2020-03-01 00:00:00')"), kAlways);
  EXPECT_EQ(Outcome({10, "day"}, int32_t{18321}, "(>= $10 timestamptz'2020-03-01 00:00:00+00')"), kNever);
  EXPECT_EQ(Outcome({10, "day"}, int32_t{18321}, "(>= $10 timestamptz'2020-02-29 23:59:59+00')"), kMay);
  EXPECT_EQ(Outcome({3, "year"}, int32_t{50}, "(< $3 date'2020-01-01')"), kNever);
  EXPECT_EQ(Outcome({3, "year"}, int32_t{50}, "(<= $3 date'2020-12-31')"), kAlways);
  // Units beyond what the column can hold say nothing of that end.
  EXPECT_EQ(Outcome({9, "year"}, int32_t{400}, "(= $9 timestamp'2020-03-01 00:00:00')"), kMay);
  EXPECT_EQ(Outcome({6, "hour"}, std::numeric_limits<int32_t>::min(), "(> $6 timestamp'2020-03-01 00:00:00')"), kMay);
}

TEST(ScanFilter, VoidAndUnknownTransformsNeverPrune) {
  EXPECT_EQ(Outcome({0, "void"}, Literal(), "(= $0 5)"), kMay);
  EXPECT_EQ(Outcome({0, "void"}, Literal(), "(is_not_null $0)"), kMay);
  EXPECT_EQ(Outcome({0, "zorder"}, std::string("5"), "(= $0 6)"), kMay);
  EXPECT_EQ(Outcome({0, "zorder"}, Literal(), "(= $0 6)"), kMay);
}

TEST(IcebergRules, Rule15PartitionsOfNan) {
  const double nan = std::nan("");
  EXPECT_EQ(Outcome({2, "identity"}, nan, "(> $2 5e0)"), kMay);  // NaN is above every number
  EXPECT_EQ(Outcome({2, "identity"}, 1.0, "(> $2 5e0)"), kNever);
  EXPECT_EQ(Outcome({2, "identity"}, 1.0, "(= $2 double'NaN')"), kNever);
  EXPECT_EQ(Outcome({2, "identity"}, -0.0, "(= $2 0e0)"), kAlways);
}

TEST(ScanFilter, OfNothingIsAlwaysTrue) {
  const TestTable table = TableOf({{0, "identity"}});
  const auto filter = ScanFilter::Make({}, {}, table.metadata->current_schema(), *table.metadata).ValueOrDie();
  EXPECT_TRUE(filter.IsAlwaysTrue(FileOfTuple({int64_t{1}})));
  EXPECT_TRUE(filter.DataMayMatch(FileOfTuple({int64_t{1}})));
}

// --- metrics ----------------------------------------------------------------------------------------------------------------

struct Metrics {
  std::optional<int64_t> values = 10, nulls = 0, nans;
  std::optional<std::string> lower, upper;
};

bool MayMatchMetrics(int column, const Metrics& metrics, const std::string& text) {
  const TestTable table = TableOf({});
  DataFile file;
  const int32_t id = column + 1;
  if (metrics.values) file.value_counts = {{id, *metrics.values}};
  if (metrics.nulls) file.null_value_counts = {{id, *metrics.nulls}};
  if (metrics.nans) file.nan_value_counts = {{id, *metrics.nans}};
  if (metrics.lower) file.lower_bounds = {{id, *metrics.lower}};
  if (metrics.upper) file.upper_bounds = {{id, *metrics.upper}};
  return FilterOf(table, text).DataMayMatch(file);
}

std::string Encoded(TypeId type, const Literal& value) { return EncodeSingleValue(*Type::Of(type), value).ValueOrDie(); }

TEST(ScanFilter, MissingMetricsNeverPrune) {
  for (const char* text : {"(= $0 5)", "(is_null $0)", "(is_not_null $0)", "(in $0 1 2)", "(not (= $0 5))"}) {
    EXPECT_TRUE(MayMatchMetrics(0, {.values = {}, .nulls = {}}, text)) << text;
  }
  EXPECT_TRUE(MayMatchMetrics(0, {.values = {}, .nulls = 10}, "(is_not_null $0)"));
  EXPECT_TRUE(MayMatchMetrics(0, {.values = 10, .nulls = -1}, "(is_null $0)"));
}

TEST(ScanFilter, CountsDecideNulls) {
  EXPECT_FALSE(MayMatchMetrics(0, {.nulls = 0}, "(is_null $0)"));
  EXPECT_FALSE(MayMatchMetrics(0, {.nulls = 10}, "(= $0 1)"));
  EXPECT_FALSE(MayMatchMetrics(0, {.nulls = 10}, "(is_not_null $0)"));
  EXPECT_TRUE(MayMatchMetrics(0, {.nulls = 9}, "(is_not_null $0)"));
}

TEST(IcebergRules, Rule12BoundsOfPromotedColumnsAreDecoded) {
  // Files written when the column was an int, or a float.
  const Metrics ints = {.lower = Encoded(TypeId::kInt, int32_t{-5}), .upper = Encoded(TypeId::kInt, int32_t{5})};
  EXPECT_FALSE(MayMatchMetrics(0, ints, "(> $0 5)"));
  EXPECT_TRUE(MayMatchMetrics(0, ints, "(= $0 -5)"));
  const Metrics floats = {.nans = 0, .lower = Encoded(TypeId::kFloat, 1.0f), .upper = Encoded(TypeId::kFloat, 2.0f)};
  EXPECT_FALSE(MayMatchMetrics(2, floats, "(> $2 2.5e0)"));
  EXPECT_TRUE(MayMatchMetrics(2, floats, "(> $2 1.5e0)"));
  const Metrics days = {.lower = Encoded(TypeId::kDate, int32_t{0}), .upper = Encoded(TypeId::kDate, int32_t{0})};
  EXPECT_FALSE(MayMatchMetrics(6, days, "(< $6 timestamp'1970-01-01 00:00:00')"));
  EXPECT_TRUE(MayMatchMetrics(6, days, "(= $6 timestamp'1970-01-01 00:00:00')"));
}

// Case 27 of the public failures.
TEST(IcebergRules, Rule13BoundsThatWereCutAreStillBounds) {
  const std::string fifteen(15, 'A');
  const Metrics cut = {.lower = fifteen + "\xED\x9F\xBF", .upper = fifteen + "\xEE\x80\x80"};  // U+D7FF, U+E000
  EXPECT_TRUE(MayMatchMetrics(1, cut, "(= $1 '" + fifteen + "\xED\x9F\xBF tail')"));
  EXPECT_TRUE(MayMatchMetrics(1, cut, "(like $1 '" + fifteen + "\xED\x9F\xBF%')"));
  EXPECT_FALSE(MayMatchMetrics(1, cut, "(= $1 'B')"));
  EXPECT_FALSE(MayMatchMetrics(1, cut, "(like $1 'AB%')"));
  // No upper bound: all characters were the highest.
  EXPECT_TRUE(MayMatchMetrics(1, {.lower = "\xF4\x8F\xBF\xBF"}, "(> $1 '\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF')"));
  // A bound is no value.
  EXPECT_TRUE(MayMatchMetrics(1, {.lower = "ab", .upper = "ac"}, "(not_in $1 'ab' 'ac')"));
}

// Case 28 of the public failures.
TEST(IcebergRules, Rule14BoundsOfDecimalsAreBigEndianAndSigned) {
  const Metrics decimals = {.lower = "\xf0\xc9\xa7", .upper = std::string("\x04\xe2", 2)};  // -9969.53, 12.50
  EXPECT_TRUE(MayMatchMetrics(4, decimals, "(= $4 -9969.53)"));
  EXPECT_TRUE(MayMatchMetrics(4, decimals, "(= $4 12.50)"));
  EXPECT_TRUE(MayMatchMetrics(4, decimals, "(= $4 0)"));
  EXPECT_FALSE(MayMatchMetrics(4, decimals, "(< $4 -9969.53)"));
  EXPECT_FALSE(MayMatchMetrics(4, decimals, "(> $4 12.50)"));
  // Some writers pad.
  EXPECT_TRUE(MayMatchMetrics(4, {.lower = std::string(13, '\xff') + "\xf0\xc9\xa7"}, "(= $4 -9969.53)"));
}

TEST(IcebergRules, Rule15BoundsSayNothingOfNan) {
  Metrics doubles = {.lower = Encoded(TypeId::kDouble, 1.0), .upper = Encoded(TypeId::kDouble, 2.0)};
  EXPECT_TRUE(MayMatchMetrics(2, doubles, "(> $2 5e0)"));  // NaN is above every number
  EXPECT_FALSE(MayMatchMetrics(2, doubles, "(< $2 1e0)"));
  doubles.nans = 3;
  EXPECT_TRUE(MayMatchMetrics(2, doubles, "(= $2 double'NaN')"));
  doubles.nans = 0;
  EXPECT_FALSE(MayMatchMetrics(2, doubles, "(> $2 5e0)"));
  EXPECT_FALSE(MayMatchMetrics(2, doubles, "(= $2 double'NaN')"));
  // Careless writers put NaN into bounds.
  doubles.lower = doubles.upper = Encoded(TypeId::kDouble, std::nan(""));
  EXPECT_TRUE(MayMatchMetrics(2, doubles, "(= $2 0e0)"));
  // -0.0 is equal to +0.0 in SQL, whichever the bound is.
  doubles.lower = doubles.upper = Encoded(TypeId::kDouble, 0.0);
  EXPECT_TRUE(MayMatchMetrics(2, doubles, "(= $2 -0e0)"));
}

TEST(ScanFilter, BoundsOfUuidsAreNotBelieved) {
  // Signed and unsigned writers order these differently.
  const std::string low(16, '\x10'), high(16, '\xf0');
  EXPECT_TRUE(MayMatchMetrics(8, {.lower = high, .upper = low}, "(= $8 uuid'f0f0f0f0-f0f0-f0f0-f0f0-f0f0f0f0f0f1')"));
  EXPECT_TRUE(MayMatchMetrics(8, {.lower = low, .upper = high}, "(= $8 uuid'00000000-0000-0000-0000-000000000000')"));
  EXPECT_FALSE(MayMatchMetrics(8, {.lower = low, .upper = low}, "(= $8 uuid'00000000-0000-0000-0000-000000000000')"));
}

// --- in a scan -------------------------------------------------------------------------------------------------------------

std::vector<std::string> PlanFiltered(const TestTable& table, const std::string& text, ScanCounts* counts = nullptr) {
  TestMemory memory;
  ScanOptions options = table.Options(&memory);
  options.filters = {Parse(*table.metadata, text)};
  options.filter_field_ids = FieldIds();
  const auto scan = TableScan::Open(options).ValueOrDie();
  std::vector<std::string> lines;
  const auto tasks = ReadTasks(scan.get()).ValueOrDie();
  for (const FileTask& task : tasks) {
    std::string line = task.file.file_path;
    if (task.filter_always_true) line += " always";
    for (const auto& file : task.position_deletes) line += " " + file->file.file_path;
    if (task.has_equality_deletes) line += " E";
    lines.push_back(line);
  }
  if (counts != nullptr) *counts = scan->counts();
  return lines;
}

FieldSummary Summary(const Literal& lower, const Literal& upper, bool contains_null = false) {
  const Type& type = *Type::Of(TypeId::kLong);
  return {contains_null, false, EncodeSingleValue(type, lower).ValueOrDie(), EncodeSingleValue(type, upper).ValueOrDie()};
}

TEST(TableScan, LeavesOutManifestsAndFilesByPartition) {
  TestTable table = TableOf({{0, "identity"}});
  table.Add(
      {.entries = {Data("a1", 1, {int64_t{1}}), Data("a5", 1, {int64_t{5}})}, .summaries = {Summary(int64_t{1}, int64_t{5})}});
  table.Add({.entries = {Data("b", 1, {int64_t{7}})}, .summaries = {Summary(int64_t{7}, int64_t{7})}});
  table.Add({.deletes = true,
             .entries = {PositionDeletes("p1", 2, {int64_t{1}}), PositionDeletes("p5", 2, {int64_t{5}}),
                         EqualityDeletes("e1", 2, {int64_t{1}})},
             .summaries = {Summary(int64_t{1}, int64_t{5})}});
  table.Add(
      {.deletes = true, .entries = {PositionDeletes("p7", 2, {int64_t{7}})}, .summaries = {Summary(int64_t{7}, int64_t{7})}});
  ScanCounts counts;
  EXPECT_THAT(PlanFiltered(table, "(= $0 5)", &counts), ElementsAre("a5 always p5"));
  EXPECT_EQ(counts.data_manifests, 1);
  EXPECT_EQ(counts.data_manifests_left_out, 1);
  EXPECT_EQ(counts.data_files_left_out, 1);
  EXPECT_EQ(counts.delete_manifests, 1);
  EXPECT_EQ(counts.delete_manifests_left_out, 1);
  EXPECT_EQ(counts.delete_files, 1);
  EXPECT_EQ(counts.delete_files_left_out, 2);
  EXPECT_THAT(PlanFiltered(table, "(is_null $0)", &counts), ElementsAre());
  EXPECT_EQ(counts.data_manifests + counts.delete_manifests, 0);
  // A manifest of nulls alone has no bounds; those are not taken for a proof.
  table.manifests[0].second.summaries = {FieldSummary{.contains_null = true, .contains_nan = false}};
  table.Add({});
  EXPECT_THAT(PlanFiltered(table, "(= $0 1)"), ElementsAre("a1 always p1 E"));
}

TEST(TableScan, ManifestsAreJudgedUnderTheirOwnSpec) {
  TestTable table(SchemaFields(), SpecText(0, {{0, "identity"}}) + "," + SpecText(1, {{7, "identity"}}) + "," + SpecText(2, {}),
                  3);
  table.Add({.spec_id = 0, .entries = {Data("a", 1, {int64_t{1}})}, .summaries = {Summary(int64_t{1}, int64_t{1})}});
  table.Add({.spec_id = 1, .entries = {Data("b", 1, {int32_t{1}})}});
  table.Add({.spec_id = 2, .entries = {Data("c", 1)}});
  EXPECT_THAT(PlanFiltered(table, "(= $0 2)"), ElementsAre("b", "c"));
  EXPECT_THAT(PlanFiltered(table, "(= $7 2)"), ElementsAre("a", "c"));
  EXPECT_THAT(PlanFiltered(table, "(= $7 1)"), ElementsAre("a", "b always", "c"));
}

TEST(TableScan, LeavesOutEqualityDeletesWhoseKeysTheFilterDoesNotKeep) {
  TestTable table = TableOf({});
  table.AddData({Data("d", 1)});
  TestEntry keys = EqualityDeletes("e", 2, {}, {1});
  keys.value_counts = {{1, 10}, {8, 10}};
  keys.null_counts = {{1, 0}, {8, 0}};
  keys.lower = {{1, Encoded(TypeId::kLong, int64_t{10})}, {8, Encoded(TypeId::kInt, int32_t{10})}};
  keys.upper = {{1, Encoded(TypeId::kLong, int64_t{20})}, {8, Encoded(TypeId::kInt, int32_t{20})}};
  table.AddDeletes({keys});
  EXPECT_THAT(PlanFiltered(table, "(= $0 15)"), ElementsAre("d E"));
  EXPECT_THAT(PlanFiltered(table, "(= $0 25)"), ElementsAre("d"));
  // A row without a key is deleted by a key that is null, and there is none.
  EXPECT_THAT(PlanFiltered(table, "(is_null $0)"), ElementsAre("d"));
  TestTable with_null = TableOf({});
  with_null.AddData({Data("d", 1)});
  keys.null_counts = {{1, 1}, {8, 0}};
  with_null.AddDeletes({keys});
  EXPECT_THAT(PlanFiltered(with_null, "(is_null $0)"), ElementsAre("d E"));
  // $7 is no key: what the delete file holds of it is not what the data file holds.
  EXPECT_THAT(PlanFiltered(table, "(= $7 25)"), ElementsAre("d E"));
  EXPECT_THAT(PlanFiltered(table, "(or (= $0 25) (= $7 25))"), ElementsAre("d E"));
}

// --- random tables ---------------------------------------------------------------------------------------------------------

/// Random partitionings, rows and filters: what holds a row that the filter keeps is never left out.
class FilterProperty {
 public:
  explicit FilterProperty(uint32_t seed) : random_(seed) {}

  void Run() {
    std::vector<SpecField> fields;
    for (int i = Pick(4); i > 0; --i) fields.push_back(RandomField());
    const TestTable table = TableOf(fields);
    const TableMetadata& metadata = *table.metadata;
    schema_ = ToArrowSchema(metadata.current_schema());
    spec_ = metadata.FindSpec(0);
    tuple_type_ = metadata.TupleType(*spec_);
    MakeFiles(metadata.current_schema());
    for (int i = 0; i < 25; ++i) {
      const std::string text = Predicate(3);
      const auto filter = ScanFilter::Make({Parse(metadata, text)}, FieldIds(), metadata.current_schema(), metadata);
      ASSERT_TRUE(filter.ok()) << text << filter.status().ToString();
      Check(*filter, Parse(metadata, text), text + " on " + SpecText(0, fields));
      if (testing::Test::HasFailure()) return;
    }
  }

  int by_partition = 0, by_metrics = 0, by_manifest = 0, by_keys = 0, always = 0, kept = 0;

 private:
  struct File {
    DataFile file;
    std::vector<std::vector<Literal>> rows;
    std::shared_ptr<arrow::RecordBatch> batch;
  };

  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  SpecField RandomField() {
    static const char* kTransforms[] = {"identity", "bucket[3]", "truncate[2]", "truncate[10]", "year",
                                        "month",    "day",       "hour",        "void",         "zorder"};
    for (;;) {
      SpecField field{Pick(kColumnCount), kTransforms[Pick(10)]};
      const Transform transform = Transform::Parse(field.transform).ValueOrDie();
      const TypePtr type = Type::Parse(kColumns[field.column].type).ValueOrDie();
      if (!transform.is_known() || transform.CheckSource(*type).ok()) return field;
    }
  }

  Literal RandomValue(int column) {
    if (Pick(6) == 0) return Literal();
    const int64_t hour = int64_t{3'600'000'000};
    const int64_t micros = (Pick(2) == 0 ? Pick(200) - 100 : (Pick(9) - 4) * 24 * 200) * hour + Pick(3) - 1;
    switch (column) {
      case 0:
        return Pick(9) == 0 ? Literal(std::numeric_limits<int64_t>::min() + Pick(2)) : Literal(int64_t{Pick(40) - 20});
      case 1: {
        static const char* kTexts[] = {"", "a", "ab", "abc", "abd", "b", "é", "éa", "\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF z"};
        return std::string(kTexts[Pick(9)]);
      }
      case 2:
        return Pick(5) == 0 ? std::nan("") : Pick(5) == 0 ? -0.0 : Pick(9) / 2.0 - 2;
      case 3:
        return static_cast<int32_t>(FloorDivide(micros, kMicrosPerDay));
      case 4:
        return arrow::Decimal128(Pick(60) - 30);
      case 5:
        return Pick(2) == 0;
      case 7:
        return Pick(9) == 0 ? std::numeric_limits<int32_t>::max() - Pick(3) : Pick(40) - 20;
      case 8:
        return std::string(16, static_cast<char>(Pick(3) * 0x70));
      case 9:
        return micros * 1000 + Pick(3) - 1;
      default:
        return micros;
    }
  }

  std::vector<Literal> TupleOf(const std::vector<Literal>& row) {
    std::vector<Literal> tuple;
    for (const PartitionField& field : spec_->fields) {
      const int column = field.source_id() - 1;
      if (!field.transform.is_known()) {
        tuple.push_back(std::string("?"));
      } else {
        tuple.push_back(field.transform.Apply(*Type::Parse(kColumns[column].type).ValueOrDie(), row[static_cast<size_t>(column)])
                            .ValueOrDie());
      }
    }
    return tuple;
  }

  void MakeFiles(const Schema& schema) {
    files_.clear();
    manifest_ = ManifestFile();
    manifest_.spec_id = 0;
    manifest_.partitions.resize(spec_->fields.size());
    for (FieldSummary& summary : manifest_.partitions) summary.contains_null = false;
    for (int i = 0; i < 3; ++i) {
      File made;
      for (int k = 0; k < 60; ++k) {
        std::vector<Literal> row;
        for (int column = 0; column < kColumnCount; ++column) row.push_back(RandomValue(column));
        const auto tuple = TupleOf(row);
        if (k == 0) made.file.partition = tuple;
        bool same = true;
        for (size_t f = 0; f < tuple.size(); ++f) same &= SameLiteral(tuple[f], made.file.partition[f]);
        if (same && made.rows.size() < 6) made.rows.push_back(row);
      }
      made.batch = BatchOf(made.rows);
      for (int column = 0; column < kColumnCount; ++column) {
        AddMetrics(made.rows, static_cast<size_t>(column), *schema.fields()[static_cast<size_t>(column)].type, &made.file);
      }
      Summarize(made.file.partition);
      files_.push_back(std::move(made));
    }
  }

  std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<std::vector<Literal>>& rows) {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int column = 0; column < kColumnCount; ++column) {
      const TypePtr type = Type::Parse(kColumns[column].type).ValueOrDie();
      std::vector<std::shared_ptr<arrow::Array>> parts;
      for (const auto& row : rows) {
        const auto scalar = LiteralToScalar(*type, row[static_cast<size_t>(column)]).ValueOrDie();
        parts.push_back(arrow::MakeArrayFromScalar(*scalar, 1).ValueOrDie());
      }
      arrays.push_back(arrow::Concatenate(parts).ValueOrDie());
    }
    return arrow::RecordBatch::Make(schema_, static_cast<int64_t>(rows.size()), arrays);
  }

  /// As a writer may keep them: some, cut to two characters.
  void AddMetrics(const std::vector<std::vector<Literal>>& rows, size_t column, const Type& type, DataFile* file) {
    const auto id = static_cast<int32_t>(column + 1);
    int64_t nulls = 0, nans = 0;
    Literal low, high;
    for (const auto& row : rows) {
      const Literal& value = row[column];
      if (IsNull(value)) {
        ++nulls;
      } else if (IsNan(value)) {
        ++nans;
      } else {
        if (IsNull(low) || CompareLiterals(value, low) < 0) low = value;
        if (IsNull(high) || CompareLiterals(value, high) > 0) high = value;
      }
    }
    if (Pick(5) != 0) file->value_counts.emplace_back(id, static_cast<int64_t>(rows.size()));
    if (Pick(5) != 0) file->null_value_counts.emplace_back(id, nulls);
    if (Pick(2) != 0) file->nan_value_counts.emplace_back(id, nans);
    if (IsNull(low)) return;
    if (Pick(5) != 0) {
      file->lower_bounds.emplace_back(id, EncodeSingleValue(type, TruncateLowerBound(type, low, 2)).ValueOrDie());
    }
    const auto cut = TruncateUpperBound(type, high, 2);
    if (cut && Pick(5) != 0) file->upper_bounds.emplace_back(id, EncodeSingleValue(type, *cut).ValueOrDie());
  }

  void Summarize(const std::vector<Literal>& tuple) {
    for (size_t i = 0; i < tuple.size(); ++i) {
      FieldSummary& summary = manifest_.partitions[i];
      const Type& type = *tuple_type_->fields()[i].type;
      summary.contains_nan = summary.contains_nan.value_or(false);
      if (IsNull(tuple[i])) {
        summary.contains_null = true;
        continue;
      }
      if (IsNan(tuple[i])) {
        summary.contains_nan = true;
        continue;
      }
      const auto before = [&](const std::optional<std::string>& bound, int sign) {
        if (!bound) return true;
        const auto order = CompareLiterals(tuple[i], DecodeSingleValue(type, *bound).ValueOrDie());
        return sign < 0 ? order < 0 : order > 0;
      };
      const std::string encoded = EncodeSingleValue(type, tuple[i]).ValueOrDie();
      if (before(summary.lower, -1)) summary.lower = encoded;
      if (before(summary.upper, 1)) summary.upper = encoded;
    }
  }

  void Check(const ScanFilter& filter, const expr::ExprPtr& predicate, const std::string& what) {
    bool any = false;
    for (const File& made : files_) {
      const auto rows = expr::Filter(*predicate, made.batch, expr::TestContext());
      ASSERT_TRUE(rows.ok()) << what << ": " << rows.status().ToString();
      const bool matches = *rows != nullptr;
      any |= matches;
      const bool by_tuple = filter.PartitionMayMatch(made.file), by_bounds = filter.MetricsMayMatch(made.file);
      EXPECT_TRUE(by_tuple || !matches) << "partition: " << what << "\n" << made.batch->ToString();
      EXPECT_TRUE(by_bounds || !matches) << "metrics: " << what << "\n" << made.batch->ToString();
      by_partition += by_tuple ? 0 : 1;
      by_metrics += by_bounds ? 0 : 1;
      kept += matches ? 1 : 0;
      if (filter.IsAlwaysTrue(made.file)) {
        ++always;
        EXPECT_TRUE(matches && (*rows)->num_rows() == made.batch->num_rows()) << "always: " << what << made.batch->ToString();
      }
      // Deletes with the keys of these very rows.
      DataFile deletes = made.file;
      deletes.content = FileContent::kEqualityDeletes;
      for (int column = 0; column < kColumnCount; ++column) {
        if (Pick(2) == 0) deletes.equality_ids.push_back(column + 1);
      }
      const bool by_key = filter.DeletesMayMatch(deletes);
      EXPECT_TRUE(by_key || !matches) << "keys: " << what << "\n" << made.batch->ToString();
      by_keys += by_key || !by_tuple ? 0 : 1;
    }
    const bool manifest_may = filter.MayMatch(manifest_);
    EXPECT_TRUE(manifest_may || !any) << "manifest: " << what;
    by_manifest += manifest_may ? 0 : 1;
  }

  std::string LiteralOf(int column) {
    static const char* kTypes[] = {"bigint",    "text",    "double", "date",         "",           "boolean",
                                   "timestamp", "integer", "uuid",   "timestamp_ns", "timestamptz"};
    const TypePtr type = Type::Parse(kColumns[column].type).ValueOrDie();
    const Literal value = RandomValue(column);
    if (IsNull(value)) return "null";
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* number = std::get_if<double>(&value); number != nullptr) {
      return std::isnan(*number) ? "double'NaN'" : fmt::format("double'{}'", *number);
    }
    std::string text = LiteralText(*type, value);
    if (column == 10) text = text.substr(0, text.find('+')) + "+00";
    if (column == 4) return text;
    // An int column is compared with long and decimal constants, too.
    if (column == 7 && Pick(3) == 0) return Pick(2) == 0 ? "bigint'" + text + "'" : text + ".0";
    return std::string(column == 1 ? "" : kTypes[column]) + "'" + text + "'";
  }

  std::string Comparison() {
    static const char* kOperators[] = {"=", "=", "=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from"};
    const int column = Pick(kColumnCount);
    const std::string name = "$" + std::to_string(column), constant = LiteralOf(column);
    const bool swapped = Pick(3) == 0;
    return fmt::format("({} {} {})", kOperators[Pick(10)], swapped ? constant : name, swapped ? name : constant);
  }

  std::string Predicate(int depth) {
    const int kind = Pick(depth > 0 ? 9 : 5);
    if (kind < 2) return Comparison();
    const int column = Pick(kColumnCount);
    if (kind == 2) {
      std::string list;
      for (int i = 0; i <= Pick(3); ++i) list += " " + LiteralOf(column);
      return fmt::format("({} ${}{})", Pick(3) == 0 ? "not_in" : "in", column, list);
    }
    if (kind == 3) return fmt::format("({} ${})", Pick(2) == 0 ? "is_null" : "is_not_null", column);
    if (kind == 4) {
      static const char* kPatterns[] = {"a%", "ab%", "é%", "abc", "%b", "abd%"};
      return fmt::format("({} $1 '{}')", Pick(3) == 0 ? "not_like" : "like", kPatterns[Pick(6)]);
    }
    if (kind == 5) return "(not " + Predicate(depth - 1) + ")";
    return fmt::format("({} {} {})", kind < 8 ? "and" : "or", Predicate(depth - 1), Predicate(depth - 1));
  }

  std::mt19937 random_;
  std::shared_ptr<arrow::Schema> schema_;
  const PartitionSpec* spec_ = nullptr;
  TypePtr tuple_type_;
  std::vector<File> files_;
  ManifestFile manifest_;
};

TEST(ScanFilter, NeverLeavesOutARowThatTheFilterKeeps) {
  FilterProperty property(20261201);
  for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) property.Run();
  // Every way of leaving out was at work.
  EXPECT_GT(property.by_partition, 1000);
  EXPECT_GT(property.by_metrics, 1000);
  EXPECT_GT(property.by_manifest, 100);
  EXPECT_GT(property.by_keys, 500);
  EXPECT_GT(property.always, 100);
  EXPECT_GT(property.kept, 1000);
}

}  // namespace
}  // namespace icebound::iceberg::test
