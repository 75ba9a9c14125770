// SPDX-License-Identifier: Apache-2.0
//
// Distinct byte strings, numbered in the order they come: the compact half of an index over many files. A string costs its bytes,
// 8 bytes for where it ends, 4 for its hash, and 4 to 8 in the table that finds it (open addressing, at most half full), all of
// it charged before it is taken.
//
// Paths of one table share long directories, so PathStrings keeps a path as the number of its directory and its name.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memory/ledger_vector.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {

/// Not thread safe while it grows.
class ByteStrings {
 public:
  explicit ByteStrings(memory::MemoryConsumer* consumer)
      : bytes_(consumer), ends_(consumer), hashes_(consumer), slots_(consumer) {}

  /// The number of `text`, which is a new one or the one it has.
  arrow::Result<uint32_t> Insert(std::string_view text);
  std::optional<uint32_t> Find(std::string_view text) const;
  /// Valid until the next Insert.
  std::string_view operator[](uint32_t number) const {
    const int64_t begin = number == 0 ? 0 : ends_[number - 1];
    return {bytes_.data() + begin, static_cast<size_t>(ends_[number] - begin)};
  }
  int64_t size() const { return ends_.size(); }

 private:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  static uint32_t HashOf(std::string_view text);
  /// The slot that holds `text`, or the empty one where it would go. There is one.
  uint32_t* FindSlot(std::string_view text, uint32_t hash);
  arrow::Status MakeRoom();

  memory::LedgerVector<char> bytes_;
  memory::LedgerVector<int64_t> ends_;
  memory::LedgerVector<uint32_t> hashes_;
  memory::LedgerVector<uint32_t> slots_;  // numbers; a power of two of them
};

/// Not thread safe while it grows.
class PathStrings {
 public:
  explicit PathStrings(memory::MemoryConsumer* consumer) : directories_(consumer), names_(consumer) {}

  arrow::Result<uint32_t> Insert(std::string_view path);
  std::optional<uint32_t> Find(std::string_view path) const;
  std::string operator[](uint32_t number) const;
  /// Order of bytes: negative when `path` is before the path of this number.
  int Compare(std::string_view path, uint32_t number) const;
  int64_t size() const { return names_.size(); }

 private:
  struct Parts {
    std::string_view directory;
    std::string_view name;
  };
  static Parts Split(std::string_view path);
  Parts PartsOf(uint32_t number) const;

  ByteStrings directories_;
  ByteStrings names_;        // number of the directory (4 bytes) | name
  std::string key_scratch_;  // of names_
};

}  // namespace icebound::iceberg
