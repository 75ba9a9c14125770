// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/manifest_source.h"

#include "base/error.h"

namespace icebound::iceberg {

arrow::Result<std::unique_ptr<ManifestSource>> ManifestSource::Open(const Snapshot& snapshot, const FileOpener& open,
                                                                    memory::MemoryConsumer* consumer) {
  std::unique_ptr<ManifestSource> source(new ManifestSource(snapshot));
  if (snapshot.manifest_list.empty()) return source;
  auto file = open(snapshot.manifest_list);
  if (!file.ok()) {
    return WithContext(file.status(), ErrorKind::kIo, fmt::format("manifest list of snapshot {}", snapshot.snapshot_id));
  }
  ARROW_ASSIGN_OR_RAISE(source->list_, ManifestListReader::Open(*std::move(file), snapshot.manifest_list, consumer));
  return source;
}

arrow::Result<bool> ManifestSource::Next(ManifestFile* manifest) {
  if (list_ != nullptr) return list_->Next(manifest);
  if (next_manifest_ == snapshot_.manifests.size()) return false;
  *manifest = ManifestFile();
  manifest->path = snapshot_.manifests[next_manifest_++];
  manifest->added_snapshot_id = snapshot_.snapshot_id;
  return true;
}

}  // namespace icebound::iceberg
