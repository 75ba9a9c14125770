// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_table.h"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "expr/number_text.h"
#include "io/csv/csv_columns.h"
#include "io/csv/csv_scan.h"

namespace icebound::io {
namespace {

/// Files whose headers are read, and values sampled, when a table is opened: planning must not take a request for every file of a
/// large directory.
constexpr int64_t kSampledFiles = 16;
constexpr int64_t kMinFileSampleBytes = 64 << 10;

/// Records that are cut into values at a time for the sample.
constexpr int64_t kSampleRecords = 256;

bool EndsWith(std::string_view path, std::string_view suffix) {
  return path.size() >= suffix.size() && expr::EqualsIgnoreCase(path.substr(path.size() - suffix.size()), suffix);
}

arrow::Status CheckOptions(const CsvReadOptions& options) {
  const auto is_bad = [](char c) { return c == '\n' || c == '\r'; };
  const bool bad = (options.delimiter && is_bad(*options.delimiter)) || (options.quote && is_bad(*options.quote)) ||
                   (options.escape && is_bad(*options.escape));
  if (bad) return MakeError(ErrorKind::kInvalidInput, "delimiter, quote and escape cannot be line ends");
  if (options.quote && (options.delimiter == options.quote)) {
    return MakeError(ErrorKind::kInvalidInput, "delimiter and quote are both '{}': choose two characters", *options.quote);
  }
  if (options.sample_bytes < 1) {
    return MakeError(ErrorKind::kInvalidInput, "sample_bytes must be at least 1: {}", options.sample_bytes);
  }
  for (const auto& [name, type] : options.types) {
    if (type != nullptr && IsCsvType(*type)) continue;
    return MakeError(ErrorKind::kUnsupported, "column \"{}\" of a CSV file cannot be read as {}: read it as text and CAST it",
                     name, type == nullptr ? "no type" : type->ToString());
  }
  return arrow::Status::OK();
}

/// Names for what has none or another's, as they may be written in a query.
arrow::Status MakeUnique(const std::string& file_name, std::vector<std::string>* names) {
  arrow::util::InitializeUTF8();
  std::set<std::string> taken;
  for (size_t i = 0; i < names->size(); ++i) {
    std::string& name = (*names)[i];
    if (!arrow::util::ValidateUTF8(name)) {
      return MakeError(ErrorKind::kCorruptData, "the header of {} is not UTF-8: convert the file", file_name);
    }
    if (name.empty()) name = fmt::format("column{}", i);
    std::string unique = name;
    for (int number = 1; !taken.insert(unique).second; ++number) unique = fmt::format("{}_{}", name, number);
    name = std::move(unique);
  }
  return arrow::Status::OK();
}

}  // namespace

bool IsCsvPath(std::string_view path) { return EndsWith(path, ".csv") || EndsWith(path, ".tsv"); }

arrow::Status AtRecord(const arrow::Status& status, const CsvBlock& block, const char* record, std::string_view column_name,
                       arrow::MemoryPool* pool) {
  // What looks like damage may be a file overwritten under our hands.
  ARROW_RETURN_NOT_OK(block.file->CheckUnchanged());
  ARROW_ASSIGN_OR_RAISE(const int64_t line, LineOf(block, record, pool));
  return WithContext(status, ErrorKind::kIo,
                     column_name.empty() ? fmt::format("{}, line {}", block.file->name(), line)
                                         : fmt::format("{}, line {}, column \"{}\"", block.file->name(), line, column_name));
}

CsvTable::CsvTable(Location location, CsvReadOptions options, memory::MemoryLedger* ledger)
    : location_(std::move(location)), options_(std::move(options)), consumer_(ledger->AddConsumer("table " + location_.text)) {}

arrow::Result<std::shared_ptr<CsvTable>> CsvTable::Open(FileSystems* file_systems, std::string_view path_or_uri,
                                                        memory::MemoryLedger* ledger, const CsvReadOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOptions(options));
  ARROW_ASSIGN_OR_RAISE(Location location, file_systems->Resolve(path_or_uri));
  std::shared_ptr<CsvTable> table(new CsvTable(std::move(location), options, ledger));
  ARROW_ASSIGN_OR_RAISE(table->listing_, FileListing::List(table->location_, {".csv", ".tsv"}, table->consumer_.get()));
  ARROW_RETURN_NOT_OK(table->Sample());
  return table;
}

CsvDialect CsvTable::DialectOf(std::string_view path) const {
  return {.delimiter = options_.delimiter.value_or(EndsWith(path, ".tsv") ? '\t' : ','),
          .quote = options_.quote,
          .escape = options_.escape};
}

arrow::Result<std::vector<std::string>> CsvTable::ReadNames(CsvFile* csv) const {
  const CsvFile::Position start = csv->position();
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, csv->ReadRecord(consumer_->pool()));
  if (!options_.header) {
    csv->Return(start);
    for (std::string& name : names) name.clear();
    if (names.empty()) names.resize(names_.empty() ? options_.columns.size() : names_.size());
  }
  if (names.empty()) {
    return MakeError(ErrorKind::kInvalidInput, "{} is empty: a CSV file {}", csv->file()->name(),
                     options_.header ? "begins with the names of its columns" : "without a header needs a row");
  }
  int64_t names_bytes = 0;
  for (const std::string& name : names) names_bytes += static_cast<int64_t>(name.size());
  if (names_bytes > CsvFile::kNamesBytesMax) {
    return MakeError(ErrorKind::kUnsupported, "{}, line 1: the names of the columns have more than {} bytes together",
                     csv->file()->name(), CsvFile::kNamesBytesMax);
  }
  if (!options_.columns.empty()) {
    if (names.size() != options_.columns.size()) {
      return MakeError(ErrorKind::kInvalidInput, "{} has {} columns, but {} were named", csv->file()->name(), names.size(),
                       options_.columns.size());
    }
    names = options_.columns;
  }
  ARROW_RETURN_NOT_OK(MakeUnique(csv->file()->name(), &names));
  return names;
}

arrow::Result<std::vector<int>> CsvTable::MatchNames(const std::vector<std::string>& names, const std::string& file_name) const {
  const auto differ = [&](std::string_view with, const std::string& name, std::string_view without) {
    return MakeError(ErrorKind::kInvalidInput, "files of one table must have the same columns: {} has column \"{}\", {} has not",
                     with, name, without);
  };
  std::map<std::string_view, int> index_of;
  for (size_t i = 0; i < names_.size(); ++i) index_of.emplace(names_[i], static_cast<int>(i));
  std::vector<int> columns;
  for (const std::string& name : names) {
    const auto found = index_of.find(name);
    if (found == index_of.end()) return differ(file_name, name, first_file_);
    columns.push_back(found->second);
    index_of.erase(found);
  }
  if (!index_of.empty()) return differ(first_file_, std::string(index_of.begin()->first), file_name);
  return columns;
}

arrow::Result<CsvTable::Opened> CsvTable::OpenFile(int64_t index, std::atomic<int64_t>* read_bytes) const {
  const FileVersion version = listing_->version(index);
  const std::string path = listing_->path(index);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<InputFile> file, InputFile::Open(location_, path, &version, read_bytes));
  Opened opened;
  ARROW_ASSIGN_OR_RAISE(opened.csv, CsvFile::Open(std::move(file), DialectOf(path)));
  ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> names, ReadNames(opened.csv.get()));
  ARROW_ASSIGN_OR_RAISE(opened.columns, MatchNames(names, opened.csv->file()->name()));
  return opened;
}

arrow::Status CsvTable::Sample() {
  {
    const FileVersion version = listing_->version(0);
    const std::string path = listing_->path(0);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<InputFile> file, InputFile::Open(location_, path, &version, nullptr));
    ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<CsvFile> csv, CsvFile::Open(std::move(file), DialectOf(path)));
    first_file_ = csv->file()->name();
    ARROW_ASSIGN_OR_RAISE(names_, ReadNames(csv.get()));
  }
  const int64_t files = std::min(listing_->size(), kSampledFiles);
  const int64_t file_bytes = std::max(kMinFileSampleBytes, options_.sample_bytes / files);
  std::vector<CsvTypeGuess> guesses(names_.size());
  int64_t sampled_rows = 0, sampled_bytes = 0;
  for (int64_t i = 0; i < files; ++i) {
    ARROW_RETURN_NOT_OK(SampleFile(i, file_bytes, &guesses, &sampled_rows, &sampled_bytes));
  }
  const double row_bytes = static_cast<double>(sampled_bytes) / static_cast<double>(std::max<int64_t>(1, sampled_rows));
  rows_ = sampled_rows == 0 ? 0 : static_cast<int64_t>(static_cast<double>(listing_->total_bytes()) / row_bytes);
  return MakeSchema(guesses);
}

arrow::Status CsvTable::SampleFile(int64_t index, int64_t bytes, std::vector<CsvTypeGuess>* guesses, int64_t* sampled_rows,
                                   int64_t* sampled_bytes) {
  arrow::MemoryPool* const pool = consumer_->pool();
  ARROW_ASSIGN_OR_RAISE(const Opened opened, OpenFile(index, nullptr));
  const CsvNulls nulls(options_.null_strings);
  CsvCells cells(opened.columns, kSampleRecords, pool);
  ARROW_RETURN_NOT_OK(cells.Init());
  CsvLexer lexer(DialectOf(listing_->path(index)));
  CsvBlock block;
  constexpr int64_t kBlockBytes = int64_t{1} << 20;
  for (int64_t left = bytes; left > 0 && !opened.csv->at_end(); left -= block.bytes) {
    ARROW_RETURN_NOT_OK(opened.csv->ReadBlock(std::min(left, kBlockBytes), pool, nullptr, &block).status());
    lexer.Reset(block.begin(), block.end(), /*is_file_end=*/true);
    *sampled_bytes += block.bytes;
    do {
      CsvFault fault;
      if (!cells.Read(&lexer, block.begin(), block.bytes, &fault)) {
        return AtRecord(ErrorStatus(ErrorKind::kCorruptData, fault.message), block, fault.record, {}, pool);
      }
      *sampled_rows += cells.records();
      for (size_t i = 0; i < guesses->size(); ++i) {
        for (const CsvCell& cell : cells.column(static_cast<int>(i))) {
          const std::string_view text(cells.text() + cell.begin, cell.length);
          if (!nulls.IsNullValue(text, cell.quoted != 0)) (*guesses)[i].Add(text);
        }
      }
    } while (cells.records() > 0);
  }
  return arrow::Status::OK();
}

arrow::Status CsvTable::MakeSchema(const std::vector<CsvTypeGuess>& guesses) {
  for (const auto& [name, type] : options_.types) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
    return MakeError(ErrorKind::kInvalidInput, "a type was given for column \"{}\", which {} has not", name, first_file_);
  }
  arrow::FieldVector fields;
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto given = options_.types.find(names_[i]);
    fields.push_back(arrow::field(names_[i], given == options_.types.end() ? guesses[i].type() : given->second));
  }
  schema_ = arrow::schema(std::move(fields));
  return arrow::Status::OK();
}

std::string CsvTable::Describe() const {
  return fmt::format("csv {} ({} file{}, about {} row{})", location_.text, file_count(), file_count() == 1 ? "" : "s", rows_,
                     rows_ == 1 ? "" : "s");
}

arrow::Result<std::unique_ptr<runtime::StreamSource>> CsvTable::Scan(CsvScanRequest request,
                                                                     runtime::QueryContext* context) const {
  return CsvScan::Make(shared_from_this(), std::move(request), context);
}

}  // namespace icebound::io
