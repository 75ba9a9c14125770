// SPDX-License-Identifier: Apache-2.0
#include "sql/scope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "sql/nearest_name.h"

namespace icebound::sql {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// True when the table's qualifier ends with `parts`.
bool Qualifies(std::span<const std::string> parts, const ScopeTable& table) {
  if (parts.size() > table.qualifier.size()) return false;
  return std::equal(parts.rbegin(), parts.rend(), table.qualifier.rbegin());
}

bool QualifiesFolded(std::span<const std::string> parts, const ScopeTable& table) {
  if (parts.size() > table.qualifier.size()) return false;
  return std::equal(parts.rbegin(), parts.rend(), table.qualifier.rbegin(), [](const std::string& part, const std::string& name) {
    return NameMatches(part, name, MayBeUnquoted(part));
  });
}

}  // namespace

bool MayBeUnquoted(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool NameMatches(std::string_view name, std::string_view column, bool fold) {
  if (name == column) return true;
  return fold && name.size() == column.size() &&
         std::equal(name.begin(), name.end(), column.begin(), [](char a, char b) { return Lower(a) == Lower(b); });
}

arrow::Status Scope::AddTable(ScopeTable table) {
  for (const ScopeTable& other : tables_) {
    if (!table.qualifier.empty() && other.qualifier == table.qualifier) {
      return MakeError(ErrorKind::kInvalidInput, "table name \"{}\" specified more than once", table.qualifier.back());
    }
  }
  tables_.push_back(std::move(table));
  return arrow::Status::OK();
}

const ScopeTable* Scope::FindTable(const std::vector<std::string>& parts) const {
  for (const ScopeTable& table : tables_) {
    if (Qualifies(parts, table)) return &table;
  }
  for (const ScopeTable& table : tables_) {
    if (QualifiesFolded(parts, table)) return &table;
  }
  return nullptr;
}

Scope::Match Scope::FindHere(const std::vector<std::string>& parts) const {
  // Longest qualifier first: in `a.b`, b of table a is meant before field b of column a.
  for (size_t qualifier = parts.size(); qualifier-- > 0;) {
    const std::string& name = parts[qualifier];
    for (const bool fold : {false, true}) {
      if (fold && !MayBeUnquoted(name)) continue;
      Match match;
      for (const ScopeTable& table : tables_) {
        const std::span<const std::string> prefix(parts.data(), qualifier);
        if (qualifier > 0 && !QualifiesFolded(prefix, table)) continue;
        for (size_t i = 0; i < table.columns.size(); ++i) {
          if (!NameMatches(name, table.columns[i]->name(), fold)) continue;
          if (match.count++ == 0) match = {&table, static_cast<int>(i), qualifier + 1, 1};
        }
      }
      if (match.count > 0) return match;
    }
  }
  return {};
}

arrow::Result<ResolvedColumn> Scope::ResolveColumn(const std::vector<std::string>& parts) const {
  int levels_up = 0;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_, ++levels_up) {
    const Match match = scope->FindHere(parts);
    if (match.count == 0) continue;
    if (match.count > 1) {
      return MakeError(ErrorKind::kInvalidInput, "column reference \"{}\" is ambiguous", parts[match.parts_used - 1]);
    }
    ResolvedColumn resolved;
    resolved.levels_up = levels_up;
    resolved.index = match.table->first_column + match.column;
    resolved.field = match.table->columns[static_cast<size_t>(match.column)];
    resolved.parts_used = match.parts_used;
    return resolved;
  }
  return NotFound(parts);
}

arrow::Status Scope::NotFound(const std::vector<std::string>& parts) const {
  if (parts.size() == 1) {
    if (FindTable(parts)) {
      return MakeError(ErrorKind::kUnsupported,
                       "not supported yet: a whole row as a value (\"{}\" is a table); name a column or write {}.*",
                       parts.front(), parts.front());
    }
    return MakeError(ErrorKind::kInvalidInput, "column \"{}\" does not exist{}", parts.front(),
                     SuggestionText(parts.front(), ColumnNames()));
  }
  const std::vector<std::string> qualifier(parts.begin(), parts.end() - 1);
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const ScopeTable* table = scope->FindTable(qualifier);
    if (!table) continue;
    std::vector<std::string> names;
    for (const auto& column : table->columns) names.push_back(column->name());
    return MakeError(ErrorKind::kInvalidInput, "column {} does not exist{}", fmt::join(parts, "."),
                     SuggestionText(parts.back(), names));
  }
  return MakeError(ErrorKind::kInvalidInput, "missing FROM-clause entry for table \"{}\"{}", fmt::join(qualifier, "."),
                   SuggestionText(qualifier.back(), TableNames()));
}

arrow::Result<const ScopeTable*> Scope::ResolveTable(const std::vector<std::string>& parts) const {
  if (const ScopeTable* table = FindTable(parts)) return table;
  return MakeError(ErrorKind::kInvalidInput, "missing FROM-clause entry for table \"{}\"{}", fmt::join(parts, "."),
                   SuggestionText(parts.back(), TableNames()));
}

std::vector<std::string> Scope::ColumnNames() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const ScopeTable& table : scope->tables_) {
      for (const auto& column : table.columns) names.push_back(column->name());
    }
  }
  return names;
}

std::vector<std::string> Scope::TableNames() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const ScopeTable& table : scope->tables_) {
      if (!table.qualifier.empty()) names.push_back(table.qualifier.back());
    }
  }
  return names;
}

}  // namespace icebound::sql
