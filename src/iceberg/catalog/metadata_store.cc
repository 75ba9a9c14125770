// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/metadata_store.h"

#include <arrow/filesystem/localfs.h>
#include <arrow/util/async_generator.h>
#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <unordered_set>

#include "base/error.h"
#include "base/injection.h"
#include "iceberg/catalog/local_files.h"
#include "iceberg/catalog/uuid.h"

namespace icebound::iceberg {
namespace {

using arrow::fs::FileType;

/// Reserved for JSON of unknown length: a schema of some thousand columns, no snapshots.
constexpr int64_t kUnknownTextBytes = 256 << 10;

/// A string that grows by doubling holds up to twice its text, and half of that again while it moves.
constexpr int64_t kGrowthFactor = 3;

bool IsLocal(const StoredPath& stored) { return stored.file_system->type_name() == "local"; }

std::span<const uint8_t> BytesOf(const arrow::Buffer& buffer) { return {buffer.data(), static_cast<size_t>(buffer.size())}; }

/// The metadata and what it is charged with, freed in that order.
struct ChargedMetadata {
  std::shared_ptr<MetadataCharge> charge;
  TableMetadata metadata;
};

std::shared_ptr<const TableMetadata> Share(std::shared_ptr<MetadataCharge> charge, TableMetadata metadata) {
  auto owner = std::make_shared<ChargedMetadata>(ChargedMetadata{std::move(charge), std::move(metadata)});
  const TableMetadata* inside = &owner->metadata;
  return {std::move(owner), inside};
}

std::string_view StripSlash(std::string_view location) {
  while (location.size() > 1 && location.ends_with('/')) location.remove_suffix(1);
  return location;
}

arrow::Status VisitLocalEntries(const std::string& path,
                                const std::function<arrow::Status(const std::string&, FileType)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) {
    const ErrorKind kind = errno == ENOENT || errno == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo;
    return MakeError(kind, "cannot list directory {}: {}", path, std::generic_category().message(errno));
  }
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    FileType type = FileType::File;
    if (entry->d_type == DT_DIR) type = FileType::Directory;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      const std::unique_ptr<DIR, int (*)(DIR*)> target(opendir((path + "/" + name).c_str()), closedir);
      if (target != nullptr) type = FileType::Directory;
    }
    ARROW_RETURN_NOT_OK(visit(name, type));
    errno = 0;
  }
  if (errno == 0) return arrow::Status::OK();
  return MakeError(ErrorKind::kIo, "cannot list directory {}: {}", path, std::generic_category().message(errno));
}

arrow::Status WriteStored(const StoredPath& stored, std::string_view bytes) {
  ARROW_ASSIGN_OR_RAISE(auto stream, stored.file_system->OpenOutputStream(stored.path));
  const arrow::Status written = stream->Write(bytes.data(), static_cast<int64_t>(bytes.size()));
  if (!written.ok()) {
    IgnoreError(stream->Abort());
    return written;
  }
  return stream->Close();
}

/// Whether a file that may have been written is there and whole.
arrow::Status LookAfterWrite(const MetadataStore& store, const StagedMetadata& staged, const arrow::Status& failure) {
  auto found = store.Read(staged.table.metadata_location);
  if (found.ok() && (*found)->Equals(*staged.file_bytes)) return arrow::Status::OK();
  if (!found.ok() && GetErrorKind(found.status()) == ErrorKind::kNotFound) {
    return WithContext(failure, ErrorKind::kIo, fmt::format("writing {}", staged.table.metadata_location));
  }
  return MakeError(
      ErrorKind::kCommitUnknown,
      "writing {} failed, and whether it is there cannot be found out: {}. When the file exists, the commit happened",
      staged.table.metadata_location, failure.message());
}

arrow::Result<int64_t> IntProperty(const TableMetadata& metadata, std::string_view name, int64_t default_value) {
  const std::string* text = metadata.FindProperty(name);
  if (text == nullptr) return default_value;
  int64_t value = 0;
  const char* const text_end = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), text_end, value);
  if (error != std::errc{} || end != text_end) {
    return MakeError(ErrorKind::kInvalidInput, "table property {} is not a number: '{}'", name, *text);
  }
  return value;
}

}  // namespace

LocationResolver ResolveLocalLocations(arrow::MemoryPool* pool) {
  auto local = std::make_shared<arrow::fs::LocalFileSystem>(arrow::io::IOContext(pool));
  return [local](const std::string& location) -> arrow::Result<StoredPath> {
    std::string_view path = location;
    if (path.starts_with("file://")) {
      path.remove_prefix(7);
      if (path.starts_with("localhost/")) path.remove_prefix(9);
      if (!path.starts_with('/')) {
        return MakeError(ErrorKind::kInvalidInput, "'{}' names another machine: a file URI has a path of this one", location);
      }
    } else if (path.starts_with("file:")) {
      path.remove_prefix(5);
    } else if (const size_t scheme = path.find("://");
               scheme != std::string_view::npos && path.substr(0, scheme).find('/') == path.npos) {
      return MakeError(ErrorKind::kUnsupported, "'{}' is not on the local disk", location);
    }
    if (path.empty()) return MakeError(ErrorKind::kInvalidInput, "'{}' has no path", location);
    return StoredPath{local, std::string(path)};
  };
}

arrow::Result<LoadedTable> MetadataStore::Load(TableIdentifier identifier, std::string metadata_location) const {
  ARROW_ASSIGN_OR_RAISE(auto bytes, Read(metadata_location));
  ARROW_ASSIGN_OR_RAISE(const auto text, MetadataText(std::move(bytes), metadata_location, context_.memory->pool()));
  return Parse(std::move(identifier), std::move(metadata_location), static_cast<std::string_view>(*text));
}

arrow::Result<LoadedTable> MetadataStore::Parse(TableIdentifier identifier, std::string metadata_location,
                                                std::string_view json) const {
  LoadedTable table;
  table.identifier = std::move(identifier);
  table.metadata_location = std::move(metadata_location);
  ARROW_ASSIGN_OR_RAISE(auto charge, MetadataCharge::Make(context_.memory, TableMetadata::HeldBytesMax(json)));
  ARROW_ASSIGN_OR_RAISE(TableMetadata metadata, TableMetadata::Parse(json, table.metadata_location));
  table.text_bytes = static_cast<int64_t>(json.size());
  table.metadata = Share(std::move(charge), std::move(metadata));
  return table;
}

arrow::Result<StagedMetadata> MetadataStore::Stage(TableIdentifier identifier, std::string metadata_location,
                                                   TableMetadata metadata, MetadataCodec codec, int64_t text_bytes_hint) const {
  ARROW_ASSIGN_OR_RAISE(const auto text_charge,
                        MetadataCharge::Make(context_.memory, kGrowthFactor * (text_bytes_hint + kUnknownTextBytes)));
  const std::string json = metadata.ToJson();
  ARROW_RETURN_NOT_OK(text_charge->GrowTo(static_cast<int64_t>(json.capacity())));
  ARROW_ASSIGN_OR_RAISE(auto charge, MetadataCharge::Make(context_.memory, TableMetadata::HeldBytesMax(json)));
  StagedMetadata staged;
  ARROW_ASSIGN_OR_RAISE(staged.file_bytes, MetadataFileBytes(json, codec, context_.memory->pool()));
  staged.table.identifier = std::move(identifier);
  staged.table.metadata_location = std::move(metadata_location);
  staged.table.text_bytes = static_cast<int64_t>(json.size());
  staged.table.metadata = Share(std::move(charge), std::move(metadata));
  return staged;
}

arrow::Status MetadataStore::WriteNew(const StagedMetadata& staged) const {
  const std::string& location = staged.table.metadata_location;
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  if (IsLocal(stored)) return WriteNewLocalFile(stored.path, BytesOf(*staged.file_bytes));
  const arrow::Status written = WriteStored(stored, static_cast<std::string_view>(*staged.file_bytes));
  if (!written.ok()) Delete(location);
  return WithContext(written, ErrorKind::kIo, fmt::format("writing {}", location));
}

arrow::Status MetadataStore::Publish(const StagedMetadata& staged, bool single_writer) const {
  const std::string& location = staged.table.metadata_location;
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  if (IsLocal(stored)) {
    ARROW_ASSIGN_OR_RAISE(const std::string uuid, NewUuid());
    const size_t name_at = stored.path.rfind('/') + 1;
    const std::string temporary = fmt::format("{}staged-{}.metadata.json", stored.path.substr(0, name_at), uuid);
    ARROW_RETURN_NOT_OK(WriteNewLocalFile(temporary, BytesOf(*staged.file_bytes)));
    const arrow::Status go = []() -> arrow::Status {
      ICEBOUND_INJECT("catalog.swap");
      return arrow::Status::OK();
    }();
    if (!go.ok()) Delete(temporary);
    return go.ok() ? PublishLocalFile(temporary, stored.path) : go;
  }
  if (!single_writer) {
    return MakeError(ErrorKind::kUnsupported,
                     "{} is in a store without exclusive creation: two writers could both believe that they committed. Keep the "
                     "table in a SQL or REST catalog, or set the catalog property {} to true when nothing else ever writes to it",
                     location, "single-writer");
  }
  ARROW_ASSIGN_OR_RAISE(const FileType type, TypeOf(location));
  if (type != FileType::NotFound) return MakeError(ErrorKind::kCommitConflict, "{} exists already", location);
  const arrow::Status written = WriteStored(stored, static_cast<std::string_view>(*staged.file_bytes));
  return written.ok() ? written : LookAfterWrite(*this, staged, written);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> MetadataStore::Read(const std::string& location) const {
  ICEBOUND_INJECT("catalog.read");
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  const auto fail = [&](const arrow::Status& status) {
    return WithContext(status, status.IsOutOfMemory() ? ErrorKind::kMemoryLimit : ErrorKind::kIo,
                       fmt::format("reading {}", location));
  };
  auto info = stored.file_system->GetFileInfo(stored.path);
  if (!info.ok()) return fail(info.status());
  if (info->type() == FileType::NotFound) return MakeError(ErrorKind::kNotFound, "there is no file {}", location);
  if (info->type() == FileType::Directory) return MakeError(ErrorKind::kInvalidInput, "{} is a directory", location);
  auto file = stored.file_system->OpenInputFile(*info);
  if (!file.ok()) return fail(file.status());
  auto size = (*file)->GetSize();
  if (!size.ok()) return fail(size.status());
  auto buffer = arrow::AllocateBuffer(*size, context_.memory->pool());
  if (!buffer.ok()) return fail(buffer.status());
  auto read = (*file)->ReadAt(0, *size, (*buffer)->mutable_data());
  if (!read.ok()) return fail(read.status());
  if (*read != *size) return MakeError(ErrorKind::kIo, "{} has {} bytes, of which only {} came", location, *size, *read);
  return std::shared_ptr<arrow::Buffer>(std::move(*buffer));
}

arrow::Status MetadataStore::Replace(const std::string& location, std::string_view text) const {
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  if (IsLocal(stored)) {
    return ReplaceLocalFile(stored.path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  return WithContext(WriteStored(stored, text), ErrorKind::kIo, fmt::format("writing {}", location));
}

arrow::Result<FileType> MetadataStore::TypeOf(const std::string& location) const {
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  auto info = stored.file_system->GetFileInfo(stored.path);
  if (!info.ok()) return WithContext(info.status(), ErrorKind::kIo, fmt::format("looking for {}", location));
  return info->type();
}

arrow::Status MetadataStore::CreateDirectory(const std::string& location) const {
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  return WithContext(stored.file_system->CreateDir(stored.path), ErrorKind::kIo, fmt::format("creating directory {}", location));
}

arrow::Status MetadataStore::DeleteDirectory(const std::string& location) const {
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  return WithContext(stored.file_system->DeleteDir(stored.path), ErrorKind::kIo, fmt::format("deleting directory {}", location));
}

arrow::Status MetadataStore::VisitEntries(const std::string& location,
                                          const std::function<arrow::Status(const std::string&, FileType)>& visit) const {
  ARROW_ASSIGN_OR_RAISE(const StoredPath stored, context_.resolve(location));
  if (IsLocal(stored)) return VisitLocalEntries(stored.path, visit);
  ARROW_ASSIGN_OR_RAISE(const FileType type, TypeOf(location));
  if (type != FileType::Directory) return MakeError(ErrorKind::kNotFound, "there is no directory {}", location);
  arrow::fs::FileSelector selector;
  selector.base_dir = stored.path;
  const auto pages = stored.file_system->GetFileInfoGenerator(selector);
  const auto done = arrow::VisitAsyncGenerator(pages, [&](const std::vector<arrow::fs::FileInfo>& page) -> arrow::Status {
    for (const arrow::fs::FileInfo& info : page) ARROW_RETURN_NOT_OK(visit(info.base_name(), info.type()));
    return arrow::Status::OK();
  });
  return WithContext(done.status(), ErrorKind::kIo, fmt::format("listing {}", location));
}

void MetadataStore::Delete(const std::string& location) const {
  const auto stored = context_.resolve(location);
  if (stored.ok()) IgnoreError(stored->file_system->DeleteFile(stored->path));
}

arrow::Result<MetadataCodec> CodecOf(const TableMetadata& metadata) {
  const std::string* name = metadata.FindProperty("write.metadata.compression-codec");
  return name == nullptr ? MetadataCodec::kNone : MetadataCodecByName(*name);
}

std::string MetadataDirectory(const TableMetadata& metadata) {
  const std::string* path = metadata.FindProperty("write.metadata.path");
  if (path != nullptr && !path->empty()) return std::string(StripSlash(*path));
  return fmt::format("{}/metadata", StripSlash(metadata.location));
}

arrow::Result<std::string> NewMetadataLocation(const TableMetadata& metadata, const std::string& previous) {
  ARROW_ASSIGN_OR_RAISE(const MetadataCodec codec, CodecOf(metadata));
  ARROW_ASSIGN_OR_RAISE(const std::string uuid, NewUuid());
  int64_t version = 0;
  if (const auto parts = ParseMetadataFileName(previous); parts && !parts->has_leading_v) version = parts->version + 1;
  return fmt::format("{}/{}", MetadataDirectory(metadata), CatalogMetadataName(version, uuid, codec));
}

arrow::Status FollowBase(const LoadedTable& base, TableMetadata* updated) {
  const TableMetadata& before = *base.metadata;
  const std::string table = base.identifier.ToString();
  if (!before.table_uuid.empty() && updated->table_uuid != before.table_uuid) {
    return MakeError(ErrorKind::kInternal, "a commit to {} would change the table's uuid from {} to '{}'", table,
                     before.table_uuid, updated->table_uuid);
  }
  if (updated->format_version < before.format_version) {
    return MakeError(ErrorKind::kInvalidInput, "{} has format version {}, which cannot go back to {}", table,
                     before.format_version, updated->format_version);
  }
  std::vector<MetadataLogEntry>& log = updated->metadata_log;
  if (log.empty() || log.back().metadata_file != base.metadata_location) {
    MetadataLogEntry entry;
    entry.timestamp_ms = before.last_updated_ms;
    entry.metadata_file = base.metadata_location;
    log.push_back(std::move(entry));
  }
  ARROW_ASSIGN_OR_RAISE(const int64_t wanted, IntProperty(*updated, "write.metadata.previous-versions-max", 100));
  const auto kept_max = static_cast<size_t>(std::max<int64_t>(1, wanted));
  if (log.size() > kept_max) log.erase(log.begin(), log.end() - static_cast<ptrdiff_t>(kept_max));
  return arrow::Status::OK();
}

void DeleteForgottenMetadata(const MetadataStore& store, const LoadedTable& base, const TableMetadata& committed) {
  const std::string* wanted = committed.FindProperty("write.metadata.delete-after-commit.enabled");
  if (wanted == nullptr || *wanted != "true") return;
  std::unordered_set<std::string_view> kept;
  for (const MetadataLogEntry& entry : committed.metadata_log) kept.insert(entry.metadata_file);
  for (const MetadataLogEntry& entry : base.metadata->metadata_log) {
    if (!kept.contains(entry.metadata_file)) store.Delete(entry.metadata_file);
  }
}

}  // namespace icebound::iceberg
