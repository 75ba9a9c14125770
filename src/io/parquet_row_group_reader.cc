// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_row_group_reader.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/size_statistics.h>

#include <algorithm>

#include "base/error.h"
#include "io/batch_bytes.h"
#include "io/column_mapping.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

/// Decoder objects of one leaf that are not in Arrow buffers (record reader, decoders, page header, codec), measured with Arrow
/// 26: 6.5 KiB, and half a KiB in the file's reader.
constexpr int64_t kDecoderBytes = 7 << 10;

/// Rows of the first batch of a row group whose strings may be much longer than their chunk is large (a dictionary): the second
/// one knows better.
constexpr int64_t kProbeRows = 256;

void CollectLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) CollectLeaves(child, leaves);
}

int64_t ScalarBytes(const arrow::Scalar& value) {
  if (!arrow::is_base_binary_like(value.type->id())) return std::max(1, value.type->bit_width() / 8);
  const auto& text = static_cast<const arrow::BaseBinaryScalar&>(value);
  return int64_t{sizeof(int32_t)} + (text.is_valid ? text.value->size() : 0);
}

/// A page is wide when it is larger than this, and than this part of what a scan may hold.
constexpr int64_t kMinWidePageBytes = 4 << 20;
constexpr int64_t kWidePagePart = 16;

}  // namespace

template <typename Body>
std::invoke_result_t<Body> ParquetRowGroupReader::Guard(const Column& column, Body&& body) const {
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return Where(column); }, std::forward<Body>(body));
}

ParquetRowGroupReader::ParquetRowGroupReader(std::shared_ptr<ParquetFooter> footer, RowGroupReaderOptions options,
                                             memory::MemoryConsumer* consumer)
    : footer_(std::move(footer)),
      options_(std::move(options)),
      consumer_(consumer),
      reservation_(consumer),
      wide_pass_(options_.wide_gate),
      is_filtered_(options_.columns.size(), false),
      slots_(consumer),
      outputs_(options_.columns.size()) {
  if (options_.filter == nullptr) return;
  filter_.emplace(options_.filter, consumer);
  for (const int column : options_.filter->columns()) is_filtered_[static_cast<size_t>(column)] = true;
}

ParquetRowGroupReader::~ParquetRowGroupReader() {
  columns_.clear();  // before the file they read from
}

arrow::Result<std::unique_ptr<ParquetRowGroupReader>> ParquetRowGroupReader::Make(std::shared_ptr<ParquetFooter> footer,
                                                                                  RowGroupReaderOptions options,
                                                                                  memory::MemoryConsumer* consumer) {
  if (options.excluded != nullptr && options.filter == nullptr) {
    ARROW_ASSIGN_OR_RAISE(options.filter, ParquetRowFilter::Make({}, {}, options.schema, 0));
  }
  std::unique_ptr<ParquetRowGroupReader> reader(new ParquetRowGroupReader(std::move(footer), std::move(options), consumer));
  auto source = std::make_unique<ParquetRowGroupSource>(reader->footer_, consumer, &reader->wide_pass_);
  reader->source_ = source.get();
  const arrow::Status status = GuardParquet(
      ErrorKind::kCorruptData, [&] { return reader->Where(); },
      [&]() -> arrow::Status {
        auto file = std::make_unique<parquet::ParquetFileReader>();
        file->Open(std::move(source));
        parquet::ArrowReaderProperties properties = ReadProperties(consumer->pool());
        const parquet::SchemaDescriptor& descriptor = *reader->footer_->head()->schema();
        for (const ColumnSource& column : reader->options_.columns) {
          if (!column.as_dictionary) continue;
          properties.set_read_dictionary(descriptor.ColumnIndex(*descriptor.group_node()->field(column.field_index)), true);
        }
        ARROW_ASSIGN_OR_RAISE(reader->file_reader_,
                              parquet::arrow::FileReader::Make(consumer->pool(), std::move(file), properties));
        return arrow::Status::OK();
      });
  ARROW_RETURN_NOT_OK(status);
  std::vector<int> leaves;
  for (const ColumnSource& column : reader->options_.columns) {
    reader->field_leaves_.emplace_back();
    if (!column.is_stored()) continue;
    CollectLeaves(reader->file_reader_->manifest().schema_fields[column.field_index], &reader->field_leaves_.back());
    leaves.insert(leaves.end(), reader->field_leaves_.back().begin(), reader->field_leaves_.back().end());
  }
  const auto decoder_bytes = static_cast<int64_t>(leaves.size()) * kDecoderBytes;
  ARROW_RETURN_NOT_OK(reader->reservation_.ResizeTo(decoder_bytes + reader->footer_->row_group_bytes()));
  reader->source_->SetLeaves(std::move(leaves), reader->options_.read_ahead_bytes);
  return reader;
}

std::string ParquetRowGroupReader::Where() const {
  return row_group_ < 0 ? fmt::format("reading {}", footer_->file().name())
                        : fmt::format("reading {}, row group {}", footer_->file().name(), row_group_);
}

std::string ParquetRowGroupReader::Where(const Column& column) const {
  if (!column.source.is_stored()) return Where();
  return fmt::format("{}, column \"{}\"", Where(), footer_->schema()->field(column.source.field_index)->name());
}

// --- opening ----------------------------------------------------------------------------------------------------------------

arrow::Status ParquetRowGroupReader::Open(const FooterPage& page, int row_group, RowRanges ranges) {
  columns_.clear();
  ready_.clear();
  DropBatch();
  for (auto& output : outputs_) output.reset();
  left_to_arrow_.assign(options_.columns.size(), false);
  if (filter_.has_value()) filter_->StartRowGroup();
  row_group_ = row_group;
  ranges_ = std::move(ranges);
  range_ = 0;
  row_ = ranges_.empty() ? 0 : ranges_.front().begin;
  rows_limit_ = options_.bounds.rows;
  if (ranges_.empty() || options_.columns.empty()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(GuardParquet(
      ErrorKind::kCorruptData, [&] { return Where(); },
      [&]() -> arrow::Status {
        source_->SetRowGroup(page, row_group_);
        first_row_ = page.FirstRow(row_group_);
        const int leaves = footer_->head()->num_columns();
        if (source_->row_group().num_columns() != leaves) {
          return arrow::Status::Invalid("it has ", source_->row_group().num_columns(), " columns where the schema has ", leaves);
        }
        EstimateRowBytes();
        return arrow::Status::OK();
      }));
  return OpenColumns();
}

arrow::Status ParquetRowGroupReader::OpenColumns() {
  columns_.clear();
  // A dictionary is read anew, and tables of one that are still there say the same of it.
  columns_.resize(options_.columns.size());
  if (!WantsAll()) {
    std::vector<int> leaves;
    for (const std::vector<int>& field : field_leaves_) {
      if (field.size() == 1) leaves.push_back(field.front());
    }
    ARROW_RETURN_NOT_OK(GuardParquet(
        ErrorKind::kCorruptData, [&] { return Where(); }, [&] { return source_->LoadOffsetIndexes(leaves); }));
  }
  for (size_t i = 0; i < columns_.size(); ++i) ARROW_RETURN_NOT_OK(OpenColumn(static_cast<int>(i)));
  source_->ForgetOffsetIndexes();
  return arrow::Status::OK();
}

bool ParquetRowGroupReader::WantsAll() const {
  return ranges_.size() == 1 && ranges_.front() == RowRange{.begin = 0, .end = source_->row_group().num_rows()} && range_ == 0 &&
         row_ == 0;
}

RowRanges ParquetRowGroupReader::RowsToCome() const {
  RowRanges rows(ranges_.begin() + static_cast<int64_t>(range_), ranges_.end());
  if (!rows.empty()) rows.front().begin = row_;
  return rows;
}

/// Whether FlatColumn takes this column of the row group.
arrow::Result<bool> ParquetRowGroupReader::IsFlat(int index) const {
  const ColumnSource& source = options_.columns[index];
  const std::vector<int>& leaves = field_leaves_[index];
  if (left_to_arrow_[index] || source.as_dictionary || source.needs_cast || leaves.size() != 1) return false;
  if (source.constant != nullptr || source.first_row_number.has_value()) return false;
  const arrow::DataType& type = *options_.schema->field(index)->type();
  if (!footer_->schema()->field(source.field_index)->type()->Equals(type)) return false;
  return FlatColumn::CanRead(*footer_->head()->schema()->Column(leaves.front()),
                             *source_->row_group().ColumnChunk(leaves.front()), type);
}

arrow::Status ParquetRowGroupReader::OpenColumn(int index) {
  Column& column = columns_[index];
  column.source = options_.columns[index];
  column.type = options_.schema->field(index)->type();
  if (!column.source.is_stored()) {
    if (column.source.first_row_number.has_value() && outputs_[index] == nullptr) {
      outputs_[index] = std::make_unique<FlatOutput>(column.type, consumer_->pool());
    }
    return arrow::Status::OK();
  }
  if (is_filtered_[index]) column.slots.emplace(consumer_);
  return Guard(column, [&]() -> arrow::Status {
    const int64_t rows = source_->row_group().num_rows();
    column.segments = {{.begin = 0, .end = rows}};
    // Leaves of a nested column must deliver the same rows, but their pages end at different ones: it is read whole.
    if (const std::vector<int>& leaves = field_leaves_[index]; !WantsAll() && leaves.size() == 1) {
      ARROW_ASSIGN_OR_RAISE(column.segments, source_->SelectPages(leaves.front(), RowsToCome()));
    }
    ARROW_ASSIGN_OR_RAISE(const bool is_flat, IsFlat(index));
    if (is_flat) {
      const int leaf = field_leaves_[index].front();
      FlatColumnOptions options{.pages = source_->OpenPages(leaf), .segments = column.segments, .rows = rows};
      column.flat =
          std::make_unique<FlatColumn>(*footer_->head()->schema()->Column(leaf), column.type, std::move(options), consumer_);
      if (outputs_[index] == nullptr) outputs_[index] = std::make_unique<FlatOutput>(column.type, consumer_->pool());
      return arrow::Status::OK();
    }
    outputs_[index].reset();
    column.segment = 0;
    column.row = column.segments.empty() ? 0 : column.segments.front().begin;
    return file_reader_->GetColumn(column.source.field_index, &column.reader);
  });
}

int64_t ParquetRowGroupReader::LeafRowBytes(const parquet::ColumnChunkMetaData& chunk, int leaf) const {
  const int64_t rows = std::max<int64_t>(1, source_->row_group().num_rows());
  const parquet::ColumnDescriptor& descriptor = *footer_->head()->schema()->Column(leaf);
  const int64_t values_per_row = (std::max<int64_t>(0, chunk.num_values()) + rows - 1) / rows;
  const int64_t levels = 2 * ((descriptor.max_definition_level() > 0) + (descriptor.max_repetition_level() > 0));
  switch (descriptor.physical_type()) {
    case parquet::Type::BYTE_ARRAY: {
      int64_t bytes = std::max<int64_t>(0, chunk.total_uncompressed_size());
      if (const auto sizes = chunk.size_statistics(); sizes != nullptr && sizes->unencoded_byte_array_data_bytes.has_value()) {
        bytes = std::max<int64_t>(0, *sizes->unencoded_byte_array_data_bytes);
      }
      return values_per_row * (levels + 4) + bytes / rows;
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return values_per_row * (levels + std::max(16, descriptor.type_length()));
    default:
      return values_per_row * (levels + 16);  // decimals widen to 16 bytes
  }
}

void ParquetRowGroupReader::EstimateRowBytes() {
  row_bytes_ = 0;
  bool certain = true;
  for (const std::vector<int>& leaves : field_leaves_) {
    for (const int leaf : leaves) {
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = source_->row_group().ColumnChunk(leaf);
      row_bytes_ += static_cast<double>(LeafRowBytes(*chunk, leaf));
      const auto sizes = chunk->size_statistics();
      certain = certain && (chunk->type() != parquet::Type::BYTE_ARRAY ||
                            (sizes != nullptr && sizes->unencoded_byte_array_data_bytes.has_value()));
    }
  }
  rows_limit_ = certain ? options_.bounds.rows : std::min(options_.bounds.rows, kProbeRows);
}

int64_t ParquetRowGroupReader::NextWindowRows() const {
  const double fitting = static_cast<double>(options_.bounds.bytes) / std::max(1.0, row_bytes_);
  const int64_t rows = std::min({options_.bounds.rows - batch_rows_, rows_limit_, static_cast<int64_t>(std::min(fitting, 1e9))});
  return std::min(std::max<int64_t>(1, rows), ranges_[range_].end - row_);
}

// --- batches ----------------------------------------------------------------------------------------------------------------

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetRowGroupReader::Next() {
  if (ready_.empty()) wide_pass_.Give();  // who asks is done with the batch before
  while (ready_.empty()) {
    if (range_ == ranges_.size()) {
      if (batch_rows_ > 0) {
        ARROW_RETURN_NOT_OK(Flush());
        continue;
      }
      columns_.clear();
      return nullptr;
    }
    if (options_.cancellation_or_null != nullptr) ARROW_RETURN_NOT_OK(options_.cancellation_or_null->Check());
    if (columns_.size() != options_.columns.size()) ARROW_RETURN_NOT_OK(OpenColumns());
    const int64_t rows = NextWindowRows();
    const arrow::Result<int64_t> read = DecodeWindow(rows);
    if (!read.ok()) {
      ARROW_ASSIGN_OR_RAISE(const bool again, Recover(read.status(), rows));
      if (!again) return ExplainWideRow(read.status(), wide_pass_.widest_page_bytes());
      continue;
    }
    read_rows_ += *read;
    row_ += *read;
    if (row_ == ranges_[range_].end && ++range_ < ranges_.size()) row_ = ranges_[range_].begin;
    if (batch_rows_ > 0 && IsBatchFull()) ARROW_RETURN_NOT_OK(Flush());
  }
  std::shared_ptr<arrow::RecordBatch> batch = std::move(ready_.front());
  ready_.pop_front();
  // The values of a page that has been read are in the batch now. Where it is wide, it must not be held beside them: the row
  // group is opened again behind it.
  if (ready_.empty() && batch_rows_ == 0 && HoldsDoneWidePage()) columns_.clear();
  return batch;
}

bool ParquetRowGroupReader::HoldsDoneWidePage() const {
  const int64_t wide_bytes = std::max(kMinWidePageBytes, consumer_->share_bytes() / kWidePagePart);
  return std::any_of(columns_.begin(), columns_.end(), [wide_bytes](const Column& column) {
    return column.flat != nullptr && column.flat->done_page_bytes() > wide_bytes;
  });
}

arrow::Result<bool> ParquetRowGroupReader::Recover(const arrow::Status& status, int64_t rows) {
  pieces_.clear();
  for (const auto& output : outputs_) {
    if (output != nullptr) output->Truncate(batch_rows_);
  }
  bool is_unreadable = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].flat == nullptr || !columns_[i].flat->is_unreadable()) continue;
    left_to_arrow_[i] = is_unreadable = true;
  }
  if (!is_unreadable && GetErrorKind(status) != ErrorKind::kMemoryLimit) return false;
  if (!is_unreadable && batch_rows_ == 0) return TryWithLess(rows);
  // What there is goes first; then the same rows are tried again.
  if (batch_rows_ > 0) ARROW_RETURN_NOT_OK(Flush());
  columns_.clear();
  return true;
}

arrow::Result<bool> ParquetRowGroupReader::TryWithLess(int64_t rows) {
  const bool had_turn = wide_pass_.held();
  if (rows == 1 && had_turn) return false;
  if (!wide_pass_.was_refused()) rows_limit_ = std::max<int64_t>(1, rows / 8);
  // What was decoded so far is lost with the readers, and what the outputs had in store with them.
  columns_.clear();
  for (auto& output : outputs_) output.reset();
  slots_.Free();
  ARROW_RETURN_NOT_OK(wide_pass_.Wait());
  ARROW_RETURN_NOT_OK(OpenColumns());
  return true;
}

bool ParquetRowGroupReader::IsBatchFull() const {
  const bool is_one_window =
      filter_ == std::nullopt || wide_pass_.held() ||
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.reader != nullptr; });
  return is_one_window || batch_rows_ * 2 >= options_.bounds.rows || BatchBytes() * 2 >= options_.bounds.bytes;
}

int64_t ParquetRowGroupReader::BatchBytes() const {
  int64_t bytes = 0;
  for (const auto& output : outputs_) bytes += output == nullptr ? 0 : output->bytes();
  for (const ColumnSource& column : options_.columns) {
    if (!column.is_stored() && column.constant != nullptr) bytes += batch_rows_ * ScalarBytes(*column.constant);
  }
  for (const auto& piece : pieces_) {
    if (piece == nullptr) continue;
    for (const auto& chunk : piece->chunks()) bytes += HeldBytes(*chunk->data());
  }
  return bytes;
}

/// Makes batches of what is there.
arrow::Status ParquetRowGroupReader::Flush() {
  arrow::ChunkedArrayVector arrays;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const ColumnSource& source = options_.columns[i];
    std::shared_ptr<arrow::Array> array;
    if (outputs_[i] != nullptr) {
      ARROW_ASSIGN_OR_RAISE(array, outputs_[i]->Finish());
    } else if (source.is_stored()) {
      arrays.push_back(pieces_[i]);
      continue;
    } else {
      ARROW_ASSIGN_OR_RAISE(array, arrow::MakeArrayFromScalar(*source.constant, batch_rows_, consumer_->pool()));
    }
    arrays.push_back(std::make_shared<arrow::ChunkedArray>(std::move(array)));
  }
  pieces_.clear();
  Emit(std::exchange(batch_rows_, 0), arrays);
  return arrow::Status::OK();
}

void ParquetRowGroupReader::DropBatch() {
  batch_rows_ = 0;
  pieces_.clear();
}

// --- windows ----------------------------------------------------------------------------------------------------------------

arrow::Result<int64_t> ParquetRowGroupReader::DecodeWindow(int64_t rows) {
  const int32_t* positions = nullptr;
  int64_t count = rows;
  if (filter_.has_value()) {
    ARROW_ASSIGN_OR_RAISE(rows, LoadFilterColumns(rows));
    ARROW_RETURN_NOT_OK(ApplyFilter(rows));
    positions = filter_->positions();
    count = filter_->count();
  }
  if (count > 0) {
    const int64_t bytes_before = BatchBytes();
    ARROW_RETURN_NOT_OK(AppendColumns(rows, positions, count));
    batch_rows_ += count;
    if (!columns_.empty()) {
      // Down at once, up by at most a factor of four: the next rows may be wider than these.
      row_bytes_ = std::max(static_cast<double>(BatchBytes() - bytes_before) / static_cast<double>(count), 1.0);
      rows_limit_ = std::min(options_.bounds.rows, std::max(rows_limit_, rows) * 4);
    }
  }
  for (Column& column : columns_) column.window.reset();
  return rows;
}

/// Returns how many rows the window has: it ends where a page of one of these columns does.
arrow::Result<int64_t> ParquetRowGroupReader::LoadFilterColumns(int64_t rows) {
  for (const int index : options_.filter->columns()) {
    Column& column = columns_[static_cast<size_t>(index)];
    if (column.flat == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(const int64_t left, Guard(column, [&] { return column.flat->Seek(row_); }));
    rows = std::min(rows, left);
  }
  for (const int index : options_.filter->columns()) {
    Column& column = columns_[static_cast<size_t>(index)];
    if (column.flat != nullptr) {
      ARROW_RETURN_NOT_OK(Guard(column, [&] { return column.flat->Load(row_, rows, &*column.slots); }));
    } else if (column.reader != nullptr) {
      ARROW_ASSIGN_OR_RAISE(column.window, DecodeColumn(&column, rows));
    }
  }
  return rows;
}

arrow::Status ParquetRowGroupReader::ApplyFilter(int64_t rows) {
  ParquetWindowFilter::Window window;
  window.rows = rows;
  window.first_row = first_row_ + row_;
  window.excluded_or_null = options_.excluded.get();
  window.rows_to_come = CountRows(RowsToCome());
  window.flat_or_null = [this](int index) { return columns_[static_cast<size_t>(index)].flat.get(); };
  window.values = [this](int index, const int32_t* positions, int64_t count) { return FilterValues(index, positions, count); };
  return filter_->Apply(window);
}

arrow::Result<std::shared_ptr<arrow::Array>> ParquetRowGroupReader::FilterValues(int index, const int32_t* positions,
                                                                                 int64_t count) {
  Column& column = columns_[static_cast<size_t>(index)];
  return Guard(column, [&]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
    if (column.flat != nullptr) {
      FlatOutput output(column.type, consumer_->pool());
      ARROW_RETURN_NOT_OK(column.flat->Append(positions, count, 0, &output));
      return output.Finish();
    }
    if (column.reader == nullptr) return MakeValues(column.source, positions, count);
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum taken, Take(column.window, positions, count));
    const arrow::ArrayVector& chunks = taken.chunked_array()->chunks();
    return chunks.size() == 1 ? chunks.front() : arrow::Concatenate(chunks, consumer_->pool());
  });
}

/// Adds the rows of the window that passed (all when `positions` is null) to the batch.
arrow::Status ParquetRowGroupReader::AppendColumns(int64_t rows, const int32_t* positions, int64_t count) {
  pieces_.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.flat != nullptr) {
      ARROW_RETURN_NOT_OK(Guard(column, [&]() -> arrow::Status {
        if (is_filtered_[i]) return column.flat->Append(positions, count, 0, outputs_[i].get());
        return AppendFlat(&column, rows, positions, count, outputs_[i].get());
      }));
      continue;
    }
    if (column.reader == nullptr) {
      if (outputs_[i] == nullptr) continue;  // a constant
      ARROW_RETURN_NOT_OK(AppendRowNumbers(*column.source.first_row_number, positions, count, outputs_[i].get()));
      continue;
    }
    std::shared_ptr<arrow::ChunkedArray> values = std::move(column.window);
    if (values == nullptr) {
      ARROW_ASSIGN_OR_RAISE(values, DecodeColumn(&column, rows));
    }
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum taken, Take(values, positions, count));
    pieces_[i] = taken.chunked_array();
  }
  return arrow::Status::OK();
}

/// Loads as much of the window as there are rows wanted in, page by page.
arrow::Status ParquetRowGroupReader::AppendFlat(Column* column, int64_t rows, const int32_t* positions, int64_t count,
                                                FlatOutput* output) {
  FlatColumn& flat = *column->flat;
  for (int64_t done = 0; done < count;) {
    const int64_t first = positions == nullptr ? done : positions[done];
    ARROW_ASSIGN_OR_RAISE(const int64_t left, flat.Seek(row_ + first));
    const int64_t page_end = std::min(rows, first + left);
    int64_t end = page_end, next = page_end;
    if (positions != nullptr) {
      next = std::lower_bound(positions + done, positions + count, page_end) - positions;
      end = positions[next - 1] + 1;
    }
    ARROW_RETURN_NOT_OK(flat.Load(row_ + first, end - first, &slots_));
    ARROW_RETURN_NOT_OK(flat.Append(positions == nullptr ? nullptr : positions + done, next - done, first, output));
    done = next;
  }
  return arrow::Status::OK();
}

// --- Arrow's readers --------------------------------------------------------------------------------------------------------

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::DecodeColumn(Column* column, int64_t rows) {
  return Guard(*column, [&]() -> arrow::Result<std::shared_ptr<arrow::ChunkedArray>> {
    ARROW_RETURN_NOT_OK(SkipTo(column, row_));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ChunkedArray> values, ReadRows(column, rows));
    ARROW_ASSIGN_OR_RAISE(values, Convert(*column, std::move(values)));
    return FillNulls(column->source, std::move(values));
  });
}

// --- what the file does not have ----------------------------------------------------------------------------------------------

arrow::Status ParquetRowGroupReader::AppendRowNumbers(int64_t first, const int32_t* positions, int64_t count,
                                                      FlatOutput* output) const {
  ARROW_RETURN_NOT_OK(output->Reserve(count));
  first += first_row_ + row_;
  auto* numbers = reinterpret_cast<int64_t*>(output->values_end());
  for (int64_t i = 0; i < count; ++i) numbers[i] = first + (positions == nullptr ? i : positions[i]);
  output->Advance(count);
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Array>> ParquetRowGroupReader::MakeValues(const ColumnSource& source,
                                                                               const int32_t* positions, int64_t count) {
  if (!source.first_row_number.has_value()) return arrow::MakeArrayFromScalar(*source.constant, count, consumer_->pool());
  FlatOutput output(arrow::int64(), consumer_->pool());
  ARROW_RETURN_NOT_OK(AppendRowNumbers(*source.first_row_number, positions, count, &output));
  return output.Finish();
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::FillNulls(
    const ColumnSource& source, std::shared_ptr<arrow::ChunkedArray> values) {
  if ((source.constant == nullptr && !source.first_row_number.has_value()) || values->null_count() == 0) return values;
  ARROW_ASSIGN_OR_RAISE(const auto stored, arrow::Concatenate(values->chunks(), consumer_->pool()));
  ARROW_ASSIGN_OR_RAISE(const auto made, MakeValues(source, nullptr, stored->length()));
  arrow::compute::ExecContext context(consumer_->pool());
  context.set_use_threads(false);
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum filled,
                        arrow::compute::CallFunction("coalesce", std::vector<arrow::Datum>{stored, made}, &context));
  return std::make_shared<arrow::ChunkedArray>(filled.make_array());
}

arrow::Result<arrow::Datum> ParquetRowGroupReader::Take(const arrow::Datum& values, const int32_t* positions,
                                                        int64_t count) const {
  if (positions == nullptr) return values;
  const arrow::Datum rows(arrow::ArrayData::Make(
      arrow::int32(), count,
      {nullptr, std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(positions), count * int64_t{sizeof(int32_t)})},
      0));
  arrow::compute::ExecContext context(consumer_->pool());
  context.set_use_threads(false);
  return arrow::compute::Take(values, rows, arrow::compute::TakeOptions::NoBoundsCheck(), &context);
}

arrow::Status ParquetRowGroupReader::SkipTo(Column* column, int64_t row) {
  while (column->row < row) {
    const int64_t segment_end = column->segments[column->segment].end;
    if (column->row == segment_end) {
      if (++column->segment == column->segments.size())
        return arrow::Status::Invalid("its pages have fewer rows than its offset index says");
      column->row = column->segments[column->segment].begin;
      continue;
    }
    const int64_t unwanted = std::min({segment_end, row}) - column->row;
    ARROW_RETURN_NOT_OK(ReadRows(column, std::min(unwanted, std::max<int64_t>(NextWindowRows(), 64))).status());
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::ReadRows(Column* column, int64_t rows) {
  std::shared_ptr<arrow::ChunkedArray> values;
  ARROW_RETURN_NOT_OK(column->reader->NextBatch(rows, &values));
  if (values->length() != rows) {
    return arrow::Status::Invalid("it ends at row ", column->row + values->length(), ", the row group has ",
                                  source_->row_group().num_rows());
  }
  column->row += rows;
  return values;
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::Convert(
    const Column& column, std::shared_ptr<arrow::ChunkedArray> values) const {
  arrow::compute::ExecContext context(consumer_->pool());
  context.set_use_threads(false);
  if (column.source.mapping != nullptr) {
    arrow::ArrayVector chunks;
    for (const auto& chunk : values->chunks()) {
      ARROW_ASSIGN_OR_RAISE(chunks.emplace_back(), MapValues(chunk, *column.source.mapping, &context));
    }
    return arrow::ChunkedArray::Make(std::move(chunks), column.type);
  }
  if (values->type()->Equals(*column.type)) return values;
  if (column.source.needs_cast) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum cast,
                          arrow::compute::Cast(values, column.type, arrow::compute::CastOptions::Safe(), &context));
    return cast.chunked_array();
  }
  arrow::ArrayVector chunks;
  for (const auto& chunk : values->chunks()) chunks.push_back(arrow::MakeArray(Relabel(chunk->data(), column.type)));
  return arrow::ChunkedArray::Make(std::move(chunks), column.type);
}

void ParquetRowGroupReader::Emit(int64_t rows, const arrow::ChunkedArrayVector& columns) {
  // A column of more than 2 GiB of text comes in several chunks: a batch ends where any chunk does.
  std::vector<int64_t> chunk(columns.size(), 0), start(columns.size(), 0);
  for (int64_t row = 0; row < rows;) {
    int64_t count = rows - row;
    for (size_t i = 0; i < columns.size(); ++i) {
      while (row == start[i] + columns[i]->chunk(static_cast<int>(chunk[i]))->length())
        start[i] += columns[i]->chunk(static_cast<int>(chunk[i]++))->length();
      count = std::min(count, start[i] + columns[i]->chunk(static_cast<int>(chunk[i]))->length() - row);
    }
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::shared_ptr<arrow::Array>& array = columns[i]->chunk(static_cast<int>(chunk[i]));
      arrays.push_back(count == array->length() ? array : array->Slice(row - start[i], count));
    }
    SplitByBytes(arrow::RecordBatch::Make(options_.schema, count, std::move(arrays)), options_.bounds.bytes, &ready_);
    row += count;
  }
}

}  // namespace icebound::io
