// SPDX-License-Identifier: Apache-2.0
#include "io/format/batch_format.h"

#include "base/error.h"

namespace icebound::io {
arrow::Result<std::unique_ptr<BatchFormat>> MakeBatchFormat(std::string_view format, const CopyOptions& options,
                                                            FormatTarget target) {
  if (format == "csv") return MakeCsvFormat(options, std::move(target));
  if (format == "json") return MakeJsonFormat(options, std::move(target), /*lines=*/false);
  if (format == "jsonl") return MakeJsonFormat(options, std::move(target), /*lines=*/true);
  if (format == "arrow") return MakeIpcFormat(options, std::move(target));
  if (format == "table") return MakeTableFormat(options, std::move(target));
  return MakeError(ErrorKind::kInvalidInput, "unknown output format \"{}\": known are parquet, csv, json, jsonl and arrow",
                   format);
}

}  // namespace icebound::io
