// SPDX-License-Identifier: Apache-2.0
#include "iceberg/deletes/delete_index.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "iceberg/deletes/partition_scope.h"

namespace icebound::iceberg {
namespace {

/// Of DeleteFile values that are kept for position deletes of more than one file: some 8000 of them.
constexpr int64_t kKeptBytesMax = int64_t{8} << 20;

int64_t HeldBytes(const DeleteFile& file) {
  int64_t bytes = sizeof(DeleteFile) + sizeof(void*) * 4 + static_cast<int64_t>(file.file.file_path.size());
  for (const Literal& value : file.file.partition) {
    bytes += sizeof(Literal);
    if (const auto* text = std::get_if<std::string>(&value)) bytes += static_cast<int64_t>(text->size());
  }
  return bytes;
}

}  // namespace

DeleteIndex::DeleteIndex(const TableMetadata& table, memory::MemoryConsumer* consumer)
    : table_(table),
      paths_(consumer),
      scope_bytes_(consumer),
      texts_(consumer),
      files_(consumer),
      first_about_(consumer),
      shared_(consumer),
      bounds_(consumer),
      scopes_(consumer),
      equality_files_(consumer),
      groups_memory_(consumer),
      kept_memory_(consumer) {
  for (const PartitionSpec& spec : table.partition_specs) tuple_types_.push_back(table.TupleType(spec));
}

const TypePtr& DeleteIndex::TupleTypeOf(int32_t spec_id) const {
  return tuple_types_[static_cast<size_t>(table_.FindSpec(spec_id) - table_.partition_specs.data())];
}

arrow::Result<uint32_t> DeleteIndex::ScopeOf(const DataFile& file) {
  EncodePartitionScope(file.spec_id, file.partition, &scope_scratch_);
  ARROW_ASSIGN_OR_RAISE(const uint32_t scope, scope_bytes_.Insert(scope_scratch_));
  if (scope == scopes_.size()) ARROW_RETURN_NOT_OK(scopes_.Append(Scope()));
  return scope;
}

arrow::Status DeleteIndex::Add(const ManifestEntry& entry) {
  const DataFile& file = entry.file;
  const PartitionSpec* spec = table_.FindSpec(file.spec_id);
  if (file.content == FileContent::kData || spec == nullptr || !entry.sequence_number) {
    return MakeError(ErrorKind::kInternal, "file {} is no delete file of a known spec", file.file_path);
  }
  IndexedFile indexed{};
  indexed.sequence_number = *entry.sequence_number;
  indexed.record_count = file.record_count;
  indexed.file_size_bytes = file.file_size_bytes;
  indexed.content_offset = file.content_offset.value_or(-1);
  indexed.content_size_bytes = file.content_size_bytes.value_or(-1);
  indexed.about = indexed.next = indexed.group = indexed.key_metadata = kNone;
  indexed.content = file.content;
  indexed.is_vector = file.is_deletion_vector();
  ARROW_ASSIGN_OR_RAISE(indexed.path, paths_.Insert(file.file_path));
  ARROW_ASSIGN_OR_RAISE(indexed.scope, ScopeOf(file));
  ARROW_ASSIGN_OR_RAISE(indexed.format, texts_.Insert(file.file_format));
  if (file.key_metadata) {
    ARROW_ASSIGN_OR_RAISE(indexed.key_metadata, texts_.Insert(*file.key_metadata));
  }
  const auto number = static_cast<uint32_t>(files_.size());
  ARROW_RETURN_NOT_OK(files_.Append(indexed));
  return file.content == FileContent::kEqualityDeletes ? AddEquality(number, entry, *spec) : AddPositions(number, entry);
}

arrow::Status DeleteIndex::AddPositions(uint32_t number, const ManifestEntry& entry) {
  const DataFile& file = entry.file;
  IndexedFile& indexed = files_[number];
  const std::string* lower = FindColumn(file.lower_bounds, kDeleteFilePathId);
  const std::string* upper = FindColumn(file.upper_bounds, kDeleteFilePathId);
  const std::string* about = file.referenced_data_file ? &*file.referenced_data_file : nullptr;
  if (about == nullptr && lower != nullptr && upper != nullptr && *lower == *upper) about = lower;
  if (about == nullptr) {
    SharedFile shared{indexed.sequence_number, indexed.scope, number, kNone, kNone, kNone};
    if (lower != nullptr) {
      ARROW_ASSIGN_OR_RAISE(shared.lower, paths_.Insert(*lower));
    }
    if (upper != nullptr) {
      ARROW_ASSIGN_OR_RAISE(shared.upper, paths_.Insert(*upper));
    }
    return shared_.Append(shared);
  }
  indexed.names_its_file = file.referenced_data_file.has_value();
  ARROW_ASSIGN_OR_RAISE(indexed.about, paths_.Insert(*about));
  while (first_about_.size() < paths_.size()) ARROW_RETURN_NOT_OK(first_about_.Append(kNone));
  uint32_t& first = first_about_[indexed.about];
  for (uint32_t other = first; indexed.is_vector && other != kNone; other = files_[other].next) {
    if (!files_[other].is_vector) continue;
    return MakeError(ErrorKind::kCorruptData, "data file {} has two deletion vectors: in {} at {} and in {} at {}", *about,
                     paths_[files_[other].path], files_[other].content_offset, file.file_path, indexed.content_offset);
  }
  indexed.next = first;
  first = number;
  return arrow::Status::OK();
}

arrow::Result<uint32_t> DeleteIndex::FindGroup(const std::vector<int32_t>& equality_ids, bool global) {
  std::vector<int32_t> rising = equality_ids;
  std::sort(rising.begin(), rising.end());
  rising.erase(std::unique(rising.begin(), rising.end()), rising.end());
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].global == global && groups_[i].equality_ids == rising) return static_cast<uint32_t>(i);
  }
  // Twice: the vector of groups holds its old and its new room while it grows.
  const auto bytes = static_cast<int64_t>(2 * sizeof(EqualityDeleteGroup) + rising.size() * sizeof(int32_t));
  ARROW_RETURN_NOT_OK(groups_memory_.ResizeTo(groups_memory_.bytes() + 2 * bytes));
  groups_.push_back({std::move(rising), global, 0, 0});
  return static_cast<uint32_t>(groups_.size() - 1);
}

arrow::Status DeleteIndex::AddEquality(uint32_t number, const ManifestEntry& entry, const PartitionSpec& spec) {
  IndexedFile& indexed = files_[number];
  const bool global = spec.is_unpartitioned();
  ARROW_ASSIGN_OR_RAISE(indexed.group, FindGroup(entry.file.equality_ids, global));
  int64_t& sequence_max = global ? global_equality_sequence_max_ : scopes_[indexed.scope].equality_sequence_max;
  sequence_max = std::max(sequence_max, indexed.sequence_number);
  ++groups_[indexed.group].files;
  groups_[indexed.group].records += indexed.record_count;
  return equality_files_.Append(number);
}

arrow::Status DeleteIndex::OrderBounds(Scope* scope) {
  scope->bounds_begin = bounds_.size();
  ARROW_RETURN_NOT_OK(bounds_.Reserve(2 * int64_t{scope->shared_end - scope->shared_begin}));
  for (uint32_t i = scope->shared_begin; i < scope->shared_end; ++i) {
    for (const uint32_t bound : {shared_[i].lower, shared_[i].upper}) {
      if (bound != kNone) bounds_.UnsafeAppend(bound);
    }
  }
  uint32_t* const begin = bounds_.data() + scope->bounds_begin;
  const auto is_before = [&](uint32_t a, uint32_t b) { return a != b && paths_.Compare(paths_[a], b) < 0; };
  std::sort(begin, bounds_.end(), is_before);
  ARROW_RETURN_NOT_OK(bounds_.Resize(std::unique(begin, bounds_.end()) - bounds_.data()));
  scope->bounds_end = bounds_.size();
  for (uint32_t i = scope->shared_begin; i < scope->shared_end; ++i) {
    for (uint32_t* bound : {&shared_[i].lower, &shared_[i].upper}) {
      if (*bound != kNone) *bound = static_cast<uint32_t>(std::lower_bound(begin, bounds_.end(), *bound, is_before) - begin);
    }
  }
  return arrow::Status::OK();
}

arrow::Status DeleteIndex::OrderShared() {
  // Highest sequence number first: those that apply to a data file stand together.
  std::sort(shared_.begin(), shared_.end(), [](const SharedFile& a, const SharedFile& b) {
    return std::tuple(a.scope, b.sequence_number, a.file) < std::tuple(b.scope, a.sequence_number, b.file);
  });
  for (int64_t i = 0; i < shared_.size(); ++i) {
    Scope& scope = scopes_[shared_[i].scope];
    if (scope.shared_end == 0) scope.shared_begin = static_cast<uint32_t>(i);
    scope.shared_end = static_cast<uint32_t>(i + 1);
  }
  for (Scope& scope : scopes_) {
    if (scope.shared_begin < scope.shared_end) ARROW_RETURN_NOT_OK(OrderBounds(&scope));
  }
  return arrow::Status::OK();
}

arrow::Status DeleteIndex::Finish() {
  ARROW_RETURN_NOT_OK(OrderShared());
  std::sort(equality_files_.begin(), equality_files_.end(),
            [&](uint32_t a, uint32_t b) { return std::tuple(files_[a].group, a) < std::tuple(files_[b].group, b); });
  int64_t begin = 0;
  for (const EqualityDeleteGroup& group : groups_) {
    group_begins_.push_back(begin);
    begin += group.files;
  }
  return arrow::Status::OK();
}

arrow::Result<DeleteFile> DeleteIndex::MakeDelete(const IndexedFile& indexed) const {
  DeleteFile made;
  made.sequence_number = indexed.sequence_number;
  made.about_one_file = indexed.about != kNone;
  DataFile& file = made.file;
  file.content = indexed.content;
  file.file_path = paths_[indexed.path];
  file.file_format = texts_[indexed.format];
  file.record_count = indexed.record_count;
  file.file_size_bytes = indexed.file_size_bytes;
  const std::string_view scope_bytes = scope_bytes_[indexed.scope];
  file.spec_id = SpecOfScope(scope_bytes);
  ARROW_ASSIGN_OR_RAISE(PartitionScope scope, DecodePartitionScope(scope_bytes, *TupleTypeOf(file.spec_id)));
  file.partition = std::move(scope.tuple);
  if (indexed.group != kNone) file.equality_ids = groups_[indexed.group].equality_ids;
  if (indexed.key_metadata != kNone) file.key_metadata = std::string(texts_[indexed.key_metadata]);
  if (indexed.names_its_file) file.referenced_data_file = paths_[indexed.about];
  if (indexed.content_offset >= 0) file.content_offset = indexed.content_offset;
  if (indexed.content_size_bytes >= 0) file.content_size_bytes = indexed.content_size_bytes;
  return made;
}

arrow::Result<DeleteFile> DeleteIndex::EqualityDelete(size_t group, int64_t index) const {
  return MakeDelete(files_[equality_files_[group_begins_[group] + index]]);
}

arrow::Status DeleteIndex::MatchOneFile(const DataFile& data, int64_t sequence_number, std::optional<uint32_t> scope,
                                        MatchedDeletes* deletes) const {
  const auto path = paths_.Find(data.file_path);
  if (!path || *path >= first_about_.size()) return arrow::Status::OK();
  for (uint32_t number = first_about_[*path]; number != kNone; number = files_[number].next) {
    const IndexedFile& indexed = files_[number];
    if (indexed.sequence_number < sequence_number) continue;
    if (scope != indexed.scope) {
      return MakeError(ErrorKind::kCorruptData,
                       "delete file {} is about data file {} but of another partition: which rows are deleted cannot be said",
                       paths_[indexed.path], data.file_path);
    }
    ARROW_ASSIGN_OR_RAISE(DeleteFile made, MakeDelete(indexed));
    if (indexed.is_vector) {
      deletes->deletion_vector = std::move(made);
    } else {
      deletes->position_deletes.push_back(std::make_shared<const DeleteFile>(std::move(made)));
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<const DeleteFile>> DeleteIndex::SharedDelete(SharedFile* shared) {
  if (shared->kept != kNone) return kept_[shared->kept];
  ARROW_ASSIGN_OR_RAISE(DeleteFile made, MakeDelete(files_[shared->file]));
  auto file = std::make_shared<const DeleteFile>(std::move(made));
  // Three pointers: the vector of them grows with its old room beside the new one.
  const int64_t bytes = HeldBytes(*file) + 3 * static_cast<int64_t>(sizeof(file));
  if (kept_memory_.bytes() + bytes > kKeptBytesMax || !kept_memory_.TryResizeTo(kept_memory_.bytes() + bytes)) return file;
  shared->kept = static_cast<uint32_t>(kept_.size());
  kept_.push_back(file);
  return file;
}

arrow::Status DeleteIndex::MatchShared(const DataFile& data, int64_t sequence_number, const Scope& scope,
                                       MatchedDeletes* deletes) {
  if (scope.shared_begin == scope.shared_end) return arrow::Status::OK();
  const uint32_t* const begin = bounds_.data() + scope.bounds_begin;
  const uint32_t* const end = bounds_.data() + scope.bounds_end;
  const auto is_before = [&](uint32_t bound) { return paths_.Compare(data.file_path, bound) > 0; };
  const auto is_up_to = [&](uint32_t bound) { return paths_.Compare(data.file_path, bound) >= 0; };
  const auto below = static_cast<uint32_t>(std::partition_point(begin, end, is_before) - begin);
  const auto up_to = static_cast<uint32_t>(std::partition_point(begin, end, is_up_to) - begin);
  for (uint32_t i = scope.shared_begin; i < scope.shared_end; ++i) {
    SharedFile& shared = shared_[i];
    if (shared.sequence_number < sequence_number) break;
    // kNone is beyond every place.
    if ((shared.lower >= up_to && shared.lower != kNone) || shared.upper < below) continue;
    ARROW_ASSIGN_OR_RAISE(auto file, SharedDelete(&shared));
    deletes->position_deletes.push_back(std::move(file));
  }
  return arrow::Status::OK();
}

arrow::Status DeleteIndex::Match(const DataFile& data, int64_t sequence_number, MatchedDeletes* deletes) {
  deletes->Clear();
  std::lock_guard lock(match_mutex_);
  EncodePartitionScope(data.spec_id, data.partition, &scope_scratch_);
  const auto number = scope_bytes_.Find(scope_scratch_);
  ARROW_RETURN_NOT_OK(MatchOneFile(data, sequence_number, number, deletes));
  deletes->has_equality_deletes = sequence_number < global_equality_sequence_max_;
  if (number) {
    const Scope& scope = scopes_[*number];
    deletes->has_equality_deletes |= sequence_number < scope.equality_sequence_max;
    if (!deletes->deletion_vector) ARROW_RETURN_NOT_OK(MatchShared(data, sequence_number, scope, deletes));
  }
  // A deletion vector holds what the position deletes before it said.
  if (deletes->deletion_vector) deletes->position_deletes.clear();
  return arrow::Status::OK();
}

}  // namespace icebound::iceberg
