// SPDX-License-Identifier: Apache-2.0
//
// The manifests of a snapshot, whether a manifest list names them or (old v1 tables) the snapshot itself.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <functional>
#include <memory>
#include <string>

#include "iceberg/manifest/manifest_file.h"
#include "iceberg/manifest/manifest_reader.h"
#include "iceberg/spec/snapshot.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {

/// Opens the file at a location as tables write them, verbatim. Thread safe; its failures name the location.
using FileOpener = std::function<arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>>(const std::string& location)>;

/// Not thread safe. The snapshot, the opener and the consumer must outlive it.
class ManifestSource {
 public:
  static arrow::Result<std::unique_ptr<ManifestSource>> Open(const Snapshot& snapshot, const FileOpener& open,
                                                             memory::MemoryConsumer* consumer);

  /// Fills `manifest`; false when there is none left.
  arrow::Result<bool> Next(ManifestFile* manifest);

 private:
  explicit ManifestSource(const Snapshot& snapshot) : snapshot_(snapshot) {}

  const Snapshot& snapshot_;
  std::unique_ptr<ManifestListReader> list_;  // null: the snapshot's own
  size_t next_manifest_ = 0;                  // of the snapshot's own
};

}  // namespace icebound::iceberg
