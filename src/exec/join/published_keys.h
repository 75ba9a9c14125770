// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "exec/join/join_filter.h"
#include "exec/join/join_side.h"
#include "runtime/probe_filter.h"

namespace icebound::exec::join {

/// A published JoinFilter for whoever has the key columns of the other side, which must be columns as they are
/// (JoinSide::has_plain_keys). Thread safe; both must outlive it.
class PublishedKeys final : public runtime::KeyTest {
 public:
  PublishedKeys(const JoinSide* side, const JoinFilter* filter) : side_(*side), filter_(*filter) {}

  arrow::Status Test(const arrow::ArrayVector& keys, std::span<uint8_t> pass, arrow::MemoryPool* pool) const override;
  std::optional<runtime::KeyBounds> BoundsOf(size_t key) const override;

 private:
  const JoinSide& side_;
  const JoinFilter& filter_;
};

}  // namespace icebound::exec::join
