// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "io/copy_options.h"
#include "io/output_file.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// Rows to an open stream (standard output) in one of the formats of batch_format.h. The stream is flushed but not closed; it and
/// `context` must outlive the sink. What was written before an Abort has left already.
arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeStreamSink(arrow::io::OutputStream* out, const std::string& format,
                                                                  std::shared_ptr<arrow::Schema> schema,
                                                                  runtime::QueryContext* context);

/// The same to a file, which appears at Finish.
arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeFileSink(std::unique_ptr<OutputFile> file, const std::string& format,
                                                                const CopyOptions& options, std::shared_ptr<arrow::Schema> schema,
                                                                runtime::QueryContext* context);

}  // namespace icebound::io
