// SPDX-License-Identifier: Apache-2.0
//
// Delete files as whoever reads a table knows them.
#pragma once

#include <cstdint>
#include <vector>

#include "iceberg/manifest/manifest_entry.h"

namespace icebound::iceberg {

/// A delete file as a task knows it.
struct DeleteFile {
  DataFile file;                // metrics left out
  int64_t sequence_number = 0;  // of its rows: see rule of the kind
  bool about_one_file = false;  // position deletes: a referenced data file, or path bounds that are one path
};

/// Equality delete files with one layout of keys and one kind of scope.
struct EqualityDeleteGroup {
  std::vector<int32_t> equality_ids;  // rising
  bool global = false;                // of unpartitioned specs: about every data file. Else those of its spec and partition
  int64_t files = 0;
  int64_t records = 0;
};

}  // namespace icebound::iceberg
