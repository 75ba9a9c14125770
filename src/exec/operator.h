// SPDX-License-Identifier: Apache-2.0
//
// The operator protocol.
//
//   Prepare()      runs every breaker below (sort, build sides, aggregates) to its end; called once, on the coordinating thread
//   OpenStream()   then gives the operator's rows, on up to max_streams() threads side by side
//
// A streaming operator (filter, project) prepares its child and wraps the child's streams. A breaker drains its child in
// Prepare() with DrainInParallel and streams what it built. So a plan is one tree, a pipeline is what lies between two breakers,
// and no exchange is needed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::exec {

using runtime::BatchStream;
using runtime::QueryContext;

/// A node of the physical plan. Prepare is called once; OpenStream is thread safe after it.
class Operator : public runtime::StreamSource {
 public:
  Operator(QueryContext* context, std::string name, std::shared_ptr<arrow::Schema> schema)
      : context_(context), metrics_(context->metrics.AddOperator(std::move(name))), schema_(std::move(schema)) {
    // Arrow makes the fingerprints of types when they are first compared. Made here, threads find them instead of racing to make
    // them (harmless, but a thread sanitizer cannot see the atomics inside a library it did not compile).
    schema_->fingerprint();
  }

  const std::shared_ptr<arrow::Schema>& schema() const final { return schema_; }
  const runtime::OperatorMetrics& metrics() const { return metrics_; }
  virtual arrow::Status Prepare() = 0;
  /// How many rows its streams will give together, where that is known once it is prepared: for progress.
  virtual std::optional<int64_t> RowsToCome() const { return std::nullopt; }

 protected:
  QueryContext* context() const { return context_; }
  runtime::OperatorMetrics& mutable_metrics() { return metrics_; }

 private:
  QueryContext* const context_;
  runtime::OperatorMetrics& metrics_;
  const std::shared_ptr<arrow::Schema> schema_;
};

/// Runs `consume(worker, stream)` for up to min(source.max_streams(), context.threads) streams of a prepared source, a thread
/// each (the caller's is one of them), and joins. The first error stops the others at their next batch and is returned.
arrow::Status DrainInParallel(QueryContext* context, runtime::StreamSource* source,
                              const std::function<arrow::Status(int worker, BatchStream* stream)>& consume);

/// Number of workers DrainInParallel will use for this source.
int WorkerCount(const QueryContext& context, const runtime::StreamSource& source);

}  // namespace icebound::exec
