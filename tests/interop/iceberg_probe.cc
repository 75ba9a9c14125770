// SPDX-License-Identifier: Apache-2.0
//
// Lets the tests of this folder look at tables of other writers through our eyes:
//
//   iceberg_probe metadata FILE       reads a metadata file and prints it as we would write it
//   iceberg_probe entries FILE        prints the manifests and the entries of the current snapshot, a JSON object a line
//
// Files of the table are local: paths or file:// URIs.
#include <arrow/io/file.h>

#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "iceberg/manifest/manifest_reader.h"
#include "local_table.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {
namespace {

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

void WriteOptional(std::string_view name, const std::optional<int64_t>& value, JsonWriter* writer) {
  if (value) writer->IntMember(name, *value);
}

void WriteCounts(std::string_view name, const ColumnCounts& counts, JsonWriter* writer) {
  writer->Key(name);
  writer->BeginObject();
  for (const auto& [column, count] : counts) writer->IntMember(std::to_string(column), count);
  writer->EndObject();
}

void WriteBounds(std::string_view name, const ColumnBytes& bounds, JsonWriter* writer) {
  writer->Key(name);
  writer->BeginObject();
  for (const auto& [column, bytes] : bounds) writer->StringMember(std::to_string(column), Hex(bytes));
  writer->EndObject();
}

std::string EntryLine(const ManifestEntry& entry, const ManifestReader& reader) {
  std::string line;
  JsonWriter writer(&line);
  const DataFile& file = entry.file;
  writer.BeginObject();
  writer.StringMember("status", ToString(entry.status));
  WriteOptional("snapshot_id", entry.snapshot_id, &writer);
  WriteOptional("sequence_number", entry.sequence_number, &writer);
  WriteOptional("file_sequence_number", entry.file_sequence_number, &writer);
  writer.StringMember("content", ToString(file.content));
  writer.StringMember("file_path", file.file_path);
  writer.StringMember("file_format", file.file_format);
  writer.IntMember("spec_id", file.spec_id);
  writer.StringMember("partition_path", reader.spec().Path(*reader.tuple_type(), file.partition));
  writer.IntMember("record_count", file.record_count);
  writer.IntMember("file_size_in_bytes", file.file_size_bytes);
  WriteCounts("column_sizes", file.column_sizes, &writer);
  WriteCounts("value_counts", file.value_counts, &writer);
  WriteCounts("null_value_counts", file.null_value_counts, &writer);
  WriteCounts("nan_value_counts", file.nan_value_counts, &writer);
  WriteBounds("lower_bounds", file.lower_bounds, &writer);
  WriteBounds("upper_bounds", file.upper_bounds, &writer);
  writer.IntListMember("equality_ids", file.equality_ids);
  writer.Key("split_offsets");
  writer.BeginArray();
  for (const int64_t offset : file.split_offsets) writer.Int(offset);
  writer.EndArray();
  WriteOptional("first_row_id", file.first_row_id, &writer);
  writer.EndObject();
  return line;
}

std::string ManifestLine(const ManifestFile& manifest) {
  std::string line;
  JsonWriter writer(&line);
  writer.BeginObject();
  writer.StringMember("manifest_path", manifest.path);
  writer.IntMember("manifest_length", manifest.length_bytes);
  writer.IntMember("partition_spec_id", manifest.spec_id);
  writer.IntMember("sequence_number", manifest.sequence_number);
  writer.IntMember("min_sequence_number", manifest.min_sequence_number);
  writer.IntMember("added_snapshot_id", manifest.added_snapshot_id);
  WriteOptional("added_files_count", manifest.added_files, &writer);
  WriteOptional("existing_files_count", manifest.existing_files, &writer);
  WriteOptional("deleted_files_count", manifest.deleted_files, &writer);
  WriteOptional("added_rows_count", manifest.added_rows, &writer);
  WriteOptional("existing_rows_count", manifest.existing_rows, &writer);
  WriteOptional("deleted_rows_count", manifest.deleted_rows, &writer);
  WriteOptional("first_row_id", manifest.first_row_id, &writer);
  writer.Key("partitions");
  writer.BeginArray();
  for (const FieldSummary& summary : manifest.partitions) {
    writer.BeginObject();
    writer.BoolMember("contains_null", summary.contains_null);
    if (summary.contains_nan) writer.BoolMember("contains_nan", *summary.contains_nan);
    if (summary.lower) writer.StringMember("lower_bound", Hex(*summary.lower));
    if (summary.upper) writer.StringMember("upper_bound", Hex(*summary.upper));
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return line;
}

arrow::Status PrintEntries(const TableMetadata& table, memory::MemoryConsumer* consumer) {
  const Snapshot* snapshot = table.current_snapshot();
  if (snapshot == nullptr) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(auto list, arrow::io::ReadableFile::Open(LocalPath(snapshot->manifest_list)));
  ARROW_ASSIGN_OR_RAISE(auto manifests, ManifestListReader::Open(list, snapshot->manifest_list, consumer));
  ManifestFile manifest;
  ManifestEntry entry;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more_manifests, manifests->Next(&manifest));
    if (!more_manifests) return arrow::Status::OK();
    std::cout << ManifestLine(manifest) << "\n";
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(LocalPath(manifest.path)));
    ManifestReadOptions options;
    options.consumer = consumer;
    options.live_only = false;
    ARROW_ASSIGN_OR_RAISE(auto reader, ManifestReader::Open(file, manifest, table, options));
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(const bool more_entries, reader->Next(&entry));
      if (!more_entries) break;
      std::cout << EntryLine(entry, *reader) << "\n";
    }
  }
}

arrow::Status Run(const std::string& command, const std::string& path) {
  memory::MemoryLedgerOptions options;
  options.limit_bytes = int64_t{64} << 20;
  options.inside_host = true;
  ARROW_ASSIGN_OR_RAISE(const auto ledger, memory::MemoryLedger::Make(options));
  const auto consumer = ledger->AddConsumer("probe");
  ARROW_ASSIGN_OR_RAISE(const TableMetadata table, ReadMetadata(path, consumer->pool()));
  if (command == "entries") return PrintEntries(table, consumer.get());
  if (command != "metadata") return MakeError(ErrorKind::kInvalidInput, "no command '{}'", command);
  std::cout << table.ToJson() << "\n";
  return arrow::Status::OK();
}

}  // namespace
}  // namespace icebound::iceberg

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: iceberg_probe metadata|entries FILE\n");
    return 2;
  }
  const arrow::Status status = icebound::iceberg::Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return icebound::ExitCode(status);
}
