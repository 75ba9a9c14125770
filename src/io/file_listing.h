// SPDX-License-Identifier: Apache-2.0
//
// Which files a path means.
//
//   a file                 itself, whatever characters are in its name
//   a directory            every file below it, at any depth, that has one of the wanted endings (*.parquet)
//   a pattern              * ? [a-z] [!a-z] {a,b} within a name, ** for any number of directories
//
// Names that begin with "." or "_" (markers, logs and temporary files of other engines) are not found unless they are written
// out; "_" with a "=" in it is a partition directory and is. The result is sorted by name, so that a table has one order. It is
// kept compactly and charged: a directory of a million files takes its names and 24 bytes each.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_systems.h"
#include "io/input_file.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

/// True when `name` matches `pattern` (no braces, no slashes in it).
bool MatchesPattern(std::string_view pattern, std::string_view name);

/// The patterns that `pattern` means without its braces. kInvalidInput when there are more than a thousand.
arrow::Result<std::vector<std::string>> ExpandBraces(std::string_view pattern);

/// The files of a table, sorted. Immutable once made; thread safe.
class FileListing {
 public:
  /// kNotFound (naming the path) when there is none. A directory means those of its files that end in one of `suffixes`.
  /// `consumer` is charged and must outlive the listing.
  static arrow::Result<FileListing> List(const Location& location, const std::vector<std::string_view>& suffixes,
                                         memory::MemoryConsumer* consumer);

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  std::string path(int64_t index) const;
  FileVersion version(int64_t index) const;
  int64_t total_bytes() const { return total_bytes_; }

 private:
  struct Entry {
    uint64_t name_offset = 0;
    int64_t size_bytes = 0;
    int64_t modified_ns = 0;
  };
  class Collector;

  explicit FileListing(memory::MemoryConsumer* consumer) : reservation_(consumer) {}
  arrow::Status Add(std::string_view path, int64_t size_bytes, int64_t modified_ns);
  void Sort();
  std::string_view NameAt(const Entry& entry) const { return names_.c_str() + entry.name_offset; }

  memory::Reservation reservation_;
  std::string names_;  // paths one after another, each with a zero byte behind it
  std::vector<Entry> entries_;
  int64_t total_bytes_ = 0;
};

}  // namespace icebound::io
