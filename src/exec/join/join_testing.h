// SPDX-License-Identifier: Apache-2.0
//
// What the joins' tests share: inputs that can be read once, random tables, and the model that says which rows come out.
//
// The model is a nested loop over values. It knows nothing of hashes, partitions or packed rows: it compares the texts of values,
// and asks a function for what a residual condition says.
#pragma once

#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "exec/operator.h"
#include "exec/sort/sort_testing.h"
#include "expr/expr.h"
#include "expr/join_condition.h"
#include "icebound/error.h"
#include "row/arrays_for_test.h"

namespace icebound::exec::join::test {

using expr::JoinType;
using row::test::OneIn;
using row::test::Random;
using row::test::Uniform;
using sort::test::kMiB;
using sort::test::World;

inline std::vector<JoinType> AllJoinTypes() {
  return {JoinType::kInner,    JoinType::kLeft,          JoinType::kRight,    JoinType::kFull,          JoinType::kLeftSemi,
          JoinType::kLeftAnti, JoinType::kLeftAntiNulls, JoinType::kLeftMark, JoinType::kLeftMarkNulls, JoinType::kLeftSingle};
}

/// An input that gives each batch once, to as many streams as are asked for, and can be run only once.
class BatchesOperator final : public Operator {
 public:
  BatchesOperator(QueryContext* context, std::shared_ptr<arrow::Schema> schema, arrow::RecordBatchVector batches, int streams)
      : Operator(context, "batches", std::move(schema)), batches_(std::move(batches)), streams_(streams) {}

  arrow::Status Prepare() override {
    EXPECT_EQ(++prepared_, 1);
    return arrow::Status::OK();
  }
  int max_streams() const override { return streams_; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override {
    EXPECT_EQ(prepared_, 1);
    EXPECT_LE(++opened_, streams_);
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
  std::atomic<int> opened_{0};
  std::atomic<size_t> next_{0};
};

/// A table in pieces.
struct Table {
  std::shared_ptr<arrow::Schema> schema;
  arrow::RecordBatchVector batches;

  int64_t rows() const {
    int64_t rows = 0;
    for (const auto& batch : batches) rows += batch->num_rows();
    return rows;
  }
};

inline Table MakeTable(arrow::FieldVector fields, arrow::ArrayVector columns, int64_t batch_rows) {
  Table table{arrow::schema(std::move(fields)), {}};
  const auto whole = arrow::RecordBatch::Make(table.schema, columns[0]->length(), columns);
  for (int64_t first = 0; first < whole->num_rows(); first += batch_rows)
    table.batches.push_back(whole->Slice(first, batch_rows));
  return table;
}

inline std::shared_ptr<arrow::Array> Integers(int64_t rows, const std::function<std::optional<int64_t>(int64_t)>& value,
                                              const std::shared_ptr<arrow::DataType>& type = arrow::int64()) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < rows; ++i) {
    const auto number = value(i);
    EXPECT_TRUE((number.has_value() ? builder.Append(*number) : builder.AppendNull()).ok());
  }
  const auto array = builder.Finish().ValueOrDie();
  return type->id() == arrow::Type::INT64 ? array : arrow::compute::Cast(*array, type).ValueOrDie();
}

inline std::shared_ptr<arrow::Array> Texts(int64_t rows, const std::function<std::optional<std::string>(int64_t)>& value) {
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < rows; ++i) {
    const auto text = value(i);
    EXPECT_TRUE((text.has_value() ? builder.Append(*text) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

inline expr::ExprPtr ColumnOf(const Table& table, int index) { return expr::MakeColumn(index, *table.schema->field(index)); }

// --- the model --------------------------------------------------------------------------------------------------------------

using ModelRow = std::vector<std::optional<std::string>>;

/// The text of a value that is not null.
inline std::string TextAt(const arrow::Array& column, int64_t row) {
  using arrow::Type;
  switch (column.type_id()) {
    case Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(column).Value(row) ? "true" : "false";
    case Type::INT32:
      return std::to_string(static_cast<const arrow::Int32Array&>(column).Value(row));
    case Type::INT64:
      return std::to_string(static_cast<const arrow::Int64Array&>(column).Value(row));
    case Type::DOUBLE:
      return std::to_string(static_cast<const arrow::DoubleArray&>(column).Value(row));
    case Type::STRING:
      return static_cast<const arrow::StringArray&>(column).GetString(row);
    case Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Array&>(column).FormatValue(row);
    case Type::DICTIONARY: {
      const auto& codes = static_cast<const arrow::DictionaryArray&>(column);
      return TextAt(*codes.dictionary(), codes.GetValueIndex(row));
    }
    default:
      return column.GetScalar(row).ValueOrDie()->ToString();
  }
}

/// Also where a dictionary's entry is null.
inline bool IsNullAt(const arrow::Array& column, int64_t row) {
  if (column.type_id() != arrow::Type::DICTIONARY) return column.IsNull(row);
  const auto& codes = static_cast<const arrow::DictionaryArray&>(column);
  return codes.IsNull(row) || codes.dictionary()->IsNull(codes.GetValueIndex(row));
}

inline std::vector<ModelRow> RowsOf(const arrow::RecordBatchVector& batches) {
  std::vector<ModelRow> rows;
  for (const auto& batch : batches) {
    const size_t first = rows.size();
    rows.resize(first + static_cast<size_t>(batch->num_rows()));
    for (const auto& column : batch->columns()) {
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        std::optional<std::string>& value = rows[first + static_cast<size_t>(i)].emplace_back();
        if (!IsNullAt(*column, i)) value = TextAt(*column, i);
      }
    }
  }
  return rows;
}

/// Whether a pair of rows matches, NULL keys apart; the model's own reading of the condition.
using Matches = std::function<bool(const ModelRow& left, const ModelRow& right)>;

/// Which rows match which, found once and used for all join types.
struct ModelJoin {
  std::vector<ModelRow> left;
  std::vector<ModelRow> right;
  std::vector<std::vector<size_t>> matches;  // of each left row

  ModelJoin(const Table& left_table, const Table& right_table, const Matches& matcher)
      : left(RowsOf(left_table.batches)), right(RowsOf(right_table.batches)), matches(left.size()) {
    for (size_t l = 0; l < left.size(); ++l) {
      for (size_t r = 0; r < right.size(); ++r) {
        if (matcher(left[l], right[r])) matches[l].push_back(r);
      }
    }
  }

  bool HasSecondMatch() const {
    return std::any_of(matches.begin(), matches.end(), [](const auto& of_row) { return of_row.size() > 1; });
  }

  /// The rows of a join type, as sorted texts. `null_key` says which columns hold the only key, for NOT IN and IN.
  std::vector<std::string> Expected(JoinType type, int left_key = -1, int right_key = -1) const;
};

inline std::string TextOf(const ModelRow& row) {
  std::string text;
  for (const auto& value : row) text += (value.has_value() ? *value : "<null>") + "|";
  return text;
}

inline std::vector<std::string> ModelJoin::Expected(JoinType type, int left_key, int right_key) const {
  std::vector<std::string> rows;
  const ModelRow no_left(left.empty() ? 0 : left[0].size());
  const ModelRow no_right(right.empty() ? 0 : right[0].size());
  std::vector<bool> right_matched(right.size());
  bool right_has_null = false;
  for (const ModelRow& row : right) right_has_null = right_has_null || (right_key >= 0 && !row[static_cast<size_t>(right_key)]);
  for (size_t l = 0; l < left.size(); ++l) {
    const std::string text = TextOf(left[l]);
    const bool matched = !matches[l].empty();
    const bool null_key = left_key >= 0 && !left[l][static_cast<size_t>(left_key)];
    const bool unknown = !matched && !right.empty() && (null_key || right_has_null);
    for (const size_t r : matches[l]) {
      right_matched[r] = true;
      if (expr::HasRightColumns(type)) rows.push_back(text + TextOf(right[r]));
    }
    switch (type) {
      case JoinType::kLeft:
      case JoinType::kFull:
      case JoinType::kLeftSingle:
        if (!matched) rows.push_back(text + TextOf(no_right));
        break;
      case JoinType::kLeftSemi:
        if (matched) rows.push_back(text);
        break;
      case JoinType::kLeftAnti:
        if (!matched) rows.push_back(text);
        break;
      case JoinType::kLeftAntiNulls:
        if (!matched && !unknown) rows.push_back(text);
        break;
      case JoinType::kLeftMark:
        rows.push_back(text + (matched ? "true|" : "false|"));
        break;
      case JoinType::kLeftMarkNulls:
        rows.push_back(text + (matched ? "true|" : (unknown ? "<null>|" : "false|")));
        break;
      default:
        break;
    }
  }
  if (type == JoinType::kRight || type == JoinType::kFull) {
    for (size_t r = 0; r < right.size(); ++r) {
      if (!right_matched[r]) rows.push_back(TextOf(no_left) + TextOf(right[r]));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// The schema a plan would give.
inline std::shared_ptr<arrow::Schema> OutputSchema(const Table& left, const Table& right, JoinType type) {
  arrow::FieldVector fields;
  for (const auto& field : left.schema->fields()) fields.push_back(field->WithNullable(true));
  if (expr::HasRightColumns(type)) {
    for (const auto& field : right.schema->fields()) fields.push_back(field->WithNullable(true));
  }
  if (type == JoinType::kLeftMark || type == JoinType::kLeftMarkNulls) {
    fields.push_back(arrow::field("mark", arrow::boolean(), type == JoinType::kLeftMarkNulls));
  }
  return arrow::schema(std::move(fields));
}

/// All rows of a prepared operator, read with all threads and copied out of the ledger's memory; holds batches to their bounds.
inline arrow::Result<arrow::RecordBatchVector> ReadAll(World* world, Operator* join) {
  std::mutex mutex;
  arrow::RecordBatchVector output;
  ARROW_RETURN_NOT_OK(DrainInParallel(&world->context, join, [&](int, BatchStream* stream) -> arrow::Status {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
      if (batch == nullptr) {
        ARROW_ASSIGN_OR_RAISE(batch, stream->Next());
        EXPECT_EQ(batch, nullptr);
        return arrow::Status::OK();
      }
      EXPECT_GT(batch->num_rows(), 0);
      EXPECT_LE(batch->num_rows(), world->context.batch_rows);
      EXPECT_TRUE(batch->schema()->Equals(*join->schema()));
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      ARROW_ASSIGN_OR_RAISE(auto copy, batch->CopyTo(arrow::default_cpu_memory_manager()));
      std::lock_guard lock(mutex);
      output.push_back(std::move(copy));
    }
  }));
  return output;
}

inline std::vector<std::string> SortedTexts(const arrow::RecordBatchVector& batches) {
  std::vector<std::string> texts;
  for (const ModelRow& row : RowsOf(batches)) texts.push_back(TextOf(row));
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// As EXPECT_EQ, but says where two long lists differ first.
inline void ExpectSameRows(const std::vector<std::string>& actual, const std::vector<std::string>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  const size_t common = std::min(actual.size(), expected.size());
  for (size_t i = 0; i < common; ++i) {
    if (actual[i] == expected[i]) continue;
    ADD_FAILURE() << "row " << i << ": " << actual[i] << " should be " << expected[i];
    return;
  }
}

// --- cases and ways to run them ----------------------------------------------------------------------------------------------

constexpr int64_t kInMemoryBytes = 48 * kMiB;
constexpr int64_t kOneSpillBytes = 300 << 10;
constexpr int64_t kManySpillsBytes = 160 << 10;

/// How much memory there is, and what that does to a join of some thousand rows.
struct Way {
  std::string name;
  int64_t granted_bytes;
  bool force_spill;
  int threads;
  bool build_left;
};

/// For the names of tests in messages: not the bytes of the struct.
inline void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

inline std::vector<Way> AllWays() {
  std::vector<Way> ways;
  for (const bool build_left : {false, true}) {
    for (const int threads : {1, 2}) {
      const std::string suffix = std::string(threads == 1 ? "OneThread" : "TwoThreads") + (build_left ? "Left" : "Right");
      ways.push_back({"InMemory" + suffix, kInMemoryBytes, false, threads, build_left});
      ways.push_back({"OneSpill" + suffix, kOneSpillBytes, false, threads, build_left});
      ways.push_back({"ManySpills" + suffix, kManySpillsBytes, false, threads, build_left});
      ways.push_back({"SpillAfterEachBatch" + suffix, kInMemoryBytes, true, threads, build_left});
    }
  }
  return ways;
}

/// A join to run, and what the model thinks of it.
struct Case {
  Table left;
  Table right;
  expr::JoinCondition condition;
  Matches matches;
  int left_key = -1;  // the only key, when the null-aware types may be asked for
  int right_key = -1;
};

struct RunStats {
  int64_t spilled_bytes = 0;
  int64_t spill_levels = 0;
  int64_t peak_bytes = 0;
  int64_t rows = 0;
};

template <typename Join>
arrow::Result<std::unique_ptr<Join>> MakeJoin(World* world, const Table& left, const Table& right, JoinType type,
                                              const expr::JoinCondition& condition, bool build_left, int streams) {
  return Join::Make(&world->context, std::make_unique<BatchesOperator>(&world->context, left.schema, left.batches, streams),
                    std::make_unique<BatchesOperator>(&world->context, right.schema, right.batches, streams), type, condition,
                    build_left, OutputSchema(left, right, type));
}

template <typename Join>
arrow::Result<arrow::RecordBatchVector> RunJoin(World* world, const Case& test, JoinType type, bool build_left, int streams,
                                                RunStats* stats = nullptr) {
  ARROW_ASSIGN_OR_RAISE(auto join, MakeJoin<Join>(world, test.left, test.right, type, test.condition, build_left, streams));
  ARROW_RETURN_NOT_OK(join->Prepare());
  ARROW_ASSIGN_OR_RAISE(auto output, ReadAll(world, join.get()));
  if (stats != nullptr) {
    stats->spilled_bytes = join->metrics().spilled_bytes;
    stats->spill_levels = join->metrics().spill_levels;
    stats->peak_bytes = join->metrics().peak_bytes;
    stats->rows = join->metrics().rows;
  }
  return output;
}

/// Columns: k int32, s text, d decimal, x double, n int64 (the row's number), w text of any length.
inline Table RandomTable(Random& random, int64_t rows, int64_t key_values, double nulls, bool as_dictionary) {
  const auto maybe = [&](auto value) -> std::optional<decltype(value)> {
    if (std::uniform_real_distribution<>(0, 1)(random) < nulls) return std::nullopt;
    return value;
  };
  arrow::Decimal128Builder decimals(arrow::decimal128(15, 2));
  arrow::DoubleBuilder doubles;
  const std::vector<double> values = {0.0, -0.0, 1.5, std::nan(""), -std::nan(""), INFINITY};
  for (int64_t i = 0; i < rows; ++i) {
    const auto decimal = maybe(Uniform(random, -2, 2));
    EXPECT_TRUE((decimal ? decimals.Append(arrow::Decimal128(*decimal)) : decimals.AppendNull()).ok());
    const auto number = maybe(values[static_cast<size_t>(Uniform(random, 0, 5))]);
    EXPECT_TRUE((number ? doubles.Append(*number) : doubles.AppendNull()).ok());
  }
  auto texts = Texts(rows, [&](int64_t) { return maybe(std::string(static_cast<size_t>(Uniform(random, 0, 3)), 'a')); });
  if (as_dictionary) texts = arrow::compute::Cast(*texts, arrow::dictionary(arrow::int32(), arrow::utf8())).ValueOrDie();
  arrow::ArrayVector columns = {
      Integers(
          rows, [&](int64_t) { return maybe(Uniform(random, 0, key_values - 1)); }, arrow::int32()),
      texts,
      decimals.Finish().ValueOrDie(),
      doubles.Finish().ValueOrDie(),
      Integers(rows, [&](int64_t i) { return std::optional<int64_t>(i); }),
      Texts(rows, [&](int64_t) { return maybe(std::string(static_cast<size_t>(Uniform(random, 0, 120)), 'w')); })};
  return MakeTable(
      {arrow::field("k", arrow::int32()), arrow::field("s", texts->type()), arrow::field("d", arrow::decimal128(15, 2)),
       arrow::field("x", arrow::float64()), arrow::field("n", arrow::int64(), false), arrow::field("w", arrow::utf8())},
      std::move(columns), Uniform(random, 40, 130));
}

constexpr int kK = 0;
constexpr int kS = 1;
constexpr int kD = 2;
constexpr int kX = 3;
constexpr int kN = 4;

inline bool EqualText(const ModelRow& left, const ModelRow& right, int column) {
  const auto& a = left[static_cast<size_t>(column)];
  const auto& b = right[static_cast<size_t>(column)];
  return a.has_value() && b.has_value() && *a == *b;
}

inline bool EqualDouble(const ModelRow& left, const ModelRow& right, int column) {
  const auto& a = left[static_cast<size_t>(column)];
  const auto& b = right[static_cast<size_t>(column)];
  if (!a.has_value() || !b.has_value()) return false;
  const double x = std::stod(*a);
  const double y = std::stod(*b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

inline bool NotDistinct(const ModelRow& left, const ModelRow& right, int column) {
  return left[static_cast<size_t>(column)] == right[static_cast<size_t>(column)];
}

/// Runs a case in one way, for all join types, and judges the rows.
template <typename Join>
class JoinTest : public ::testing::TestWithParam<Way> {
 protected:
  void Check(const Case& test) {
    const ModelJoin model(test.left, test.right, test.matches);
    for (const JoinType type : AllJoinTypes()) {
      const bool knows_nulls = type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls;
      if (knows_nulls && test.left_key < 0) continue;
      SCOPED_TRACE(expr::JoinTypeName(type));
      CheckType(test, model, type);
    }
  }

  void CheckType(const Case& test, const ModelJoin& model, JoinType type) {
    World world(GetParam().granted_bytes, GetParam().threads);
    world.context.force_spill = GetParam().force_spill;
    world.context.batch_rows = 100;
    world.context.batch_bytes = 16 << 10;
    {
      RunStats stats;
      const auto output = RunJoin<Join>(&world, test, type, GetParam().build_left, GetParam().threads, &stats);
      if (type == JoinType::kLeftSingle && model.HasSecondMatch()) {
        EXPECT_EQ(GetErrorKind(output.status()), ErrorKind::kExecution) << output.status().ToString();
        EXPECT_THAT(output.status().message(), ::testing::HasSubstr("more than one row returned by a subquery"));
      } else {
        ASSERT_OK(output.status());
        const std::vector<std::string> expected = model.Expected(type, test.left_key, test.right_key);
        ExpectSameRows(SortedTexts(*output), expected);
        EXPECT_EQ(stats.rows, static_cast<int64_t>(expected.size()));
        spill_levels_ = std::max(spill_levels_, stats.spill_levels);
        if (GetParam().force_spill && test.left.rows() > 0 && test.right.rows() > 0) {
          EXPECT_GE(stats.spill_levels, 1);
        }
        if (in_memory()) {
          EXPECT_EQ(stats.spilled_bytes, 0);
        }
      }
    }
    world.ExpectNothingHeld();
  }

  bool in_memory() const { return GetParam().granted_bytes == kInMemoryBytes && !GetParam().force_spill; }
  bool spills_often() const { return GetParam().granted_bytes == kManySpillsBytes; }

  int64_t spill_levels_ = 0;  // of any run so far
};

}  // namespace icebound::exec::join::test
