// SPDX-License-Identifier: Apache-2.0
//
// Single values as bytes (the specification's Appendix D): bounds in manifests, and what buckets hash.
//
//   boolean          00, or anything else for true           fixed, binary, geo    as they are
//   int, date        4 bytes, least significant first        string                UTF-8
//   long, time, ts   8 bytes, least significant first        uuid                  16 bytes, most significant first
//   float, double    4 or 8 bytes, the same order            decimal               two's complement, most significant first,
//                                                                                  no byte more than the value needs
//
// Worked examples: int -1 is ff ff ff ff; decimal(7,2) -9969.53 is f0 c9 a7; decimal 1.28 (unscaled 128) is 00 80.
//
// Bounds are wider on the way in than values are. A column that was promoted keeps the bounds of its old files: the length tells
// which type they are of (int in a long, float in a double, date in a timestamp, a shorter decimal). And a bound is advice: one
// that says nothing (NaN, a length that fits no type, a box of a geometry, a variant) is no bound, never an error, so that a file
// written by a careless writer is read rather than skipped.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "iceberg/spec/literal.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

/// The bytes of a value that is not null.
arrow::Result<std::string> EncodeSingleValue(const Type& type, const Literal& value);

/// The value of bytes that were written for `type` or for a type that may have been promoted to it.
arrow::Result<Literal> DecodeSingleValue(const Type& type, std::string_view bytes);

/// A bound of a file or a manifest; nullopt when it says nothing.
std::optional<Literal> DecodeBound(const Type& type, std::string_view bytes);

/// Two's complement, most significant byte first, as short as can be.
std::string MinimalBigEndian(const arrow::Decimal128& unscaled);

/// The lower bound that stands for `value` when at most `length` code points (string) or bytes (binary, fixed) of it are kept:
/// a prefix. Values of other types are returned as they are.
Literal TruncateLowerBound(const Type& type, const Literal& value, int64_t length);

/// The upper bound: when something was cut, the prefix with its last character increased, over the surrogates (which are no
/// characters), shortened by those that cannot be. nullopt when all of them are the highest there is: then there is no bound.
std::optional<Literal> TruncateUpperBound(const Type& type, const Literal& value, int64_t length);

}  // namespace icebound::iceberg
