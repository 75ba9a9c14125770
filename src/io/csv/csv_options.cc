// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_options.h"

#include <array>

#include "base/error.h"
#include "expr/number_text.h"
#include "io/copy_options.h"

namespace icebound::io {
namespace {

using Option = std::pair<std::string, std::string>;

constexpr std::array<std::string_view, 8> kNames = {"delimiter", "quote",       "escape", "header",
                                                    "columns",   "null_string", "types",  "sample_bytes"};

arrow::Result<char> CharacterOf(const Option& option) {
  const std::string& text = option.second;
  if (text == "\\t" || expr::EqualsIgnoreCase(text, "tab")) return '\t';
  if (text.size() == 1) return text.front();
  return MakeError(ErrorKind::kInvalidInput, "option {} must be one character (of ASCII): \"{}\"", option.first, text);
}

/// The parts between commas, but not those inside parentheses.
std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(expr::TrimSpace(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(expr::TrimSpace(text.substr(begin)));
  return parts;
}

/// "decimal(10,2)"; null when it is none.
std::shared_ptr<arrow::DataType> DecimalOf(std::string_view name) {
  constexpr std::string_view kPrefix = "decimal(";
  if (!name.ends_with(')') || name.size() <= kPrefix.size() || !expr::EqualsIgnoreCase(name.substr(0, kPrefix.size()), kPrefix)) {
    return nullptr;
  }
  const std::vector<std::string_view> numbers = SplitAtCommas(name.substr(kPrefix.size(), name.size() - kPrefix.size() - 1));
  const auto precision = expr::ParseInteger(numbers.front(), expr::TypeClass::kInt32);
  const auto scale = expr::ParseInteger(numbers.size() > 1 ? numbers[1] : "0", expr::TypeClass::kInt32);
  if (numbers.size() > 2 || !precision.ok() || !scale.ok()) return nullptr;
  if (*precision < 1 || *precision > expr::kMaxDecimalDigits || *scale < 0 || *scale > *precision) return nullptr;
  return arrow::decimal128(static_cast<int32_t>(*precision), static_cast<int32_t>(*scale));
}

std::shared_ptr<arrow::DataType> TypeOf(std::string_view name) {
  struct Row {
    std::string_view name;
    std::shared_ptr<arrow::DataType> type;
  };
  const Row rows[] = {
      {"boolean", arrow::boolean()},
      {"smallint", arrow::int16()},
      {"integer", arrow::int32()},
      {"int", arrow::int32()},
      {"bigint", arrow::int64()},
      {"real", arrow::float32()},
      {"double", arrow::float64()},
      {"date", arrow::date32()},
      {"time", arrow::time64(arrow::TimeUnit::MICRO)},
      {"timestamp", arrow::timestamp(arrow::TimeUnit::MICRO)},
      {"timestamptz", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")},
      {"text", arrow::utf8()},
      {"varchar", arrow::utf8()},
      {"bytea", arrow::binary()},
  };
  for (const Row& row : rows) {
    if (expr::EqualsIgnoreCase(name, row.name)) return row.type;
  }
  return DecimalOf(name);
}

arrow::Status ParseTypes(const std::string& text, CsvReadOptions* parsed) {
  for (const std::string_view part : SplitAtCommas(text)) {
    const size_t equals = part.rfind('=');
    if (equals == std::string_view::npos) {
      return MakeError(ErrorKind::kInvalidInput, "option types must be a list like 'price=double, id=text': \"{}\"", text);
    }
    const std::string_view name = expr::TrimSpace(part.substr(0, equals)), type_name = expr::TrimSpace(part.substr(equals + 1));
    const std::shared_ptr<arrow::DataType> type = TypeOf(type_name);
    if (type == nullptr) {
      return MakeError(ErrorKind::kInvalidInput, "option types: column \"{}\" cannot have the type \"{}\"", name, type_name);
    }
    parsed->types[std::string(name)] = type;
  }
  return arrow::Status::OK();
}

arrow::Status ParseOne(const Option& option, bool* has_null, CsvReadOptions* parsed) {
  const auto& [name, value] = option;
  const CopyOptions single = {{name, value}};
  ARROW_RETURN_NOT_OK(CheckOptionNames(single, kNames, "csv"));
  if (name == "delimiter") {
    ARROW_ASSIGN_OR_RAISE(parsed->delimiter, CharacterOf(option));
  } else if (name == "escape") {
    ARROW_ASSIGN_OR_RAISE(parsed->escape, CharacterOf(option));
  } else if (name == "quote") {
    parsed->quote.reset();
    if (expr::EqualsIgnoreCase(value, "none")) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(parsed->quote, CharacterOf(option));
  } else if (name == "header") {
    ARROW_ASSIGN_OR_RAISE(const std::optional<bool> header, BooleanOption(single, name));
    parsed->header = *header;
  } else if (name == "columns") {
    for (const std::string_view column : SplitAtCommas(value)) parsed->columns.emplace_back(column);
  } else if (name == "null_string") {
    if (!*has_null) parsed->null_strings.clear();
    *has_null = true;
    parsed->null_strings.push_back(value);
  } else if (name == "types") {
    return ParseTypes(value, parsed);
  } else {
    ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> bytes, BytesOption(single, name));
    parsed->sample_bytes = *bytes;
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<CsvReadOptions> ParseCsvOptions(std::span<const Option> options) {
  CsvReadOptions parsed;
  bool has_null = false;
  for (const Option& option : options) ARROW_RETURN_NOT_OK(ParseOne(option, &has_null, &parsed));
  return parsed;
}

}  // namespace icebound::io
