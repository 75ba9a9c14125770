// SPDX-License-Identifier: Apache-2.0
#include "io/copy_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"

namespace icebound::io {
namespace {

/// Letters to insert, remove or change to get from one word to the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return lower;
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

constexpr std::array<std::string_view, 7> kParquetOptionNames = {
    "format", "compression", "compression_level", "row_group_size", "row_group_rows", "row_group_size_bytes", "file_size_bytes"};

constexpr int kZstdMinimumLevel = -7;
constexpr int kZstdMaximumLevel = 22;

}  // namespace

arrow::Status CheckOptionNames(const CopyOptions& options, std::span<const std::string_view> known, std::string_view format) {
  for (const auto& [name, value] : options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto nearest = std::min_element(known.begin(), known.end(), [&, &name = name](std::string_view a, std::string_view b) {
      return EditDistance(a, name) < EditDistance(b, name);
    });
    return MakeError(ErrorKind::kInvalidInput, "format {} has no option \"{}\"; did you mean \"{}\"?", format, name, *nearest);
  }
  return arrow::Status::OK();
}

std::optional<std::string> TextOption(const CopyOptions& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  if (found == options.end()) return std::nullopt;
  return found->second;
}

arrow::Result<std::optional<int64_t>> IntegerOption(const CopyOptions& options, std::string_view name, int64_t minimum,
                                                    int64_t maximum) {
  const std::optional<std::string> text = TextOption(options, name);
  if (!text) return std::nullopt;
  const std::string_view digits = Strip(*text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < minimum || value > maximum) {
    if (maximum == std::numeric_limits<int64_t>::max()) {
      return MakeError(ErrorKind::kInvalidInput, "option {} must be a whole number of at least {}: \"{}\"", name, minimum, *text);
    }
    return MakeError(ErrorKind::kInvalidInput, "option {} must be a whole number from {} to {}: \"{}\"", name, minimum, maximum,
                     *text);
  }
  return value;
}

arrow::Result<std::optional<int64_t>> BytesOption(const CopyOptions& options, std::string_view name) {
  const std::optional<std::string> text = TextOption(options, name);
  if (!text) return std::nullopt;
  const std::string_view size = Strip(*text);
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (error != std::errc() || end != size.data() + size.size()) {
    const auto parsed = ParseByteSize(size);
    bytes = parsed.ok() && !size.ends_with('%') ? *parsed : 0;
  }
  if (bytes < 1) {
    return MakeError(ErrorKind::kInvalidInput, "option {} must be a number of bytes such as 134217728 or \"128MB\": \"{}\"", name,
                     *text);
  }
  return bytes;
}

arrow::Result<std::optional<bool>> BooleanOption(const CopyOptions& options, std::string_view name) {
  const std::optional<std::string> text = TextOption(options, name);
  if (!text) return std::nullopt;
  const std::string lower = Lower(Strip(*text));
  for (std::string_view yes : {"", "true", "on", "yes", "1"}) {
    if (lower == yes) return true;
  }
  for (std::string_view no : {"false", "off", "no", "0"}) {
    if (lower == no) return false;
  }
  return MakeError(ErrorKind::kInvalidInput, "option {} must be true or false: \"{}\"", name, *text);
}

arrow::Status CheckParquetOptions(const ParquetWriteOptions& options) {
  const bool zstd = options.compression == "zstd";
  if (!zstd && options.compression != "snappy" && options.compression != "none") {
    return MakeError(ErrorKind::kInvalidInput, "compression must be zstd, snappy or none: \"{}\"", options.compression);
  }
  if (options.compression_level && !zstd) {
    return MakeError(ErrorKind::kInvalidInput, "compression_level goes with compression zstd only, not with \"{}\"",
                     options.compression);
  }
  if (options.compression_level &&
      (*options.compression_level < kZstdMinimumLevel || *options.compression_level > kZstdMaximumLevel)) {
    return MakeError(ErrorKind::kInvalidInput, "compression_level must be a whole number from {} to {}: {}", kZstdMinimumLevel,
                     kZstdMaximumLevel, *options.compression_level);
  }
  const auto check_positive = [](const std::optional<int64_t>& value, std::string_view name) {
    if (!value || *value > 0) return arrow::Status::OK();
    return MakeError(ErrorKind::kInvalidInput, "{} must be at least 1: {}", name, *value);
  };
  ARROW_RETURN_NOT_OK(check_positive(options.row_group_rows, "row_group_rows"));
  ARROW_RETURN_NOT_OK(check_positive(options.row_group_bytes, "row_group_size_bytes"));
  return check_positive(options.file_size_bytes, "file_size_bytes");
}

arrow::Result<ParquetWriteOptions> ParseParquetOptions(const CopyOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, kParquetOptionNames, "parquet"));
  ParquetWriteOptions parsed;
  if (auto compression = TextOption(options, "compression")) {
    parsed.compression = Lower(*compression);
    if (parsed.compression == "uncompressed") parsed.compression = "none";
  }
  ARROW_ASSIGN_OR_RAISE(auto level, IntegerOption(options, "compression_level", kZstdMinimumLevel, kZstdMaximumLevel));
  if (level) parsed.compression_level = static_cast<int>(*level);
  if (options.contains("row_group_size") && options.contains("row_group_rows")) {
    return MakeError(ErrorKind::kInvalidInput,
                     "row_group_size and row_group_rows are one option under two names: give one of them");
  }
  const std::string_view rows_name = options.contains("row_group_rows") ? "row_group_rows" : "row_group_size";
  ARROW_ASSIGN_OR_RAISE(parsed.row_group_rows, IntegerOption(options, rows_name, 1, std::numeric_limits<int64_t>::max()));
  ARROW_ASSIGN_OR_RAISE(parsed.row_group_bytes, BytesOption(options, "row_group_size_bytes"));
  ARROW_ASSIGN_OR_RAISE(parsed.file_size_bytes, BytesOption(options, "file_size_bytes"));
  ARROW_RETURN_NOT_OK(CheckParquetOptions(parsed));
  return parsed;
}

}  // namespace icebound::io
