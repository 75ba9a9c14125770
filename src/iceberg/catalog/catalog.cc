// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/catalog.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

std::string_view Strip(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::string NamespaceText(const Namespace& levels) { return fmt::format("{}", fmt::join(levels, ".")); }

arrow::Result<std::string> NamespaceKey(const Namespace& levels) {
  if (levels.empty()) return MakeError(ErrorKind::kInvalidInput, "a namespace is needed, and none is given");
  std::string key;
  for (const std::string& level : levels) {
    const std::string_view stripped = Strip(level);
    if (stripped.empty()) {
      return MakeError(ErrorKind::kInvalidInput, "a level of namespace '{}' is empty", NamespaceText(levels));
    }
    if (!key.empty()) key += '.';
    key += stripped;
  }
  return key;
}

Namespace SplitNamespace(std::string_view text) {
  Namespace levels;
  while (true) {
    const size_t dot = text.find('.');
    levels.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return levels;
    text.remove_prefix(dot + 1);
  }
}

arrow::Result<TableIdentifier> TableIdentifier::Parse(std::string_view text) {
  TableIdentifier identifier;
  identifier.levels = SplitNamespace(text);
  for (const std::string& part : identifier.levels) {
    if (Strip(part).empty()) return MakeError(ErrorKind::kInvalidInput, "a part of the table name '{}' is empty", text);
  }
  identifier.name = std::move(identifier.levels.back());
  identifier.levels.pop_back();
  return identifier;
}

std::string TableIdentifier::ToString() const { return levels.empty() ? name : NamespaceText(levels) + "." + name; }

}  // namespace icebound::iceberg
