// SPDX-License-Identifier: Apache-2.0
#include "iceberg/manifest/manifest_entry.h"

#include <algorithm>

namespace icebound::iceberg {
namespace {

template <typename Pairs>
const typename Pairs::value_type::second_type* Find(const Pairs& pairs, int32_t field_id) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == field_id; });
  return found == pairs.end() ? nullptr : &found->second;
}

}  // namespace

std::string_view ToString(EntryStatus status) {
  switch (status) {
    case EntryStatus::kExisting:
      return "EXISTING";
    case EntryStatus::kAdded:
      return "ADDED";
    case EntryStatus::kDeleted:
      return "DELETED";
  }
  return "";
}

std::string_view ToString(FileContent content) {
  switch (content) {
    case FileContent::kData:
      return "data";
    case FileContent::kPositionDeletes:
      return "position deletes";
    case FileContent::kEqualityDeletes:
      return "equality deletes";
  }
  return "";
}

const int64_t* FindColumn(const ColumnCounts& counts, int32_t field_id) { return Find(counts, field_id); }
const std::string* FindColumn(const ColumnBytes& bytes, int32_t field_id) { return Find(bytes, field_id); }

bool DataFile::is_deletion_vector() const {
  constexpr std::string_view kPuffin = "puffin";
  return content == FileContent::kPositionDeletes &&
         std::equal(file_format.begin(), file_format.end(), kPuffin.begin(), kPuffin.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

void DataFile::Clear() {
  content = FileContent::kData;
  file_path.clear();
  file_format.clear();
  partition.clear();
  record_count = -1;
  file_size_bytes = -1;
  column_sizes.clear();
  value_counts.clear();
  null_value_counts.clear();
  nan_value_counts.clear();
  lower_bounds.clear();
  upper_bounds.clear();
  key_metadata.reset();
  split_offsets.clear();
  equality_ids.clear();
  sort_order_id.reset();
  first_row_id.reset();
  referenced_data_file.reset();
  content_offset.reset();
  content_size_bytes.reset();
}

}  // namespace icebound::iceberg
