// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <memory>
#include <vector>

#include "bridge/file_scan.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

/// The rows of an Avro file that are not excluded and pass the filters, with the columns of `schema`: those that the file lacks
/// are what its mapping says, in the order of column_mapping.h. The consumer outlives the stream and its batches.
arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenAvroRows(const FileToRead& file, std::shared_ptr<arrow::Schema> schema,
                                                                  const std::vector<expr::ExprPtr>& filters,
                                                                  const SnapshotRead& read, runtime::QueryContext* context,
                                                                  memory::MemoryConsumer* consumer);

}  // namespace icebound::bridge
