// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer.h"

#include <arrow/util/compression.h>
#include <parquet/properties.h>

#include <algorithm>
#include <vector>

#include "base/byte_size.h"
#include "io/batch_bytes.h"
#include "io/copy_options.h"
#include "io/output_file.h"
#include "io/parquet_guard.h"
#include "io/parquet_writer/column_encoder.h"
#include "io/parquet_writer/encode_pipeline.h"
#include "io/parquet_writer/file_builder.h"
#include "io/parquet_writer/nested_column.h"
#include "io/parquet_writer/staged_pages.h"
#include "io/parquet_writer/written_schema.h"
#include "io/wide_pages.h"
#include "runtime/operator_timer.h"

namespace icebound::io {
namespace {

/// DuckDB's number too: large enough for small footers, small enough that a row group of ordinary rows needs a few MiB.
constexpr int64_t kDefaultRowGroupRows = 122'880;

constexpr int64_t kMaxBudgetBytes = int64_t{32} << 20;
constexpr int64_t kMinBudgetBytes = int64_t{1} << 20;
constexpr int kBudgetShare = 5;

/// What a column needs at least: page buffers, a small dictionary, its share of finished pages.
constexpr int64_t kMinBytesPerColumn = int64_t{6} << 10;

/// What it gets when there are many and a third of the memory allows it: with less, row groups end early.
constexpr int64_t kGoodBytesPerColumn = int64_t{16} << 10;
constexpr int kColumnsShare = 3;

/// Pages and dictionaries take at most this share of the budget when every column fills them.
constexpr int64_t kBufferShare = 4;
constexpr int64_t kMinPageBytes = int64_t{2} << 10;
constexpr int64_t kMaxPageBytes = int64_t{1} << 20;
constexpr int64_t kMinPageRows = 256;
constexpr int64_t kMaxPageRows = 20'000;

/// A row group whose columns have less than this is too small to be worth ending early: readers would pay for it in seeks and
/// footer entries.
constexpr int64_t kWorthwhileChunkBytes = int64_t{64} << 10;

/// What one ZSTD call takes from the heap besides our buffers, by level (measured on 1 MiB pages, rounded up).
int64_t CodecWorkspaceBytes(const ParquetWriteOptions& options) {
  if (options.compression != "zstd") return int64_t{64} << 10;
  const int level = options.compression_level.value_or(1);
  if (level <= 3) return int64_t{2} << 20;
  if (level <= 9) return int64_t{6} << 20;
  return int64_t{24} << 20;
}

arrow::Compression::type CodecOf(const ParquetWriteOptions& options) {
  if (options.compression == "snappy") return arrow::Compression::SNAPPY;
  if (options.compression == "zstd") return arrow::Compression::ZSTD;
  return arrow::Compression::UNCOMPRESSED;
}

class ParquetWriterImpl final : public ParquetWriter {
 public:
  ParquetWriterImpl(const ParquetWriteOptions& options, std::shared_ptr<arrow::Schema> schema, Location location,
                    runtime::QueryContext* context, const ParquetWriterResources& resources)
      : options_(options),
        input_schema_(std::move(schema)),
        location_(std::move(location)),
        context_(context),
        threads_(std::max(1, resources.threads > 0 ? resources.threads : context->threads)),
        row_group_rows_(options.row_group_rows.value_or(kDefaultRowGroupRows)),
        consumer_(context->ledger.AddConsumer("parquet writer")),
        reservation_(consumer_.get()),
        metrics_(context->metrics.AddOperator("parquet writer")),
        budget_bytes_(resources.budget_bytes) {}

  ~ParquetWriterImpl() override { Abort(); }

  arrow::Status Open() {
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(consumer_->pool())
        ->created_by("icebound version 0.1.0")
        ->compression(CodecOf(options_))
        ->enable_store_decimal_as_integer();
    properties_ = builder.build();
    ARROW_ASSIGN_OR_RAISE(schema_, MakeWrittenSchema(*input_schema_, *properties_, consumer_->pool()));
    ARROW_RETURN_NOT_OK(TakeBudget());
    ARROW_RETURN_NOT_OK(MakeEncoders());
    ARROW_RETURN_NOT_OK(MakePipeline());
    if (!options_.file_size_bytes) {
      ARROW_ASSIGN_OR_RAISE(single_file_, OutputFile::Create(location_));
    } else {
      ARROW_ASSIGN_OR_RAISE(directory_, OutputDirectory::Create(location_));
    }
    return StartFile();
  }

  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    return Guard([&] { return WriteBatch(batch); });
  }

  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(Guard([&]() -> arrow::Status {
      ARROW_RETURN_NOT_OK(EndRowGroup());
      return EndFile();
    }));
    ARROW_RETURN_NOT_OK(directory_ != nullptr ? directory_->Finish() : single_file_->Finish());
    finished_ = true;
    ReleaseMemory();
    return arrow::Status::OK();
  }

  void Abort() override {
    if (finished_) return;
    ReleaseMemory();
    if (single_file_ != nullptr) single_file_->Abort();
    if (directory_ != nullptr) directory_->Abort();
  }

  int64_t rows_written() const override { return rows_written_; }
  int64_t bytes_written() const override { return finished_bytes_ + (builder_ != nullptr ? builder_->bytes_written() : 0); }
  int64_t row_groups_written() const override { return row_groups_; }
  int64_t files_written() const override { return files_; }

 private:
  template <typename Body>
  arrow::Status Guard(Body&& body) {
    return GuardParquet(
        ErrorKind::kIo, [&] { return "writing " + location_.text; }, std::forward<Body>(body));
  }

  int leaf_count() const { return schema_.descriptor->num_columns(); }

  arrow::Status TakeBudget() {
    const int64_t available = context_->ledger.available_bytes();
    if (budget_bytes_ == 0) budget_bytes_ = std::clamp(available / kBudgetShare, kMinBudgetBytes, kMaxBudgetBytes);
    const int64_t needed = leaf_count() * kMinBytesPerColumn;
    budget_bytes_ = std::max({budget_bytes_, needed, std::min(leaf_count() * kGoodBytesPerColumn, available / kColumnsShare)});
    if (needed > available / 2) {
      constexpr int64_t kMiB = int64_t{1} << 20;
      return MakeError(ErrorKind::kMemoryLimit,
                       "memory limit too small: writing {} columns as Parquet needs at least {}, but {} are available; raise it "
                       "by at least {}",
                       leaf_count(), FormatBytes(2 * needed), FormatBytes(available),
                       FormatByteLimit((2 * needed - available + kMiB - 1) / kMiB * kMiB));
    }
    // The objects themselves, and what codecs take behind our back.
    constexpr int64_t kObjectBytesPerColumn = 3 << 10;
    return reservation_.ResizeTo(leaf_count() * kObjectBytesPerColumn + threads_ * CodecWorkspaceBytes(options_));
  }

  arrow::Status MakeEncoders() {
    const int64_t share = budget_bytes_ / kBufferShare / leaf_count();
    ColumnEncoderOptions options;
    options.pool = consumer_->pool();
    options.max_page_bytes = std::clamp(share, kMinPageBytes, kMaxPageBytes);
    options.max_page_rows = std::clamp(options.max_page_bytes / 8, kMinPageRows, kMaxPageRows);
    options.dictionary_bytes_max = options.max_page_bytes;
    options.expected_rows = row_group_rows_;
    options.compressed = options_.compression != "none";
    for (int leaf = 0; leaf < leaf_count(); ++leaf) {
      options.descriptor = schema_.descriptor->Column(leaf);
      ARROW_ASSIGN_OR_RAISE(encoders_.emplace_back(), ColumnEncoder::Make(options));
    }
    nested_.resize(schema_.fields.size());
    for (size_t i = 0; i < schema_.fields.size(); ++i) {
      const WrittenField& field = schema_.fields[i];
      if (field.is_flat) continue;
      const std::span leaves(encoders_.data() + field.first_leaf, static_cast<size_t>(field.leaf_count));
      ARROW_RETURN_NOT_OK(Guard([&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(nested_[i], NestedColumn::Make(schema_.arrow_schema->field(static_cast<int>(i)), properties_,
                                                             consumer_->pool(), leaves));
        return arrow::Status::OK();
      }));
    }
    return arrow::Status::OK();
  }

  arrow::Status MakePipeline() {
    for (int i = 0; i < threads_; ++i) {
      std::unique_ptr<arrow::util::Codec> codec;
      if (options_.compression != "none") {
        const int level = options_.compression_level.value_or(arrow::util::kUseDefaultCompressionLevel);
        ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(CodecOf(options_), level));
      }
      workspaces_.push_back(std::make_unique<EncodeWorkspace>(consumer_->pool(), std::move(codec)));
    }
    EncodePipeline::Callbacks callbacks;
    callbacks.encode = [this](int column, const arrow::RecordBatch& batch, int worker) {
      return EncodeField(column, batch, worker);
    };
    callbacks.state = [this](int column) { return FieldState(column); };
    pipeline_ = std::make_unique<EncodePipeline>(threads_ - 1, static_cast<int>(schema_.fields.size()), std::move(callbacks));
    return arrow::Status::OK();
  }

  // On any thread of the pipeline.

  arrow::Status EncodeField(int index, const arrow::RecordBatch& batch, int worker) {
    EncodeWorkspace* workspace = workspaces_[static_cast<size_t>(worker)].get();
    runtime::OperatorTimer timer(metrics_);
    const auto context = [&] { return fmt::format("column \"{}\"", input_schema_->field(index)->name()); };
    const arrow::Status status = GuardParquet(ErrorKind::kIo, context, [&]() -> arrow::Status {
      if (nested_[static_cast<size_t>(index)] != nullptr)
        return nested_[static_cast<size_t>(index)]->Write(batch.column(index), workspace);
      ARROW_ASSIGN_OR_RAISE(auto array, ReadableLeaf(batch.column(index), consumer_->pool()));
      const int leaf = schema_.fields[static_cast<size_t>(index)].first_leaf;
      return encoders_[static_cast<size_t>(leaf)]->AppendFlat(*array, workspace);
    });
    if (status.ok() || batch.num_rows() == 0) return status;
    return ExplainWideRow(status, HeldBytes(*batch.column(index)->data()) / batch.num_rows());
  }

  ColumnsState FieldState(int index) const {
    ColumnsState state;
    const WrittenField& field = schema_.fields[static_cast<size_t>(index)];
    for (int leaf = field.first_leaf; leaf < field.first_leaf + field.leaf_count; ++leaf) {
      const ColumnEncoder& encoder = *encoders_[static_cast<size_t>(leaf)];
      state.encoded_bytes += encoder.EstimateChunkBytes();
      state.held_bytes += encoder.held_page_bytes();
      state.working_bytes += encoder.working_bytes();
      state.wide_bytes += encoder.widest_page_bytes();
    }
    return state;
  }

  // On the caller's thread.

  arrow::Status WriteBatch(const std::shared_ptr<arrow::RecordBatch>& batch) {
    if (batch->num_columns() != input_schema_->num_fields()) {
      return MakeError(ErrorKind::kInternal, "a batch of {} columns for a file of {}", batch->num_columns(),
                       input_schema_->num_fields());
    }
    for (int64_t row = 0; row < batch->num_rows();) {
      const int64_t rows = std::min(batch->num_rows() - row, row_group_rows_ - group_rows_);
      ARROW_RETURN_NOT_OK(pipeline_->Push(rows == batch->num_rows() ? batch : batch->Slice(row, rows)));
      row += rows;
      group_rows_ += rows;
      rows_written_ += rows;
      ARROW_RETURN_NOT_OK(EndWhatIsFull());
    }
    metrics_.rows.store(rows_written_, std::memory_order_relaxed);
    return arrow::Status::OK();
  }

  arrow::Status EndWhatIsFull() {
    const ColumnsState& state = pipeline_->state();
    const int64_t file_bytes = builder_->bytes_written() + state.encoded_bytes;
    if (options_.file_size_bytes && file_bytes >= *options_.file_size_bytes) {
      ARROW_RETURN_NOT_OK(EndRowGroup());
      if (builder_->bytes_written() < *options_.file_size_bytes) return arrow::Status::OK();  // the estimate was too high
      ARROW_RETURN_NOT_OK(EndFile());
      return StartFile();
    }
    if (group_rows_ >= row_group_rows_ || (options_.row_group_bytes && state.encoded_bytes >= *options_.row_group_bytes)) {
      return EndRowGroup();
    }
    // What comes next may need as much as the widest value needed: twice, before and after compression.
    const int64_t wide_bytes = state.held_bytes > 0 ? 2 * state.wide_bytes : 0;
    if (state.held_bytes + state.working_bytes + wide_bytes <= budget_bytes_) return arrow::Status::OK();
    const bool is_asked_for = options_.row_group_rows || options_.row_group_bytes;
    const bool is_small = state.encoded_bytes < leaf_count() * kWorthwhileChunkBytes;
    const bool spilling_helps = state.held_bytes >= budget_bytes_ / 8;
    if ((is_asked_for || is_small) && spilling_helps) return Stage();
    return EndRowGroup();
  }

  /// Moves the finished pages of the open row group to its spill file.
  arrow::Status Stage() {
    ARROW_RETURN_NOT_OK(pipeline_->Drain());
    runtime::OperatorTimer timer(metrics_);
    std::vector<const StagedPages::ColumnPages*> pages;
    pages.reserve(encoders_.size());
    for (const auto& encoder : encoders_) pages.push_back(&encoder->pages());
    ARROW_RETURN_NOT_OK(staged_->Spill(pages));
    for (const auto& encoder : encoders_) encoder->ForgetPages();
    metrics_.spill_levels.store(1, std::memory_order_relaxed);
    return pipeline_->RefreshState();
  }

  arrow::Status EndRowGroup() {
    ARROW_RETURN_NOT_OK(pipeline_->Drain());
    if (group_rows_ == 0) return arrow::Status::OK();
    std::vector<FinishedChunk> chunks;
    chunks.reserve(encoders_.size());
    for (size_t leaf = 0; leaf < encoders_.size(); ++leaf) chunks.emplace_back(consumer_->pool());
    ARROW_RETURN_NOT_OK(pipeline_->ForEachColumn([&](int index, int worker) -> arrow::Status {
      runtime::OperatorTimer timer(metrics_);
      const WrittenField& field = schema_.fields[static_cast<size_t>(index)];
      for (int leaf = field.first_leaf; leaf < field.first_leaf + field.leaf_count; ++leaf) {
        const auto i = static_cast<size_t>(leaf);
        ARROW_ASSIGN_OR_RAISE(chunks[i], encoders_[i]->FinishChunk(workspaces_[static_cast<size_t>(worker)].get()));
      }
      return arrow::Status::OK();
    }));
    runtime::OperatorTimer timer(metrics_);
    ARROW_RETURN_NOT_OK(builder_->WriteRowGroup(chunks, encoders_, staged_.get()));
    metrics_.spilled_bytes.fetch_add(staged_->spilled_bytes(), std::memory_order_relaxed);
    metrics_.peak_bytes.store(consumer_->peak_bytes(), std::memory_order_relaxed);
    staged_ = std::make_unique<StagedPages>(&context_->disk, consumer_->pool());
    group_rows_ = 0;
    ++row_groups_;
    return pipeline_->RefreshState();
  }

  arrow::Status StartFile() {
    OutputFile* file = single_file_.get();
    if (directory_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(file, directory_->Create(fmt::format("part-{:05}.parquet", files_)));
    }
    file_ = file;
    builder_ = std::make_unique<FileBuilder>(file, &schema_, properties_, &context_->disk, consumer_->pool());
    staged_ = std::make_unique<StagedPages>(&context_->disk, consumer_->pool());
    return builder_->Start();
  }

  arrow::Status EndFile() {
    ARROW_RETURN_NOT_OK(builder_->Finish());
    finished_bytes_ += builder_->bytes_written();
    builder_.reset();
    ++files_;
    return directory_ != nullptr ? directory_->Seal(file_) : arrow::Status::OK();
  }

  void ReleaseMemory() {
    pipeline_.reset();  // joins the threads that use the rest
    builder_.reset();
    staged_.reset();
    nested_.clear();
    encoders_.clear();
    workspaces_.clear();
    metrics_.peak_bytes.store(consumer_->peak_bytes(), std::memory_order_relaxed);
    reservation_.Free();
  }

  const ParquetWriteOptions options_;
  const std::shared_ptr<arrow::Schema> input_schema_;
  const Location location_;
  runtime::QueryContext* const context_;
  const int threads_;
  const int64_t row_group_rows_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  memory::Reservation reservation_;
  runtime::OperatorMetrics& metrics_;
  int64_t budget_bytes_;
  std::shared_ptr<parquet::WriterProperties> properties_;
  WrittenSchema schema_;

  std::unique_ptr<OutputFile> single_file_;     // without file_size_bytes
  std::unique_ptr<OutputDirectory> directory_;  // with it
  OutputFile* file_ = nullptr;                  // the open one

  std::vector<std::unique_ptr<ColumnEncoder>> encoders_;      // a leaf column each
  std::vector<std::unique_ptr<NestedColumn>> nested_;         // a field each; null for flat ones
  std::vector<std::unique_ptr<EncodeWorkspace>> workspaces_;  // a thread each
  std::unique_ptr<StagedPages> staged_;                       // of the open row group
  std::unique_ptr<FileBuilder> builder_;                      // of the open file
  std::unique_ptr<EncodePipeline> pipeline_;                  // after what its threads use

  int64_t group_rows_ = 0;
  int64_t rows_written_ = 0;
  int64_t finished_bytes_ = 0;
  int64_t row_groups_ = 0;
  int64_t files_ = 0;
  bool finished_ = false;
};

}  // namespace

arrow::Result<std::unique_ptr<ParquetWriter>> ParquetWriter::Make(const ParquetWriteOptions& options,
                                                                  std::shared_ptr<arrow::Schema> schema, const std::string& path,
                                                                  FileSystems* file_systems, runtime::QueryContext* context,
                                                                  const ParquetWriterResources& resources) {
  ARROW_RETURN_NOT_OK(CheckParquetOptions(options));
  ARROW_ASSIGN_OR_RAISE(Location location, file_systems->Resolve(path));
  auto writer = std::make_unique<ParquetWriterImpl>(options, std::move(schema), std::move(location), context, resources);
  ARROW_RETURN_NOT_OK(writer->Open());
  return writer;
}

}  // namespace icebound::io
