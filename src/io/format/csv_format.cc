// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/format/batch_format.h"
#include "io/format/value_text.h"

namespace icebound::io {
namespace {

/// Cells of more bytes are never collected: their text may be twice as long.
constexpr int64_t kLongCellBytes = 64 << 10;

/// True for bytes that are long; strings need no text of their own.
bool IsLong(const arrow::Array& column, int64_t row) {
  switch (column.type_id()) {
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(column).value_length(row) > kLongCellBytes;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(column).value_length(row) > kLongCellBytes;
    case arrow::Type::FIXED_SIZE_BINARY:
      return static_cast<const arrow::FixedSizeBinaryArray&>(column).byte_width() > kLongCellBytes;
    default:
      return false;
  }
}

/// Doubles the quotes of what passes through: the inside of a quoted cell.
class QuotedCell final : public TextOut {
 public:
  explicit QuotedCell(TextOut* out) : out_(out) {}
  arrow::Status Append(std::string_view text) override {
    for (size_t quote; (quote = text.find('"')) != std::string_view::npos; text.remove_prefix(quote + 1)) {
      ARROW_RETURN_NOT_OK(out_->Append(text.substr(0, quote + 1)));
      ARROW_RETURN_NOT_OK(out_->Append("\""));
    }
    return out_->Append(text);
  }

 private:
  TextOut* const out_;
};

struct CsvOptions {
  std::string delimiter = ",";
  std::string null_text;
  bool header = true;
};

class CsvFormat final : public BatchFormat {
 public:
  CsvFormat(FormatTarget target, CsvOptions options)
      : target_(std::move(target)),
        options_(std::move(options)),
        special_characters_(options_.delimiter + "\"\r\n"),
        buffer_(target_.out),
        quoted_(&buffer_) {}

  arrow::Status Begin() override {
    if (!options_.header) return arrow::Status::OK();
    for (int i = 0; i < target_.schema->num_fields(); ++i) {
      if (i > 0) ARROW_RETURN_NOT_OK(buffer_.Append(options_.delimiter));
      ARROW_RETURN_NOT_OK(AppendCell(target_.schema->field(i)->name()));
    }
    return buffer_.Append("\n");
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    const arrow::ArrayVector& columns = batch.columns();
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) ARROW_RETURN_NOT_OK(buffer_.Append(options_.delimiter));
        ARROW_RETURN_NOT_OK(AppendValue(*columns[i], row));
      }
      ARROW_RETURN_NOT_OK(buffer_.Append("\n"));
    }
    return buffer_.Flush();
  }

  arrow::Status End() override { return buffer_.Flush(); }

 private:
  arrow::Status AppendValue(const arrow::Array& column, int64_t row) {
    if (ValueText::IsNull(column, row)) return buffer_.Append(options_.null_text);
    if (ValueText::IsNested(*column.type()) || IsLong(column, row)) {  // as long as it likes: quoted as it comes
      ARROW_RETURN_NOT_OK(buffer_.Append("\""));
      ARROW_RETURN_NOT_OK(values_.Append(column, row, TextStyle::kSql, &quoted_));
      return buffer_.Append("\"");
    }
    if (column.type_id() == arrow::Type::STRING) return AppendCell(static_cast<const arrow::StringArray&>(column).GetView(row));
    cell_.Clear();
    ARROW_RETURN_NOT_OK(values_.Append(column, row, TextStyle::kSql, &cell_));
    return AppendCell(cell_.view());
  }

  /// Quoted when it holds a special character, or would read as NULL.
  arrow::Status AppendCell(std::string_view text) {
    if (text != options_.null_text && text.find_first_of(special_characters_) == std::string_view::npos)
      return buffer_.Append(text);
    ARROW_RETURN_NOT_OK(buffer_.Append("\""));
    ARROW_RETURN_NOT_OK(quoted_.Append(text));
    return buffer_.Append("\"");
  }

  const FormatTarget target_;
  const CsvOptions options_;
  const std::string special_characters_;
  TextBuffer buffer_;
  QuotedCell quoted_;
  TextString cell_;
  ValueText values_;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeCsvFormat(const CopyOptions& options, FormatTarget target) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format", "delimiter", "header", "null"}, "csv"));
  CsvOptions csv;
  csv.delimiter = TextOption(options, "delimiter").value_or(csv.delimiter);
  if (csv.delimiter == "\\t") csv.delimiter = "\t";
  if (csv.delimiter.size() != 1 || csv.delimiter.find_first_of("\"\r\n") != std::string::npos) {
    return MakeError(ErrorKind::kInvalidInput, "option delimiter must be one character other than a quote or a line end: \"{}\"",
                     csv.delimiter);
  }
  csv.null_text = TextOption(options, "null").value_or("");
  if (csv.null_text.find_first_of(csv.delimiter + "\"\r\n") != std::string::npos) {
    return MakeError(ErrorKind::kInvalidInput, "option null must not contain the delimiter, a quote or a line end: \"{}\"",
                     csv.null_text);
  }
  ARROW_ASSIGN_OR_RAISE(const auto header, BooleanOption(options, "header"));
  csv.header = header.value_or(true);
  return std::make_unique<CsvFormat>(std::move(target), std::move(csv));
}

}  // namespace icebound::io
