// SPDX-License-Identifier: Apache-2.0
//
// A deletion vector as a blob of a Puffin file: what the table format says of its metadata.
//
//   fields                [2147483645], the id of a row's position
//   snapshot-id           -1: given when the commit succeeds, so nobody knows it yet
//   sequence-number       -1, likewise
//   compression-codec     none
//   referenced-data-file  whose rows are deleted, as the manifest names it
//   cardinality           how many rows
//
// The manifest entry of the vector repeats offset and length (content_offset, content_size_in_bytes) and the data file; one
// Puffin file holds the vectors of many data files.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string_view>

#include "iceberg/puffin/deletion_vector.h"
#include "iceberg/puffin/puffin_file.h"

namespace icebound::iceberg::puffin {

constexpr int32_t kRowPositionFieldId = 2147483645;

/// Writes the vector; the result has offset and length for its manifest entry. An empty vector is kInternal: it deletes nothing.
arrow::Result<BlobMetadata> AppendDeletionVector(std::string_view data_file, DeletionVector* vector, PuffinWriter* writer);

}  // namespace icebound::iceberg::puffin
