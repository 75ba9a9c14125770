// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/format/batch_format.h"

namespace icebound::io {
namespace {

class CsvFormat final : public BatchFormat {
 public:
  CsvFormat(FormatTarget target, std::string delimiter, std::string null_text, bool header)
      : target_(std::move(target)),
        delimiter_(std::move(delimiter)),
        null_text_(std::move(null_text)),
        header_(header),
        special_characters_(delimiter_ + "\"\r\n"),
        buffer_(target_.out) {}

  arrow::Status Begin() override {
    if (!header_) return arrow::Status::OK();
    for (int i = 0; i < target_.schema->num_fields(); ++i) {
      if (i > 0) ARROW_RETURN_NOT_OK(buffer_.Append(delimiter_));
      ARROW_RETURN_NOT_OK(AppendValue(target_.schema->field(i)->name()));
    }
    return buffer_.Append("\n");
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsAsText(batch, target_.pool));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) ARROW_RETURN_NOT_OK(buffer_.Append(delimiter_));
        ARROW_RETURN_NOT_OK(columns[i]->IsNull(row) ? buffer_.Append(null_text_) : AppendValue(columns[i]->GetView(row)));
      }
      ARROW_RETURN_NOT_OK(buffer_.Append("\n"));
    }
    return buffer_.Flush();
  }

  arrow::Status End() override { return buffer_.Flush(); }

 private:
  /// Quoted when it holds a special character, or would read as NULL.
  arrow::Status AppendValue(std::string_view value) {
    if (value != null_text_ && value.find_first_of(special_characters_) == std::string_view::npos) return buffer_.Append(value);
    ARROW_RETURN_NOT_OK(buffer_.Append("\""));
    for (size_t quote; (quote = value.find('"')) != std::string_view::npos; value.remove_prefix(quote + 1)) {
      ARROW_RETURN_NOT_OK(buffer_.Append(value.substr(0, quote)));
      ARROW_RETURN_NOT_OK(buffer_.Append("\"\""));
    }
    ARROW_RETURN_NOT_OK(buffer_.Append(value));
    return buffer_.Append("\"");
  }

  const FormatTarget target_;
  const std::string delimiter_;
  const std::string null_text_;
  const bool header_;
  const std::string special_characters_;
  TextBuffer buffer_;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeCsvFormat(const CopyOptions& options, FormatTarget target) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format", "delimiter", "header", "null"}, "csv"));
  const std::string delimiter = TextOption(options, "delimiter").value_or(",");
  if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r") {
    return MakeError(ErrorKind::kInvalidInput,
                     "the option delimiter must be one character other than a quote or a line end, not \"{}\"", delimiter);
  }
  ARROW_ASSIGN_OR_RAISE(const auto header, BooleanOption(options, "header"));
  return std::make_unique<CsvFormat>(std::move(target), delimiter, TextOption(options, "null").value_or(""),
                                     header.value_or(true));
}

}  // namespace icebound::io
