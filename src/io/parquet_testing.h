// SPDX-License-Identifier: Apache-2.0
//
// What the tests of reading share: a directory, an engine with a ledger, files made by Arrow's own writer, and a scan collected
// into a table.
#pragma once

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/file_systems.h"
#include "io/parquet_table.h"
#include "memory/memory_ledger.h"
#include "runtime/query_context.h"
#include "spill/disk_manager.h"

namespace icebound::io::testing {

class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "icebound-io-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A session's worth of context. The ledger is checked to be empty at the end.
class Engine {
 public:
  explicit Engine(int64_t limit_mib = 64, int threads = 1, StorageProperties properties = {}) {
    memory::MemoryLedgerOptions options;
    options.limit_bytes = limit_mib << 20;
    options.inside_host = true;
    options.stall_timeout_ms = 100;
    ledger = memory::MemoryLedger::Make(options).ValueOrDie();
    spill::DiskManagerOptions disk_options;
    disk = spill::DiskManager::Make(disk_options).ValueOrDie();
    file_systems = std::make_unique<FileSystems>(std::move(properties), ledger->pool());
    context.reset(new runtime::QueryContext{
        .ledger = *ledger, .disk = *disk, .cancellation = cancellation, .metrics = metrics, .threads = threads});
  }

  arrow::Result<std::shared_ptr<ParquetTable>> Open(const std::string& path) {
    return ParquetTable::Open(file_systems.get(), path, ledger.get());
  }

  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<spill::DiskManager> disk;
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry metrics;
  std::unique_ptr<FileSystems> file_systems;
  std::unique_ptr<runtime::QueryContext> context;
};

struct WriteOptions {
  int64_t row_group_rows = 1 << 20;
  bool store_schema = true;
  /// Last word on the Parquet properties.
  std::function<void(parquet::WriterProperties::Builder*)> adjust;
};

inline void WriteFile(const std::string& path, const arrow::Table& table, const WriteOptions& options = {}) {
  parquet::WriterProperties::Builder properties;
  if (options.adjust) options.adjust(&properties);
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (options.store_schema) arrow_properties.store_schema();
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  const arrow::Status status = parquet::arrow::WriteTable(table, arrow::default_memory_pool(), file, options.row_group_rows,
                                                          properties.build(), arrow_properties.build());
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(file->Close().ok());
}

/// All columns, in order.
inline ParquetScanRequest WholeTable(const ParquetTable& table) {
  ParquetScanRequest request;
  for (int i = 0; i < table.schema()->num_fields(); ++i) request.projection.push_back(i);
  return request;
}

/// Runs a scan on one stream and copies its batches, so that the ledger's memory is free afterwards.
inline arrow::Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Collect(const ParquetTable& table,
                                                                               ParquetScanRequest request, Engine* engine) {
  request.ordered = true;
  ARROW_ASSIGN_OR_RAISE(auto source, table.Scan(std::move(request), engine->context.get()));
  ARROW_ASSIGN_OR_RAISE(auto stream, source->OpenStream());
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (batch == nullptr) return batches;
    arrow::ArrayVector columns;
    for (const auto& column : batch->columns()) {
      ARROW_ASSIGN_OR_RAISE(auto copy, arrow::Concatenate({column}, arrow::default_memory_pool()));
      columns.push_back(std::move(copy));
    }
    batches.push_back(arrow::RecordBatch::Make(batch->schema(), batch->num_rows(), std::move(columns)));
  }
}

inline arrow::Result<std::shared_ptr<arrow::Table>> ReadTable(const std::string& path, Engine* engine) {
  ARROW_ASSIGN_OR_RAISE(auto table, engine->Open(path));
  ARROW_ASSIGN_OR_RAISE(auto batches, Collect(*table, WholeTable(*table), engine));
  return arrow::Table::FromRecordBatches(table->schema(), batches);
}

inline std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

}  // namespace icebound::io::testing
