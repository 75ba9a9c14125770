// SPDX-License-Identifier: Apache-2.0
#include "bridge/file_scan.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "bridge/avro_rows.h"
#include "io/parquet_footer.h"
#include "io/parquet_morsel_shape.h"

namespace icebound::bridge {
namespace {

/// Where nobody says how many files there are: more than threads.
constexpr int64_t kUnknownFiles = 1000;

bool IsFormat(std::string_view format, std::string_view lower_case) {
  return std::equal(format.begin(), format.end(), lower_case.begin(), lower_case.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

arrow::Result<bool> IsParquet(const FileToRead& file) {
  if (IsFormat(file.format, "parquet")) return true;
  if (IsFormat(file.format, "avro")) return false;
  return MakeError(ErrorKind::kUnsupported, "{} is a file of format {}: Parquet and Avro files can be read", file.location,
                   file.format);
}

arrow::Result<std::shared_ptr<io::ScanFile>> OpenParquetFile(const FileToRead& file, const arrow::Schema& schema,
                                                             const SnapshotRead& read, runtime::QueryContext* context,
                                                             memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const io::Location place, ResolveLocation(read.file_systems, file.location));
  auto input = io::InputFile::Open(place, place.path, nullptr, &context->metrics.input_bytes);
  if (GetErrorKind(input.status()) == ErrorKind::kNotFound) {
    return MakeError(ErrorKind::kCorruptData, "the table names the file {}, which is not there", file.location);
  }
  ARROW_RETURN_NOT_OK(input.status());
  auto opened = std::make_shared<io::ScanFile>();
  ARROW_ASSIGN_OR_RAISE(opened->footer, io::ParquetFooter::Read(*std::move(input), consumer));
  const arrow::Schema& stored = *opened->footer->schema();
  const bool has_names = file.mapping.names != nullptr && *file.mapping.names;
  if (file.is_data && !has_names && stored.num_fields() > 0 && !io::HasFieldIds(stored)) {
    return MakeError(ErrorKind::kInvalidInput,
                     "{} has no field ids, and the table no name mapping (property schema.name-mapping.default): which of its "
                     "columns is which cannot be said",
                     file.location);
  }
  ARROW_ASSIGN_OR_RAISE(opened->columns, io::MatchByFieldId(schema, stored, file.location, file.mapping));
  if (file.excluded) {
    ARROW_ASSIGN_OR_RAISE(opened->excluded, file.excluded(consumer));
  }
  return opened;
}

/// The files that are not Parquet. Thread safe; shared by the streams.
class OtherFiles {
 public:
  OtherFiles(FileScan scan, std::vector<expr::ExprPtr> filters, runtime::QueryContext* context)
      : scan_(std::move(scan)),
        filters_(std::move(filters)),
        context_(context),
        consumer_(context->ledger.AddConsumer("other files of " + scan_.name)) {}

  /// There is one at least.
  void NoteOne() { seen_.store(true, std::memory_order_release); }
  int64_t peak_bytes() const { return consumer_->peak_bytes(); }

  /// The rows of the next one; null when there is none left.
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenNext() {
    if (!seen_.load(std::memory_order_acquire)) return nullptr;
    {
      std::lock_guard lock(mutex_);
      if (list_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(list_, scan_.list(consumer_.get()));
      }
    }
    for (;;) {
      ARROW_RETURN_NOT_OK(context_->cancellation.Check());
      FileToRead file;
      ARROW_ASSIGN_OR_RAISE(const bool more, list_->Next(&file));
      if (!more) return nullptr;
      ARROW_ASSIGN_OR_RAISE(const bool is_parquet, IsParquet(file));
      if (!is_parquet) return OpenAvroRows(file, scan_.schema, filters_, *scan_.read, context_, consumer_.get());
    }
  }

 private:
  const FileScan scan_;
  const std::vector<expr::ExprPtr> filters_;
  runtime::QueryContext* const context_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::atomic<bool> seen_{false};
  std::mutex mutex_;
  std::unique_ptr<FileList> list_;  // guarded by mutex_ until it is made
};

/// The Parquet files, the first of which is opened early. Thread safe.
class ParquetFiles final : public io::ScanFileSource {
 public:
  ParquetFiles(const FileScan& scan, std::shared_ptr<OtherFiles> others, runtime::QueryContext* context)
      : read_(scan.read),
        schema_(scan.schema),
        others_(std::move(others)),
        context_(context),
        consumer_(context->ledger.AddConsumer("files of " + scan.name)) {}

  /// Opens the first file, and says in `options` what it tells of size when all (as many as `files`) are about like it.
  arrow::Status Peek(const FileScan& scan, io::ParquetScanOptions* options) {
    ARROW_ASSIGN_OR_RAISE(list_, scan.list(consumer_.get()));
    ARROW_ASSIGN_OR_RAISE(first_, OpenNext(consumer_.get()));
    if (first_ == nullptr) return arrow::Status::OK();
    io::ParquetFooter& footer = *first_->footer;
    ARROW_ASSIGN_OR_RAISE(const io::ParquetMorselShape shape, io::FirstMorselShape(&footer));
    options->is_local = footer.file().is_local();
    options->file_count = std::max<int64_t>(1, scan.files.value_or(kUnknownFiles));
    options->row_groups = options->file_count * std::max(1, footer.row_groups());
    options->row_group_rows = shape.rows;
    options->splits = true;
    for (const io::ColumnSource& column : first_->columns) {
      if (!column.is_stored()) continue;
      const auto i = static_cast<size_t>(column.field_index);
      options->splits = options->splits && shape.column_splits[i];
      options->column_bytes += shape.column_bytes[i] + (options->is_local ? shape.compressed_bytes[i] : 0);
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<io::ScanFile>> Next(memory::MemoryConsumer* consumer) override {
    {
      std::lock_guard lock(mutex_);
      if (first_ != nullptr) return std::exchange(first_, nullptr);
    }
    return OpenNext(consumer);
  }

 private:
  arrow::Result<std::shared_ptr<io::ScanFile>> OpenNext(memory::MemoryConsumer* consumer) {
    for (;;) {
      ARROW_RETURN_NOT_OK(context_->cancellation.Check());
      FileToRead file;
      ARROW_ASSIGN_OR_RAISE(const bool more, list_->Next(&file));
      if (!more) return nullptr;
      ARROW_ASSIGN_OR_RAISE(const bool is_parquet, IsParquet(file));
      if (is_parquet) return OpenParquetFile(file, *schema_, *read_, context_, consumer);
      others_->NoteOne();
    }
  }

  const std::shared_ptr<const SnapshotRead> read_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<OtherFiles> others_;
  runtime::QueryContext* const context_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;  // outlives what follows
  std::unique_ptr<FileList> list_;
  std::mutex mutex_;
  std::shared_ptr<io::ScanFile> first_;  // guarded by mutex_ once the scan runs
};

/// Parquet first, then the others.
class FilesStream final : public runtime::BatchStream {
 public:
  FilesStream(std::unique_ptr<runtime::BatchStream> parquet, std::shared_ptr<OtherFiles> others)
      : others_(std::move(others)), rows_(std::move(parquet)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (rows_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, rows_->Next());
      if (batch != nullptr) return batch;
      rows_.reset();
      ARROW_ASSIGN_OR_RAISE(rows_, others_->OpenNext());
    }
    return nullptr;
  }

 private:
  const std::shared_ptr<OtherFiles> others_;
  std::unique_ptr<runtime::BatchStream> rows_;
};

class FilesSource final : public runtime::StreamSource {
 public:
  FilesSource(std::unique_ptr<runtime::StreamSource> parquet, std::shared_ptr<OtherFiles> others)
      : parquet_(std::move(parquet)), others_(std::move(others)) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return parquet_->schema(); }
  int max_streams() const override { return parquet_->max_streams(); }
  int64_t peak_bytes() const override { return parquet_->peak_bytes() + others_->peak_bytes(); }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override {
    ARROW_ASSIGN_OR_RAISE(auto parquet, parquet_->OpenStream());
    return std::make_unique<FilesStream>(std::move(parquet), others_);
  }

 private:
  const std::unique_ptr<runtime::StreamSource> parquet_;
  const std::shared_ptr<OtherFiles> others_;
};

/// One file.
class OneFile final : public FileList {
 public:
  explicit OneFile(const FileToRead& file) : file_(file) {}
  arrow::Result<bool> Next(FileToRead* file) override {
    if (is_done_.exchange(true)) return false;
    *file = file_;
    return true;
  }

 private:
  const FileToRead file_;
  std::atomic<bool> is_done_{false};
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::StreamSource>> ScanFiles(FileScan scan, const plan::ScanRequest& request,
                                                                runtime::QueryContext* context) {
  io::ParquetScanOptions options{.name = scan.name,
                                 .schema = scan.schema,
                                 .filters = request.filters,
                                 .limit = request.limit,
                                 .ordered = request.ordered,
                                 .rows = scan.rows};
  for (const plan::ScanProbeFilter& probe : request.probe_filters) {
    options.probe_filters.push_back({.filter = probe.filter, .columns = probe.columns});
  }
  auto others = std::make_shared<OtherFiles>(scan, request.filters, context);
  auto files = std::make_unique<ParquetFiles>(scan, others, context);
  ARROW_RETURN_NOT_OK(files->Peek(scan, &options));
  options.files = std::move(files);
  ARROW_ASSIGN_OR_RAISE(auto parquet, io::ParquetScan::Make(std::move(options), context));
  return std::make_unique<FilesSource>(std::move(parquet), std::move(others));
}

arrow::Result<std::unique_ptr<runtime::BatchStream>> ReadRows(const FileToRead& file, std::shared_ptr<arrow::Schema> schema,
                                                              std::vector<expr::ExprPtr> filters,
                                                              std::shared_ptr<const SnapshotRead> read,
                                                              runtime::QueryContext* context) {
  FileScan scan{.read = std::move(read), .name = file.location, .schema = std::move(schema), .files = 1};
  scan.list = [file](memory::MemoryConsumer*) -> arrow::Result<std::unique_ptr<FileList>> {
    return std::make_unique<OneFile>(file);
  };
  ARROW_ASSIGN_OR_RAISE(const auto source, ScanFiles(std::move(scan), {.filters = std::move(filters), .ordered = true}, context));
  return source->OpenStream();  // which keeps what it reads from
}

}  // namespace icebound::bridge
