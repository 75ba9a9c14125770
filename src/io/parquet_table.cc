// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_table.h"

#include <parquet/schema.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "io/parquet_footer.h"
#include "io/parquet_guard.h"
#include "io/parquet_scan.h"
#include "io/parquet_schema.h"

namespace icebound::io {
namespace {

/// Footers read at once to know a table's rows exactly. More files than this and the first one speaks for all: planning must not
/// take a request for every file of a large directory.
constexpr int64_t kCountedFiles = 16;

/// Large enough for every category, flag and code; small enough to go along with every batch.
constexpr int64_t kSmallDictionaryBytes = 64 << 10;

/// True when the chunk is nothing but indexes into a small dictionary.
bool IsSmallDictionary(const parquet::ColumnChunkMetaData& chunk) {
  if (chunk.type() != parquet::Type::BYTE_ARRAY || !chunk.has_dictionary_page()) return false;
  if (chunk.data_page_offset() - chunk.dictionary_page_offset() > kSmallDictionaryBytes) return false;
  // The encodings of the pages say whether a writer gave the dictionary up half way; without them nothing is certain.
  const std::vector<parquet::PageEncodingStats>& pages = chunk.encoding_stats();
  return !pages.empty() && std::all_of(pages.begin(), pages.end(), [](const parquet::PageEncodingStats& page) {
    const bool is_dictionary = page.page_type == parquet::PageType::DICTIONARY_PAGE;
    return is_dictionary || page.encoding == parquet::Encoding::RLE_DICTIONARY ||
           page.encoding == parquet::Encoding::PLAIN_DICTIONARY;
  });
}

/// `schema` with the columns of text that are small dictionaries as dictionaries.
std::shared_ptr<arrow::Schema> WithDictionaries(const arrow::Schema& schema, const parquet::SchemaDescriptor& descriptor,
                                                const parquet::RowGroupMetaData& row_group) {
  arrow::FieldVector fields = schema.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const parquet::schema::NodePtr& node = descriptor.group_node()->field(static_cast<int>(i));
    const bool is_text = fields[i]->type()->id() == arrow::Type::STRING || fields[i]->type()->id() == arrow::Type::BINARY;
    if (!is_text || !IsSmallDictionary(*row_group.ColumnChunk(descriptor.ColumnIndex(*node)))) continue;
    fields[i] = fields[i]->WithType(arrow::dictionary(arrow::int32(), fields[i]->type()));
  }
  return arrow::schema(std::move(fields), schema.metadata());
}

}  // namespace

ParquetTable::ParquetTable(Location location, memory::MemoryLedger* ledger)
    : location_(std::move(location)), consumer_(ledger->AddConsumer("table " + location_.text)) {}

arrow::Result<std::shared_ptr<ParquetTable>> ParquetTable::Open(FileSystems* file_systems, std::string_view path_or_uri,
                                                                memory::MemoryLedger* ledger,
                                                                const ParquetTableOptions& options) {
  ARROW_ASSIGN_OR_RAISE(Location location, file_systems->Resolve(path_or_uri));
  std::shared_ptr<ParquetTable> table(new ParquetTable(std::move(location), ledger));
  ARROW_ASSIGN_OR_RAISE(table->listing_, FileListing::List(table->location_, {".parquet"}, table->consumer_.get()));
  ARROW_RETURN_NOT_OK(table->ReadFooters(options));
  return table;
}

arrow::Status ParquetTable::ReadFooters(const ParquetTableOptions& options) {
  const int64_t files = listing_->size();
  const int64_t counted = files <= kCountedFiles || options.check_all_files ? files : 1;
  int64_t counted_bytes = 0;
  for (int64_t i = 0; i < counted; ++i) {
    const FileVersion version = listing_->version(i);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<InputFile> file, InputFile::Open(location_, listing_->path(i), &version, nullptr));
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<ParquetFooter> footer, ParquetFooter::Read(std::move(file), consumer_.get()));
    if (i == 0) {
      schema_ = footer->schema();
      first_file_ = footer->file().name();
      if (options.expected_schema != nullptr) ARROW_RETURN_NOT_OK(CheckExpected(*options.expected_schema));
    } else {
      // Two schemas under one name are the user's mistake: say so before anything runs.
      ARROW_RETURN_NOT_OK(MatchColumns(*schema_, first_file_, *footer->schema(), footer->file().name()).status());
    }
    if (shape_.rows == 0) {
      // Of another file than the first, the shape is that of its own columns: about the same, in about the same order.
      ARROW_ASSIGN_OR_RAISE(shape_, FirstMorselShape(footer.get()));
    }
    if (options.keep_dictionaries && i == 0 && footer->row_groups() > 0) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const FooterPage> page, footer->LoadPage(0));
      ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kCorruptData, "footer of " + footer->file().name(), [&]() -> arrow::Status {
        schema_ = WithDictionaries(*schema_, *footer->head()->schema(), *page->RowGroup(0));
        return arrow::Status::OK();
      }));
    }
    rows_ += footer->rows();
    row_groups_ += footer->row_groups();
    counted_bytes += version.size_bytes;
  }
  rows_are_exact_ = counted == files;
  if (!rows_are_exact_) {
    const double scale = static_cast<double>(listing_->total_bytes()) / static_cast<double>(std::max<int64_t>(1, counted_bytes));
    rows_ = static_cast<int64_t>(static_cast<double>(rows_) * scale);
    row_groups_ = std::max(files, static_cast<int64_t>(static_cast<double>(row_groups_) * scale));
  }
  return arrow::Status::OK();
}

arrow::Status ParquetTable::CheckExpected(const arrow::Schema& expected) const {
  for (const std::shared_ptr<arrow::Field>& wanted : expected.fields()) {
    const std::shared_ptr<arrow::Field> found = schema_->GetFieldByName(wanted->name());
    if (found == nullptr) {
      return MakeError(ErrorKind::kInvalidInput, "column \"{}\" ({}) was expected, but {} has none of that name", wanted->name(),
                       wanted->type()->ToString(), first_file_);
    }
    if (!SameLayout(*found->type(), *PlainType(wanted->type()))) {
      return MakeError(ErrorKind::kInvalidInput, "column \"{}\" was expected to be {}, but is {} in {}", wanted->name(),
                       wanted->type()->ToString(), found->type()->ToString(), first_file_);
    }
  }
  for (const std::shared_ptr<arrow::Field>& found : schema_->fields()) {
    if (expected.GetFieldIndex(found->name()) >= 0) continue;
    return MakeError(ErrorKind::kInvalidInput, "column \"{}\" ({}) of {} was not expected", found->name(),
                     found->type()->ToString(), first_file_);
  }
  return arrow::Status::OK();
}

std::string ParquetTable::Describe() const {
  return fmt::format("parquet {} ({} file{}, {}{} row group{})", location_.text, file_count(), file_count() == 1 ? "" : "s",
                     rows_are_exact_ ? "" : "about ", row_groups_, row_groups_ == 1 ? "" : "s");
}

/// The table's files for one scan. Thread safe.
class ParquetTable::Files final : public ScanFileSource {
 public:
  Files(std::shared_ptr<const ParquetTable> table, std::vector<int> projection, runtime::QueryContext* context)
      : table_(std::move(table)), projection_(std::move(projection)), context_(context) {}

  arrow::Result<std::shared_ptr<ScanFile>> Next(memory::MemoryConsumer* consumer) override {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= table_->file_count()) return nullptr;
    const FileVersion version = table_->listing_->version(index);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<InputFile> input, InputFile::Open(table_->location_, table_->listing_->path(index),
                                                                            &version, &context_->metrics.input_bytes));
    auto file = std::make_shared<ScanFile>();
    ARROW_ASSIGN_OR_RAISE(file->footer, ParquetFooter::Read(std::move(input), consumer));
    ARROW_ASSIGN_OR_RAISE(
        const std::vector<ColumnSource> columns,
        MatchColumns(*table_->schema(), table_->first_file_, *file->footer->schema(), file->footer->file().name()));
    for (const int column : projection_) file->columns.push_back(columns[static_cast<size_t>(column)]);
    return file;
  }

 private:
  const std::shared_ptr<const ParquetTable> table_;
  const std::vector<int> projection_;
  runtime::QueryContext* const context_;
  std::atomic<int64_t> next_{0};
};

arrow::Result<std::unique_ptr<runtime::StreamSource>> ParquetTable::Scan(ParquetScanRequest request,
                                                                         runtime::QueryContext* context) const {
  ParquetScanOptions options{.name = location_.text,
                             .filters = std::move(request.filters),
                             .probe_filters = std::move(request.probe_filters),
                             .limit = request.limit,
                             .ordered = request.ordered,
                             .files = std::make_unique<Files>(shared_from_this(), request.projection, context),
                             .is_local = location_.is_local,
                             .rows = rows_,
                             .file_count = file_count(),
                             .row_groups = row_groups_,
                             .row_group_rows = shape_.rows,
                             .splits = true};
  arrow::FieldVector fields;
  for (const int column : request.projection) {
    if (column < 0 || column >= schema_->num_fields()) {
      return MakeError(ErrorKind::kInternal, "scan of {}: column {} of {}", location_.text, column, schema_->num_fields());
    }
    fields.push_back(schema_->field(column));
    const auto i = static_cast<size_t>(column);
    options.splits = options.splits && shape_.column_splits[i];
    options.column_bytes += shape_.column_bytes[i] + (location_.is_local ? shape_.compressed_bytes[i] : 0);
  }
  options.schema = arrow::schema(std::move(fields));
  return ParquetScan::Make(std::move(options), context);
}

}  // namespace icebound::io
