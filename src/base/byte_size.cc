// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "icebound/config.h"

namespace icebound {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kTiB = int64_t{1} << 40;

// Digits kept of each side of the point: 10^18 is the largest power of ten below 2^63, so that the products fit 128 bits.
constexpr size_t kDigitsMax = 18;

// cgroup v1 writes "no limit" as a number close to 2^63; nothing real is beyond 2^60.
constexpr int64_t kNoLimitBytes = int64_t{1} << 60;

struct UnitRow {
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<UnitRow, 9> kUnits = {{{"b", 1},
                                            {"kb", kKiB},
                                            {"mb", kMiB},
                                            {"gb", kGiB},
                                            {"tb", kTiB},
                                            {"kib", kKiB},
                                            {"mib", kMiB},
                                            {"gib", kGiB},
                                            {"tib", kTiB}}};

/// A decimal number as whole + fraction / scale.
struct Decimal {
  __int128 whole = 0;
  __int128 fraction = 0;
  __int128 scale = 1;

  __int128 Times(int64_t factor) const { return whole * factor + fraction * factor / scale; }
};

size_t CountDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

/// Takes a number off the front of `text`; nullopt when there is none, or a dot without digits on both sides.
std::optional<Decimal> TakeDecimal(std::string_view* text) {
  const size_t whole_digits = CountDigits(*text);
  if (whole_digits == 0) return std::nullopt;
  Decimal number;
  for (char c : text->substr(0, whole_digits)) {
    number.whole = std::min<__int128>(number.whole * 10 + (c - '0'), std::numeric_limits<int64_t>::max());
  }
  text->remove_prefix(whole_digits);
  if (text->empty() || text->front() != '.') return number;
  text->remove_prefix(1);
  const size_t fraction_digits = CountDigits(*text);
  if (fraction_digits == 0) return std::nullopt;
  for (char c : text->substr(0, std::min(fraction_digits, kDigitsMax))) {
    number.fraction = number.fraction * 10 + (c - '0');
    number.scale *= 10;
  }
  text->remove_prefix(fraction_digits);
  return number;
}

std::optional<int64_t> UnitBytes(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const UnitRow& unit : kUnits) {
    if (unit.name == lower) return unit.bytes;
  }
  return std::nullopt;
}

std::optional<std::string> ReadFirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

/// The directories whose limits apply to this process for one v1 controller, or for v2 ("" as controller): its own group and all
/// above it. In a container the path of /proc/self/cgroup may not exist below the mount; the mount itself is then the group.
std::vector<std::string> CgroupDirectories(const std::string& system_root, std::string_view controller) {
  const std::string mount =
      controller.empty() ? system_root + "/sys/fs/cgroup" : system_root + "/sys/fs/cgroup/" + std::string(controller);
  std::vector<std::string> directories;
  std::ifstream file(system_root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    // hierarchy-ID:controller,controller,...:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string wanted = controller.empty() ? ",," : "," + std::string(controller) + ",";
    if (controllers.find(wanted) == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    while (!path.empty() && path != "/") {
      directories.push_back(mount + path);
      path.resize(path.find_last_of('/'));
    }
  }
  directories.push_back(mount);
  return directories;
}

void LowerTo(std::optional<int64_t> limit, int64_t* value) {
  if (limit && *limit > 0 && *limit < kNoLimitBytes) *value = std::min(*value, *limit);
}

/// ceil(quota / period), nullopt when there is no quota.
std::optional<int> QuotaCpus(std::optional<int64_t> quota_us, std::optional<int64_t> period_us) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<int>((*quota_us + *period_us - 1) / *period_us);
}

std::optional<int64_t> ReadInteger(const std::string& path) {
  const auto line = ReadFirstLine(path);
  return line ? ParseInteger(*line) : std::nullopt;
}

}  // namespace

arrow::Result<int64_t> ParseByteSize(std::string_view text) {
  return ParseByteSize(text, {.whole_bytes = UsableMemoryBytes(), .whole_name = "memory", .zero_allowed = false});
}

arrow::Result<int64_t> ParseByteSize(std::string_view text, const ByteSizeRules& rules) {
  std::string_view rest = text;
  const std::optional<Decimal> number = TakeDecimal(&rest);
  if (!number) {
    return MakeError(ErrorKind::kInvalidInput, "not a size: '{}'; write a number and a unit, like 512MB, 1.5GiB or 50%", text);
  }
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);

  __int128 bytes = 0;
  if (rest == "%") {
    if (number->Times(1'000'000) > 100'000'000 || number->whole > 100) {
      return MakeError(ErrorKind::kInvalidInput, "size '{}' is more than 100 % of the {}", text, rules.whole_name);
    }
    bytes = number->Times(rules.whole_bytes) / 100;
  } else {
    const std::optional<int64_t> unit_bytes = UnitBytes(rest);
    if (!unit_bytes) {
      return MakeError(ErrorKind::kInvalidInput, "size '{}' has {}; units are B, KB, MB, GB, TB (or KiB, MiB, GiB, TiB) and %",
                       text, rest.empty() ? "no unit" : "an unknown unit");
    }
    bytes = number->Times(*unit_bytes);
  }
  if (bytes == 0 && !rules.zero_allowed) return MakeError(ErrorKind::kInvalidInput, "size '{}' is zero bytes", text);
  if (bytes > std::numeric_limits<int64_t>::max() || number->whole == std::numeric_limits<int64_t>::max()) {
    return MakeError(ErrorKind::kInvalidInput, "size '{}' is too large", text);
  }
  return static_cast<int64_t>(bytes);
}

arrow::Result<int64_t> ParseMemoryLimit(std::string_view text) { return ParseByteSize(text); }

arrow::Result<int64_t> ParseSpillLimit(std::string_view text, const std::string& spill_directory) {
  std::error_code ignored;
  const std::string directory =
      spill_directory.empty() ? std::filesystem::temp_directory_path(ignored).string() : spill_directory;
  // A directory that is not there is no error of a size: opening the session says so.
  return ParseByteSize(
      text, {.whole_bytes = FreeDiskBytes(directory).value_or(0), .whole_name = "disk's free space", .zero_allowed = true});
}

std::string FormatBytes(int64_t bytes) {
  if (bytes > -kKiB && bytes < kKiB) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / kKiB;
  size_t unit = 0;
  // 1023.95 would print as "1024.0", so the next unit starts there.
  while (unit + 1 < kNames.size() && (value >= 1023.95 || value <= -1023.95)) {
    value /= kKiB;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string FormatByteLimit(int64_t bytes) {
  constexpr std::array<UnitRow, 4> kWhole = {{{"TiB", kTiB}, {"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}}};
  for (const UnitRow& unit : kWhole) {
    if (bytes > 0 && bytes % unit.bytes == 0) return fmt::format("{} {}", bytes / unit.bytes, unit.name);
  }
  return FormatBytes(bytes);
}

int64_t UsableMemoryBytes(const std::string& system_root) {
  int64_t usable = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const std::string& directory : CgroupDirectories(system_root, "")) {
    LowerTo(ReadInteger(directory + "/memory.max"), &usable);
  }
  for (const std::string& directory : CgroupDirectories(system_root, "memory")) {
    LowerTo(ReadInteger(directory + "/memory.limit_in_bytes"), &usable);
  }
  return usable;
}

std::optional<int64_t> FreeDiskBytes(const std::string& directory) {
  struct statvfs space;
  if (statvfs(directory.c_str(), &space) != 0) return std::nullopt;
  return static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
}

int UsableCpus(const std::string& system_root) {
  int cpus = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cpu_set_t affinity;
  if (sched_getaffinity(0, sizeof(affinity), &affinity) == 0) cpus = std::max(1, CPU_COUNT(&affinity));
  for (const std::string& directory : CgroupDirectories(system_root, "")) {
    const auto line = ReadFirstLine(directory + "/cpu.max");  // "quota period" or "max period"
    if (!line) continue;
    const size_t space = line->find(' ');
    if (space == std::string::npos) continue;
    cpus = std::min(cpus, QuotaCpus(ParseInteger(line->substr(0, space)), ParseInteger(line->substr(space + 1))).value_or(cpus));
  }
  for (const std::string& directory : CgroupDirectories(system_root, "cpu")) {
    cpus = std::min(
        cpus,
        QuotaCpus(ReadInteger(directory + "/cpu.cfs_quota_us"), ReadInteger(directory + "/cpu.cfs_period_us")).value_or(cpus));
  }
  return std::max(1, cpus);
}

}  // namespace icebound
