// SPDX-License-Identifier: Apache-2.0
#include "iceberg/manifest/manifest_reader.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "iceberg/manifest/partition_value.h"

namespace icebound::iceberg {
namespace {

/// A whole number of the header's metadata; nullopt when it does not stand there.
arrow::Result<std::optional<int32_t>> HeaderNumber(const avro::RecordReader& records, std::string_view key) {
  const auto text = records.metadata(key);
  if (!text) return std::optional<int32_t>();
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) {
    return MakeError(ErrorKind::kCorruptData, "its header says {} '{}', which is no number", key, *text);
  }
  return std::optional<int32_t>(number);
}

/// Field ids are ints; a writer that is in use writes longs.
arrow::Status ReadFieldIds(avro::ValueReader& value, EntryMemory* memory, std::vector<int32_t>* ids) {
  if (value.is_null()) return arrow::Status::OK();
  return value.ReadArray([&](avro::ValueReader& element) -> arrow::Status {
    int64_t id = 0;
    ARROW_RETURN_NOT_OK(element.Read(&id));
    if (id < INT32_MIN || id > INT32_MAX) return MakeError(ErrorKind::kCorruptData, "a field id of {}", id);
    ARROW_RETURN_NOT_OK(memory->Take(sizeof(int32_t)));
    ids->push_back(static_cast<int32_t>(id));
    return arrow::Status::OK();
  });
}

}  // namespace

ManifestReader::ManifestReader(std::unique_ptr<avro::RecordReader> records, const ManifestFile& manifest,
                               const ManifestReadOptions& options)
    : records_(std::move(records)),
      manifest_(manifest),
      options_(options),
      memory_(options.consumer),
      next_row_id_(manifest.first_row_id) {}

arrow::Result<std::unique_ptr<ManifestReader>> ManifestReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                                    const ManifestFile& manifest, const TableMetadata& table,
                                                                    const ManifestReadOptions& options) {
  avro::ReaderOptions avro_options;
  avro_options.consumer = options.consumer;
  const std::string name = "manifest " + manifest.path;
  ARROW_ASSIGN_OR_RAISE(auto records, avro::RecordReader::Open(std::move(file), name, avro_options));
  std::unique_ptr<ManifestReader> reader(new ManifestReader(std::move(records), manifest, options));
  const arrow::Status header = reader->ReadHeader(table);
  if (!header.ok()) return WithContext(header, ErrorKind::kCorruptData, name);
  return reader;
}

arrow::Status ManifestReader::ReadHeader(const TableMetadata& table) {
  ARROW_ASSIGN_OR_RAISE(const auto version, HeaderNumber(*records_, "format-version"));
  format_version_ = version.value_or(1);
  if (format_version_ < 1 || format_version_ > kMaxFormatVersion) {
    return MakeError(ErrorKind::kUnsupported, "its format version {} is not supported: versions 1 to {} are", format_version_,
                     kMaxFormatVersion);
  }
  ARROW_ASSIGN_OR_RAISE(const auto header_spec, HeaderNumber(*records_, "partition-spec-id"));
  const bool in_list = manifest_.spec_id != ManifestFile::kSpecOfHeader;
  if (header_spec && in_list && *header_spec != manifest_.spec_id) {
    return MakeError(ErrorKind::kCorruptData, "its header says partition spec {}, the manifest list {}", *header_spec,
                     manifest_.spec_id);
  }
  const int32_t spec_id = in_list ? manifest_.spec_id : header_spec.value_or(0);
  spec_ = table.FindSpec(spec_id);
  if (spec_ == nullptr) {
    return MakeError(ErrorKind::kCorruptData, "it is of partition spec {}, which table {} does not have", spec_id,
                     table.location);
  }
  tuple_type_ = table.TupleType(*spec_);
  const std::string_view content = records_->metadata("content").value_or("data");
  if (content != "data" && content != "deletes") {
    return MakeError(ErrorKind::kCorruptData, "its header says content '{}', which is neither data nor deletes", content);
  }
  content_ = content == "data" ? ManifestContent::kData : ManifestContent::kDeletes;
  if (content_ != manifest_.content && in_list) {
    return MakeError(ErrorKind::kCorruptData, "its header says it holds {}, the manifest list says otherwise", content);
  }
  if (content_ == ManifestContent::kDeletes) next_row_id_.reset();
  return arrow::Status::OK();
}

bool ManifestReader::WantsMetrics(int32_t field_id) const {
  const auto& wanted = options_.metric_columns;
  return !wanted || std::find(wanted->begin(), wanted->end(), field_id) != wanted->end();
}

arrow::Status ManifestReader::ReadCounts(avro::ValueReader& value, ColumnCounts* counts) {
  if (value.is_null()) return arrow::Status::OK();
  int32_t column = 0;
  return value.ReadMap([&](avro::ValueReader& key) { return key.Read(&column); },
                       [&](avro::ValueReader& count) -> arrow::Status {
                         if (!WantsMetrics(column)) return arrow::Status::OK();
                         ARROW_RETURN_NOT_OK(memory_.Take(sizeof(ColumnCounts::value_type)));
                         return count.Read(&counts->emplace_back(column, 0).second);
                       });
}

arrow::Status ManifestReader::ReadBounds(avro::ValueReader& value, ColumnBytes* bounds) {
  if (value.is_null()) return arrow::Status::OK();
  int32_t column = 0;
  return value.ReadMap([&](avro::ValueReader& key) { return key.Read(&column); },
                       [&](avro::ValueReader& bound) -> arrow::Status {
                         if (!WantsMetrics(column)) return arrow::Status::OK();
                         std::string_view bytes;
                         ARROW_RETURN_NOT_OK(bound.Read(&bytes));
                         ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(sizeof(ColumnBytes::value_type) + bytes.size())));
                         bounds->emplace_back(column, bytes);
                         return arrow::Status::OK();
                       });
}

arrow::Status ManifestReader::ReadMetrics(int32_t field_id, avro::ValueReader& value, DataFile* file) {
  switch (field_id) {
    case 108:
      return ReadCounts(value, &file->column_sizes);
    case 109:
      return ReadCounts(value, &file->value_counts);
    case 110:
      return ReadCounts(value, &file->null_value_counts);
    case 137:
      return ReadCounts(value, &file->nan_value_counts);
    case 125:
      return ReadBounds(value, &file->lower_bounds);
    default:
      return ReadBounds(value, &file->upper_bounds);
  }
}

arrow::Status ManifestReader::ReadPartition(avro::ValueReader& record, DataFile* file) {
  const std::vector<Field>& fields = tuple_type_->fields();
  ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(fields.size() * sizeof(Literal))));
  file->partition.resize(fields.size());
  return record.ReadRecord([&](const avro::Field& field, avro::ValueReader& value) -> arrow::Status {
    // Old writers gave partition fields no ids; their names are all there is.
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& candidate) {
      return field.id == avro::kNoId ? candidate.name == (field.original_name.empty() ? field.name : field.original_name)
                                     : candidate.id == field.id;
    });
    if (found == fields.end()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(Literal partition_value, ReadPartitionValue(value, *found->type));
    if (const auto* text = std::get_if<std::string>(&partition_value)) {
      ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(text->size())));
    }
    file->partition[static_cast<size_t>(found - fields.begin())] = std::move(partition_value);
    return arrow::Status::OK();
  });
}

arrow::Status ManifestReader::ReadDataFile(avro::ValueReader& record, DataFile* file) {
  const auto read_text = [&](avro::ValueReader& value, auto* out) -> arrow::Status {
    if (value.is_null()) return arrow::Status::OK();
    std::string_view text;
    ARROW_RETURN_NOT_OK(value.Read(&text));
    ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(text.size())));
    *out = std::string(text);
    return arrow::Status::OK();
  };
  const auto read_list = [&](avro::ValueReader& value, auto* out) -> arrow::Status {
    if (value.is_null()) return arrow::Status::OK();
    return value.ReadArray([&](avro::ValueReader& element) -> arrow::Status {
      ARROW_RETURN_NOT_OK(memory_.Take(sizeof((*out)[0])));
      return element.Read(&out->emplace_back());
    });
  };
  int32_t content = 0;
  ARROW_RETURN_NOT_OK(record.ReadRecord([&](const avro::Field& field, avro::ValueReader& value) -> arrow::Status {
    switch (field.id) {
      case 134:
        return value.is_null() ? arrow::Status::OK() : value.Read(&content);
      case 100:
        return read_text(value, &file->file_path);
      case 101:
        return read_text(value, &file->file_format);
      case 102:
        return value.is_null() ? arrow::Status::OK() : ReadPartition(value, file);
      case 103:
        return value.Read(&file->record_count);
      case 104:
        return value.Read(&file->file_size_bytes);
      case 108:
      case 109:
      case 110:
      case 137:
      case 125:
      case 128:
        return ReadMetrics(field.id, value, file);
      case 131:
        return read_text(value, &file->key_metadata);
      case 132:
        return read_list(value, &file->split_offsets);
      case 135:
        return ReadFieldIds(value, &memory_, &file->equality_ids);
      case 140:
        return value.Read(&file->sort_order_id);
      case 142:
        return value.Read(&file->first_row_id);
      case 143:
        return read_text(value, &file->referenced_data_file);
      case 144:
        return value.Read(&file->content_offset);
      case 145:
        return value.Read(&file->content_size_bytes);
      default:
        return arrow::Status::OK();
    }
  }));
  if (content < 0 || content > 2)
    return MakeError(ErrorKind::kCorruptData, "content {} of a file is none of 0, 1 and 2", content);
  file->content = static_cast<FileContent>(content);
  return arrow::Status::OK();
}

arrow::Status ManifestReader::ReadEntry(avro::ValueReader& record, ManifestEntry* entry) {
  memory_.Restart();
  entry->snapshot_id.reset();
  entry->sequence_number.reset();
  entry->file_sequence_number.reset();
  entry->file.Clear();
  entry->file.spec_id = spec_->spec_id;
  int32_t status = -1;
  ARROW_RETURN_NOT_OK(record.ReadRecord([&](const avro::Field& field, avro::ValueReader& value) -> arrow::Status {
    switch (field.id) {
      case 0:
        return value.Read(&status);
      case 1:
        return value.Read(&entry->snapshot_id);
      case 3:
        return value.Read(&entry->sequence_number);
      case 4:
        return value.Read(&entry->file_sequence_number);
      case 2:
        return ReadDataFile(value, &entry->file);
      default:
        return arrow::Status::OK();
    }
  }));
  if (status < 0 || status > 2) return MakeError(ErrorKind::kCorruptData, "status {} of an entry is none of 0, 1 and 2", status);
  entry->status = static_cast<EntryStatus>(status);
  ARROW_RETURN_NOT_OK(CheckEntry(*entry));
  return Inherit(entry);
}

arrow::Status ManifestReader::CheckEntry(const ManifestEntry& entry) const {
  const DataFile& file = entry.file;
  if (file.file_path.empty()) return MakeError(ErrorKind::kCorruptData, "an entry has no file path (field id 100)");
  const auto fault = [&](std::string_view what) {
    return MakeError(ErrorKind::kCorruptData, "file {}: {}", file.file_path, what);
  };
  if (file.record_count < 0) return fault("no number of records (field id 103), or a negative one");
  if (file.file_size_bytes < 0) return fault("no size (field id 104), or a negative one");
  if ((file.content == FileContent::kData) != (content_ == ManifestContent::kData)) {
    return fault(content_ == ManifestContent::kData ? "deletes in a manifest of data files"
                                                    : "data in a manifest of delete files");
  }
  if (file.content == FileContent::kEqualityDeletes && file.equality_ids.empty()) return fault("equality deletes by no column");
  if (file.is_deletion_vector() && !(file.content_offset && file.content_size_bytes && file.referenced_data_file)) {
    return fault("a deletion vector without its place or its data file (field ids 143 to 145)");
  }
  if (file.partition.size() != spec_->fields.size()) return fault("no partition (field id 102)");
  return arrow::Status::OK();
}

arrow::Status ManifestReader::Inherit(ManifestEntry* entry) {
  if (!entry->snapshot_id) entry->snapshot_id = manifest_.added_snapshot_id;
  // A manifest of v1 was written before there were sequence numbers, and so was one that its list gives the number 0.
  const int64_t inherited = format_version_ == 1 ? 0 : manifest_.sequence_number;
  if (entry->status == EntryStatus::kAdded || inherited == 0) {
    if (!entry->sequence_number) entry->sequence_number = inherited;
    if (!entry->file_sequence_number) entry->file_sequence_number = inherited;
  } else if (entry->is_live() && !(entry->sequence_number && entry->file_sequence_number)) {
    return MakeError(ErrorKind::kCorruptData,
                     "file {} is EXISTING without its own sequence numbers: whoever wrote the manifest lost "
                     "which deletes apply to it",
                     entry->file.file_path);
  }
  std::optional<int64_t>& first_row_id = entry->file.first_row_id;
  if (!next_row_id_) {
    first_row_id.reset();
  } else if (entry->is_live() && !first_row_id) {
    first_row_id = next_row_id_;
    *next_row_id_ += entry->file.record_count;
  }
  return arrow::Status::OK();
}

arrow::Result<bool> ManifestReader::Next(ManifestEntry* entry) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool found, records_->Next([&](avro::ValueReader& record) { return ReadEntry(record, entry); }));
    if (!found || !options_.live_only || entry->is_live()) return found;
  }
}

}  // namespace icebound::iceberg
