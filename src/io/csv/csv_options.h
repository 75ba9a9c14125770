// SPDX-License-Identifier: Apache-2.0
//
// How a CSV file is read, said in text.
//
//   delimiter, quote, escape    one character; quote 'none': nothing is quoted; '\t' and 'tab' are a tab
//   header                      true or false
//   columns                     names, 'a,b,c'
//   null_string                 a value that is NULL; may be given several times
//   types                       'price=double, id=text', with SQL's names: boolean smallint integer bigint real double
//                               decimal(p,s) date time timestamp timestamptz text bytea
//   sample_bytes                '4MiB'
#pragma once

#include <arrow/result.h>

#include <span>
#include <string>
#include <utility>

#include "icebound/source_options.h"

namespace icebound::io {

/// kInvalidInput for an unknown name or a value that does not parse, quoting it.
arrow::Result<CsvReadOptions> ParseCsvOptions(std::span<const std::pair<std::string, std::string>> options);

}  // namespace icebound::io
