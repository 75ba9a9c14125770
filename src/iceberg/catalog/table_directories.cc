// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/table_directories.h"

#include <charconv>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

using arrow::fs::FileType;

std::string MetadataBelow(const std::string& directory) {
  return directory.ends_with('/') ? directory + "metadata" : directory + "/metadata";
}

arrow::Status NoTable(const std::string& directory) {
  return MakeError(ErrorKind::kNotFound, "there is no table in {}: no metadata/*.metadata.json", directory);
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  return text;
}

/// What only a catalog can do with a table's files.
arrow::Status CheckInPlace(const TableMetadata& metadata) {
  const std::string* path = metadata.FindProperty("write.metadata.path");
  if (path == nullptr || path->empty()) return arrow::Status::OK();
  return MakeError(ErrorKind::kUnsupported,
                   "a table that is its directory has its metadata inside: table property write.metadata.path '{}' needs a "
                   "catalog",
                   *path);
}

}  // namespace

arrow::Result<std::optional<std::string>> TableDirectories::FindVersion(const std::string& metadata_directory,
                                                                        int64_t version) const {
  for (const std::string& name :
       {FileSystemMetadataName(version, MetadataCodec::kNone), FileSystemMetadataName(version, MetadataCodec::kGzip),
        fmt::format("v{}.metadata.json.gz", version)}) {
    std::string location = metadata_directory + "/" + name;
    ARROW_ASSIGN_OR_RAISE(const FileType type, store_.TypeOf(location));
    if (type == FileType::File) return std::optional(std::move(location));
  }
  return std::nullopt;
}

arrow::Result<std::optional<std::string>> TableDirectories::NewestByHint(const std::string& metadata_directory) const {
  const auto hint = store_.Read(metadata_directory + "/version-hint.text");
  if (!hint.ok()) {
    if (GetErrorKind(hint.status()) == ErrorKind::kNotFound) return std::nullopt;
    return hint.status();
  }
  const std::string_view text = Strip(static_cast<std::string_view>(**hint));
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error == std::errc{} && end == text.data() + text.size() && version >= 0) {
    std::optional<std::string> newest;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto next, FindVersion(metadata_directory, version++));
      if (!next) return newest;
      newest = std::move(next);
    }
  }
  if (text.empty() || text.find('/') != std::string_view::npos) return std::nullopt;
  std::string location = fmt::format("{}/{}", metadata_directory, text);
  if (!ParseMetadataFileName(location)) location += ".metadata.json";
  ARROW_ASSIGN_OR_RAISE(const FileType type, store_.TypeOf(location));
  if (type == FileType::File) return std::optional(std::move(location));
  return std::nullopt;
}

arrow::Result<std::optional<std::string>> TableDirectories::NewestByListing(const std::string& metadata_directory) const {
  std::string newest;
  std::string rival;
  MetadataFileName newest_parts;
  const arrow::Status listed = store_.VisitEntries(metadata_directory, [&](const std::string& name, FileType type) {
    const auto parts = ParseMetadataFileName(name);
    if (type != FileType::File || !parts) return arrow::Status::OK();
    const auto rank = [](const MetadataFileName& file) { return std::pair(file.has_leading_v, file.version); };
    if (!newest.empty() && rank(*parts) == rank(newest_parts)) rival = name;
    if (newest.empty() || rank(*parts) > rank(newest_parts)) {
      newest = name;
      newest_parts = *parts;
      rival.clear();
    }
    return arrow::Status::OK();
  });
  if (GetErrorKind(listed) == ErrorKind::kNotFound) return std::nullopt;
  ARROW_RETURN_NOT_OK(listed);
  if (newest.empty()) return std::nullopt;
  if (!rival.empty()) {
    return MakeError(
        ErrorKind::kInvalidInput,
        "{} has two newest metadata files, {} and {}, and only the table's catalog knows which counts: name the table "
        "there, or one of the files",
        metadata_directory, newest, rival);
  }
  return std::optional(metadata_directory + "/" + newest);
}

arrow::Result<std::optional<std::string>> TableDirectories::Newest(const std::string& directory) const {
  const std::string metadata_directory = MetadataBelow(directory);
  ARROW_ASSIGN_OR_RAISE(auto newest, NewestByHint(metadata_directory));
  if (newest) return newest;
  return NewestByListing(metadata_directory);
}

arrow::Result<bool> TableDirectories::IsTable(const std::string& directory) const {
  bool found = false;
  const arrow::Status listed = store_.VisitEntries(MetadataBelow(directory), [&](const std::string& name, FileType type) {
    found = found || (type == FileType::File && ParseMetadataFileName(name));
    return arrow::Status::OK();
  });
  if (!listed.ok() && GetErrorKind(listed) != ErrorKind::kNotFound) return listed;
  return found;
}

arrow::Result<LoadedTable> TableDirectories::Load(const TableIdentifier& identifier, const std::string& directory) const {
  ARROW_ASSIGN_OR_RAISE(const auto newest, Newest(directory));
  if (!newest) return NoTable(directory);
  ARROW_ASSIGN_OR_RAISE(LoadedTable table, store_.Load(identifier, *newest));
  if (!ParseMetadataFileName(*newest).value_or(MetadataFileName{}).has_leading_v) {
    table.read_only_reason =
        fmt::format("its metadata files are kept by a catalog ({}): name the table in that catalog", *newest);
  }
  return table;
}

void TableDirectories::WriteHint(const std::string& metadata_location, int64_t version) const {
  // It only shortens the way to the newest version: a reader goes on from any older one.
  const std::string directory = metadata_location.substr(0, metadata_location.rfind('/'));
  IgnoreError(store_.Replace(directory + "/version-hint.text", std::to_string(version)));
}

arrow::Result<LoadedTable> TableDirectories::Create(const TableIdentifier& identifier, TableMetadata metadata) const {
  ARROW_RETURN_NOT_OK(CheckInPlace(metadata));
  ARROW_RETURN_NOT_OK(CodecOf(metadata).status());
  const std::string directory = metadata.location;
  ARROW_ASSIGN_OR_RAISE(const auto newest, Newest(directory));
  const auto exists = [&] { return MakeError(ErrorKind::kInvalidInput, "there is a table in {} already", directory); };
  if (newest) return exists();
  std::string location = fmt::format("{}/{}", MetadataBelow(directory), FileSystemMetadataName(1, MetadataCodec::kNone));
  ARROW_ASSIGN_OR_RAISE(const StagedMetadata staged,
                        store_.Stage(identifier, std::move(location), std::move(metadata), MetadataCodec::kNone, 0));
  const arrow::Status published = store_.Publish(staged, single_writer_);
  if (GetErrorKind(published) == ErrorKind::kCommitConflict) return exists();
  ARROW_RETURN_NOT_OK(published);
  WriteHint(staged.table.metadata_location, 1);
  return staged.table;
}

arrow::Result<LoadedTable> TableDirectories::Commit(const LoadedTable& base, TableMetadata updated) const {
  const auto parts = ParseMetadataFileName(base.metadata_location);
  if (!base.read_only_reason.empty() || !parts || !parts->has_leading_v) {
    return MakeError(ErrorKind::kUnsupported, "table {} can only be read: {}", base.identifier.ToString(),
                     base.read_only_reason.empty() ? "its metadata file has no version in its name" : base.read_only_reason);
  }
  ARROW_RETURN_NOT_OK(CheckInPlace(updated));
  if (updated.location != base.metadata->location) {
    return MakeError(ErrorKind::kUnsupported, "table {} is its directory and cannot be moved to {}", base.identifier.ToString(),
                     updated.location);
  }
  ARROW_RETURN_NOT_OK(CodecOf(updated).status());
  ARROW_RETURN_NOT_OK(FollowBase(base, &updated));
  ARROW_ASSIGN_OR_RAISE(const MetadataCodec codec, CodecOf(*base.metadata));
  const int64_t version = parts->version + 1;
  const std::string directory = base.metadata_location.substr(0, base.metadata_location.rfind('/'));
  // Another writer may have compressed what we would not.
  ARROW_ASSIGN_OR_RAISE(const auto taken, FindVersion(directory, version));
  if (taken) {
    return MakeError(ErrorKind::kCommitConflict, "another commit to {} came first: {} exists", base.identifier.ToString(),
                     *taken);
  }
  std::string location = fmt::format("{}/{}", directory, FileSystemMetadataName(version, codec));
  ARROW_ASSIGN_OR_RAISE(const StagedMetadata staged,
                        store_.Stage(base.identifier, std::move(location), std::move(updated), codec, base.text_bytes));
  ARROW_RETURN_NOT_OK(store_.Publish(staged, single_writer_));
  WriteHint(staged.table.metadata_location, version);
  DeleteForgottenMetadata(store_, base, *staged.table.metadata);
  return staged.table;
}

arrow::Status TableDirectories::Drop(const TableIdentifier& identifier, const std::string& directory) const {
  ARROW_ASSIGN_OR_RAISE(const LoadedTable table, Load(identifier, directory));
  if (!table.read_only_reason.empty()) {
    return MakeError(ErrorKind::kUnsupported, "table {} cannot be dropped here: {}", identifier.ToString(),
                     table.read_only_reason);
  }
  ARROW_RETURN_NOT_OK(store_.DeleteDirectory(MetadataBelow(directory)));
  return store_.DeleteDirectory(directory);
}

}  // namespace icebound::iceberg
