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

constexpr std::string_view kOtherSideMessage =
    "not supported yet: a subquery in ON of an outer join together with columns of both sides";

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

ScopeTable MakeScopeTable(std::vector<std::string> qualifier, const arrow::FieldVector& fields, int first_column) {
  ScopeTable table{std::move(qualifier), {}};
  for (const auto& field : fields) table.columns.push_back({field, first_column++, false});
  return table;
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

Scope::Match Scope::FindHere(const std::vector<std::string>& parts, bool qualified) const {
  // Longest qualifier first: a.b.c is column c of table a.b before field c of column b of table a.
  for (size_t qualifier = qualified ? parts.size() - 1 : 0; qualified ? qualifier > 0 : qualifier == 0; --qualifier) {
    const std::string& name = parts[qualifier];
    for (const bool fold : {false, true}) {
      if (fold && !MayBeUnquoted(name)) continue;
      Match match;
      for (const ScopeTable& table : tables_) {
        const std::span<const std::string> prefix(parts.data(), qualifier);
        if (qualifier > 0 && !QualifiesFolded(prefix, table)) continue;
        for (const ScopeColumn& column : table.columns) {
          if (column.qualified_only && qualifier == 0) continue;
          if (!NameMatches(name, column.field->name(), fold)) continue;
          if (match.count++ == 0) match = {&column, qualifier + 1, 1};
        }
      }
      if (match.count > 0) return match;
    }
  }
  return {};
}

arrow::Result<ResolvedColumn> Scope::ResolveColumn(const std::vector<std::string>& parts) const {
  // In a.b, column b of a table a is meant, also of one further out, before field b of a column a.
  for (const bool qualified : {true, false}) {
    int levels_up = 0;
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_, ++levels_up) {
      const Match match = scope->FindHere(parts, qualified);
      if (match.count == 0) continue;
      if (match.count > 1 || scope->SiblingsHave(parts, qualified)) {
        return MakeError(ErrorKind::kInvalidInput, "column reference \"{}\" is ambiguous", parts[match.parts_used - 1]);
      }
      ResolvedColumn resolved;
      resolved.levels_up = levels_up;
      resolved.depth = scope->depth_;
      resolved.index = match.column->index;
      if (scope->new_index_) resolved.index = (*scope->new_index_)[static_cast<size_t>(resolved.index)];
      if (resolved.index < 0) return scope->RestrictedError(*match.column);
      resolved.field = match.column->field;
      resolved.parts_used = match.parts_used;
      return resolved;
    }
  }
  return NotFound(parts);
}

bool Scope::SiblingsHave(const std::vector<std::string>& parts, bool qualified) const {
  for (const Scope* at = this; at->parent_ != nullptr && at->parent_kind_ == Parent::kSibling; at = at->parent_) {
    if (at->parent_->FindHere(parts, qualified).count > 0) return true;
  }
  return false;
}

void Scope::Restrict(std::vector<int> new_index, Restriction why) {
  new_index_ = std::move(new_index);
  restriction_ = why;
}

arrow::Status Scope::RestrictedError(const ScopeColumn& column) const {
  if (restriction_ == Restriction::kUngrouped) {
    return MakeError(ErrorKind::kInvalidInput, "subquery uses ungrouped column \"{}\" from outer query",
                     QualifiedName(column.index, column.field->name()));
  }
  return ErrorStatus(ErrorKind::kUnsupported, std::string(kOtherSideMessage));
}

bool Scope::IsOtherSideError(const arrow::Status& status) { return status.message().starts_with(kOtherSideMessage); }

std::string Scope::QualifiedName(int index, const std::string& fallback) const {
  for (const ScopeTable& table : tables_) {
    for (const ScopeColumn& column : table.columns) {
      if (column.index != index || table.qualifier.empty()) continue;
      return fmt::format("{}.{}", table.qualifier.back(), column.field->name());
    }
  }
  return fallback;
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
    for (const ScopeColumn& column : table->columns) names.push_back(column.field->name());
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
      for (const ScopeColumn& column : table.columns) {
        if (!column.qualified_only) names.push_back(column.field->name());
      }
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
