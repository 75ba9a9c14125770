// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/deletion_vector_blob.h"

#include <string>

#include "base/error.h"

namespace icebound::iceberg::puffin {

arrow::Result<BlobMetadata> AppendDeletionVector(std::string_view data_file, DeletionVector* vector, PuffinWriter* writer) {
  const int64_t cardinality = vector->cardinality();
  if (cardinality == 0) return MakeError(ErrorKind::kInternal, "the deletion vector of {} deletes no row", data_file);
  BlobMetadata metadata;
  metadata.type = kDeletionVectorType;
  metadata.fields = {kRowPositionFieldId};
  metadata.properties = {{"referenced-data-file", std::string(data_file)}, {"cardinality", std::to_string(cardinality)}};
  ARROW_ASSIGN_OR_RAISE(const auto blob, vector->Serialize());
  return writer->Append(std::move(metadata), {blob->data(), static_cast<size_t>(blob->size())});
}

}  // namespace icebound::iceberg::puffin
