// SPDX-License-Identifier: Apache-2.0
//
// What a text costs on the way to a plan. The parser and the binder work on plain heap, outside the pools, so the session
// reserves an upper bound before it calls them. The bound goes by tokens, not by bytes: a list of a hundred thousand numbers has
// two tokens a number however long they are, and a text of 100 KB is one. The costs of the tokens were measured
// (parse_cost_test.cc holds them to it): the parser's tree, its JSON, our tree and the bound plan live side by side at the peak.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string_view>

namespace icebound::sql {

/// Bytes of heap that scanning `text` (SplitStatements, ParseBytesMax) takes, at most. Takes none itself.
int64_t ScanBytesMax(std::string_view text);

/// Bytes of heap that BindStatement takes for `statement`, at most. Scans it; the error of a text that is no SQL is left to
/// BindStatement, which shows where it stands.
int64_t ParseBytesMax(std::string_view statement);

/// The part of ParseBytesMax that the bound plan may go on holding.
inline int64_t PlanBytesMax(int64_t parse_bytes) { return parse_bytes / 10 * 7; }

}  // namespace icebound::sql
