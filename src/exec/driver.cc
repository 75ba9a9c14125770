// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/operator.h"
#include "runtime/worker_pool.h"

namespace icebound::exec {

int WorkerCount(const QueryContext& context, const runtime::StreamSource& source) {
  return std::max(1, std::min(context.threads, source.max_streams()));
}

arrow::Status DrainInParallel(QueryContext* context, runtime::StreamSource* source,
                              const std::function<arrow::Status(int worker, BatchStream* stream)>& consume) {
  return runtime::RunOnThreads(WorkerCount(*context, *source), [&](int worker) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<BatchStream> stream, source->OpenStream());
    return consume(worker, stream.get());
  });
}

}  // namespace icebound::exec
