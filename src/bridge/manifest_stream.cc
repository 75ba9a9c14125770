// SPDX-License-Identifier: Apache-2.0
#include "bridge/manifest_stream.h"

#include "base/error.h"
#include "bridge/table_files.h"

namespace icebound::bridge {

using iceberg::ManifestFile;

arrow::Result<std::unique_ptr<ManifestStream>> ManifestStream::Open(const iceberg::Snapshot& snapshot,
                                                                    const iceberg::LocationResolver& resolve,
                                                                    memory::MemoryConsumer* consumer) {
  std::unique_ptr<ManifestStream> stream(new ManifestStream(snapshot, resolve, consumer));
  if (snapshot.manifest_list.empty()) return stream;
  ARROW_ASSIGN_OR_RAISE(auto file, OpenTableFile(resolve, snapshot.manifest_list, "manifest list"));
  ARROW_ASSIGN_OR_RAISE(stream->list_, iceberg::ManifestListReader::Open(std::move(file), snapshot.manifest_list, consumer));
  return stream;
}

arrow::Result<bool> ManifestStream::Next(ManifestFile* manifest) {
  if (list_ != nullptr) return list_->Next(manifest);
  if (next_ == snapshot_.manifests.size()) return false;
  *manifest = ManifestFile();
  manifest->path = snapshot_.manifests[next_++];
  // What no list tells stands in the manifest itself, or nowhere.
  manifest->added_snapshot_id = snapshot_.snapshot_id;
  ARROW_ASSIGN_OR_RAISE(const auto file, OpenTableFile(resolve_, manifest->path, "manifest"));
  ARROW_ASSIGN_OR_RAISE(manifest->length_bytes, file->GetSize());
  return true;
}

}  // namespace icebound::bridge
