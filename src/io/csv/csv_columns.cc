// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_columns.h"

#include <arrow/util/bit_util.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "expr/number_text.h"
#include "expr/shown_text.h"
#include "expr/type_rules.h"
#include "expr/utf8_text.h"
#include "io/csv/csv_values.h"

namespace icebound::io {
namespace {

/// Of a value that is quoted in a message.
constexpr size_t kShownBytes = 60;

std::string Shown(std::string_view text) {
  const std::string_view head = expr::CutText(text, kShownBytes);
  return head.size() == text.size() ? std::string(text) : fmt::format("{}...", head);
}

/// Validity bits that exist once there is a null. Not thread safe.
class Validity {
 public:
  Validity(int64_t rows, arrow::MemoryPool* pool) : rows_(rows), pool_(pool) {}

  arrow::Status SetNull(int64_t row) {
    if (bits_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(bits_, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(rows_), pool_));
      std::memset(bits_->mutable_data(), 0xFF, static_cast<size_t>(bits_->size()));
    }
    arrow::bit_util::ClearBit(bits_->mutable_data(), row);
    ++nulls_;
    return arrow::Status::OK();
  }
  std::shared_ptr<arrow::Buffer> Take() { return std::move(bits_); }
  int64_t nulls() const { return nulls_; }

 private:
  const int64_t rows_;
  arrow::MemoryPool* const pool_;
  std::shared_ptr<arrow::Buffer> bits_;
  int64_t nulls_ = 0;
};

/// One column being read.
struct ColumnReading {
  std::span<const CsvCell> cells;
  const char* text;
  const std::shared_ptr<arrow::DataType>& type;
  const CsvNulls& nulls;
  arrow::MemoryPool* pool;
  int64_t* bad_record;

  std::string_view ValueAt(size_t row) const { return {text + cells[row].begin, cells[row].length}; }
  arrow::Status BadValue(size_t row) const {
    *bad_record = static_cast<int64_t>(row);
    return MakeError(ErrorKind::kExecution, "cannot read \"{}\" as {}", Shown(ValueAt(row)), expr::SqlTypeName(*type));
  }
};

using ArrayResult = arrow::Result<std::shared_ptr<arrow::ArrayData>>;

/// `parse(text, type, &value)` is false for what is no value.
template <typename T, typename Parse>
ArrayResult ReadFixedWidth(const ColumnReading& reading, Parse&& parse) {
  const auto rows = static_cast<int64_t>(reading.cells.size());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(T)), reading.pool));
  auto* out = reinterpret_cast<T*>(values->mutable_data());
  Validity validity(rows, reading.pool);
  for (size_t row = 0; row < reading.cells.size(); ++row) {
    const std::string_view text = reading.ValueAt(row);
    if (reading.nulls.IsNullValue(text, reading.cells[row].quoted != 0)) {
      ARROW_RETURN_NOT_OK(validity.SetNull(static_cast<int64_t>(row)));
      out[row] = T{};
    } else if (!parse(text, *reading.type, &out[row])) {
      return reading.BadValue(row);
    }
  }
  const int64_t nulls = validity.nulls();
  return arrow::ArrayData::Make(reading.type, rows, {validity.Take(), std::move(values)}, nulls);
}

ArrayResult ReadBooleans(const ColumnReading& reading) {
  const auto rows = static_cast<int64_t>(reading.cells.size());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateEmptyBitmap(rows, reading.pool));
  Validity validity(rows, reading.pool);
  for (size_t row = 0; row < reading.cells.size(); ++row) {
    const std::string_view text = reading.ValueAt(row);
    bool value = false;
    if (reading.nulls.IsNullValue(text, reading.cells[row].quoted != 0)) {
      ARROW_RETURN_NOT_OK(validity.SetNull(static_cast<int64_t>(row)));
    } else if (!ParseCsvBoolean(text, &value)) {
      return reading.BadValue(row);
    }
    arrow::bit_util::SetBitTo(values->mutable_data(), static_cast<int64_t>(row), value);
  }
  const int64_t nulls = validity.nulls();
  return arrow::ArrayData::Make(reading.type, rows, {validity.Take(), std::move(values)}, nulls);
}

/// Text is valid UTF-8, value by value: two halves of a character in neighbours are not a character.
arrow::Status CheckText(const ColumnReading& reading, std::string_view all) {
  if (expr::IsAscii(all)) return arrow::Status::OK();
  arrow::util::InitializeUTF8();
  for (size_t row = 0; row < reading.cells.size(); ++row) {
    const std::string_view text = reading.ValueAt(row);
    if (arrow::util::ValidateUTF8(text)) continue;
    *reading.bad_record = static_cast<int64_t>(row);
    return MakeError(ErrorKind::kCorruptData, "the text is not UTF-8: convert the file, or read the column as binary");
  }
  return arrow::Status::OK();
}

/// Strings, and bytes in PostgreSQL's notation (\x hex, or escapes), which take no more than their text.
ArrayResult ReadVariableWidth(const ColumnReading& reading) {
  const bool is_text = reading.type->id() == arrow::Type::STRING;
  const auto rows = static_cast<int64_t>(reading.cells.size());
  int64_t bytes = 0;
  for (const CsvCell& cell : reading.cells) bytes += cell.length;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets, arrow::AllocateBuffer((rows + 1) * 4, reading.pool));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> values, arrow::AllocateResizableBuffer(bytes, reading.pool));
  auto* offset = reinterpret_cast<int32_t*>(offsets->mutable_data());
  auto* out = reinterpret_cast<char*>(values->mutable_data());
  Validity validity(rows, reading.pool);
  int64_t used = 0;
  for (size_t row = 0; row < reading.cells.size(); ++row) {
    offset[row] = static_cast<int32_t>(used);
    const std::string_view text = reading.ValueAt(row);
    const bool quoted = reading.cells[row].quoted != 0;
    if (is_text ? reading.nulls.IsNull(text, quoted) : reading.nulls.IsNullValue(text, quoted)) {
      ARROW_RETURN_NOT_OK(validity.SetNull(static_cast<int64_t>(row)));
    } else if (is_text) {
      std::memcpy(out + used, text.data(), text.size());
      used += static_cast<int64_t>(text.size());
    } else {
      const auto written = expr::ParseBytes(text, out + used);
      if (!written.ok()) return reading.BadValue(row);
      used += static_cast<int64_t>(*written);
    }
  }
  offset[rows] = static_cast<int32_t>(used);
  if (is_text) ARROW_RETURN_NOT_OK(CheckText(reading, {out, static_cast<size_t>(used)}));
  ARROW_RETURN_NOT_OK(values->Resize(used, /*shrink_to_fit=*/false));
  const int64_t nulls = validity.nulls();
  return arrow::ArrayData::Make(reading.type, rows, {validity.Take(), std::move(offsets), std::move(values)}, nulls);
}

}  // namespace

CsvNulls::CsvNulls(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (text.empty()) {
      empty_is_null_ = true;
    } else {
      others_.push_back(text);
    }
  }
}

bool CsvNulls::IsOther(std::string_view text) const { return std::find(others_.begin(), others_.end(), text) != others_.end(); }

CsvCells::CsvCells(std::vector<int> slots, int64_t records_max, arrow::MemoryPool* pool)
    : slots_(std::move(slots)), records_max_(records_max), pool_(pool) {}

arrow::Status CsvCells::Init() {
  const auto wanted = static_cast<int64_t>(std::count_if(slots_.begin(), slots_.end(), [](int slot) { return slot >= 0; }));
  const int64_t cells = wanted * records_max_;
  ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateBuffer(cells * static_cast<int64_t>(sizeof(CsvCell)) + records_max_ * 4, pool_));
  cells_ = reinterpret_cast<CsvCell*>(buffer_->mutable_data());
  starts_ = reinterpret_cast<uint32_t*>(cells_ + cells);
  return arrow::Status::OK();
}

bool CsvCells::Read(CsvLexer* lexer, char* text, int64_t bytes_max, CsvFault* fault) {
  text_ = text;
  records_ = 0;
  const char* const begin = lexer->position();
  while (records_ < records_max_ && lexer->position() - begin < bytes_max) {
    if (!ReadRecord(lexer, fault)) return fault->record == nullptr;
  }
  return true;
}

bool CsvCells::ReadRecord(CsvLexer* lexer, CsvFault* fault) {
  const char* const begin = lexer->position();
  const auto fail = [&](std::string message) {
    *fault = {.record = begin, .message = std::move(message)};
    return false;
  };
  CsvValue value;
  size_t count = 0;
  do {
    switch (lexer->Next<true>(&value)) {
      case CsvLexer::Outcome::kValue:
        break;
      case CsvLexer::Outcome::kEnd:
        return false;
      case CsvLexer::Outcome::kIncomplete:
      case CsvLexer::Outcome::kOpenQuote:
        return fail("the file ends inside a quoted value");
      case CsvLexer::Outcome::kBehindQuotes:
        return fail(fmt::format("value {} goes on behind its closing quote: a quote inside quotes is written twice", count + 1));
    }
    if (count < slots_.size() && slots_[count] >= 0) {
      cells_[slots_[count] * records_max_ + records_] = {.begin = static_cast<uint32_t>(value.begin - text_),
                                                         .length = static_cast<uint32_t>(value.end - value.begin),
                                                         .quoted = value.quoted ? 1U : 0U};
    }
    ++count;
  } while (!value.ends_record);
  if (count != slots_.size()) {
    const bool is_empty_line = count == 1 && value.begin == value.end && !value.quoted;
    if (is_empty_line) return true;
    return fail(fmt::format("{} value{} where the table has {} column{}", count, count == 1 ? "" : "s", slots_.size(),
                            slots_.size() == 1 ? "" : "s"));
  }
  starts_[records_++] = static_cast<uint32_t>(begin - text_);
  return true;
}

bool IsCsvType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DATE32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return true;
    default:
      return false;
  }
}

int64_t CsvValueBytes(const arrow::DataType& type) {
  return type.id() == arrow::Type::BOOL ? 1 : arrow::is_fixed_width(type.id()) ? type.byte_width() : 4;
}

ArrayResult ReadColumn(std::span<const CsvCell> cells, const char* text, const std::shared_ptr<arrow::DataType>& type,
                       const CsvNulls& nulls, arrow::MemoryPool* pool, int64_t* bad_record) {
  const ColumnReading reading{.cells = cells, .text = text, .type = type, .nulls = nulls, .pool = pool, .bad_record = bad_record};
  switch (type->id()) {
    case arrow::Type::BOOL:
      return ReadBooleans(reading);
    case arrow::Type::INT16:
      return ReadFixedWidth<int16_t>(reading, ParseCsvInteger<int16_t>);
    case arrow::Type::INT32:
      return ReadFixedWidth<int32_t>(reading, ParseCsvInteger<int32_t>);
    case arrow::Type::INT64:
      return ReadFixedWidth<int64_t>(reading, ParseCsvInteger<int64_t>);
    case arrow::Type::FLOAT:
      return ReadFixedWidth<float>(reading, ParseCsvNumber<float>);
    case arrow::Type::DOUBLE:
      return ReadFixedWidth<double>(reading, ParseCsvNumber<double>);
    case arrow::Type::DECIMAL128:
      return ReadFixedWidth<expr::Int128>(reading, ParseCsvDecimal);
    case arrow::Type::DATE32:
      return ReadFixedWidth<int32_t>(reading, ParseCsvDate);
    case arrow::Type::TIME64:
      return ReadFixedWidth<int64_t>(reading, ParseCsvTime);
    case arrow::Type::TIMESTAMP:
      return ReadFixedWidth<int64_t>(reading, ParseCsvTimestamp);
    default:
      return ReadVariableWidth(reading);
  }
}

}  // namespace icebound::io
