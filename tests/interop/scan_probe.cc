// SPDX-License-Identifier: Apache-2.0
//
// Plans a scan of a table of another writer, for the tests of this folder:
//
//   scan_probe [--counts] METADATA_FILE [FILTER]
//
// prints the file tasks of the current snapshot, a JSON object a line, then one with the counts (that one alone, if asked).
// FILTER is in the notation of expr/test_language.h; column $n is the n-th of the current schema. Files of the table are local:
// paths or file:// URIs.
#include <arrow/io/file.h>

#include <cstdio>
#include <iostream>

#include "expr/test_language.h"
#include "iceberg/scan/table_scan.h"
#include "iceberg/spec/arrow_schema.h"
#include "local_table.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {
namespace {

void PrintTask(const FileTask& task) {
  std::string line;
  JsonWriter writer(&line);
  writer.BeginObject();
  writer.StringMember("file", task.file.file_path);
  writer.IntMember("sequence_number", task.sequence_number);
  writer.BoolMember("always_true", task.filter_always_true);
  writer.BoolMember("equality_deletes", task.has_equality_deletes);
  writer.Key("deletes");
  writer.BeginArray();
  if (task.deletion_vector) writer.String(task.deletion_vector->file.file_path);
  for (const auto& file : task.position_deletes) writer.String(file->file.file_path);
  writer.EndArray();
  writer.EndObject();
  std::cout << line << "\n";
}

void PrintCounts(const ScanCounts& counts, int64_t matched_deletes, int64_t peak_bytes) {
  std::string line;
  JsonWriter writer(&line);
  writer.BeginObject();
  writer.IntMember("data_manifests", counts.data_manifests);
  writer.IntMember("data_manifests_left_out", counts.data_manifests_left_out);
  writer.IntMember("data_files_left_out", counts.data_files_left_out);
  writer.IntMember("delete_files", counts.delete_files);
  writer.IntMember("tasks", counts.tasks);
  writer.IntMember("matched_deletes", matched_deletes);
  writer.IntMember("peak_bytes", peak_bytes);
  writer.EndObject();
  std::cout << line << "\n";
}

arrow::Status Run(const std::string& path, const std::string& filter, bool counts_only) {
  memory::MemoryLedgerOptions ledger_options;
  ledger_options.limit_bytes = int64_t{64} << 20;
  ledger_options.inside_host = true;
  ARROW_ASSIGN_OR_RAISE(const auto ledger, memory::MemoryLedger::Make(ledger_options));
  const auto consumer = ledger->AddConsumer("probe");
  ScanOptions options;
  ARROW_ASSIGN_OR_RAISE(TableMetadata table, ReadMetadata(path, consumer->pool()));
  options.table = std::make_shared<const TableMetadata>(std::move(table));
  options.snapshot = options.table->current_snapshot();
  options.consumer = consumer.get();
  options.open = [](const std::string& location) -> arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> {
    return arrow::io::ReadableFile::Open(LocalPath(location));
  };
  if (!filter.empty()) {
    const auto schema = ToArrowSchema(options.table->current_schema());
    ARROW_ASSIGN_OR_RAISE(const auto parsed, expr::ParseTest(filter, schema.get()));
    options.filters = expr::SplitConjunction(parsed);
    for (const Field& field : options.table->current_schema().fields()) options.filter_field_ids.push_back(field.id);
  }
  ARROW_ASSIGN_OR_RAISE(const auto scan, TableScan::Open(options));
  int64_t matched_deletes = 0;
  for (;;) {
    FileTask task;
    ARROW_ASSIGN_OR_RAISE(const bool more, scan->Next(&task));
    if (!more) break;
    matched_deletes += static_cast<int64_t>(task.position_deletes.size()) + (task.deletion_vector ? 1 : 0);
    if (!counts_only) PrintTask(task);
  }
  PrintCounts(scan->counts(), matched_deletes, ledger->peak_bytes());
  return arrow::Status::OK();
}

}  // namespace
}  // namespace icebound::iceberg

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool counts_only = !words.empty() && words[0] == "--counts";
  if (counts_only) words.erase(words.begin());
  if (words.empty() || words.size() > 2) {
    std::fprintf(stderr, "usage: scan_probe [--counts] METADATA_FILE [FILTER]\n");
    return 2;
  }
  const arrow::Status status = icebound::iceberg::Run(words[0], words.size() == 2 ? words[1] : "", counts_only);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return icebound::ExitCode(status);
}
