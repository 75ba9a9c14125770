// SPDX-License-Identifier: Apache-2.0
//
// The option map of COPY ... TO (names in lower case, values as text), read with checks: every option must be known to the
// format, every value must parse. Messages name the option, the text and, for an unknown one, the nearest known name.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "icebound/result.h"

namespace icebound::io {

using CopyOptions = std::map<std::string, std::string>;

/// kInvalidInput for an option that is not in `known`; `format` is for the message.
arrow::Status CheckOptionNames(const CopyOptions& options, std::span<const std::string_view> known, std::string_view format);

/// The value of `name`, if given. Integers must be whole and lie in [minimum, maximum].
arrow::Result<std::optional<int64_t>> IntegerOption(const CopyOptions& options, std::string_view name, int64_t minimum,
                                                    int64_t maximum);
/// Bytes: a number with an optional unit (B, KB, MB, GB, TB, KiB, ..., 1024-based), at least 1.
arrow::Result<std::optional<int64_t>> BytesOption(const CopyOptions& options, std::string_view name);
/// true/false, on/off, yes/no, 1/0; an empty value means true, as in COPY ... (HEADER).
arrow::Result<std::optional<bool>> BooleanOption(const CopyOptions& options, std::string_view name);
std::optional<std::string> TextOption(const CopyOptions& options, std::string_view name);

/// The options of FORMAT parquet: compression, compression_level, row_group_size (or row_group_rows), row_group_size_bytes,
/// file_size_bytes.
arrow::Result<ParquetWriteOptions> ParseParquetOptions(const CopyOptions& options);

/// Checks what ParseParquetOptions, or a caller of the library, filled in.
arrow::Status CheckParquetOptions(const ParquetWriteOptions& options);

}  // namespace icebound::io
