// SPDX-License-Identifier: Apache-2.0
#include "planner/series_table.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "base/error.h"
#include "expr/compare_rows.h"
#include "expr/date_time_math.h"
#include "expr/expr.h"
#include "expr/type_rules.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::planner {
namespace {

using expr::Interval;

/// A series of integers: value i is start + i * step, for i below rows. The last value is within the type, so no sum overflows.
struct IntegerSeries {
  int64_t start = 0;
  int64_t step = 1;
  int64_t rows = 0;
};

struct TimestampSeries {
  int64_t start = 0;
  int64_t stop = 0;
  Interval step{};
  bool nanoseconds = false;
  bool descending = false;
};

int64_t IntegerOf(const arrow::Scalar& scalar) {
  if (scalar.type->id() == arrow::Type::INT32) return static_cast<const arrow::Int32Scalar&>(scalar).value;
  if (scalar.type->id() == arrow::Type::TIMESTAMP) return static_cast<const arrow::TimestampScalar&>(scalar).value;
  return static_cast<const arrow::Int64Scalar&>(scalar).value;
}

IntegerSeries CountRows(int64_t start, int64_t stop, int64_t step) {
  IntegerSeries series{start, step, 0};
  if (step > 0 ? start > stop : start < stop) return series;
  const auto distance = static_cast<expr::Int128>(stop) - start;
  const expr::Int128 rows = distance / step + 1;
  series.rows = static_cast<int64_t>(std::min<expr::Int128>(rows, std::numeric_limits<int64_t>::max()));
  return series;
}

/// What the streams of one scan share. `next_row` hands out batches.
struct ScanState {
  runtime::QueryContext* context;
  std::unique_ptr<memory::MemoryConsumer> consumer;
  std::shared_ptr<arrow::Schema> schema;  ///< with the column once, several times or not at all
  int64_t rows_max = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> next_row{0};

  std::shared_ptr<arrow::RecordBatch> BatchOf(std::shared_ptr<arrow::Buffer> values, int64_t rows) const {
    context->metrics.input_rows.fetch_add(rows, std::memory_order_relaxed);
    arrow::ArrayVector columns;
    for (const auto& field : schema->fields()) {
      columns.push_back(arrow::MakeArray(arrow::ArrayData::Make(field->type(), rows, {nullptr, values}, /*null_count=*/0)));
    }
    return arrow::RecordBatch::Make(schema, rows, std::move(columns));
  }
};

template <typename T>
class IntegerStream final : public runtime::BatchStream {
 public:
  IntegerStream(std::shared_ptr<ScanState> state, IntegerSeries series) : state_(std::move(state)), series_(series) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(state_->context->cancellation.Check());
    const int64_t batch_rows = state_->context->batch_rows;
    const int64_t end = std::min(series_.rows, state_->rows_max);
    if (state_->next_row.load(std::memory_order_relaxed) >= end) return nullptr;  // keeps the counter from running away
    const int64_t begin = state_->next_row.fetch_add(batch_rows, std::memory_order_relaxed);
    const int64_t rows = std::min(batch_rows, end - begin);
    if (rows <= 0) return nullptr;
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(T)), state_->consumer->pool()));
    T* values = reinterpret_cast<T*>(buffer->mutable_data());
    // Unsigned: the products wrap, the sums are right.
    const auto start = static_cast<uint64_t>(series_.start), step = static_cast<uint64_t>(series_.step);
    for (int64_t i = 0; i < rows; ++i) values[i] = static_cast<T>(start + static_cast<uint64_t>(begin + i) * step);
    return state_->BatchOf(std::move(buffer), rows);
  }

 private:
  const std::shared_ptr<ScanState> state_;
  const IntegerSeries series_;
};

/// Adds the step again and again, as PostgreSQL does: a month after January 31 is February 28, and another one March 28.
class TimestampStream final : public runtime::BatchStream {
 public:
  TimestampStream(std::shared_ptr<ScanState> state, const TimestampSeries& series)
      : state_(std::move(state)), series_(series), next_(series.start) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(state_->context->cancellation.Check());
    const int64_t rows_max = std::min(state_->context->batch_rows, state_->rows_max - state_->next_row);
    if (rows_max <= 0 || !InRange()) return nullptr;
    ARROW_ASSIGN_OR_RAISE(auto buffer,
                          arrow::AllocateBuffer(rows_max * static_cast<int64_t>(sizeof(int64_t)), state_->consumer->pool()));
    auto* values = reinterpret_cast<int64_t*>(buffer->mutable_data());
    int64_t rows = 0;
    while (rows < rows_max && InRange()) {
      values[rows++] = *next_;
      int64_t following = 0;
      if (!expr::AddInterval(*next_, series_.step, series_.nanoseconds, &following)) {
        return MakeError(ErrorKind::kExecution, "timestamp out of range");
      }
      next_ = following;
    }
    state_->next_row += rows;
    return state_->BatchOf(std::move(buffer), rows);
  }

 private:
  bool InRange() const { return series_.descending ? *next_ >= series_.stop : *next_ <= series_.stop; }

  const std::shared_ptr<ScanState> state_;
  const TimestampSeries series_;
  std::optional<int64_t> next_;
};

/// Makes the streams of one scan.
class SeriesSource final : public runtime::StreamSource {
 public:
  using Open = std::function<std::unique_ptr<runtime::BatchStream>(const std::shared_ptr<ScanState>&)>;

  SeriesSource(std::shared_ptr<ScanState> state, int max_streams, Open open)
      : state_(std::move(state)), max_streams_(max_streams), open_(std::move(open)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return state_->schema; }
  int max_streams() const override { return max_streams_; }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override { return open_(state_); }
  int64_t peak_bytes() const override { return state_->consumer->peak_bytes(); }

 private:
  const std::shared_ptr<ScanState> state_;
  const int max_streams_;
  const Open open_;
};

/// Thread safe: immutable.
class SeriesTable final : public plan::TableSource {
 public:
  SeriesTable(const std::shared_ptr<arrow::DataType>& type, std::string description)
      : schema_(arrow::schema({arrow::field("generate_series", type, /*nullable=*/false)})),
        description_(std::move(description)) {}
  SeriesTable(const std::shared_ptr<arrow::DataType>& type, std::string description, IntegerSeries series)
      : SeriesTable(type, std::move(description)) {
    integers_ = series;
  }
  SeriesTable(const std::shared_ptr<arrow::DataType>& type, std::string description, TimestampSeries series)
      : SeriesTable(type, std::move(description)) {
    timestamps_ = series;
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return description_; }
  plan::TableStatistics statistics() const override {
    if (timestamps_) return {};
    return {.rows = integers_.rows, .bytes = {}};
  }

  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    auto state = std::make_shared<ScanState>();
    state->context = context;
    state->consumer = context->ledger.AddConsumer("generate_series");
    if (request.limit && request.filters.empty()) state->rows_max = *request.limit;
    arrow::FieldVector fields;
    for (const int column : request.projection) fields.push_back(schema_->field(column));
    state->schema = arrow::schema(std::move(fields));
    if (timestamps_) {
      return std::make_unique<SeriesSource>(std::move(state), 1, [series = *timestamps_](const auto& shared) {
        return std::make_unique<TimestampStream>(shared, series);
      });
    }
    const int64_t rows = std::min(integers_.rows, state->rows_max);
    context->metrics.input_rows_total.fetch_add(rows, std::memory_order_relaxed);
    const int64_t batches = rows / context->batch_rows + (rows % context->batch_rows != 0);
    const int streams = request.ordered ? 1 : static_cast<int>(std::clamp<int64_t>(batches, 1, 1024));
    const bool narrow = schema_->field(0)->type()->id() == arrow::Type::INT32;
    return std::make_unique<SeriesSource>(
        std::move(state), streams,
        [series = integers_, narrow](const std::shared_ptr<ScanState>& shared) -> std::unique_ptr<runtime::BatchStream> {
          if (narrow) return std::make_unique<IntegerStream<int32_t>>(shared, series);
          return std::make_unique<IntegerStream<int64_t>>(shared, series);
        });
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const std::string description_;
  IntegerSeries integers_;
  std::optional<TimestampSeries> timestamps_;
};

std::string Description(const plan::SeriesBounds& bounds) {
  return fmt::format("generate_series({}, {}, {})", bounds.start->ToString(), bounds.stop->ToString(), bounds.step->ToString());
}

}  // namespace

arrow::Result<std::shared_ptr<plan::TableSource>> MakeSeriesTable(const plan::SeriesBounds& bounds) {
  const auto& type = bounds.start->type;
  const bool integers = type->id() == arrow::Type::INT32 || type->id() == arrow::Type::INT64;
  const bool timestamps = type->id() == arrow::Type::TIMESTAMP && bounds.step->type->id() == arrow::Type::INTERVAL_MONTH_DAY_NANO;
  if (!(integers || timestamps) || !bounds.stop->type->Equals(*type) || (integers && !bounds.step->type->Equals(*type))) {
    return MakeError(ErrorKind::kInternal, "generate_series over {}, {} and {}", expr::SqlTypeName(*type),
                     expr::SqlTypeName(*bounds.stop->type), expr::SqlTypeName(*bounds.step->type));
  }
  if (!bounds.start->is_valid || !bounds.stop->is_valid || !bounds.step->is_valid) {
    return std::make_shared<SeriesTable>(type, Description(bounds), IntegerSeries{});
  }
  const int64_t start = IntegerOf(*bounds.start);
  const int64_t stop = IntegerOf(*bounds.stop);
  const auto zero_step = [] { return MakeError(ErrorKind::kInvalidInput, "step size cannot equal zero"); };
  if (integers) {
    const int64_t step = IntegerOf(*bounds.step);
    if (step == 0) return zero_step();
    return std::make_shared<SeriesTable>(type, Description(bounds), CountRows(start, stop, step));
  }
  const Interval step = static_cast<const arrow::MonthDayNanoIntervalScalar&>(*bounds.step).value;
  const expr::Int128 span = expr::IntervalSpan(step);
  if (span == 0) return zero_step();
  return std::make_shared<SeriesTable>(type, Description(bounds),
                                       TimestampSeries{start, stop, step, expr::IsNanosecondType(*type), span < 0});
}

}  // namespace icebound::planner
