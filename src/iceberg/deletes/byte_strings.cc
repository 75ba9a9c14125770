// SPDX-License-Identifier: Apache-2.0
#include "iceberg/deletes/byte_strings.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"

namespace icebound::iceberg {

uint32_t ByteStrings::HashOf(std::string_view text) {
  const size_t hash = std::hash<std::string_view>()(text);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

uint32_t* ByteStrings::FindSlot(std::string_view text, uint32_t hash) {
  const auto mask = static_cast<uint32_t>(slots_.size() - 1);
  for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
    uint32_t& slot = slots_[i];
    if (slot == kEmpty || (hashes_[slot] == hash && (*this)[slot] == text)) return &slot;
  }
}

std::optional<uint32_t> ByteStrings::Find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const uint32_t* slot = const_cast<ByteStrings*>(this)->FindSlot(text, HashOf(text));
  return *slot == kEmpty ? std::nullopt : std::optional<uint32_t>(*slot);
}

arrow::Status ByteStrings::MakeRoom() {
  if (2 * (size() + 1) <= slots_.size()) return arrow::Status::OK();
  constexpr int64_t kSizeMax = int64_t{1} << 31;
  int64_t slots = 16;
  while (slots < 4 * size()) slots *= 2;
  if (slots > kSizeMax) return MakeError(ErrorKind::kMemoryLimit, "an index of more than {} files is not built", kSizeMax / 2);
  // What is found again from the hashes need not be kept beside its successor.
  slots_.Clear();
  ARROW_RETURN_NOT_OK(slots_.Resize(slots));
  std::memset(slots_.data(), 0xff, static_cast<size_t>(slots) * sizeof(uint32_t));
  const auto mask = static_cast<uint32_t>(slots - 1);
  for (uint32_t number = 0; number < size(); ++number) {
    uint32_t i = hashes_[number] & mask;
    while (slots_[i] != kEmpty) i = (i + 1) & mask;
    slots_[i] = number;
  }
  return arrow::Status::OK();
}

arrow::Result<uint32_t> ByteStrings::Insert(std::string_view text) {
  ARROW_RETURN_NOT_OK(MakeRoom());
  const uint32_t hash = HashOf(text);
  uint32_t* slot = FindSlot(text, hash);
  if (*slot != kEmpty) return *slot;
  ARROW_RETURN_NOT_OK(bytes_.Reserve(static_cast<int64_t>(text.size())));
  ARROW_RETURN_NOT_OK(ends_.Reserve(1));
  ARROW_RETURN_NOT_OK(hashes_.Reserve(1));
  const int64_t begin = bytes_.size();
  ARROW_RETURN_NOT_OK(bytes_.Resize(begin + static_cast<int64_t>(text.size())));
  std::copy(text.begin(), text.end(), bytes_.data() + begin);
  ends_.UnsafeAppend(bytes_.size());
  hashes_.UnsafeAppend(hash);
  *slot = static_cast<uint32_t>(ends_.size() - 1);
  return *slot;
}

PathStrings::Parts PathStrings::Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t directory_bytes = slash == std::string_view::npos ? 0 : slash + 1;
  return {path.substr(0, directory_bytes), path.substr(directory_bytes)};
}

PathStrings::Parts PathStrings::PartsOf(uint32_t number) const {
  const std::string_view key = names_[number];
  uint32_t directory = 0;
  std::memcpy(&directory, key.data(), sizeof(directory));
  return {directories_[directory], key.substr(sizeof(directory))};
}

arrow::Result<uint32_t> PathStrings::Insert(std::string_view path) {
  const Parts parts = Split(path);
  ARROW_ASSIGN_OR_RAISE(const uint32_t directory, directories_.Insert(parts.directory));
  key_scratch_.assign(reinterpret_cast<const char*>(&directory), sizeof(directory));
  key_scratch_.append(parts.name);
  return names_.Insert(key_scratch_);
}

std::optional<uint32_t> PathStrings::Find(std::string_view path) const {
  const Parts parts = Split(path);
  const auto directory = directories_.Find(parts.directory);
  if (!directory) return std::nullopt;
  // Not the scratch of Insert: several threads may look at once.
  std::string key(reinterpret_cast<const char*>(&*directory), sizeof(*directory));
  key.append(parts.name);
  return names_.Find(key);
}

std::string PathStrings::operator[](uint32_t number) const {
  const Parts parts = PartsOf(number);
  std::string path(parts.directory);
  path.append(parts.name);
  return path;
}

int PathStrings::Compare(std::string_view path, uint32_t number) const {
  const Parts parts = PartsOf(number);
  const int order = path.substr(0, parts.directory.size()).compare(parts.directory);
  return order != 0 ? order : path.substr(parts.directory.size()).compare(parts.name);
}

}  // namespace icebound::iceberg
