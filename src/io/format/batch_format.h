// SPDX-License-Identifier: Apache-2.0
//
// The formats that write rows one after another: what a file (make_sink.cc) and standard output (stream_sink.cc) share. Parquet
// is not one of them: it needs a file and has its own writer.
//
//   csv      RFC 4180, a header line, NULL as nothing and the empty string as ""; options: delimiter, header, null
//   json     one array of objects;  jsonl: an object a line. Integers and floats are numbers (NaN and infinities strings),
//            decimals strings, dates and times ISO 8601 (zoned ones in UTC with Z), binary base64, UUIDs text, lists arrays,
//            structs objects, maps arrays of {"key", "value"}
//   arrow    the Arrow IPC file format
//   table    columns aligned for people, widths from the first batch
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/copy_options.h"

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
};

/// kInvalidInput for an unknown format, or an option that is not one of the format's.
arrow::Result<std::unique_ptr<BatchFormat>> MakeBatchFormat(std::string_view format, const CopyOptions& options,
                                                            FormatTarget target);

arrow::Result<std::unique_ptr<BatchFormat>> MakeCsvFormat(const CopyOptions& options, FormatTarget target);
arrow::Result<std::unique_ptr<BatchFormat>> MakeJsonFormat(const CopyOptions& options, FormatTarget target, bool lines);
arrow::Result<std::unique_ptr<BatchFormat>> MakeIpcFormat(const CopyOptions& options, FormatTarget target);
arrow::Result<std::unique_ptr<BatchFormat>> MakeTableFormat(const CopyOptions& options, FormatTarget target);

/// Bytes on their way to a stream, in pieces of about 64 KiB; what is larger goes straight through, so that memory stays small
/// whatever a cell holds.
class TextBuffer {
 public:
  explicit TextBuffer(arrow::io::OutputStream* out) : out_(out) { text_.reserve(kFlushBytes); }
  arrow::Status Append(std::string_view text) {
    if (text_.size() + text.size() > kFlushBytes) {
      ARROW_RETURN_NOT_OK(Flush());
      if (text.size() > kFlushBytes) return out_->Write(text.data(), static_cast<int64_t>(text.size()));
    }
    text_.append(text);
    return arrow::Status::OK();
  }
  arrow::Status Flush() {
    ARROW_RETURN_NOT_OK(out_->Write(text_.data(), static_cast<int64_t>(text_.size())));
    text_.clear();
    return arrow::Status::OK();
  }

 private:
  static constexpr size_t kFlushBytes = size_t{64} << 10;

  arrow::io::OutputStream* const out_;
  std::string text_;
};

/// The columns of a batch as SQL's text (CAST AS text), for csv and table. Nested values come in Arrow's notation.
arrow::Result<std::vector<std::shared_ptr<arrow::StringArray>>> ColumnsAsText(const arrow::RecordBatch& batch,
                                                                              arrow::MemoryPool* pool);

}  // namespace icebound::io
