// SPDX-License-Identifier: Apache-2.0
//
// Single values of CSV text: as a type, and which types they could be. The usual forms are read here; anything else goes to the
// parsers behind CAST, so that a value means the same in both places.
#pragma once

#include <arrow/type.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>

#include "expr/number_text.h"

namespace icebound::io {

/// True and `*value` when the text is one. All of them ignore spaces around.
bool ParseCsvBoolean(std::string_view text, bool* value);
bool ParseCsvDecimal(std::string_view text, const arrow::DataType& type, expr::Int128* value);
bool ParseCsvDate(std::string_view text, const arrow::DataType& type, int32_t* value);
bool ParseCsvTime(std::string_view text, const arrow::DataType& type, int64_t* value);
bool ParseCsvTimestamp(std::string_view text, const arrow::DataType& type, int64_t* value);

template <typename T>
bool ParseCsvInteger(std::string_view text, const arrow::DataType&, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return true;
  const auto slow = expr::ParseInteger(text, expr::TypeClass::kInt64);
  if (!slow.ok() || *slow < std::numeric_limits<T>::min() || *slow > std::numeric_limits<T>::max()) return false;
  *value = static_cast<T>(*slow);
  return true;
}

template <typename T>
bool ParseCsvNumber(std::string_view text, const arrow::DataType&, T* value) {
  if (!text.empty() && (text.back() >= '0' && text.back() <= '9')) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    if (error == std::errc() && end == text.data() + text.size()) return true;
  }
  if constexpr (std::is_same_v<T, float>) {
    const auto slow = expr::ParseFloat(text);
    return slow.ok() && (*value = *slow, true);
  } else {
    const auto slow = expr::ParseDouble(text);
    return slow.ok() && (*value = *slow, true);
  }
}

/// The type of a column whose values are seen one after another (the lattice is in icebound/source_options.h). Not thread safe.
class CsvTypeGuess {
 public:
  /// Not for NULLs.
  void Add(std::string_view text) {
    seen_ = true;
    if (possible_ != 0) possible_ &= TypesOf(text);
  }
  /// The narrowest type of all values; text when there were none.
  std::shared_ptr<arrow::DataType> type() const;

 private:
  static uint32_t TypesOf(std::string_view text);

  bool seen_ = false;
  uint32_t possible_ = ~uint32_t{0};
};

}  // namespace icebound::io
