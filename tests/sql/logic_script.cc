// SPDX-License-Identifier: Apache-2.0
#include "logic_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace icebound::testing {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(std::move(part));
  if (!text.empty() && text.back() == separator) parts.emplace_back();
  return parts;
}

/// Reads a script line by line.
class Parser {
 public:
  explicit Parser(const std::string& text) : lines_(Split(text, '\n')) {}

  arrow::Result<std::vector<LogicRecord>> Parse() {
    std::vector<LogicRecord> records;
    for (; at_ < lines_.size(); ++at_) {
      if (lines_[at_].empty() || lines_[at_].front() == '#') continue;
      ARROW_ASSIGN_OR_RAISE(LogicRecord record, ParseRecord());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  arrow::Status Fault(std::string_view what) const { return arrow::Status::Invalid("line ", at_ + 1, ": ", what); }

  arrow::Result<LogicRecord> ParseRecord() {
    LogicRecord record;
    record.line = static_cast<int>(at_) + 1;
    std::istringstream head(lines_[at_]);
    std::string kind, second, third;
    head >> kind >> second;
    if (kind != "statement" && kind != "query") return Fault("expected a statement, a query or a comment");
    record.is_query = kind == "query";
    if (second == "error") {
      record.fails = true;
      std::getline(head >> std::ws, record.error_text);
      if (record.error_text.empty()) return Fault("an error needs a part of its message");
    } else if (record.is_query) {
      record.column_types = second;
      if (second.find_first_not_of("ITR") != std::string::npos) return Fault("the columns of a query are I, T or R");
      record.any_order = static_cast<bool>(head >> third);
      if (record.any_order && third != "rowsort") return Fault("a query may only ask for rowsort");
    } else if (second != "ok") {
      return Fault("a statement is ok or error");
    }
    for (++at_; at_ < lines_.size() && !lines_[at_].empty() && lines_[at_] != "----"; ++at_) record.sql += lines_[at_] + "\n";
    if (record.sql.empty()) return Fault("a record without SQL");
    const bool has_answer = at_ < lines_.size() && lines_[at_] == "----";
    if (has_answer != (record.is_query && !record.fails)) return Fault("an answer belongs to a query, and to nothing else");
    if (has_answer) {
      for (++at_; at_ < lines_.size() && !lines_[at_].empty(); ++at_) record.rows.push_back(lines_[at_]);
    }
    return record;
  }

  const std::vector<std::string> lines_;
  size_t at_ = 0;
};

bool SameNumber(const std::string& left, const std::string& right) {
  if (left == right) return true;
  char* left_end = nullptr;
  char* right_end = nullptr;
  const double a = std::strtod(left.c_str(), &left_end), b = std::strtod(right.c_str(), &right_end);
  if (left.empty() || right.empty() || *left_end != '\0' || *right_end != '\0') return false;
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

bool SameRow(const std::string& types, const std::string& left, const std::string& right) {
  const std::vector<std::string> a = Split(left, '\t'), b = Split(right, '\t');
  if (a.size() != b.size() || a.size() != types.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (types[i] == 'R' ? !SameNumber(a[i], b[i]) : a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

arrow::Result<std::vector<LogicRecord>> ParseLogicScript(const std::string& text) { return Parser(text).Parse(); }

std::string CompareRows(const LogicRecord& record, std::vector<std::string> actual) {
  std::vector<std::string> expected = record.rows;
  if (record.any_order) {
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
  }
  for (size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    if (i >= expected.size()) return fmt::format("row {} is one too many: {}", i + 1, actual[i]);
    if (i >= actual.size()) return fmt::format("row {} is missing: {}", i + 1, expected[i]);
    if (!SameRow(record.column_types, expected[i], actual[i])) {
      return fmt::format("row {} is\n    {}\nand should be\n    {}", i + 1, actual[i], expected[i]);
    }
  }
  return "";
}

}  // namespace icebound::testing
