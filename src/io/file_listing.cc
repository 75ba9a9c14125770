// SPDX-License-Identifier: Apache-2.0
#include "io/file_listing.h"

#include <arrow/util/future.h>
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include <fmt/ranges.h>

#include "base/error.h"

namespace icebound::io {
namespace {

constexpr std::string_view kSpecial = "*?[{";
constexpr size_t kMaxAlternatives = 1000;

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
  std::pair<uint64_t, uint64_t> identity;  // device and inode; zeros where the store has none
};

bool IsHidden(std::string_view name) {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos);
}

bool HasPattern(std::string_view text) { return text.find_first_of(kSpecial) != std::string_view::npos; }

/// Matches one [set] at pattern[at]; moves `at` behind it. A set without end is a literal "[".
bool MatchesSet(std::string_view pattern, size_t* at, char c) {
  size_t i = *at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const size_t end = pattern.find(']', i + 1);
  if (end == std::string_view::npos) return pattern[(*at)++] == c;
  bool found = false;
  for (; i < end; ++i) {
    if (i + 2 < end && pattern[i + 1] == '-') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  *at = end + 1;
  return found != negated;
}

std::string Join(const std::string& directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return directory.ends_with('/') ? directory + std::string(name) : directory + "/" + std::string(name);
}

arrow::Status ListingError(const std::string& path, int error_number) {
  const ErrorKind kind = error_number == ENOENT || error_number == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo;
  return MakeError(kind, "cannot list {}: {}", path, std::generic_category().message(error_number));
}

/// The store behind a listing: what is under a name, and what a directory holds.
class Store {
 public:
  explicit Store(const Location& location) : location_(location) {}

  /// nullopt when nothing has that name.
  arrow::Result<std::optional<DirectoryEntry>> Inspect(const std::string& path) const {
    if (!location_.is_local) {
      auto info = location_.file_system->GetFileInfo(path);
      if (!info.ok()) return WithContext(info.status(), ErrorKind::kIo, fmt::format("inspecting {}{}", location_.prefix, path));
      if (info->type() == arrow::fs::FileType::NotFound) return std::nullopt;
      return FromInfo(*info);
    }
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      return MakeError(ErrorKind::kIo, "cannot inspect {}: {}", path, std::generic_category().message(errno));
    }
    return FromStat(path, info);
  }

  /// Device and inode of a local directory.
  std::pair<uint64_t, uint64_t> Identity(const std::string& path) const {
    struct stat info;
    if (!location_.is_local || stat(path.c_str(), &info) != 0) return {};
    return {info.st_dev, info.st_ino};
  }

  /// Calls `visit` for every entry of one directory, in no particular order.
  arrow::Status ForEach(const std::string& directory, const std::function<arrow::Status(const DirectoryEntry&)>& visit) const {
    return location_.is_local ? ForEachLocal(directory, visit) : ForEachRemote(directory, visit);
  }

 private:
  static DirectoryEntry FromInfo(const arrow::fs::FileInfo& info) {
    const bool has_time = info.mtime() != arrow::fs::kNoTime;
    return {.name = info.base_name(),
            .is_directory = info.IsDirectory(),
            .size_bytes = info.size(),
            .modified_ns = has_time ? info.mtime().time_since_epoch().count() : 0};
  }
  static DirectoryEntry FromStat(std::string name, const struct stat& info) {
    return {.name = std::move(name),
            .is_directory = S_ISDIR(info.st_mode),
            .size_bytes = info.st_size,
            .modified_ns = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec,
            .identity = {info.st_dev, info.st_ino}};
  }

  static arrow::Status ForEachLocal(const std::string& directory,
                                    const std::function<arrow::Status(const DirectoryEntry&)>& visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(directory.empty() ? "." : directory.c_str()), &closedir);
    if (handle == nullptr) return ListingError(directory.empty() ? "." : directory, errno);
    while (true) {
      errno = 0;
      const dirent* entry = readdir(handle.get());
      if (entry == nullptr) return errno == 0 ? arrow::Status::OK() : ListingError(directory, errno);
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info;
      // A file that vanished between the two calls, or a dangling link, is simply not there.
      if (stat(Join(directory, name).c_str(), &info) != 0) continue;
      ARROW_RETURN_NOT_OK(visit(FromStat(std::string(name), info)));
    }
  }

  arrow::Status ForEachRemote(const std::string& directory,
                              const std::function<arrow::Status(const DirectoryEntry&)>& visit) const {
    arrow::fs::FileSelector selector;
    selector.base_dir = directory;
    selector.allow_not_found = true;
    // The generator delivers a store's pages of names one at a time instead of all at once.
    const arrow::fs::FileInfoGenerator generator = location_.file_system->GetFileInfoGenerator(selector);
    while (true) {
      auto page = generator().result();
      if (!page.ok()) return WithContext(page.status(), ErrorKind::kIo, fmt::format("listing {}{}", location_.prefix, directory));
      if (page->empty()) return arrow::Status::OK();
      for (const arrow::fs::FileInfo& info : *page) ARROW_RETURN_NOT_OK(visit(FromInfo(info)));
    }
  }

  const Location& location_;
};

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view name) {
  // Greedy with one point to return to: the last "*" and how much of the name it took. Quadratic at worst, no recursion.
  size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    size_t next = p;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || (pattern[p] == '[' ? MatchesSet(pattern, &next, name[n]) : pattern[p] == name[n]))) {
      p = pattern[p] == '[' ? next : p + 1;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

arrow::Result<std::vector<std::string>> ExpandBraces(std::string_view pattern) {
  std::vector<std::string> done;
  std::vector<std::string> open = {std::string(pattern)};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    // The first brace that closes, and the commas directly inside it.
    const size_t begin = text.find('{');
    size_t end = std::string::npos;
    std::vector<size_t> cuts;
    int depth = 0;
    for (size_t i = begin; i < text.size() && end == std::string::npos; ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == ',' && depth == 1) cuts.push_back(i);
      if (text[i] == '}' && --depth == 0) end = i;
    }
    if (begin == std::string::npos || end == std::string::npos) {
      done.push_back(text);
    } else {
      cuts.push_back(end);
      size_t from = begin + 1;
      for (const size_t cut : cuts) {
        open.push_back(text.substr(0, begin) + text.substr(from, cut - from) + text.substr(end + 1));
        from = cut + 1;
      }
    }
    if (open.size() + done.size() > kMaxAlternatives) {
      return MakeError(ErrorKind::kInvalidInput, "the braces of \"{}\" mean more than {} patterns", pattern, kMaxAlternatives);
    }
  }
  std::sort(done.begin(), done.end());
  done.erase(std::unique(done.begin(), done.end()), done.end());
  return done;
}

/// Walks directories and adds what matches.
class FileListing::Collector {
 public:
  Collector(const Location& location, const std::vector<std::string_view>& suffixes, FileListing* listing)
      : store_(location), suffixes_(suffixes), listing_(listing) {}

  arrow::Status AddFile(const std::string& path, const DirectoryEntry& entry) {
    return listing_->Add(path, entry.size_bytes, entry.modified_ns);
  }

  arrow::Status AddRoot(const std::string& directory, const DirectoryEntry& entry) {
    inside_.push_back(entry.identity);
    return AddTree(directory);
  }

  arrow::Status AddTree(const std::string& directory) {
    std::vector<DirectoryEntry> below;
    ARROW_RETURN_NOT_OK(store_.ForEach(directory, [&](const DirectoryEntry& entry) -> arrow::Status {
      if (IsHidden(entry.name)) return arrow::Status::OK();
      if (entry.is_directory) {
        below.push_back(entry);
        return arrow::Status::OK();
      }
      const bool is_wanted =
          std::any_of(suffixes_.begin(), suffixes_.end(), [&](std::string_view suffix) { return entry.name.ends_with(suffix); });
      return is_wanted ? AddFile(Join(directory, entry.name), entry) : arrow::Status::OK();
    }));
    for (const DirectoryEntry& entry : below) {
      ARROW_RETURN_NOT_OK(Enter(directory, entry, [&](const std::string& path) { return AddTree(path); }));
    }
    return arrow::Status::OK();
  }

  /// Adds what parts[at..] match below `directory`.
  arrow::Status AddMatches(const std::string& directory, const std::vector<std::string>& parts, size_t at) {
    const bool last = at + 1 == parts.size();
    const std::string& part = parts[at];
    if (!HasPattern(part)) {
      const std::string path = Join(directory, part);
      if (!last)
        return Enter(directory, {.name = part, .identity = store_.Identity(path)},
                     [&](const std::string& below) { return AddMatches(below, parts, at + 1); });
      ARROW_ASSIGN_OR_RAISE(const std::optional<DirectoryEntry> entry, store_.Inspect(path));
      return entry.has_value() && !entry->is_directory ? AddFile(path, *entry) : arrow::Status::OK();
    }
    const bool any_depth = part == "**";
    if (any_depth && !last) ARROW_RETURN_NOT_OK(AddMatches(directory, parts, at + 1));  // ** as no directory at all
    std::vector<DirectoryEntry> below;
    // A pattern only meets hidden names when it begins with their first character itself.
    const bool wants_hidden = part.starts_with('.') || part.starts_with('_');
    const arrow::Status listed = store_.ForEach(directory, [&](const DirectoryEntry& entry) -> arrow::Status {
      if (IsHidden(entry.name) && !wants_hidden) return arrow::Status::OK();
      if (!any_depth && !MatchesPattern(part, entry.name)) return arrow::Status::OK();
      if (entry.is_directory && (any_depth || !last)) below.push_back(entry);
      return !entry.is_directory && last ? AddFile(Join(directory, entry.name), entry) : arrow::Status::OK();
    });
    // A directory that the pattern spells out need not exist: then it matches nothing.
    if (!listed.ok() && GetErrorKind(listed) != ErrorKind::kNotFound) return listed;
    for (const DirectoryEntry& entry : below) {
      ARROW_RETURN_NOT_OK(
          Enter(directory, entry, [&](const std::string& path) { return AddMatches(path, parts, any_depth ? at : at + 1); }));
    }
    return arrow::Status::OK();
  }

  const Store& store() const { return store_; }

 private:
  /// Goes into a directory, unless it is one we are in already: links may lead back up.
  template <typename Visit>
  arrow::Status Enter(const std::string& directory, const DirectoryEntry& entry, Visit&& visit) {
    const bool known = entry.identity != std::pair<uint64_t, uint64_t>();
    if (known && std::find(inside_.begin(), inside_.end(), entry.identity) != inside_.end()) return arrow::Status::OK();
    inside_.push_back(entry.identity);
    const arrow::Status status = visit(Join(directory, entry.name));
    inside_.pop_back();
    return status;
  }

  const Store store_;
  const std::vector<std::string_view>& suffixes_;
  FileListing* const listing_;
  std::vector<std::pair<uint64_t, uint64_t>> inside_;  // directories from the start down to here
};

arrow::Result<FileListing> FileListing::List(const Location& location, const std::vector<std::string_view>& suffixes,
                                             memory::MemoryConsumer* consumer) {
  FileListing listing(consumer);
  Collector collector(location, suffixes, &listing);
  std::string path = location.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();

  ARROW_ASSIGN_OR_RAISE(const std::optional<DirectoryEntry> entry, collector.store().Inspect(path));
  if (entry.has_value() && !entry->is_directory) {
    ARROW_RETURN_NOT_OK(collector.AddFile(path, *entry));
    return listing;
  }
  if (entry.has_value()) {
    ARROW_RETURN_NOT_OK(collector.AddRoot(path, *entry));
    if (listing.entries_.empty()) {
      return MakeError(ErrorKind::kNotFound, "no such files in the directory {}: none of its files ends in \"{}\"", location.text,
                       fmt::join(suffixes, "\" or \""));
    }
  } else if (HasPattern(path)) {
    ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> patterns, ExpandBraces(path));
    for (const std::string& pattern : patterns) {
      std::vector<std::string> parts;
      std::string start = pattern.starts_with('/') ? "/" : "";
      for (size_t from = start.size(); from <= pattern.size();) {
        const size_t to = std::min(pattern.find('/', from), pattern.size());
        if (to > from) parts.push_back(pattern.substr(from, to - from));
        from = to + 1;
      }
      if (!parts.empty()) ARROW_RETURN_NOT_OK(collector.AddMatches(start, parts, 0));
    }
    if (listing.entries_.empty()) return MakeError(ErrorKind::kNotFound, "no files match {}", location.text);
  } else {
    return MakeError(ErrorKind::kNotFound, "{} does not exist", location.text);
  }
  listing.Sort();
  return listing;
}

arrow::Status FileListing::Add(std::string_view path, int64_t size_bytes, int64_t modified_ns) {
  const size_t names_size = names_.size() + path.size() + 1;
  if (names_size > names_.capacity() || entries_.size() == entries_.capacity()) {
    const size_t names_capacity = std::max(names_.capacity(), names_size * 3 / 2 + 256);
    const size_t entry_capacity = std::max(entries_.capacity(), entries_.size() * 3 / 2 + 8);
    ARROW_RETURN_NOT_OK(reservation_.ResizeTo(static_cast<int64_t>(2 * names_capacity + entry_capacity * sizeof(Entry))));
    names_.reserve(names_capacity);
    entries_.reserve(entry_capacity);
  }
  entries_.push_back({.name_offset = names_.size(), .size_bytes = size_bytes, .modified_ns = modified_ns});
  names_.append(path).push_back('\0');
  total_bytes_ += size_bytes;
  return arrow::Status::OK();
}

void FileListing::Sort() {
  const auto by_name = [&](const Entry& left, const Entry& right) { return NameAt(left) < NameAt(right); };
  std::sort(entries_.begin(), entries_.end(), by_name);
  // "{a,ab}*" and "**/*" can find a file twice.
  const auto last = std::unique(entries_.begin(), entries_.end(),
                                [&](const Entry& left, const Entry& right) { return NameAt(left) == NameAt(right); });
  entries_.erase(last, entries_.end());
  total_bytes_ = 0;
  for (const Entry& entry : entries_) total_bytes_ += entry.size_bytes;
}

std::string FileListing::path(int64_t index) const { return std::string(NameAt(entries_[static_cast<size_t>(index)])); }

FileVersion FileListing::version(int64_t index) const {
  const Entry& entry = entries_[static_cast<size_t>(index)];
  return {.size_bytes = entry.size_bytes, .modified_ns = entry.modified_ns};
}

}  // namespace icebound::io
