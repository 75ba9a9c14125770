// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// Rows to an open stream (standard output): format is "table", "csv", "json", "jsonl" or "arrow". The stream is not closed; it and `context` must outlive
/// the sink. What was written before an Abort has left already.
arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeStreamSink(arrow::io::OutputStream* out, const std::string& format,
                                                                  std::shared_ptr<arrow::Schema> schema,
                                                                  runtime::QueryContext* context);

}  // namespace icebound::io
