// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/format/batch_format.h"
#include "io/format/value_text.h"

namespace icebound::io {
namespace {

class JsonFormat final : public BatchFormat {
 public:
  JsonFormat(FormatTarget target, bool lines) : target_(std::move(target)), lines_(lines), buffer_(target_.out) {}

  arrow::Status Begin() override {
    for (int i = 0; i < target_.schema->num_fields(); ++i) {
      TextString name;
      ARROW_RETURN_NOT_OK(name.Append(i > 0 ? "," : "{"));
      ARROW_RETURN_NOT_OK(AppendJsonString(target_.schema->field(i)->name(), &name));
      ARROW_RETURN_NOT_OK(name.Append(":"));
      names_.emplace_back(name.view());
    }
    return lines_ ? arrow::Status::OK() : buffer_.Append("[");
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    const arrow::ArrayVector& columns = batch.columns();
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!lines_) ARROW_RETURN_NOT_OK(buffer_.Append(first_ ? "\n" : ",\n"));
      first_ = false;
      for (size_t i = 0; i < columns.size(); ++i) {
        ARROW_RETURN_NOT_OK(buffer_.Append(names_[i]));
        ARROW_RETURN_NOT_OK(values_.Append(*columns[i], row, TextStyle::kJson, &buffer_));
      }
      ARROW_RETURN_NOT_OK(buffer_.Append(columns.empty() ? "{}" : "}"));
      if (lines_) ARROW_RETURN_NOT_OK(buffer_.Append("\n"));
    }
    return buffer_.Flush();
  }

  arrow::Status End() override {
    if (!lines_) ARROW_RETURN_NOT_OK(buffer_.Append("\n]\n"));
    return buffer_.Flush();
  }

 private:
  const FormatTarget target_;
  const bool lines_;
  TextBuffer buffer_;
  std::vector<std::string> names_;  // {"a":  ,"b":  ...
  ValueText values_;
  bool first_ = true;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeJsonFormat(const CopyOptions& options, FormatTarget target, bool lines) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format"}, lines ? "jsonl" : "json"));
  return std::make_unique<JsonFormat>(std::move(target), lines);
}

}  // namespace icebound::io
