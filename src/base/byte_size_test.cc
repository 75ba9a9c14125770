// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "icebound/config.h"
#include "icebound/error.h"

namespace icebound {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;
constexpr int64_t kTiB = 1024 * kGiB;

struct GoodCase {
  const char* text;
  int64_t bytes;
};

TEST(ParseByteSize, AcceptsNumbersWithUnits) {
  const GoodCase cases[] = {
      {"1B", 1},
      {"512B", 512},
      {"1KB", kKiB},
      {"1kb", kKiB},
      {"1KiB", kKiB},
      {"512MB", 512 * kMiB},
      {"512 MB", 512 * kMiB},
      {"512MiB", 512 * kMiB},
      {"512mib", 512 * kMiB},
      {"32mB", 32 * kMiB},
      {"2GB", 2 * kGiB},
      {"1.5GB", kGiB + kGiB / 2},
      {"1.50 gib", kGiB + kGiB / 2},
      {"0.5KB", 512},
      {"0.25KiB", 256},
      {"0001MB", kMiB},
      {"3TB", 3 * kTiB},
      {"1TiB", kTiB},
      {"0.3GB", 322122547},           // 322122547.2
      {"1.999B", 1},                  // what is left of a byte is cut off
      {"8388607TB", 8388607 * kTiB},  // the largest whole number of them in 63 bits
      {"9223372036854775806B", std::numeric_limits<int64_t>::max() - 1},
  };
  for (const GoodCase& c : cases) {
    auto parsed = ParseByteSize(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status().ToString();
    EXPECT_EQ(*parsed, c.bytes) << c.text;
    EXPECT_EQ(*ParseMemoryLimit(c.text), c.bytes) << c.text;
  }
}

TEST(ParseByteSize, PercentIsOfTheUsableMemory) {
  const int64_t usable_bytes = UsableMemoryBytes();
  EXPECT_EQ(*ParseByteSize("100%"), usable_bytes);
  EXPECT_EQ(*ParseByteSize("50%"), usable_bytes / 2);
  EXPECT_EQ(*ParseByteSize("50 %"), usable_bytes / 2);
  EXPECT_EQ(*ParseByteSize("12.5%"), usable_bytes / 8);
}

TEST(ParseSpillLimit, PercentIsOfTheFreeDisk) {
  EXPECT_EQ(*ParseSpillLimit("50%", "/proc"), 0) << "/proc has no space";
  const auto free_bytes = static_cast<double>(*FreeDiskBytes("/"));
  EXPECT_NEAR(static_cast<double>(*ParseSpillLimit("50%", "/")), free_bytes / 2, free_bytes / 10) << "others write, too";
  EXPECT_EQ(*ParseSpillLimit("1GiB", "/"), kGiB);
  EXPECT_EQ(FreeDiskBytes("/nosuch"), std::nullopt);
  EXPECT_EQ(*ParseSpillLimit("1GiB", "/nosuch"), kGiB) << "the session says that it is not there";
}

TEST(ParseSpillLimit, NothingIsALimit) {
  EXPECT_EQ(*ParseSpillLimit("0B", "/"), 0);
  EXPECT_EQ(*ParseSpillLimit("0%", "/"), 0);
  EXPECT_THAT(ParseSpillLimit("101%", "/").status().message(), HasSubstr("101%"));
  EXPECT_FALSE(ParseSpillLimit("-1B", "/").ok());
  EXPECT_FALSE(ParseSpillLimit("0", "/").ok()) << "no unit";
}

TEST(ParseByteSize, RefusesEverythingElseAndQuotesIt) {
  const char* cases[] = {"",
                         " ",
                         "12XB",
                         "-1MB",
                         "+1MB",
                         "0",
                         "0MB",
                         "0.0GB",
                         "0%",
                         "99999999TB",
                         "1e9MB",
                         "1E3B",
                         "NaN",
                         "inf",
                         "1..5MB",
                         "1.5.2MB",
                         "MB",
                         "%",
                         "101%",
                         "100.1%",
                         "200%",
                         "512",
                         "1.5",
                         "512M",
                         "512G",
                         "5 12MB",
                         "512  MB",
                         " 512MB",
                         "512MB ",
                         "512\tMB",
                         "0x10MB",
                         "1,5GB",
                         ".5GB",
                         "5.GB",
                         "1PB",
                         "MB512",
                         "512MBB",
                         "512M B",
                         "512 ",
                         "0.1B",
                         "0.0001KB",
                         "1MB1MB",
                         "8388608TB",
                         "9223372036854775808B",
                         "99999999999999999999999999999999999999999B",
                         "99999999999999999999999999999999999999999%",
                         "-0MB",
                         "１MB",
                         "50percent",
                         "--1MB",
                         "1 000MB"};
  for (const char* text : cases) {
    auto parsed = ParseByteSize(text);
    ASSERT_FALSE(parsed.ok()) << text << " gave " << *parsed;
    EXPECT_EQ(GetErrorKind(parsed.status()), ErrorKind::kInvalidInput) << text;
    EXPECT_THAT(parsed.status().message(), HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(FormatBytes, OneDecimal) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(static_cast<int64_t>(41.2 * kMiB)), "41.2 MiB");
  EXPECT_EQ(FormatBytes(kMiB - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(5 * kGiB), "5.0 GiB");
  EXPECT_EQ(FormatBytes(7 * kTiB), "7.0 TiB");
  EXPECT_EQ(FormatBytes(-3 * kMiB), "-3.0 MiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::max()), "8.0 EiB");
}

TEST(FormatByteLimit, WholeNumbersStayWhole) {
  EXPECT_EQ(FormatByteLimit(16 * kMiB), "16 MiB");
  EXPECT_EQ(FormatByteLimit(1536 * kMiB), "1536 MiB");
  EXPECT_EQ(FormatByteLimit(2 * kGiB), "2 GiB");
  EXPECT_EQ(FormatByteLimit(kMiB + 1), "1.0 MiB");
  EXPECT_EQ(FormatByteLimit(0), "0 B");
}

/// A /proc and /sys of our own.
class UsableResources : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("icebound-byte-size-" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return root_.string(); }

  const int64_t machine_bytes_ = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::filesystem::path root_;
};

TEST_F(UsableResources, MachineWithoutCgroups) {
  EXPECT_EQ(UsableMemoryBytes(root()), machine_bytes_);
  cpu_set_t affinity;
  ASSERT_EQ(sched_getaffinity(0, sizeof(affinity), &affinity), 0);
  EXPECT_EQ(UsableCpus(root()), CPU_COUNT(&affinity));
}

TEST_F(UsableResources, VersionTwoTakesTheSmallestLimitAboveIt) {
  Write("proc/self/cgroup", "0::/outer/inner\n");
  Write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("sys/fs/cgroup/outer/memory.max", "104857600\n");
  EXPECT_EQ(UsableMemoryBytes(root()), 100 * kMiB);
  Write("sys/fs/cgroup/outer/inner/memory.max", "52428800\n");
  EXPECT_EQ(UsableMemoryBytes(root()), 50 * kMiB);
}

TEST_F(UsableResources, VersionTwoInAContainerWhosePathIsTheHosts) {
  Write("proc/self/cgroup", "0::/docker/0123\n");
  Write("sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(UsableMemoryBytes(root()), 64 * kMiB);
}

TEST_F(UsableResources, VersionOneIgnoresItsNoLimit) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemoryBytes(root()), machine_bytes_);
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "33554432\n");
  EXPECT_EQ(UsableMemoryBytes(root()), 32 * kMiB);
}

TEST_F(UsableResources, QuotaIsRoundedUpToWholeCpus) {
  Write("proc/self/cgroup", "0::/job\n");
  Write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(UsableCpus(root()), 1);
  cpu_set_t affinity;
  ASSERT_EQ(sched_getaffinity(0, sizeof(affinity), &affinity), 0);
  Write("sys/fs/cgroup/job/cpu.max", "110000 100000\n");
  EXPECT_EQ(UsableCpus(root()), std::min(2, CPU_COUNT(&affinity)));
  Write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(UsableCpus(root()), CPU_COUNT(&affinity));
  Write("proc/self/cgroup", "5:cpu,cpuacct:/job\n");
  Write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "10000\n");
  Write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableCpus(root()), 1);
}

}  // namespace
}  // namespace icebound
