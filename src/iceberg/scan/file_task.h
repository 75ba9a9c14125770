// SPDX-License-Identifier: Apache-2.0
//
// What a scan of a snapshot consists of: data files, each with the deletes that may be about its rows.
//
// Deletes come in three kinds, and only two of them are lists of a file task:
//
//   deletion vector     at most one a data file: a bitmap in a Puffin file. It stands for every position delete of its file
//   position deletes    files of (path, position). Those about one data file alone are named in its task; those about several
//                       (`shared`) are too: whoever reads them sorts them once for all tasks
//   equality deletes    files of keys. Never a list of a task: a table with 500 of each has 125,000 pairs. A scan names the
//                       groups of such files (EqualityDeleteGroup), and the rows they delete are found by one join a group:
//                       a data row goes when a delete of its scope has its key (NULL equals NULL) and a higher sequence number
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/deletes/delete_file.h"
#include "iceberg/manifest/manifest_entry.h"

namespace icebound::iceberg {

/// One data file to read, with everything about positions. A value; what it holds is charged to the planner's consumer by who
/// keeps it.
struct FileTask {
  DataFile file;
  int64_t sequence_number = 0;  // of the data: the deletes of a higher one (position deletes: the same or a higher) apply
  std::optional<int64_t> file_sequence_number;
  std::optional<DeleteFile> deletion_vector;
  std::vector<std::shared_ptr<const DeleteFile>> position_deletes;  // none beside a deletion vector
  /// Some equality delete of its scope has a higher sequence number. False: its rows need not go through the join.
  bool has_equality_deletes = false;
  /// The filter holds for every row of the file, as its partition says. (Metrics never say that: bounds are not exact.)
  bool filter_always_true = false;
};

}  // namespace icebound::iceberg
