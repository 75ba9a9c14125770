// SPDX-License-Identifier: Apache-2.0
//
// The formats that write rows one after another: what a file (make_sink.cc) and standard output (stream_sink.cc) share. Parquet
// is not one of them: it needs a file and has its own writer.
//
//   csv      RFC 4180 with LF, a header line, NULL as nothing and the empty string as ""; options: delimiter, header, null
//   json     one array of objects;  jsonl: an object a line
//   arrow    the Arrow IPC file format; option compression: none, lz4 or zstd
//   table    columns aligned for people, widths from the first batch
//
// Values become text as value_text.h says.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/copy_options.h"
#include "io/format/text_out.h"

namespace icebound::io {

/// Turns batches into the bytes of one format on a stream. Begin, Write..., End, each once and in this order. Not thread safe.
class BatchFormat {
 public:
  virtual ~BatchFormat() = default;
  virtual arrow::Status Begin() = 0;
  virtual arrow::Status Write(const arrow::RecordBatch& batch) = 0;
  virtual arrow::Status End() = 0;
};

/// What a format needs. `out`, and the owner of `pool`, must outlive it.
struct FormatTarget {
  arrow::io::OutputStream* out = nullptr;
  std::shared_ptr<arrow::Schema> schema;
  arrow::MemoryPool* pool = nullptr;
  bool is_file = true;  ///< false: whoever reads it cannot seek
};

/// kInvalidInput for an unknown format, or an option that is not one of the format's.
arrow::Result<std::unique_ptr<BatchFormat>> MakeBatchFormat(std::string_view format, const CopyOptions& options,
                                                            FormatTarget target);

arrow::Result<std::unique_ptr<BatchFormat>> MakeCsvFormat(const CopyOptions& options, FormatTarget target);
arrow::Result<std::unique_ptr<BatchFormat>> MakeJsonFormat(const CopyOptions& options, FormatTarget target, bool lines);
arrow::Result<std::unique_ptr<BatchFormat>> MakeIpcFormat(const CopyOptions& options, FormatTarget target);
arrow::Result<std::unique_ptr<BatchFormat>> MakeTableFormat(const CopyOptions& options, FormatTarget target);

}  // namespace icebound::io
