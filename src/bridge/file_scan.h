// SPDX-License-Identifier: Apache-2.0
//
// A scan of the files of a table, data or deletes, whatever their formats.
//
//   Parquet    the engine's own scan (io/parquet_scan.h): row groups are handed out to the streams. The first file is opened when
//              the scan is made, for it decides how many streams there are
//   Avro       read from end to end by one stream each, after the Parquet files: the list of files is gone through again for
//              them, so that a table of a million files needs no list of those that wait
#pragma once

#include <arrow/result.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/snapshot_read.h"
#include "io/excluded_rows.h"
#include "io/parquet_scan.h"
#include "plan/table_source.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

/// A value.
struct FileToRead {
  std::string location;
  std::string format;          ///< as the manifest says
  io::FieldIdMapping mapping;  ///< what its columns do not say; its pointers outlive whoever reads the file
  /// A file without any field id is refused, unless names stand for them.
  bool is_data = false;
  /// Gives the rows to leave out, charged to the consumer; empty: none.
  std::function<arrow::Result<std::shared_ptr<const io::ExcludedRows>>(memory::MemoryConsumer* consumer)> excluded;
};

/// Thread safe.
class FileList {
 public:
  virtual ~FileList() = default;
  /// False when there is none left.
  virtual arrow::Result<bool> Next(FileToRead* file) = 0;
};

struct FileScan {
  std::shared_ptr<const SnapshotRead> read;
  std::string name;                       ///< for messages
  std::shared_ptr<arrow::Schema> schema;  ///< of the batches
  std::function<arrow::Result<std::unique_ptr<FileList>>(memory::MemoryConsumer* consumer)> list;
  std::optional<int64_t> files;  ///< about
  int64_t rows = 0;              ///< about
};

/// Filters prune row groups and pages, and drop rows exactly.
arrow::Result<std::unique_ptr<runtime::StreamSource>> ScanFiles(FileScan scan, const plan::ScanRequest& request,
                                                                runtime::QueryContext* context);

/// The rows of one file for which all of `filters` are true, as a stream of its own.
arrow::Result<std::unique_ptr<runtime::BatchStream>> ReadRows(const FileToRead& file, std::shared_ptr<arrow::Schema> schema,
                                                              std::vector<expr::ExprPtr> filters,
                                                              std::shared_ptr<const SnapshotRead> read,
                                                              runtime::QueryContext* context);

}  // namespace icebound::bridge
