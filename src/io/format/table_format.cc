// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "io/format/batch_format.h"
#include "io/format/value_text.h"

namespace icebound::io {
namespace {

/// No column is padded wider than this: one long comment must not push everything off the screen.
constexpr size_t kWidestPadding = 60;

/// Characters of UTF-8 text (not columns of the terminal: wide characters count once).
size_t Characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

bool AlignsRight(const arrow::DataType& type) { return arrow::is_numeric(type.id()) || arrow::is_decimal(type.id()); }

class TableFormat final : public BatchFormat {
 public:
  explicit TableFormat(FormatTarget target) : target_(std::move(target)), buffer_(target_.out) {}

  arrow::Status Begin() override { return arrow::Status::OK(); }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    if (widths_.empty()) {
      ARROW_RETURN_NOT_OK(Measure(&batch));
      ARROW_RETURN_NOT_OK(AppendHead());
    }
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (int i = 0; i < batch.num_columns(); ++i) {
        ARROW_ASSIGN_OR_RAISE(const std::string_view text, CellText(*batch.column(i), row));
        ARROW_RETURN_NOT_OK(AppendCell(static_cast<size_t>(i), text));
      }
      ARROW_RETURN_NOT_OK(buffer_.Append("\n"));
    }
    rows_ += batch.num_rows();
    return buffer_.Flush();
  }

  arrow::Status End() override {
    if (widths_.empty()) {
      ARROW_RETURN_NOT_OK(Measure(nullptr));
      ARROW_RETURN_NOT_OK(AppendHead());
    }
    ARROW_RETURN_NOT_OK(buffer_.Append("(" + std::to_string(rows_) + (rows_ == 1 ? " row)\n" : " rows)\n")));
    return buffer_.Flush();
  }

 private:
  /// Widths from the names and the rows of the first batch, if there is one.
  arrow::Status Measure(const arrow::RecordBatch* batch) {
    for (const auto& field : target_.schema->fields()) widths_.push_back(Characters(field->name()));
    if (batch == nullptr) return arrow::Status::OK();
    for (int i = 0; i < batch->num_columns(); ++i) {
      size_t widest = 0;
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        ARROW_ASSIGN_OR_RAISE(const std::string_view text, CellText(*batch->column(i), row));
        widest = std::max(widest, Characters(text));
      }
      size_t& width = widths_[static_cast<size_t>(i)];
      width = std::max(width, std::min(widest, kWidestPadding));
    }
    return arrow::Status::OK();
  }

  /// Valid until the next call. Line ends and tabs, which would tear the table apart, come as \n, \r and \t.
  arrow::Result<std::string_view> CellText(const arrow::Array& column, int64_t row) {
    if (ValueText::IsNull(column, row)) return "NULL";
    cell_.Clear();
    ARROW_RETURN_NOT_OK(values_.Append(column, row, TextStyle::kSql, &cell_));
    if (cell_.view().find_first_of("\n\r\t") == std::string_view::npos) return cell_.view();
    escaped_.clear();
    for (char c : cell_.view()) {
      if (c != '\n' && c != '\r' && c != '\t') {
        escaped_.push_back(c);
      } else {
        escaped_.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
      }
    }
    return escaped_;
  }

  arrow::Status AppendHead() {
    for (size_t i = 0; i < widths_.size(); ++i) {
      ARROW_RETURN_NOT_OK(AppendCell(i, target_.schema->field(static_cast<int>(i))->name()));
    }
    ARROW_RETURN_NOT_OK(buffer_.Append("\n"));
    for (size_t i = 0; i < widths_.size(); ++i) {
      ARROW_RETURN_NOT_OK(buffer_.Append((i > 0 ? "-+-" : "-") + std::string(widths_[i], '-')));
    }
    return buffer_.Append("-\n");
  }

  arrow::Status AppendCell(size_t column, std::string_view text) {
    const size_t length = Characters(text);
    const std::string padding(length < widths_[column] ? widths_[column] - length : 0, ' ');
    const bool right = AlignsRight(*target_.schema->field(static_cast<int>(column))->type());
    ARROW_RETURN_NOT_OK(buffer_.Append(column > 0 ? " | " : " "));
    if (right) ARROW_RETURN_NOT_OK(buffer_.Append(padding));
    ARROW_RETURN_NOT_OK(buffer_.Append(text));
    return right || column + 1 == widths_.size() ? arrow::Status::OK() : buffer_.Append(padding);
  }

  const FormatTarget target_;
  TextBuffer buffer_;
  ValueText values_;
  TextString cell_;
  std::string escaped_;
  std::vector<size_t> widths_;  // characters, set by the first batch
  int64_t rows_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeTableFormat(const CopyOptions& options, FormatTarget target) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format"}, "table"));
  return std::make_unique<TableFormat>(std::move(target));
}

}  // namespace icebound::io
