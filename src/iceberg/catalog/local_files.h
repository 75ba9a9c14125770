// SPDX-License-Identifier: Apache-2.0
//
// The steps on a local disk that Arrow's file systems do not have: exclusive creation, and writes that survive a power cut.
#pragma once

#include <arrow/result.h>

#include <span>
#include <string>

namespace icebound::iceberg {

/// Creates `path`, with the directories above it, writes and syncs it and its directory. kInvalidInput when it exists. Nothing is
/// left after a failure.
arrow::Status WriteNewLocalFile(const std::string& path, std::span<const uint8_t> bytes);

/// Gives the file `staged` the name `path`, unless that is taken (kCommitConflict). kCommitUnknown when whether it has the name
/// cannot be found out, or a power cut may take it again. `staged` is gone afterwards unless that is unknown.
arrow::Status PublishLocalFile(const std::string& staged, const std::string& path);

/// Makes `path` a file of `bytes`, in one step.
arrow::Status ReplaceLocalFile(const std::string& path, std::span<const uint8_t> bytes);

}  // namespace icebound::iceberg
