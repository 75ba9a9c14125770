// SPDX-License-Identifier: Apache-2.0
#include "row/sort_key_order.h"

#include "row/column_block.h"

namespace icebound::row {

using arrow::Type;

namespace {

inline uint8_t SwapBytes(uint8_t value) { return value; }
inline uint16_t SwapBytes(uint16_t value) { return __builtin_bswap16(value); }
inline uint32_t SwapBytes(uint32_t value) { return __builtin_bswap32(value); }
inline uint64_t SwapBytes(uint64_t value) { return __builtin_bswap64(value); }

/// Ordered bytes of `value ^ flip`, the flips being the sign bit and, when descending, all bits. It is its own opposite.
template <typename Word>
void FlipWords(Word flip, const uint8_t* source, int32_t count, uint8_t* destination, bool restore) {
  if (restore) {
    for (int32_t i = 0; i < count; ++i) {
      StoreAs<Word>(destination + i * sizeof(Word), SwapBytes(LoadAs<Word>(source + i * sizeof(Word))) ^ flip);
    }
  } else {
    for (int32_t i = 0; i < count; ++i) {
      StoreAs<Word>(destination + i * sizeof(Word), SwapBytes(static_cast<Word>(LoadAs<Word>(source + i * sizeof(Word)) ^ flip)));
    }
  }
}

/// Integers of several 64-bit words: swapped end to end. The sign bit is in the last word of the packed value.
template <int32_t kWords>
void FlipWide(uint64_t flip_sign, uint64_t flip_all, const uint8_t* source, int32_t count, uint8_t* destination, bool restore) {
  constexpr int32_t kBytes = kWords * 8;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t word = 0; word < kWords; ++word) {
      const bool has_sign = restore ? word == 0 : word == kWords - 1;
      const uint64_t flip = flip_all ^ (has_sign ? flip_sign : 0);
      const uint64_t value = LoadAs<uint64_t>(source + i * kBytes + word * 8);
      const uint64_t out = restore ? SwapBytes(value) ^ flip : SwapBytes(value ^ flip);
      StoreAs<uint64_t>(destination + i * kBytes + (kWords - 1 - word) * 8, out);
    }
  }
}

void FlipIntegers(bool is_signed, int32_t width, bool invert, const uint8_t* source, int32_t count, uint8_t* destination,
                  bool restore) {
  const uint64_t sign = is_signed ? uint64_t{1} << 63 : 0;
  const uint64_t all = invert ? ~uint64_t{0} : 0;
  const uint64_t flip = (sign ^ all) >> 32;
  switch (width) {
    case 1:
      return FlipWords<uint8_t>(static_cast<uint8_t>(flip >> 24), source, count, destination, restore);
    case 2:
      return FlipWords<uint16_t>(static_cast<uint16_t>(flip >> 16), source, count, destination, restore);
    case 4:
      return FlipWords<uint32_t>(static_cast<uint32_t>(flip), source, count, destination, restore);
    case 8:
      return FlipWords<uint64_t>(sign ^ all, source, count, destination, restore);
    case 16:
      return FlipWide<2>(sign, all, source, count, destination, restore);
    default:
      return FlipWide<4>(sign, all, source, count, destination, restore);
  }
}

/// `infinity` has the bits of +infinity: a magnitude above it is a NaN.
template <typename Word>
void OrderFloats(Word infinity, bool invert, const uint8_t* source, int32_t count, uint8_t* destination) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));
  const Word flip_all = invert ? static_cast<Word>(~Word{0}) : Word{0};
  const Word quiet_nan = static_cast<Word>(infinity | (infinity >> 1));
  for (int32_t i = 0; i < count; ++i) {
    Word bits = LoadAs<Word>(source + i * sizeof(Word));
    const Word magnitude = static_cast<Word>(bits & ~kSign);
    bits = magnitude == 0 ? Word{0} : bits;
    bits = magnitude > infinity ? quiet_nan : bits;
    const Word flip = (bits & kSign) ? static_cast<Word>(~Word{0}) : kSign;
    StoreAs<Word>(destination + i * sizeof(Word), SwapBytes(static_cast<Word>(bits ^ flip ^ flip_all)));
  }
}

constexpr int64_t kMillisecondsPerDay = 86'400'000;
constexpr int64_t kNanosecondsPerDay = 86'400'000'000'000;
constexpr int64_t kDaysPerMonth = 30;  // what PostgreSQL assumes when it compares intervals

void OrderDayTime(bool invert, const uint8_t* source, int32_t count, uint8_t* destination) {
  for (int32_t i = 0; i < count; ++i) {
    const int64_t total = LoadAs<int32_t>(source + i * 8) * kMillisecondsPerDay + LoadAs<int32_t>(source + i * 8 + 4);
    FlipIntegers(true, 8, invert, reinterpret_cast<const uint8_t*>(&total), 1, destination + i * 8, false);
  }
}

void OrderMonthDayNano(bool invert, const uint8_t* source, int32_t count, uint8_t* destination) {
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* value = source + i * 16;
    const int64_t days = LoadAs<int32_t>(value) * kDaysPerMonth + LoadAs<int32_t>(value + 4);
    // At most 2^36 days of 2^47 nanoseconds: 128 bits are plenty.
    const __int128 total = static_cast<__int128>(days) * kNanosecondsPerDay + LoadAs<int64_t>(value + 8);
    FlipIntegers(true, 16, invert, reinterpret_cast<const uint8_t*>(&total), 1, destination + i * 16, false);
  }
}

}  // namespace

Order OrderOf(const TypeShape& shape) {
  switch (shape.id) {
    case Type::BOOL:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
      return Order::kUnsigned;
    case Type::HALF_FLOAT:
      return Order::kHalfFloat;
    case Type::FLOAT:
      return Order::kFloat;
    case Type::DOUBLE:
      return Order::kDouble;
    case Type::INTERVAL_DAY_TIME:
      return Order::kDayTime;
    case Type::INTERVAL_MONTH_DAY_NANO:
      return Order::kMonthDayNano;
    default:
      return Order::kSigned;
  }
}

bool IsReversible(Order order) { return order == Order::kUnsigned || order == Order::kSigned; }

void OrderValues(Order order, int32_t width, bool invert, const uint8_t* packed, int32_t count, uint8_t* ordered) {
  switch (order) {
    case Order::kUnsigned:
      return FlipIntegers(false, width, invert, packed, count, ordered, false);
    case Order::kSigned:
      return FlipIntegers(true, width, invert, packed, count, ordered, false);
    case Order::kHalfFloat:
      return OrderFloats<uint16_t>(0x7C00, invert, packed, count, ordered);
    case Order::kFloat:
      return OrderFloats<uint32_t>(0x7F80'0000, invert, packed, count, ordered);
    case Order::kDouble:
      return OrderFloats<uint64_t>(0x7FF0'0000'0000'0000, invert, packed, count, ordered);
    case Order::kDayTime:
      return OrderDayTime(invert, packed, count, ordered);
    case Order::kMonthDayNano:
      return OrderMonthDayNano(invert, packed, count, ordered);
  }
}

void RestoreValues(Order order, int32_t width, bool invert, const uint8_t* ordered, int32_t count, uint8_t* packed) {
  FlipIntegers(order == Order::kSigned, width, invert, ordered, count, packed, true);
}

}  // namespace icebound::row
