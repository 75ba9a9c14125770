// SPDX-License-Identifier: Apache-2.0
#include "io/make_sink.h"

#include "base/error.h"
#include "io/output_file.h"
#include "io/parquet_writer.h"
#include "io/stream_sink.h"

namespace icebound::io {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return text;
}

arrow::Result<std::string> FormatOf(const std::string& path, const CopyOptions& options) {
  if (auto format = TextOption(options, "format")) return Lower(*format);
  const size_t slash = path.find_last_of('/');
  const size_t dot = path.find_last_of('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) {
    return MakeError(ErrorKind::kInvalidInput, "cannot tell the format of {}: give it an extension or the option FORMAT", path);
  }
  return Lower(path.substr(dot + 1));
}

}  // namespace

arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeSink(const std::string& path, const CopyOptions& options,
                                                            std::shared_ptr<arrow::Schema> schema, FileSystems* file_systems,
                                                            runtime::QueryContext* context) {
  ARROW_ASSIGN_OR_RAISE(const std::string format, FormatOf(path, options));
  if (format == "parquet") {
    ARROW_ASSIGN_OR_RAISE(ParquetWriteOptions parsed, ParseParquetOptions(options));
    return ParquetWriter::Make(parsed, std::move(schema), path, file_systems, context);
  }
  if (format != "csv" && format != "json" && format != "jsonl" && format != "arrow") {
    return MakeError(ErrorKind::kInvalidInput, "unknown output format \"{}\": known are parquet, csv, json, jsonl and arrow",
                     format);
  }
  ARROW_ASSIGN_OR_RAISE(const Location location, file_systems->Resolve(path));
  ARROW_ASSIGN_OR_RAISE(auto file, OutputFile::Create(location));
  return MakeFileSink(std::move(file), format, options, std::move(schema), context);
}

}  // namespace icebound::io
