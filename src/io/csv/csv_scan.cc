// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_scan.h"

#include <algorithm>

#include "base/error.h"

namespace icebound::io {
namespace {

/// Of the grants, what the streams of one scan may be planned to hold together: the rest is for the operators they feed.
constexpr double kShareOfGrants = 0.4;

/// What a stream may hold of a wide row: the growing block, the batch, and the copy of whoever takes it. When every stream had
/// one, all together would hold less than half of the grants.
constexpr int64_t kWideRowPart = 8;
constexpr int64_t kMinWideRowBytes = 2 << 20;

/// A request to a remote store is worth this much.
constexpr int64_t kRemoteBlockBytes = 4 << 20;

std::shared_ptr<arrow::Schema> Project(const arrow::Schema& schema, const std::vector<int>& projection) {
  arrow::FieldVector fields;
  for (const int column : projection) fields.push_back(schema.field(column));
  return arrow::schema(std::move(fields));
}

/// For each wanted column, the first place in the projection where it is wanted.
std::vector<int> FirstPlaces(const std::vector<int>& projection) {
  std::vector<int> places;
  for (const int column : projection) {
    places.push_back(static_cast<int>(std::find(projection.begin(), projection.end(), column) - projection.begin()));
  }
  return places;
}

/// Takes blocks until there are none, and makes batches of each.
class CsvStream final : public runtime::BatchStream {
 public:
  explicit CsvStream(std::shared_ptr<CsvScan> scan) : scan_(std::move(scan)), wide_pass_(scan_->wide_gate_or_null()) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    wide_pass_.Give();
    while (true) {
      ARROW_RETURN_NOT_OK(scan_->context()->cancellation.Check());
      if (lexer_ != nullptr) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, NextOfBlock());
        if (batch != nullptr) return batch;
        lexer_.reset();
      }
      ARROW_ASSIGN_OR_RAISE(const bool more, TakeBlock());
      if (!more) return nullptr;
    }
  }

 private:
  arrow::Result<bool> TakeBlock() {
    std::shared_ptr<CsvScanFile> file;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(file, scan_->NextBlock(&block_, &wide_pass_));
      if (!wide_pass_.was_refused()) break;
      ARROW_RETURN_NOT_OK(wide_pass_.Wait());
    }
    if (file == nullptr) {
      cells_.reset();
      block_ = {};
      return false;
    }
    if (file != file_) {
      file_ = std::move(file);
      cells_.reset();
      cells_ = std::make_unique<CsvCells>(file_->slots, scan_->batch_rows(), scan_->consumer()->pool());
      ARROW_RETURN_NOT_OK(cells_->Init());
    }
    lexer_ = std::make_unique<CsvLexer>(file_->dialect);
    lexer_->Reset(block_.begin(), block_.end(), /*is_file_end=*/true);
    return true;
  }

  /// Null at the end of the block.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> NextOfBlock() {
    arrow::MemoryPool* const pool = scan_->consumer()->pool();
    CsvFault fault;
    if (!cells_->Read(lexer_.get(), block_.begin(), scan_->context()->batch_bytes, &fault)) {
      return AtRecord(ErrorStatus(ErrorKind::kCorruptData, fault.message), block_, fault.record, {}, pool);
    }
    const int64_t rows = cells_->records();
    if (rows == 0) return nullptr;
    arrow::ArrayVector columns;
    for (int i = 0; i < scan_->schema()->num_fields(); ++i) {
      const std::shared_ptr<arrow::Field>& field = scan_->schema()->field(i);
      int64_t bad_record = -1;
      auto data = ReadColumn(cells_->column(scan_->slot(i)), cells_->text(), field->type(), scan_->nulls(), pool, &bad_record);
      if (!data.ok() && bad_record >= 0) {
        return AtRecord(data.status(), block_, cells_->record(bad_record), field->name(), pool);
      }
      if (!data.ok()) return ExplainWideRow(data.status(), block_.bytes / rows);
      columns.push_back(arrow::MakeArray(*std::move(data)));
    }
    if (lexer_->position() == block_.end()) {
      lexer_.reset();
      if (block_.held_bytes() > 2 * scan_->BlockBytes()) block_ = {};  // its text is in the batch now
    }
    scan_->Deliver(rows);
    return arrow::RecordBatch::Make(scan_->schema(), rows, std::move(columns));
  }

  const std::shared_ptr<CsvScan> scan_;
  WidePass wide_pass_;
  CsvBlock block_;
  std::shared_ptr<CsvScanFile> file_;
  std::unique_ptr<CsvCells> cells_;
  std::unique_ptr<CsvLexer> lexer_;  // null: the block is at its end
};

/// The scan as the planner holds it.
class CsvSource final : public runtime::StreamSource {
 public:
  explicit CsvSource(std::shared_ptr<CsvScan> scan) : scan_(std::move(scan)) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return scan_->schema(); }
  int max_streams() const override { return scan_->MaxStreams(); }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override { return scan_->OpenStream(); }
  int64_t peak_bytes() const override { return scan_->consumer()->peak_bytes(); }

 private:
  const std::shared_ptr<CsvScan> scan_;
};

}  // namespace

CsvScan::CsvScan(std::shared_ptr<const CsvTable> table, CsvScanRequest request, runtime::QueryContext* context)
    : table_(std::move(table)),
      request_(std::move(request)),
      context_(context),
      schema_(Project(*table_->schema(), request_.projection)),
      slots_(FirstPlaces(request_.projection)),
      nulls_(table_->options_.null_strings),
      consumer_(context->ledger.AddConsumer("scan " + table_->location_.text)),
      batch_rows_(BatchRows()) {
  if (const int streams = MaxStreams(); streams > 1) {
    const int64_t wide_bytes = std::max(kMinWideRowBytes, context_->ledger.granted_bytes() / (kWideRowPart * streams));
    wide_gate_ = std::make_unique<WidePageGate>(wide_bytes, &context_->cancellation);
  }
  context_->metrics.input_rows_total.fetch_add(table_->rows(), std::memory_order_relaxed);
}

arrow::Result<std::unique_ptr<runtime::StreamSource>> CsvScan::Make(std::shared_ptr<const CsvTable> table, CsvScanRequest request,
                                                                    runtime::QueryContext* context) {
  const std::shared_ptr<CsvScan> scan(new CsvScan(std::move(table), std::move(request), context));
  return std::make_unique<CsvSource>(scan);
}

int64_t CsvScan::BatchRows() const {
  // A cell takes as much as the widest common value.
  int64_t row_bytes = 1;
  for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) {
    row_bytes += std::max<int64_t>(sizeof(CsvCell), CsvValueBytes(*field->type()));
  }
  return std::clamp<int64_t>(context_->batch_bytes / row_bytes, 1, context_->batch_rows);
}

int64_t CsvScan::BlockBytes() const {
  const bool is_local = table_->location_.is_local;
  return is_local ? context_->batch_bytes
                  : std::clamp(context_->ledger.granted_bytes() / 16, context_->batch_bytes, kRemoteBlockBytes);
}

int CsvScan::MaxStreams() const {
  if (request_.ordered) return 1;
  const int64_t block_bytes = BlockBytes();
  const int64_t stream_bytes = block_bytes + 3 * context_->batch_bytes;  // cells, and a batch of text and values
  const double share_bytes = kShareOfGrants * static_cast<double>(context_->ledger.granted_bytes());
  const auto by_memory = static_cast<int64_t>(share_bytes / static_cast<double>(stream_bytes));
  const int64_t blocks = table_->total_bytes() / block_bytes + 1;
  return static_cast<int>(std::max<int64_t>(1, std::min({int64_t{context_->threads}, blocks, by_memory})));
}

arrow::Result<std::unique_ptr<runtime::BatchStream>> CsvScan::OpenStream() {
  return std::make_unique<CsvStream>(shared_from_this());
}

void CsvScan::Deliver(int64_t rows) {
  delivered_rows_.fetch_add(rows, std::memory_order_relaxed);
  context_->metrics.input_rows.fetch_add(rows, std::memory_order_relaxed);
}

arrow::Result<std::shared_ptr<CsvScanFile>> CsvScan::NextBlock(CsvBlock* block, WidePass* wide_pass) {
  std::lock_guard lock(mutex_);
  while (!request_.limit.has_value() || delivered_rows_.load(std::memory_order_relaxed) < *request_.limit) {
    if (file_ == nullptr) {
      if (next_file_ == table_->file_count()) break;
      ARROW_ASSIGN_OR_RAISE(file_, OpenFile(next_file_++));
    }
    const std::shared_ptr<CsvScanFile> file = file_;
    ARROW_ASSIGN_OR_RAISE(const bool read, file->csv->ReadBlock(BlockBytes(), consumer_->pool(), wide_pass, block));
    if (!read) return file;
    const bool is_last = file->csv->at_end();
    // A look at a local file is cheap. A remote one is looked at when all of it has come.
    if (is_last || table_->location_.is_local) ARROW_RETURN_NOT_OK(file->csv->file()->CheckUnchanged());
    if (is_last) file_.reset();
    if (block->bytes > 0) return file;
  }
  return nullptr;
}

arrow::Result<std::shared_ptr<CsvScanFile>> CsvScan::OpenFile(int64_t index) const {
  ARROW_ASSIGN_OR_RAISE(CsvTable::Opened opened, table_->OpenFile(index, &context_->metrics.input_bytes));
  auto file = std::make_shared<CsvScanFile>();
  file->csv = std::move(opened.csv);
  file->dialect = table_->DialectOf(table_->listing_->path(index));
  for (const int column : opened.columns) {
    const auto wanted = std::find(request_.projection.begin(), request_.projection.end(), column);
    file->slots.push_back(wanted == request_.projection.end() ? -1 : static_cast<int>(wanted - request_.projection.begin()));
  }
  return file;
}

}  // namespace icebound::io
