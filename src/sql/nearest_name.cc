// SPDX-License-Identifier: Apache-2.0
#include "sql/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace icebound::sql {
namespace {

// Longer names are not compared: the distance costs the product of both lengths, and nobody mistypes such a name by a letter.
constexpr size_t kLongestCompared = 128;

std::string Folded(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

/// Optimal string alignment distance with three rolling rows.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongestCompared) return std::nullopt;
  const std::string folded = Folded(name);
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const size_t distance = EditDistance(folded, Folded(candidate));
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string SuggestionText(std::string_view name, const std::vector<std::string>& candidates) {
  const std::optional<std::string> nearest = NearestName(name, candidates);
  return nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string();
}

}  // namespace icebound::sql
