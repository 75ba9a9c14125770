// SPDX-License-Identifier: Apache-2.0
#include "bridge/table_files.h"

#include "base/error.h"

namespace icebound::bridge {

iceberg::LocationResolver ResolveLocations(std::function<io::FileSystems*()> file_systems, arrow::MemoryPool* pool) {
  return [file_systems = std::move(file_systems),
          local = iceberg::ResolveLocalLocations(pool)](const std::string& location) -> arrow::Result<iceberg::StoredPath> {
    const std::string scheme = io::SchemeOf(location);
    if (scheme.empty() || scheme == "file") return local(location);
    ARROW_ASSIGN_OR_RAISE(io::Location found, file_systems()->Resolve(location));
    return iceberg::StoredPath{std::move(found.file_system), std::move(found.path)};
  };
}

iceberg::FileOpener OpenTableFiles(iceberg::LocationResolver resolve) {
  return
      [resolve = std::move(resolve)](const std::string& location) -> arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> {
        const auto fail = [&](const arrow::Status& status) {
          return WithContext(status, ErrorKind::kIo, fmt::format("opening {}", location));
        };
        const auto stored = resolve(location);
        if (!stored.ok()) return fail(stored.status());
        const auto info = stored->file_system->GetFileInfo(stored->path);
        if (!info.ok()) return fail(info.status());
        if (info->type() != arrow::fs::FileType::File) {
          return MakeError(ErrorKind::kCorruptData, "the table names {}, which is {}", location,
                           info->type() == arrow::fs::FileType::NotFound ? "not there" : "no file");
        }
        auto file = stored->file_system->OpenInputFile(*info);
        if (!file.ok()) return fail(file.status());
        return file;
      };
}

}  // namespace icebound::bridge
