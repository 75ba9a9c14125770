// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::sql {

/// The candidate that a typing error most likely meant, or nothing when none is near: edit distance (insert, delete, replace,
/// swap of neighbours), case ignored, at most a third of the name's length. The first of equals wins.
std::optional<std::string> NearestName(std::string_view name, const std::vector<std::string>& candidates);

/// `; did you mean "x"?` or an empty string.
std::string SuggestionText(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace icebound::sql
