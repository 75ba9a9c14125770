// SPDX-License-Identifier: Apache-2.0
#include <arrow/array.h>
#include <arrow/util/base64.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "io/format/batch_format.h"

namespace icebound::io {
namespace {

/// `text` as a JSON string. Its bytes are UTF-8 already.
arrow::Status AppendString(std::string_view text, TextBuffer* out) {
  ARROW_RETURN_NOT_OK(out->Append("\""));
  size_t clean = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    ARROW_RETURN_NOT_OK(out->Append(text.substr(clean, i - clean)));
    clean = i + 1;
    const std::string escaped = byte == '\n'   ? "\\n"
                                : byte == '\t' ? "\\t"
                                : byte < 0x20  ? fmt::format("\\u{:04x}", byte)
                                               : std::string{'\\', static_cast<char>(byte)};
    ARROW_RETURN_NOT_OK(out->Append(escaped));
  }
  ARROW_RETURN_NOT_OK(out->Append(text.substr(clean)));
  return out->Append("\"");
}

arrow::Status AppendDouble(double value, TextBuffer* out) {
  if (std::isnan(value)) return out->Append("\"NaN\"");
  if (std::isinf(value)) return out->Append(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  return out->Append(fmt::format("{}", value));
}

/// Writes the values of one array as JSON. Types whose SQL text is their JSON text (numbers, dates, decimals) come cast to text
/// beside it.
class JsonColumn {
 public:
  static arrow::Result<std::unique_ptr<JsonColumn>> Make(std::shared_ptr<arrow::Array> values, arrow::MemoryPool* pool) {
    auto column = std::unique_ptr<JsonColumn>(new JsonColumn(std::move(values)));
    ARROW_RETURN_NOT_OK(column->Prepare(pool));
    return column;
  }

  arrow::Status Append(int64_t row, TextBuffer* out) const {
    if (values_->IsNull(row)) return out->Append("null");
    switch (kind_) {
      case Kind::kNumber:
        return out->Append(text_->GetView(row));
      case Kind::kFloat:
        return AppendDouble(static_cast<const arrow::FloatArray&>(*values_).Value(row), out);
      case Kind::kDouble:
        return AppendDouble(static_cast<const arrow::DoubleArray&>(*values_).Value(row), out);
      case Kind::kText:
        return AppendString(text_->GetView(row), out);
      case Kind::kTimestamp:
        return AppendTimestamp(row, out);
      case Kind::kBinary:
        return AppendString(arrow::util::base64_encode(BytesAt(row)), out);
      case Kind::kList:
        return AppendList(row, out);
      case Kind::kMap:
        return AppendMap(row, out);
      case Kind::kStruct:
        return AppendStruct(row, out);
    }
    return arrow::Status::OK();
  }

 private:
  enum class Kind { kNumber, kFloat, kDouble, kText, kTimestamp, kBinary, kList, kMap, kStruct };

  explicit JsonColumn(std::shared_ptr<arrow::Array> values) : values_(std::move(values)) {}

  arrow::Status Prepare(arrow::MemoryPool* pool) {
    const arrow::DataType& type = *values_->type();
    if (type.id() == arrow::Type::EXTENSION && type.ToString().find("uuid") == std::string::npos) {
      values_ = static_cast<const arrow::ExtensionArray&>(*values_).storage();
      return Prepare(pool);
    }
    kind_ = KindOf(type);
    switch (kind_) {
      case Kind::kList:
      case Kind::kMap: {
        ARROW_ASSIGN_OR_RAISE(lists_, PlainLists(pool));
        const std::shared_ptr<arrow::Array> items = static_cast<const arrow::LargeListArray&>(*lists_).values();
        if (kind_ == Kind::kList) {
          ARROW_ASSIGN_OR_RAISE(auto child, Make(items, pool));
          children_.push_back(std::move(child));
          return arrow::Status::OK();
        }
        for (const auto& field : static_cast<const arrow::StructArray&>(*items).fields()) {
          ARROW_ASSIGN_OR_RAISE(auto child, Make(field, pool));
          children_.push_back(std::move(child));
        }
        return arrow::Status::OK();
      }
      case Kind::kStruct:
        for (const auto& field : static_cast<const arrow::StructArray&>(*values_).fields()) {
          ARROW_ASSIGN_OR_RAISE(auto child, Make(field, pool));
          children_.push_back(std::move(child));
        }
        return arrow::Status::OK();
      case Kind::kNumber:
      case Kind::kText:
      case Kind::kTimestamp: {
        const auto field = arrow::field("value", values_->type());
        const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), values_->length(), {values_});
        ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsAsText(*batch, pool));
        text_ = columns.front();
        return arrow::Status::OK();
      }
      default:
        return arrow::Status::OK();
    }
  }

  static Kind KindOf(const arrow::DataType& type) {
    switch (type.id()) {
      case arrow::Type::FLOAT:
        return Kind::kFloat;
      case arrow::Type::DOUBLE:
        return Kind::kDouble;
      case arrow::Type::TIMESTAMP:
        return Kind::kTimestamp;
      case arrow::Type::BINARY:
      case arrow::Type::LARGE_BINARY:
      case arrow::Type::BINARY_VIEW:
      case arrow::Type::FIXED_SIZE_BINARY:
        return Kind::kBinary;
      case arrow::Type::LIST:
      case arrow::Type::LARGE_LIST:
      case arrow::Type::FIXED_SIZE_LIST:
        return Kind::kList;
      case arrow::Type::MAP:
        return Kind::kMap;
      case arrow::Type::STRUCT:
        return Kind::kStruct;
      case arrow::Type::BOOL:
        return Kind::kNumber;
      default:
        return arrow::is_integer(type.id()) ? Kind::kNumber : Kind::kText;
    }
  }

  /// Lists of any kind as large lists over the same items.
  arrow::Result<std::shared_ptr<arrow::Array>> PlainLists(arrow::MemoryPool* pool) const {
    arrow::TypedBufferBuilder<int64_t> offsets(pool);
    ARROW_RETURN_NOT_OK(offsets.Reserve(values_->length() + 1));
    std::shared_ptr<arrow::Array> items;
    const auto fill = [&](const auto& lists) {
      for (int64_t i = 0; i <= lists.length(); ++i) offsets.UnsafeAppend(lists.value_offset(i));
      items = lists.values();
    };
    if (values_->type_id() == arrow::Type::LARGE_LIST) {
      fill(static_cast<const arrow::LargeListArray&>(*values_));
    } else if (values_->type_id() == arrow::Type::FIXED_SIZE_LIST) {
      fill(static_cast<const arrow::FixedSizeListArray&>(*values_));
    } else {
      fill(static_cast<const arrow::ListArray&>(*values_));
    }
    ARROW_ASSIGN_OR_RAISE(auto buffer, offsets.Finish());
    return std::make_shared<arrow::LargeListArray>(arrow::large_list(items->type()), values_->length(), std::move(buffer), items);
  }

  std::string_view BytesAt(int64_t row) const {
    switch (values_->type_id()) {
      case arrow::Type::BINARY:
        return static_cast<const arrow::BinaryArray&>(*values_).GetView(row);
      case arrow::Type::LARGE_BINARY:
        return static_cast<const arrow::LargeBinaryArray&>(*values_).GetView(row);
      case arrow::Type::BINARY_VIEW:
        return static_cast<const arrow::BinaryViewArray&>(*values_).GetView(row);
      default:
        return static_cast<const arrow::FixedSizeBinaryArray&>(*values_).GetView(row);
    }
  }

  /// SQL's "2024-01-31 10:00:00+00" as ISO 8601: a T between, and Z for UTC.
  arrow::Status AppendTimestamp(int64_t row, TextBuffer* out) const {
    std::string text(text_->GetView(row));
    if (const size_t space = text.find(' '); space != std::string::npos) text[space] = 'T';
    if (text.ends_with("+00")) text.replace(text.size() - 3, 3, "Z");
    return AppendString(text, out);
  }

  arrow::Status AppendList(int64_t row, TextBuffer* out) const {
    const auto& lists = static_cast<const arrow::LargeListArray&>(*lists_);
    ARROW_RETURN_NOT_OK(out->Append("["));
    for (int64_t i = lists.value_offset(row); i < lists.value_offset(row + 1); ++i) {
      if (i > lists.value_offset(row)) ARROW_RETURN_NOT_OK(out->Append(","));
      ARROW_RETURN_NOT_OK(children_[0]->Append(i, out));
    }
    return out->Append("]");
  }

  arrow::Status AppendMap(int64_t row, TextBuffer* out) const {
    const auto& lists = static_cast<const arrow::LargeListArray&>(*lists_);
    ARROW_RETURN_NOT_OK(out->Append("["));
    for (int64_t i = lists.value_offset(row); i < lists.value_offset(row + 1); ++i) {
      ARROW_RETURN_NOT_OK(out->Append(i > lists.value_offset(row) ? ",{\"key\":" : "{\"key\":"));
      ARROW_RETURN_NOT_OK(children_[0]->Append(i, out));
      ARROW_RETURN_NOT_OK(out->Append(",\"value\":"));
      ARROW_RETURN_NOT_OK(children_[1]->Append(i, out));
      ARROW_RETURN_NOT_OK(out->Append("}"));
    }
    return out->Append("]");
  }

  arrow::Status AppendStruct(int64_t row, TextBuffer* out) const {
    ARROW_RETURN_NOT_OK(out->Append("{"));
    for (size_t i = 0; i < children_.size(); ++i) {
      if (i > 0) ARROW_RETURN_NOT_OK(out->Append(","));
      ARROW_RETURN_NOT_OK(AppendString(values_->type()->field(static_cast<int>(i))->name(), out));
      ARROW_RETURN_NOT_OK(out->Append(":"));
      ARROW_RETURN_NOT_OK(children_[i]->Append(row, out));
    }
    return out->Append("}");
  }

  std::shared_ptr<arrow::Array> values_;
  Kind kind_ = Kind::kText;
  std::shared_ptr<arrow::StringArray> text_;  // of numbers, texts and timestamps
  std::shared_ptr<arrow::Array> lists_;       // of lists and maps: PlainLists()
  std::vector<std::unique_ptr<JsonColumn>> children_;
};

class JsonFormat final : public BatchFormat {
 public:
  JsonFormat(FormatTarget target, bool lines) : target_(std::move(target)), lines_(lines), buffer_(target_.out) {}

  arrow::Status Begin() override { return lines_ ? arrow::Status::OK() : buffer_.Append("["); }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    std::vector<std::unique_ptr<JsonColumn>> columns;
    for (const auto& values : batch.columns()) {
      ARROW_ASSIGN_OR_RAISE(auto column, JsonColumn::Make(values, target_.pool));
      columns.push_back(std::move(column));
    }
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!lines_) ARROW_RETURN_NOT_OK(buffer_.Append(first_ ? "\n" : ",\n"));
      first_ = false;
      for (size_t i = 0; i < columns.size(); ++i) {
        ARROW_RETURN_NOT_OK(buffer_.Append(i > 0 ? "," : "{"));
        ARROW_RETURN_NOT_OK(AppendString(target_.schema->field(static_cast<int>(i))->name(), &buffer_));
        ARROW_RETURN_NOT_OK(buffer_.Append(":"));
        ARROW_RETURN_NOT_OK(columns[i]->Append(row, &buffer_));
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
  bool first_ = true;
};

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeJsonFormat(const CopyOptions& options, FormatTarget target, bool lines) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format"}, lines ? "jsonl" : "json"));
  return std::make_unique<JsonFormat>(std::move(target), lines);
}

}  // namespace icebound::io
