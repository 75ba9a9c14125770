// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_filter.h"

#include <arrow/type_traits.h>

#include <algorithm>

namespace icebound::exec::join {
namespace {

/// A filter with fewer bits a row than this passes more than half of what it should not.
constexpr int64_t kBitsPerRowMin = 3;

/// With half of the words there would still be so many bits a row: too few false matches to pay for a filter beyond the cache.
constexpr int64_t kBitsPerRowEnough = 12;

constexpr uint64_t kWordsMin = 64;

/// Rows ahead whose words are fetched.
constexpr size_t kAhead = 16;

/// The width of a key type whose values are signed integers of so many bytes; 0 for others.
int IntegerBytes(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::INT8:
      return 1;
    case Type::INT16:
      return 2;
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32:
      return 4;
    case Type::INT64:
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return 8;
    default:
      return 0;
  }
}

/// Calls visit(values) with the integers of an array that is plain and whose width is known.
template <typename Visit>
void VisitIntegers(const arrow::Array& array, int bytes, Visit&& visit) {
  switch (bytes) {
    case 1:
      return visit(array.data()->GetValues<int8_t>(1));
    case 2:
      return visit(array.data()->GetValues<int16_t>(1));
    case 4:
      return visit(array.data()->GetValues<int32_t>(1));
    default:
      return visit(array.data()->GetValues<int64_t>(1));
  }
}

}  // namespace

JoinFilter::JoinFilter(sort::SortBudget* budget, const std::vector<std::shared_ptr<arrow::DataType>>& key_types)
    : key_types_(key_types), pages_(budget) {}

void JoinFilter::Start(int64_t bytes) {
  if (!pages_.TryResize(bytes)) return;
  words_ = reinterpret_cast<uint64_t*>(pages_.data());
  word_count_ = static_cast<uint64_t>(pages_.bytes()) / sizeof(uint64_t);
}

void JoinFilter::Add(const arrow::ArrayVector& keys, std::span<const uint64_t> hashes, std::span<const uint8_t> valid,
                     std::vector<KeyRange>* ranges) {
  for (size_t i = 0; word_count_ > 0 && i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) __builtin_prefetch(words_ + WordOf(hashes[i + kAhead]), 1);
    if (valid[i] == 0) continue;
    uint64_t* word = words_ + WordOf(hashes[i]);
    const uint64_t bits = BitsOf(hashes[i]);
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits) __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
  }
  for (size_t k = 0; k < key_types_.size(); ++k) {
    const int bytes = IntegerBytes(*key_types_[k]);
    if (bytes == 0) continue;
    KeyRange& range = (*ranges)[k];
    if (keys[k]->type_id() != key_types_[k]->id()) {  // a dictionary: no range is better than a wrong one
      range = {INT64_MIN, INT64_MAX};
      continue;
    }
    VisitIntegers(*keys[k], bytes, [&](const auto* values) {
      int64_t least = range.least;
      int64_t greatest = range.greatest;
      for (size_t i = 0; i < valid.size(); ++i) {
        if (valid[i] == 0) continue;
        least = std::min<int64_t>(least, values[i]);
        greatest = std::max<int64_t>(greatest, values[i]);
      }
      range = {least, greatest};
    });
  }
}

void JoinFilter::Publish(const std::vector<std::vector<KeyRange>>& ranges, const std::vector<bool>& null_safe, int64_t rows) {
  if (rows * kBitsPerRowMin > static_cast<int64_t>(word_count_) * 64) {
    pages_.Free();
    word_count_ = 0;
  }
  const auto bits_enough = static_cast<uint64_t>(rows * kBitsPerRowEnough);
  while (word_count_ > kWordsMin && word_count_ % 2 == 0 && word_count_ * 32 >= bits_enough) Fold();
  if (word_count_ > 0 && pages_.TryResize(static_cast<int64_t>(word_count_ * sizeof(uint64_t)))) {
    words_ = reinterpret_cast<uint64_t*>(pages_.data());
  }
  ranges_ = NewRanges();
  for (size_t k = 0; k < key_types_.size(); ++k) {
    for (const std::vector<KeyRange>& worker : ranges) {
      ranges_[k].least = std::min(ranges_[k].least, worker[k].least);
      ranges_[k].greatest = std::max(ranges_[k].greatest, worker[k].greatest);
    }
    if (IntegerBytes(*key_types_[k]) == 0 || null_safe[k]) ranges_[k] = {INT64_MIN, INT64_MAX};
    has_ranges_ = has_ranges_ || ranges_[k].least != INT64_MIN || ranges_[k].greatest != INT64_MAX;
  }
  published_ = true;
}

/// Halves the filter: a word of half as many is that of two neighbours (WordOf).
void JoinFilter::Fold() {
  word_count_ /= 2;
  for (uint64_t i = 0; i < word_count_; ++i) words_[i] = words_[2 * i] | words_[2 * i + 1];
}

int64_t JoinFilter::ApplyRanges(const arrow::ArrayVector& keys, std::span<uint8_t> pass) const {
  for (size_t k = 0; k < key_types_.size(); ++k) {
    const int bytes = IntegerBytes(*key_types_[k]);
    const KeyRange range = ranges_[k];
    if (bytes == 0 || (range.least == INT64_MIN && range.greatest == INT64_MAX)) continue;
    if (keys[k]->type_id() != key_types_[k]->id()) continue;
    VisitIntegers(*keys[k], bytes, [&](const auto* values) {
      for (size_t i = 0; i < pass.size(); ++i) {
        pass[i] &= static_cast<uint8_t>(values[i] >= range.least) & static_cast<uint8_t>(values[i] <= range.greatest);
      }
    });
  }
  int64_t passing = 0;
  for (const uint8_t bit : pass) passing += bit;
  return passing;
}

int64_t JoinFilter::ApplyBloom(std::span<const uint64_t> hashes, std::span<uint8_t> pass) const {
  int64_t passing = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) __builtin_prefetch(words_ + WordOf(hashes[i + kAhead]));
    const uint64_t bits = BitsOf(hashes[i]);
    pass[i] &= static_cast<uint8_t>((words_[WordOf(hashes[i])] & bits) == bits);
    passing += pass[i];
  }
  return passing;
}

}  // namespace icebound::exec::join
