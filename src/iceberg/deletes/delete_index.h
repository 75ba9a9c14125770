// SPDX-License-Identifier: Apache-2.0
//
// Which delete files may be about the rows of a data file. Built from all delete entries of a snapshot, then asked for every data
// file; neither looks at all pairs.
//
//   kind                        found by                      applies when
//   deletion vector             path of its data file         data sequence number <= its own
//   position deletes of one     path of the data file         the same, and there is no deletion vector
//     file
//   position deletes of more    partition scope, then path    the same
//                               bounds
//   equality deletes            partition scope; those of an  data sequence number < its own
//                               unpartitioned spec: every
//                               data file
//
// A delete of one file that is of another partition than the file itself is corrupt data: whether its rows are gone cannot be
// said, and leaving it out would bring them back unseen. So are two deletion vectors for one data file.
//
// Memory: some 80 bytes a delete file and its paths (byte_strings.h), charged to the consumer. DeleteFile values are made when
// somebody asks. Position deletes of more than one file are asked for again and again: the first of them, up to 8 MiB, are kept.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/deletes/byte_strings.h"
#include "iceberg/deletes/delete_file.h"
#include "iceberg/manifest/manifest_entry.h"
#include "iceberg/spec/table_metadata.h"
#include "memory/ledger_vector.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {

/// The column `file_path` of position delete files.
constexpr int32_t kDeleteFilePathId = 2147483546;

/// The deletes of one data file.
struct MatchedDeletes {
  std::optional<DeleteFile> deletion_vector;
  std::vector<std::shared_ptr<const DeleteFile>> position_deletes;  // none beside a deletion vector
  bool has_equality_deletes = false;

  void Clear() {
    deletion_vector.reset();
    position_deletes.clear();
    has_equality_deletes = false;
  }
};

/// Add every live entry of the delete manifests, Finish, then Match. Thread safe after Finish. The table's metadata and the
/// consumer must outlive it.
class DeleteIndex {
 public:
  DeleteIndex(const TableMetadata& table, memory::MemoryConsumer* consumer);

  /// A delete file with the bounds of its paths (metrics of kDeleteFilePathId); the other metrics are not needed.
  arrow::Status Add(const ManifestEntry& entry);
  arrow::Status Finish();

  arrow::Status Match(const DataFile& data, int64_t sequence_number, MatchedDeletes* deletes);

  const std::vector<EqualityDeleteGroup>& equality_groups() const { return groups_; }
  /// The file `index` (below its `files`) of group `group`.
  arrow::Result<DeleteFile> EqualityDelete(size_t group, int64_t index) const;

  int64_t files() const { return files_.size(); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// A delete file. Paths, texts and scopes are numbers of the tables below.
  struct IndexedFile {
    int64_t sequence_number;
    int64_t record_count;
    int64_t file_size_bytes;
    int64_t content_offset;      // -1: none
    int64_t content_size_bytes;  // -1: none
    uint32_t path;
    uint32_t about;  // path of the one data file, or kNone
    uint32_t scope;
    uint32_t format;
    uint32_t key_metadata;
    uint32_t next;  // about the same data file
    uint32_t group;
    FileContent content;
    bool is_vector;
    bool names_its_file;  // by a referenced data file; else by bounds
  };

  /// Position deletes of more than one file. Bounds of their paths are kNone, or paths; after Finish, places among the bounds of
  /// their scope in order, so that a data file's path is compared with few of them, and numbers with the rest.
  struct SharedFile {
    int64_t sequence_number;
    uint32_t scope;
    uint32_t file;
    uint32_t lower;
    uint32_t upper;
    uint32_t kept;  // place in kept_, or kNone
  };

  struct Scope {
    int64_t equality_sequence_max = -1;
    uint32_t shared_begin = 0;  // of shared_
    uint32_t shared_end = 0;
    int64_t bounds_begin = 0;  // of bounds_
    int64_t bounds_end = 0;
  };

  arrow::Status AddPositions(uint32_t number, const ManifestEntry& entry);
  arrow::Status AddEquality(uint32_t number, const ManifestEntry& entry, const PartitionSpec& spec);
  arrow::Status OrderShared();
  arrow::Status OrderBounds(Scope* scope);
  arrow::Result<uint32_t> FindGroup(const std::vector<int32_t>& equality_ids, bool global);
  arrow::Result<uint32_t> ScopeOf(const DataFile& file);
  arrow::Status MatchOneFile(const DataFile& data, int64_t sequence_number, std::optional<uint32_t> scope,
                             MatchedDeletes* deletes) const;
  arrow::Status MatchShared(const DataFile& data, int64_t sequence_number, const Scope& scope, MatchedDeletes* deletes);
  arrow::Result<std::shared_ptr<const DeleteFile>> SharedDelete(SharedFile* shared);
  arrow::Result<DeleteFile> MakeDelete(const IndexedFile& file) const;
  const TypePtr& TupleTypeOf(int32_t spec_id) const;

  const TableMetadata& table_;
  std::vector<TypePtr> tuple_types_;  // of the table's specs, in their order
  PathStrings paths_;
  ByteStrings scope_bytes_;
  ByteStrings texts_;
  memory::LedgerVector<IndexedFile> files_;
  memory::LedgerVector<uint32_t> first_about_;  // by path: a file of files_, or kNone
  memory::LedgerVector<SharedFile> shared_;
  memory::LedgerVector<uint32_t> bounds_;  // paths: of each scope its bounds, in order and distinct
  memory::LedgerVector<Scope> scopes_;     // by number in scope_bytes_
  memory::LedgerVector<uint32_t> equality_files_;
  std::vector<EqualityDeleteGroup> groups_;
  std::vector<int64_t> group_begins_;  // in equality_files_
  memory::Reservation groups_memory_;
  int64_t global_equality_sequence_max_ = -1;

  std::mutex match_mutex_;
  // Guarded by match_mutex_ after Finish, as is SharedFile::kept.
  memory::Reservation kept_memory_;
  std::vector<std::shared_ptr<const DeleteFile>> kept_;
  std::string scope_scratch_;
};

}  // namespace icebound::iceberg
