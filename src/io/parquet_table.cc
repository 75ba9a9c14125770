// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_table.h"

#include <parquet/schema.h>

#include <algorithm>

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

/// No writer in use makes larger pages on purpose; larger chunks are read a page at a time.
constexpr int64_t kTypicalPageBytes = int64_t{1} << 20;

void AddLeaves(const parquet::schema::Node& node, const parquet::SchemaDescriptor& descriptor, std::vector<int>* leaves) {
  if (node.is_primitive()) {
    leaves->push_back(descriptor.ColumnIndex(node));
    return;
  }
  const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
  for (int i = 0; i < group.field_count(); ++i) AddLeaves(*group.field(i), descriptor, leaves);
}

/// A page and its dictionary (which together are no more than the chunk), and buffers. Where one value is wider than a page ought
/// to be, it is held as page (two, for a moment), as value and in the batch.
int64_t LeafBytes(const parquet::ColumnChunkMetaData& chunk) {
  const int64_t pages = chunk.has_dictionary_page() ? 2 : 1;
  const int64_t page_bytes = std::clamp<int64_t>(chunk.total_uncompressed_size(), 0, pages * kTypicalPageBytes);
  const int64_t value_bytes = chunk.total_uncompressed_size() / std::max<int64_t>(1, chunk.num_values());
  return std::max(page_bytes, 4 * value_bytes) + (int64_t{64} << 10);
}

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

ParquetMorselShape ShapeOf(const ParquetFooter& footer, const parquet::RowGroupMetaData& row_group) {
  ParquetMorselShape shape{.rows = row_group.num_rows()};
  const parquet::SchemaDescriptor& descriptor = *footer.head()->schema();
  for (int i = 0; i < descriptor.group_node()->field_count(); ++i) {
    std::vector<int> leaves;
    AddLeaves(*descriptor.group_node()->field(i), descriptor, &leaves);
    int64_t bytes = 0, compressed_bytes = 0;
    bool splits = leaves.size() == 1;
    for (const int leaf : leaves) {
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group.ColumnChunk(leaf);
      bytes += LeafBytes(*chunk);
      compressed_bytes += std::clamp<int64_t>(chunk->total_compressed_size(), 0, kTypicalPageBytes);
      splits = splits && chunk->GetOffsetIndexLocation().has_value();
    }
    shape.column_bytes.push_back(bytes);
    shape.compressed_bytes.push_back(compressed_bytes);
    shape.column_splits.push_back(splits);
  }
  return shape;
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
      const auto columns = static_cast<size_t>(schema_->num_fields());
      shape_ = {.column_bytes = std::vector<int64_t>(columns, 0),
                .compressed_bytes = std::vector<int64_t>(columns, 0),
                .column_splits = std::vector<bool>(columns, false)};
    } else {
      // Two schemas under one name are the user's mistake: say so before anything runs.
      ARROW_RETURN_NOT_OK(MatchColumns(*schema_, first_file_, *footer->schema(), footer->file().name()).status());
    }
    if (shape_.rows == 0 && footer->row_groups() > 0) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const FooterPage> page, footer->LoadPage(0));
      ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kCorruptData, "footer of " + footer->file().name(), [&]() -> arrow::Status {
        const std::unique_ptr<parquet::RowGroupMetaData> row_group = page->RowGroup(0);
        shape_ = ShapeOf(*footer, *row_group);
        if (options.keep_dictionaries && i == 0) schema_ = WithDictionaries(*schema_, *footer->head()->schema(), *row_group);
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

arrow::Result<std::unique_ptr<runtime::StreamSource>> ParquetTable::Scan(ParquetScanRequest request,
                                                                         runtime::QueryContext* context) const {
  return ParquetScan::Make(shared_from_this(), std::move(request), context);
}

}  // namespace icebound::io
