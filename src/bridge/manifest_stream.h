// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <memory>

#include "iceberg/catalog/catalog_context.h"
#include "iceberg/manifest/manifest_file.h"
#include "iceberg/manifest/manifest_reader.h"
#include "iceberg/spec/table_metadata.h"
#include "memory/memory_ledger.h"

namespace icebound::bridge {

/// The manifests of one snapshot, as its list tells them; old v1 snapshots name theirs themselves. Not thread safe. The snapshot
/// and the consumer outlive it.
class ManifestStream {
 public:
  static arrow::Result<std::unique_ptr<ManifestStream>> Open(const iceberg::Snapshot& snapshot,
                                                             const iceberg::LocationResolver& resolve,
                                                             memory::MemoryConsumer* consumer);
  /// False when there is none left.
  arrow::Result<bool> Next(iceberg::ManifestFile* manifest);

 private:
  ManifestStream(const iceberg::Snapshot& snapshot, iceberg::LocationResolver resolve, memory::MemoryConsumer* consumer)
      : snapshot_(snapshot), resolve_(std::move(resolve)), consumer_(consumer) {}

  const iceberg::Snapshot& snapshot_;
  const iceberg::LocationResolver resolve_;
  memory::MemoryConsumer* const consumer_;
  std::unique_ptr<iceberg::ManifestListReader> list_;  // null: the snapshot names its manifests
  size_t next_ = 0;
};

}  // namespace icebound::bridge
