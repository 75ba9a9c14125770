// SPDX-License-Identifier: Apache-2.0
#include "io/cloud_file_systems.h"

#include "base/error.h"

namespace icebound::io {

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeCloudFileSystem(const std::string& scheme, const std::string& authority,
                                                                          const StorageProperties& properties, arrow::MemoryPool* pool) {
  return MakeError(ErrorKind::kUnsupported, "{}://{}: remote stores are not connected yet", scheme, authority);
}

}  // namespace icebound::io
