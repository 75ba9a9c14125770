// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "io/copy_options.h"
#include "io/file_systems.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// The sink of COPY (query) TO 'path' (options): the format is options["format"], or else the extension of `path` (.parquet,
/// .csv, .arrow, .jsonl, .json). Fails before anything runs on unknown formats and options, bad values and bad paths.
arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeSink(const std::string& path, const CopyOptions& options,
                                                            std::shared_ptr<arrow::Schema> schema, FileSystems* file_systems,
                                                            runtime::QueryContext* context);

}  // namespace icebound::io
