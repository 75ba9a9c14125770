// SPDX-License-Identifier: Apache-2.0
//
// Partition and sort transforms: what a column's value becomes in a partition tuple.
//
//   identity      the value                           year, month, day, hour   whole units since 1970 in UTC, floored: one second
//   bucket[N]     (murmur3 without its sign) mod N                             before 1970 is year -1, month -1, day -1, hour -1
//   truncate[W]   v - (((v % W) + W) % W) of whole     void                     null
//                 numbers and unscaled decimals;       unknown                  kept as it is written; rows cannot be written
//                 W code points, W bytes                                        through it, and files not pruned by it
//
// A bucket hashes what does not change when a column is promoted: an int as the long it may become, a timestamp of nanoseconds as
// its microseconds (floored). Null becomes null everywhere.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "iceberg/spec/literal.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

enum class TransformKind { kIdentity, kBucket, kTruncate, kYear, kMonth, kDay, kHour, kVoid, kUnknown };

/// A value; immutable.
class Transform {
 public:
  /// Identity.
  Transform() = default;
  static Transform Of(TransformKind kind) { return Transform(kind, 0, ""); }
  /// ErrorKind::kInvalidInput when `count` or `width` is not positive.
  static arrow::Result<Transform> Bucket(int32_t count);
  static arrow::Result<Transform> Truncate(int32_t width);

  /// From the word of a spec. A word that is not known is a transform too; bucket[0] and truncate[0] are corrupt data.
  static arrow::Result<Transform> Parse(std::string_view word);
  std::string ToString() const;

  TransformKind kind() const { return kind_; }
  int32_t parameter() const { return parameter_; }  ///< N of a bucket, W of truncate
  bool is_known() const { return kind_ != TransformKind::kUnknown; }

  /// ErrorKind::kInvalidInput when columns of type `source` cannot be transformed so.
  arrow::Status CheckSource(const Type& source) const;

  /// Of a partition field over a source of this type. The tuples of unknown transforms are strings.
  TypePtr ResultType(const TypePtr& source) const;

  /// The partition value of `value`, which is of type `source`.
  arrow::Result<Literal> Apply(const Type& source, const Literal& value) const;

  /// A partition value as people read it: 2017, 2017-11, 2017-11-16, 2017-11-16-22.
  std::string ValueText(const Type& result_type, const Literal& partition_value) const;

  bool operator==(const Transform& other) const = default;

 private:
  Transform(TransformKind kind, int32_t parameter, std::string word)
      : kind_(kind), parameter_(parameter), word_(std::move(word)) {}

  TransformKind kind_ = TransformKind::kIdentity;
  int32_t parameter_ = 0;
  std::string word_;  ///< of an unknown one
};

/// The hash that buckets take their number from; also for the types that cannot be bucketed yet (boolean, float, double).
arrow::Result<int32_t> BucketHash(const Type& type, const Literal& value);

}  // namespace icebound::iceberg
