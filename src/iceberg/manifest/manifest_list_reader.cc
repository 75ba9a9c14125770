// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "iceberg/manifest/manifest_reader.h"

namespace icebound::iceberg {

arrow::Result<std::unique_ptr<ManifestListReader>> ManifestListReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                                            std::string path, memory::MemoryConsumer* consumer) {
  avro::ReaderOptions options;
  options.consumer = consumer;
  const std::string name = "manifest list " + path;
  ARROW_ASSIGN_OR_RAISE(auto records, avro::RecordReader::Open(std::move(file), name, options));
  return std::unique_ptr<ManifestListReader>(new ManifestListReader(std::move(records), name, consumer));
}

arrow::Status ManifestListReader::ReadSummaries(avro::ValueReader& value, std::vector<FieldSummary>* summaries) {
  if (value.is_null()) return arrow::Status::OK();
  return value.ReadArray([&](avro::ValueReader& element) -> arrow::Status {
    ARROW_RETURN_NOT_OK(memory_.Take(sizeof(FieldSummary)));
    FieldSummary& summary = summaries->emplace_back();
    const auto read_bound = [&](avro::ValueReader& bound, std::optional<std::string>* out) -> arrow::Status {
      if (bound.is_null()) return arrow::Status::OK();
      std::string_view bytes;
      ARROW_RETURN_NOT_OK(bound.Read(&bytes));
      ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(bytes.size())));
      out->emplace(bytes);
      return arrow::Status::OK();
    };
    return element.ReadRecord([&](const avro::Field& field, avro::ValueReader& part) -> arrow::Status {
      switch (field.id) {
        case 509:
          return part.Read(&summary.contains_null);
        case 518:
          return part.Read(&summary.contains_nan);
        case 510:
          return read_bound(part, &summary.lower);
        case 511:
          return read_bound(part, &summary.upper);
        default:
          return arrow::Status::OK();
      }
    });
  });
}

arrow::Status ManifestListReader::ReadManifest(avro::ValueReader& record, ManifestFile* manifest) {
  int32_t content = 0;
  ARROW_RETURN_NOT_OK(record.ReadRecord([&](const avro::Field& field, avro::ValueReader& value) -> arrow::Status {
    switch (field.id) {
      case 500: {
        std::string_view path;
        ARROW_RETURN_NOT_OK(value.Read(&path));
        ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(path.size())));
        manifest->path = path;
        return arrow::Status::OK();
      }
      case 501:
        return value.Read(&manifest->length_bytes);
      case 502:
        return value.Read(&manifest->spec_id);
      case 517:
        return value.is_null() ? arrow::Status::OK() : value.Read(&content);
      case 515:
        return value.is_null() ? arrow::Status::OK() : value.Read(&manifest->sequence_number);
      case 516:
        return value.is_null() ? arrow::Status::OK() : value.Read(&manifest->min_sequence_number);
      case 503:
        return value.is_null() ? arrow::Status::OK() : value.Read(&manifest->added_snapshot_id);
      case 504:
        return value.Read(&manifest->added_files);
      case 505:
        return value.Read(&manifest->existing_files);
      case 506:
        return value.Read(&manifest->deleted_files);
      case 512:
        return value.Read(&manifest->added_rows);
      case 513:
        return value.Read(&manifest->existing_rows);
      case 514:
        return value.Read(&manifest->deleted_rows);
      case 507:
        return ReadSummaries(value, &manifest->partitions);
      case 519: {
        if (value.is_null()) return arrow::Status::OK();
        std::string_view key;
        ARROW_RETURN_NOT_OK(value.Read(&key));
        ARROW_RETURN_NOT_OK(memory_.Take(static_cast<int64_t>(key.size())));
        manifest->key_metadata.emplace(key);
        return arrow::Status::OK();
      }
      case 520:
        return value.Read(&manifest->first_row_id);
      default:
        return arrow::Status::OK();
    }
  }));
  if (content != 0 && content != 1) return MakeError(ErrorKind::kCorruptData, "manifest content {} is neither 0 nor 1", content);
  manifest->content = static_cast<ManifestContent>(content);
  if (manifest->path.empty()) return MakeError(ErrorKind::kCorruptData, "a manifest has no path (field id 500)");
  if (manifest->spec_id < 0) return MakeError(ErrorKind::kCorruptData, "manifest {} has no partition spec", manifest->path);
  // Deletes have no row ids, whatever a careless writer says.
  if (manifest->content == ManifestContent::kDeletes) manifest->first_row_id.reset();
  return arrow::Status::OK();
}

arrow::Result<bool> ManifestListReader::Next(ManifestFile* manifest) {
  memory_.Restart();
  *manifest = ManifestFile();
  return records_->Next([&](avro::ValueReader& record) { return ReadManifest(record, manifest); });
}

}  // namespace icebound::iceberg
