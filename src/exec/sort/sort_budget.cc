// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sort_budget.h"

#include <algorithm>

namespace icebound::exec::sort {

int64_t SortBudget::TakeSlack(int64_t bytes_max) {
  int64_t slack = slack_bytes_.load(std::memory_order_relaxed);
  int64_t taken = 0;
  do {
    taken = std::min(slack, bytes_max);
  } while (!slack_bytes_.compare_exchange_weak(slack, slack - taken, std::memory_order_acq_rel));
  return taken;
}

bool SortBudget::TryTake(int64_t bytes) {
  if (taken_bytes() > ceiling_bytes_.load(std::memory_order_relaxed) - bytes) return false;
  const int64_t from_slack = TakeSlack(bytes);
  if (from_slack < bytes && !consumer_.TryReserve(bytes - from_slack)) {
    slack_bytes_.fetch_add(from_slack, std::memory_order_acq_rel);
    return false;
  }
  taken_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

arrow::Status SortBudget::Take(int64_t bytes) {
  const int64_t from_slack = TakeSlack(bytes);
  if (from_slack < bytes) {
    arrow::Status status = consumer_.Reserve(bytes - from_slack);
    if (!status.ok()) {
      slack_bytes_.fetch_add(from_slack, std::memory_order_acq_rel);
      return status;
    }
  }
  taken_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return arrow::Status::OK();
}

void SortBudget::Give(int64_t bytes) {
  taken_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  slack_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
}

int64_t SortBudget::ReturnSlack(int64_t floor_bytes) {
  const int64_t keep_bytes = std::max<int64_t>(0, floor_bytes - taken_bytes());
  int64_t slack = slack_bytes_.load(std::memory_order_relaxed);
  int64_t returned = 0;
  do {
    returned = std::max<int64_t>(0, slack - keep_bytes);
  } while (!slack_bytes_.compare_exchange_weak(slack, slack - returned, std::memory_order_acq_rel));
  if (returned > 0) consumer_.Release(returned);
  return returned;
}

}  // namespace icebound::exec::sort
