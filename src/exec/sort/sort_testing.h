// SPDX-License-Identifier: Apache-2.0
//
// What the sorter's tests share: a runner that sorts batches with a given memory and number of threads, and the model
// that judges the result.
//
// The model knows nothing of keys as bytes: it compares values. Each input row has its number in a column "row", so
// an output row can be held against the input row it claims to be.
#pragma once

#include <arrow/api.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "exec/sort/external_sorter.h"
#include "memory/memory_ledger.h"
#include "memory/memory_testing.h"
#include "row/arrays_for_test.h"
#include "row/types_for_test.h"
#include "runtime/query_context.h"
#include "runtime/worker_pool.h"
#include "spill/disk_manager.h"

namespace icebound::exec::sort::test {

constexpr int64_t kMiB = int64_t{1} << 20;

/// The smallest ledger there is, or one that grants at least so much.
inline memory::MemoryLedgerPtr MakeLedger(int64_t granted_bytes) {
  memory::MemoryLedgerOptions options;
  options.limit_bytes = std::max<int64_t>(memory::kMinimumLimitBytes, granted_bytes);
  if (memory::kSanitized) options.stall_timeout_ms *= 20;  // a sanitizer computes so much slower
  return memory::MemoryLedger::Make(options).ValueOrDie();
}

/// Everything a sort runs in, with `granted_bytes` that it may have when nobody else wants any.
struct World {
  struct Nothing final : memory::Reclaimer {
    int64_t ReclaimableBytes() const override { return 0; }
    arrow::Result<int64_t> Reclaim(int64_t) override { return 0; }
  };

  explicit World(int64_t granted_bytes, int threads, std::optional<int64_t> spill_limit_bytes = std::nullopt)
      : ledger(MakeLedger(granted_bytes)),
        disk(spill::DiskManager::Make({.directory = "", .limit_bytes = spill_limit_bytes, .scratch_buffers = 2}).ValueOrDie()),
        context{*ledger, *disk, cancellation, metrics, threads},
        ballast(ledger->AddConsumer("ballast")) {
    // The ledger keeps some of its grants free for those who cannot spill; what it would lend to one who can is the
    // share of such a consumer.
    Nothing nothing;
    const int64_t lent_bytes = ledger->AddConsumer("probe", &nothing)->share_bytes();
    EXPECT_TRUE(ballast->Reserve(std::max<int64_t>(lent_bytes - granted_bytes, 0)).ok());
  }

  /// Nothing may be left when a sort and its batches are gone.
  void ExpectNothingHeld() {
    ballast.reset();
    ledger->Trim();
    EXPECT_EQ(ledger->reserved_bytes(), 0) << ledger->DescribeTopConsumers(5);
    EXPECT_EQ(disk->used_bytes(), 0);
  }

  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<spill::DiskManager> disk;
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry metrics;
  runtime::QueryContext context;
  std::unique_ptr<memory::MemoryConsumer> ballast;  // holds what the sort shall not have
};

struct SortStats {
  int64_t initial_runs = 0;
  int64_t final_fan_in = 0;
  int64_t merge_levels = 0;
  int64_t spilled_bytes = 0;
  int64_t paired_merges = 0;
};

/// Feeds the batches to a sorter from `context.threads` threads, up to the point where it can be read.
inline arrow::Status FeedAndFinish(World* world, ExternalSorter* sorter, const arrow::RecordBatchVector& batches) {
  const int workers = world->context.threads;
  ARROW_RETURN_NOT_OK(sorter->StartInput(workers));
  std::atomic<size_t> next{0};
  ARROW_RETURN_NOT_OK(runtime::RunOnThreads(workers, [&](int worker) -> arrow::Status {
    for (size_t i = next++; i < batches.size(); i = next++) ARROW_RETURN_NOT_OK(sorter->Append(worker, *batches[i]));
    return sorter->FinishWorker(worker);
  }));
  return sorter->FinishInput();
}

/// The sorted rows, copied out of the ledger's memory.
inline arrow::Result<arrow::RecordBatchVector> Drain(runtime::BatchStream* stream, int64_t batches_max = INT64_MAX) {
  arrow::RecordBatchVector result;
  for (int64_t i = 0; i < batches_max; ++i) {
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (batch == nullptr) break;
    EXPECT_GT(batch->num_rows(), 0);
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    ARROW_ASSIGN_OR_RAISE(auto copy, batch->CopyTo(arrow::default_cpu_memory_manager()));
    result.push_back(std::move(copy));
  }
  return result;
}

inline arrow::Result<arrow::RecordBatchVector> Sort(World* world, const arrow::RecordBatchVector& batches, SorterOptions options,
                                                    SortStats* stats = nullptr) {
  runtime::OperatorMetrics& metrics = world->metrics.AddOperator("sort");
  if (options.output_columns == 0) options.output_columns = batches[0]->num_columns();
  ARROW_ASSIGN_OR_RAISE(auto sorter, ExternalSorter::Make(&world->context, batches[0]->schema(), std::move(options), &metrics));
  ARROW_RETURN_NOT_OK(FeedAndFinish(world, sorter.get(), batches));
  if (stats != nullptr) {
    *stats = {sorter->initial_runs(), sorter->final_fan_in(), sorter->merge_levels(), sorter->spilled_bytes(),
              sorter->paired_merges()};
  }
  ARROW_ASSIGN_OR_RAISE(auto stream, sorter->OpenStream());
  return Drain(stream.get());
}

// --- the model --------------------------------------------------------------------------------------------------------------

/// A value of one of the key types the model knows.
struct ModelValue {
  bool is_null = false;
  double number = 0;  // also integers up to 2^53
  std::string text;
};

inline ModelValue ValueAt(const arrow::Array& array, int64_t row) {
  using arrow::Type;
  ModelValue value;
  value.is_null = array.IsNull(row);
  if (value.is_null) return value;
  switch (array.type_id()) {
    case Type::BOOL:
      value.number = static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0;
      break;
    case Type::INT16:
      value.number = static_cast<const arrow::Int16Array&>(array).Value(row);
      break;
    case Type::DATE32:
    case Type::INT32:
      value.number = array.data()->GetValues<int32_t>(1)[row];
      break;
    case Type::INT64:
      value.number = static_cast<double>(static_cast<const arrow::Int64Array&>(array).Value(row));
      break;
    case Type::DOUBLE:
      value.number = static_cast<const arrow::DoubleArray&>(array).Value(row);
      break;
    case Type::DECIMAL128:
      value.number = arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)).ToDouble(2);
      break;
    case Type::STRING:
      value.text = static_cast<const arrow::StringArray&>(array).GetString(row);
      break;
    default:
      ADD_FAILURE() << "the model does not know " << array.type()->ToString();
  }
  return value;
}

inline int CompareNumbers(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return static_cast<int>(std::isnan(left)) - static_cast<int>(std::isnan(right));
  return left < right ? -1 : (left > right ? 1 : 0);
}

inline int CompareModelValues(const ModelValue& left, const ModelValue& right, const SortColumn& key) {
  if (left.is_null || right.is_null) {
    const int order = static_cast<int>(left.is_null) - static_cast<int>(right.is_null);
    return key.nulls_first ? -order : order;
  }
  const int by_number = CompareNumbers(left.number, right.number);
  const int order = by_number != 0 ? by_number : left.text.compare(right.text);
  return key.descending ? -order : order;
}

using ModelKey = std::vector<ModelValue>;

inline int CompareModelKeys(const ModelKey& left, const ModelKey& right, const std::vector<SortColumn>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const int order = CompareModelValues(left[i], right[i], keys[i]);
    if (order != 0) return order;
  }
  return 0;
}

inline std::vector<ModelKey> ModelKeys(const arrow::RecordBatchVector& batches, const std::vector<SortColumn>& keys) {
  std::vector<ModelKey> result;
  for (const auto& batch : batches) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      ModelKey& key = result.emplace_back();
      for (const SortColumn& column : keys) key.push_back(ValueAt(*batch->column(column.column), row));
    }
  }
  return result;
}

/// Holds `output` to be the first rows (all, when fetch_rows is absent) of `input` in the order of `keys`; the last
/// column of both numbers the rows of the input.
inline void ExpectSorted(const arrow::RecordBatchVector& input, const arrow::RecordBatchVector& output,
                         const std::vector<SortColumn>& keys, std::optional<int64_t> fetch_rows = std::nullopt) {
  std::vector<ModelKey> expected = ModelKeys(input, keys);
  std::vector<ModelKey> by_row = expected;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](const ModelKey& left, const ModelKey& right) { return CompareModelKeys(left, right, keys) < 0; });
  if (fetch_rows.has_value() && *fetch_rows < static_cast<int64_t>(expected.size()))
    expected.resize(static_cast<size_t>(*fetch_rows));
  std::vector<std::pair<size_t, int64_t>> origin;  // batch and row
  std::vector<arrow::ArrayVector> plain_columns;   // of each batch
  for (const auto& batch : input) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) origin.emplace_back(plain_columns.size(), row);
    arrow::ArrayVector& columns = plain_columns.emplace_back();
    for (const auto& column : batch->columns()) columns.push_back(row::test::Plain(column));
  }
  std::vector<bool> seen(origin.size());
  size_t place = 0;
  for (const auto& batch : output) {
    const int number_column = batch->num_columns() - 1;
    for (int64_t row = 0; row < batch->num_rows(); ++row, ++place) {
      ASSERT_LT(place, expected.size()) << "more rows than there should be";
      const int64_t number = static_cast<const arrow::Int64Array&>(*batch->column(number_column)).Value(row);
      ASSERT_TRUE(number >= 0 && number < static_cast<int64_t>(origin.size())) << number;
      ASSERT_FALSE(seen[number]) << "row " << number << " came twice";
      seen[number] = true;
      ASSERT_EQ(CompareModelKeys(by_row[number], expected[place], keys), 0)
          << "row " << number << " is not in its place " << place;
      for (int column = 0; column < batch->num_columns(); ++column) {
        const auto& [origin_batch, origin_row] = origin[number];
        const auto& plain = plain_columns[origin_batch][column];
        ASSERT_TRUE(
            plain->RangeEquals(*batch->column(column), origin_row, origin_row + 1, row, arrow::EqualOptions().nans_equal(true)))
            << "column " << batch->schema()->field(column)->ToString() << " of row " << number << ": "
            << plain->Slice(origin_row, 1)->ToString() << " became " << batch->column(column)->Slice(row, 1)->ToString();
      }
    }
  }
  ASSERT_EQ(place, expected.size()) << "rows are missing";
}

/// Cuts columns into batches and adds the row numbers as the last one.
inline arrow::RecordBatchVector MakeBatches(arrow::FieldVector fields, arrow::ArrayVector columns, int64_t batch_rows) {
  const int64_t rows = columns.empty() ? 0 : columns[0]->length();
  arrow::Int64Builder numbers;
  for (int64_t row = 0; row < rows; ++row) EXPECT_TRUE(numbers.Append(row).ok());
  columns.push_back(numbers.Finish().ValueOrDie());
  fields.push_back(arrow::field("row", arrow::int64(), false));
  const auto whole = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(columns));
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < rows; first += batch_rows) batches.push_back(whole->Slice(first, batch_rows));
  if (batches.empty()) batches.push_back(whole);
  return batches;
}

}  // namespace icebound::exec::sort::test
