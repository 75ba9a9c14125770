// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace icebound::io {

/// The first time that an encoder asks. Fewer values tell too little, more are wasted hashing.
constexpr int64_t kJudgedValues = 4096;

struct DictionaryEvidence {
  int64_t values = 0;           ///< seen so far
  int64_t distinct = 0;         ///< of those
  int64_t expected_values = 0;  ///< in the whole chunk
  double entry_bytes = 0;       ///< of one dictionary entry, uncompressed
  double stored_bytes = 0;      ///< of one value (or entry) in the file, compressed
  int64_t dictionary_bytes_max = 0;
};

/// True when codes and a dictionary are expected to be clearly smaller than plain values, and the dictionary fits.
bool DictionaryPays(const DictionaryEvidence& evidence);

/// Distinct values to expect among `expected_values`, having seen `distinct` among `values`.
double ExtrapolateDistinct(int64_t values, int64_t distinct, int64_t expected_values);

}  // namespace icebound::io
