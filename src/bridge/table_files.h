// SPDX-License-Identifier: Apache-2.0
//
// From the locations that tables write to files: the local disk's are taken verbatim (what a table names is what the file is
// called), the others go to the session's file systems.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <functional>
#include <memory>
#include <string>

#include "iceberg/catalog/catalog_context.h"
#include "iceberg/scan/manifest_source.h"
#include "io/file_systems.h"

namespace icebound::bridge {

/// `file_systems` is asked at every location that is not local. `pool` takes what reading local files allocates.
iceberg::LocationResolver ResolveLocations(std::function<io::FileSystems*()> file_systems, arrow::MemoryPool* pool);

/// Opens files that metadata names: kCorruptData for one that is not there, for then the table is damaged.
iceberg::FileOpener OpenTableFiles(iceberg::LocationResolver resolve);

}  // namespace icebound::bridge
