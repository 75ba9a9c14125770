// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_scan.h"

#include <algorithm>

#include "base/error.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

/// Of the grants, what the streams of one scan may be planned to hold together: the rest is for the operators they feed.
constexpr double kShareOfGrants = 0.4;

/// What a stream may hold of a wide page: two pages, for a moment, the value, and its batch (wide_pages.h). When every stream had
/// one, all together would hold less than half of the grants.
constexpr int64_t kWidePageCopies = 4;
constexpr int64_t kWidePagePart = 3 * kWidePageCopies;
constexpr int64_t kMinWidePageBytes = 2 << 20;

/// Of the grants, what one stream may hold of blocks that were read ahead from a remote store, within bounds that make requests
/// worth their while.
constexpr int64_t kReadAheadPart = 16;
constexpr int64_t kMinReadAheadBytes = 2 << 20;
constexpr int64_t kMaxReadAheadBytes = 32 << 20;

/// A piece is worth its dictionaries, which every piece of a row group reads again, and in a remote store its own round of
/// requests.
constexpr int64_t kMinPieceRows = 100'000;
constexpr int64_t kMinRemotePieceRows = 1'000'000;

/// Morsels a stream, at least, so that none waits long for another.
constexpr int64_t kMorselsPerStream = 2;

/// Reads morsels until there are none.
class ParquetStream final : public runtime::BatchStream {
 public:
  explicit ParquetStream(std::shared_ptr<ParquetScan> scan) : scan_(std::move(scan)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      ARROW_RETURN_NOT_OK(scan_->context()->cancellation.Check());
      if (counted_rows_ > 0) return CountedBatch();
      if (reading_) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, Explain(reader_->Next()));
        scan_->Deliver(batch == nullptr ? 0 : batch->num_rows(), reader_->TakeReadRows());
        if (batch != nullptr) return batch;
        reading_ = false;
        // A look at a local file is cheap. A remote one is looked at when all that this stream wanted from it has come.
        if (file_->footer->file().is_local()) ARROW_RETURN_NOT_OK(file_->footer->shared_file()->CheckUnchanged());
      }
      ARROW_ASSIGN_OR_RAISE(const std::optional<ScanMorsel> morsel, scan_->NextMorsel());
      if (file_ != nullptr && (!morsel.has_value() || morsel->file != file_)) {
        reader_.reset();  // before the next one allocates
        ARROW_RETURN_NOT_OK(file_->footer->shared_file()->CheckUnchanged());
        file_.reset();
      }
      if (!morsel.has_value()) return nullptr;
      ARROW_RETURN_NOT_OK(Explain(Begin(*morsel)));
    }
  }

 private:
  /// Rows without columns, as many as fit in a batch.
  std::shared_ptr<arrow::RecordBatch> CountedBatch() {
    const int64_t rows = std::min(counted_rows_, scan_->context()->batch_rows);
    counted_rows_ -= rows;
    scan_->Deliver(rows, rows);
    return arrow::RecordBatch::Make(scan_->schema(), rows, arrow::ArrayVector{});
  }

  arrow::Status Begin(const ScanMorsel& morsel) {
    if (morsel.row_group < 0) {
      counted_rows_ = morsel.counted_rows;
      return arrow::Status::OK();
    }
    if (file_ == nullptr) {
      file_ = morsel.file;
      RowGroupReaderOptions options{.schema = scan_->schema(),
                                    .columns = file_->columns,
                                    .bounds = {.rows = scan_->context()->batch_rows, .bytes = scan_->context()->batch_bytes},
                                    .read_ahead_bytes = scan_->ReadAheadBytes(),
                                    .wide_gate = scan_->wide_gate_or_null(),
                                    .filter = scan_->filter_or_null(),
                                    .excluded = file_->excluded,
                                    .cancellation_or_null = &scan_->context()->cancellation};
      ARROW_ASSIGN_OR_RAISE(reader_, ParquetRowGroupReader::Make(file_->footer, std::move(options), scan_->consumer()));
    }
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const FooterPage> page, file_->footer->LoadPage(morsel.row_group));
    ARROW_ASSIGN_OR_RAISE(RowRanges rows, SelectRows(*page, morsel));
    if (rows.empty()) return arrow::Status::OK();
    reading_ = true;
    return reader_->Open(*page, morsel.row_group, std::move(rows));
  }

  arrow::Result<RowRanges> SelectRows(const FooterPage& page, const ScanMorsel& morsel) {
    ARROW_ASSIGN_OR_RAISE(const int64_t total, RowsOf(page, morsel.row_group));
    RowRanges rows;
    AppendRange(morsel.Rows(total), &rows);
    if (file_->pruner == nullptr) return rows;
    const int64_t all = CountRows(rows);
    ARROW_ASSIGN_OR_RAISE(const bool may_match, file_->pruner->RowGroupMayMatch(page, morsel.row_group));
    if (may_match) {
      ARROW_ASSIGN_OR_RAISE(const RowRanges matching,
                            file_->pruner->SelectRows(page, morsel.row_group, scan_->consumer()->pool()));
      rows = Intersect(rows, matching);
    } else {
      rows.clear();
    }
    scan_->Prune(all - CountRows(rows));
    return rows;
  }

  arrow::Result<int64_t> RowsOf(const FooterPage& page, int row_group) const {
    return GuardParquet(ErrorKind::kCorruptData, "footer of " + file_->footer->file().name(),
                        [&]() -> arrow::Result<int64_t> { return page.RowGroup(row_group)->num_rows(); });
  }

  // Damage may only look like it: a file overwritten under our hands is said to be that.
  arrow::Status Explain(arrow::Status status) {
    if (GetErrorKind(status) != ErrorKind::kCorruptData || file_ == nullptr) return status;
    const arrow::Status unchanged = file_->footer->shared_file()->CheckUnchanged();
    return unchanged.ok() ? status : unchanged;
  }
  template <typename T>
  arrow::Result<T> Explain(arrow::Result<T> result) {
    if (result.ok()) return result;
    return Explain(result.status());
  }

  const std::shared_ptr<ParquetScan> scan_;
  std::shared_ptr<ScanFile> file_;
  std::unique_ptr<ParquetRowGroupReader> reader_;
  bool reading_ = false;
  int64_t counted_rows_ = 0;
};

/// The scan as the planner holds it.
class ParquetSource final : public runtime::StreamSource {
 public:
  explicit ParquetSource(std::shared_ptr<ParquetScan> scan) : scan_(std::move(scan)) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return scan_->schema(); }
  int max_streams() const override { return scan_->MaxStreams(); }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override { return scan_->OpenStream(); }
  int64_t peak_bytes() const override { return scan_->consumer()->peak_bytes(); }

 private:
  const std::shared_ptr<ParquetScan> scan_;
};

}  // namespace

ParquetScan::ParquetScan(ParquetScanOptions options, runtime::QueryContext* context)
    : options_(std::move(options)),
      context_(context),
      consumer_(context->ledger.AddConsumer("scan " + options_.name)),
      pieces_(PiecesPerRowGroup()) {
  if (const int streams = MaxStreams(); streams > 1) {
    const int64_t wide_bytes = std::max(kMinWidePageBytes, context_->ledger.granted_bytes() / (kWidePagePart * streams));
    wide_gate_ = std::make_unique<WidePageGate>(wide_bytes, &context_->cancellation);
  }
  context_->metrics.input_rows_total.fetch_add(options_.rows, std::memory_order_relaxed);
}

arrow::Result<std::unique_ptr<runtime::StreamSource>> ParquetScan::Make(ParquetScanOptions options,
                                                                        runtime::QueryContext* context) {
  std::shared_ptr<ParquetScan> scan(new ParquetScan(std::move(options), context));
  const ParquetScanOptions& asked = scan->options_;
  if (!asked.filters.empty() || !asked.probe_filters.empty()) {
    ARROW_ASSIGN_OR_RAISE(scan->filter_,
                          ParquetRowFilter::Make(asked.filters, asked.probe_filters, asked.schema, context->statement_time_us));
  }
  return std::make_unique<ParquetSource>(std::move(scan));
}

int ParquetScan::PiecesPerRowGroup() const {
  const int64_t wanted = kMorselsPerStream * context_->threads;
  if (options_.ordered || context_->threads == 1 || options_.row_groups >= wanted || !options_.splits) return 1;
  const int64_t piece_rows = options_.is_local ? kMinPieceRows : kMinRemotePieceRows;
  return static_cast<int>(std::clamp<int64_t>(options_.row_group_rows / piece_rows, 1, wanted));
}

int64_t ParquetScan::ReadAheadBytes() const {
  return std::clamp(context_->ledger.granted_bytes() / kReadAheadPart, kMinReadAheadBytes, kMaxReadAheadBytes);
}

int ParquetScan::MaxStreams() const {
  if (options_.ordered) return 1;
  const int64_t stream_bytes = 2 * context_->batch_bytes + (options_.is_local ? 0 : ReadAheadBytes()) + options_.column_bytes;
  const double share_bytes = kShareOfGrants * static_cast<double>(context_->ledger.granted_bytes());
  const int64_t by_memory = static_cast<int64_t>(share_bytes / static_cast<double>(stream_bytes));
  const int64_t morsels = schema()->num_fields() == 0 ? options_.file_count : options_.row_groups * pieces_;
  return static_cast<int>(std::max<int64_t>(1, std::min({int64_t{context_->threads}, morsels, by_memory})));
}

arrow::Result<std::unique_ptr<runtime::BatchStream>> ParquetScan::OpenStream() {
  return std::make_unique<ParquetStream>(shared_from_this());
}

void ParquetScan::Deliver(int64_t rows, int64_t read_rows) {
  delivered_rows_.fetch_add(rows, std::memory_order_relaxed);
  context_->metrics.input_rows.fetch_add(read_rows, std::memory_order_relaxed);
}

void ParquetScan::Prune(int64_t rows) { context_->metrics.input_rows_total.fetch_sub(rows, std::memory_order_relaxed); }

bool ParquetScan::LimitReached() const {
  return options_.limit.has_value() && delivered_rows_.load(std::memory_order_relaxed) >= *options_.limit;
}

arrow::Result<std::optional<ScanMorsel>> ParquetScan::NextMorsel() {
  std::unique_lock lock(mutex_);
  while (!LimitReached()) {
    if (!open_files_.empty()) {
      const std::shared_ptr<ScanFile> file = open_files_.front();
      const ScanMorsel morsel{.file = file, .row_group = file->next_row_group, .piece = file->next_piece, .pieces = pieces_};
      if (++file->next_piece == pieces_) file->next_piece = 0, ++file->next_row_group;
      if (file->next_row_group >= file->footer->row_groups()) open_files_.pop_front();
      return morsel;
    }
    if (no_files_left_) {
      if (files_opening_ == 0) break;
      // Another stream opens the last file; its row groups are for this one too.
      file_opened_.wait(lock);
      continue;
    }
    // A file is opened outside the lock: opening one in a remote store takes a while, and others can open the next.
    ++files_opening_;
    lock.unlock();
    arrow::Result<std::shared_ptr<ScanFile>> opened = OpenNextFile();
    lock.lock();
    --files_opening_;
    file_opened_.notify_all();
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<ScanFile> file, std::move(opened));
    if (file == nullptr) {
      no_files_left_ = true;
    } else if (schema()->num_fields() == 0) {
      const int64_t rows = file->footer->rows();
      return ScanMorsel{.file = file, .counted_rows = file->excluded == nullptr ? rows : rows - file->excluded->Count(rows)};
    } else if (file->footer->row_groups() > 0) {
      open_files_.push_back(std::move(file));
    }
  }
  return std::nullopt;
}

arrow::Result<std::shared_ptr<ScanFile>> ParquetScan::OpenNextFile() {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<ScanFile> file, options_.files->Next(consumer_.get()));
  if (file == nullptr) return file;
  ARROW_ASSIGN_OR_RAISE(std::vector<expr::ExprPtr> filters, PruningFilters());
  if (!filters.empty()) {
    file->pruner = std::make_unique<ParquetPruner>(std::move(filters), schema(), file->columns, file->footer);
  }
  return file;
}

/// The filters, and the bounds of keys of joins whose other side is complete.
arrow::Result<std::vector<expr::ExprPtr>> ParquetScan::PruningFilters() const {
  std::vector<expr::ExprPtr> filters = options_.filters;
  for (const ParquetProbeFilter& probe : options_.probe_filters) {
    const runtime::KeyTest* test = probe.filter->test_or_null();
    for (size_t key = 0; test != nullptr && key < probe.columns.size(); ++key) {
      const std::optional<runtime::KeyBounds> bounds = test->BoundsOf(key);
      if (!bounds.has_value()) continue;
      const int column = probe.columns[key];
      const std::shared_ptr<arrow::Field>& field = schema()->field(column);
      for (const auto& [comparison, bound] : {std::pair(">=", bounds->least), std::pair("<=", bounds->greatest)}) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Scalar> value, arrow::MakeScalar(field->type(), bound));
        ARROW_ASSIGN_OR_RAISE(filters.emplace_back(), expr::MakeCall(comparison, {expr::MakeColumn(column, *field),
                                                                                  expr::MakeLiteral(std::move(value))}));
      }
    }
  }
  return filters;
}

}  // namespace icebound::io
