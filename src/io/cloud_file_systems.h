// SPDX-License-Identifier: Apache-2.0
//
// Clients of remote stores from storage properties. The names are PyIceberg's (its "Configuration" page, FileIO section);
// `client.*` serves where the `s3.*` name is missing, and the environment where both are.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "io/file_systems.h"

namespace icebound::io {

/// A client for `authority` (a bucket, or container@account.host) of the store "s3", "gs" or "abfs". `context` gives it memory
/// and threads.
arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeCloudFileSystem(const std::string& scheme, const std::string& authority,
                                                                          const StorageProperties& properties,
                                                                          const arrow::io::IOContext& context);

}  // namespace icebound::io
