// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/dictionary_choice.h"

#include <algorithm>
#include <cmath>

namespace icebound::io {
namespace {

/// Codes must save this share of the plain size: hashing costs more than copying, and readers pay for looking up.
constexpr double kClearlySmaller = 0.9;

/// d / n for x = n / P draws per possible value: (1 - exp(-x)) / x, falling from 1 to 0.
double DistinctShare(double x) { return x < 1e-9 ? 1.0 : -std::expm1(-x) / x; }

}  // namespace

double ExtrapolateDistinct(int64_t values, int64_t distinct, int64_t expected_values) {
  const auto expected = static_cast<double>(std::max(values, expected_values));
  if (distinct >= values) return expected;
  const double share = static_cast<double>(distinct) / static_cast<double>(values);
  double low = 0;     // share(low) = 1
  double high = 1.0;  // grows until share(high) is below
  while (DistinctShare(high) > share) high *= 2;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (DistinctShare(middle) > share ? low : high) = middle;
  }
  const double population = static_cast<double>(values) / high;
  return std::clamp(population * -std::expm1(-expected / population), static_cast<double>(distinct), expected);
}

bool DictionaryPays(const DictionaryEvidence& evidence) {
  if (evidence.values == 0) return false;
  const auto expected = static_cast<double>(std::max(evidence.values, evidence.expected_values));
  const double distinct = ExtrapolateDistinct(evidence.values, evidence.distinct, evidence.expected_values);
  if (distinct * evidence.entry_bytes > static_cast<double>(evidence.dictionary_bytes_max)) return false;
  const double code_bytes = std::ceil(std::log2(std::max(distinct, 2.0))) / 8;
  return distinct * evidence.stored_bytes + expected * code_bytes < kClearlySmaller * expected * evidence.stored_bytes;
}

}  // namespace icebound::io
