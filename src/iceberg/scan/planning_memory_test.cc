// SPDX-License-Identifier: Apache-2.0
//
// Scans of large tables plan in little memory. Manifests are made when they are opened, so that the table itself holds none.
#include <gtest/gtest.h>

#include <chrono>

#include "iceberg/scan/scan_testing.h"
#include "memory/memory_testing.h"

namespace icebound::iceberg::test {
namespace {

using memory::kMiB;

constexpr char kFields[] = R"({"id": 1, "name": "id", "required": false, "type": "long"})";
constexpr char kSpecs[] = R"({"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "id", "transform": "identity", "source-id": 1, "field-id": 1000}]})";
/// Names as writers give them, beside which all else is small.
std::string DataPath(int64_t i) {
  return fmt::format("s3://warehouse/db/table/data/{:05}-{}-9b2f4c1e-3a57-4e0b-8d6a-{:012x}-00001.parquet", i % 100000,
                     i / 100000, i);
}
std::string DeletePath(int64_t i) {
  return fmt::format("s3://warehouse/db/table/data/{:05}-{}-71d0a8f3-55c2-4b1f-9e77-{:012x}-00001-deletes.parquet", i % 100000,
                     i / 100000, i);
}

/// A ledger of 64 MiB for everything.
struct Ledger {
  memory::MemoryLedgerPtr ledger = memory::MakeLedger(64 * kMiB, memory::PoolPolicy::kFair, /*stall_timeout_ms=*/10);
  std::unique_ptr<memory::MemoryConsumer> consumer = ledger->AddConsumer("plan");
};

using MakeEntries = std::function<std::vector<TestEntry>(int64_t manifest)>;

/// A table of manifests that exist while they are read.
class LargeTable {
 public:
  LargeTable() : table_(kFields, kSpecs) {}

  void Add(int64_t manifests, bool deletes, int32_t spec_id, MakeEntries make) {
    for (int64_t i = 0; i < manifests; ++i) {
      table_.manifests.emplace_back(fmt::format("m{}", table_.manifests.size()),
                                    TestManifest{.spec_id = spec_id, .deletes = deletes});
      makers_[table_.manifests.back().first] = [make, i] { return make(i); };
    }
  }

  ScanOptions Options(memory::MemoryConsumer* consumer) {
    table_.files["list"] = EncodeManifestList(table_.manifests);
    ScanOptions options;
    options.table = table_.metadata;
    options.snapshot = table_.metadata->current_snapshot();
    options.consumer = consumer;
    options.open = [this](const std::string& location) -> arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> {
      if (location == "list") return FileOf(table_.files["list"]);
      for (const auto& [path, manifest] : table_.manifests) {
        if (path != location) continue;
        TestManifest filled = manifest;
        filled.entries = makers_[path]();
        return FileOf(EncodeManifest(filled, *table_.metadata));
      }
      return MakeError(ErrorKind::kNotFound, "there is no file {}", location);
    };
    return options;
  }

 private:
  TestTable table_;
  std::map<std::string, std::function<std::vector<TestEntry>()>> makers_;
};

struct Planned {
  int64_t tasks = 0;
  int64_t deletes = 0;
  int64_t peak_bytes = 0;
};

/// `taken_bytes` are another's.
arrow::Result<Planned> Plan(LargeTable* table, int64_t taken_bytes = 0) {
  Ledger ledger;
  const auto other = ledger.ledger->AddConsumer("other");
  memory::Reservation taken(other.get());
  ARROW_RETURN_NOT_OK(taken.ResizeTo(taken_bytes));
  const auto start = std::chrono::steady_clock::now();
  Planned planned;
  ARROW_ASSIGN_OR_RAISE(const auto scan, TableScan::Open(table->Options(ledger.consumer.get())));
  for (;;) {
    FileTask task;
    ARROW_ASSIGN_OR_RAISE(const bool more, scan->Next(&task));
    if (!more) break;
    ++planned.tasks;
    planned.deletes += static_cast<int64_t>(task.position_deletes.size()) + (task.deletion_vector ? 1 : 0);
  }
  planned.peak_bytes = ledger.ledger->peak_bytes();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%lld tasks, %lld deletes: %.1f MiB, %.2f s\n", static_cast<long long>(planned.tasks),
              static_cast<long long>(planned.deletes), static_cast<double>(planned.peak_bytes) / kMiB, seconds.count());
  return planned;
}

MakeEntries DataFiles(int64_t in_a_manifest, std::vector<Literal> partition = {}) {
  return [=](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = 0; i < in_a_manifest; ++i) entries.push_back(Data(DataPath(manifest * in_a_manifest + i), 1, partition));
    return entries;
  };
}

TEST(PlanningMemory, AMillionDataFiles) {
  // A sanitizer is many times slower.
  const int64_t manifests = memory::kSanitized ? 10 : 200;
  LargeTable table;
  table.Add(manifests, false, 0, DataFiles(5000));
  const Planned planned = Plan(&table).ValueOrDie();
  EXPECT_EQ(planned.tasks, manifests * 5000);
  EXPECT_LT(planned.peak_bytes, 4 * kMiB);
}

TEST(PlanningMemory, TenThousandDataFilesEachWithItsPositionDeletes) {
  LargeTable table;
  table.Add(10, false, 0, DataFiles(1000));
  table.Add(10, true, 0, [](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = manifest * 1000; i < (manifest + 1) * 1000; ++i) {
      entries.push_back(WithPaths(PositionDeletes(DeletePath(i), 2), DataPath(i), DataPath(i)));
    }
    return entries;
  });
  const Planned planned = Plan(&table).ValueOrDie();
  EXPECT_EQ(planned.tasks, 10000);
  EXPECT_EQ(planned.deletes, 10000);
  EXPECT_LT(planned.peak_bytes, 8 * kMiB);
}

TEST(PlanningMemory, TenThousandPositionDeletesOfTwoFilesEach) {
  LargeTable table;
  table.Add(10, false, 0, DataFiles(1000));
  table.Add(10, true, 0, [](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = manifest * 1000; i < (manifest + 1) * 1000; ++i) {
      const int64_t last = std::min<int64_t>(i + 1, 9999);
      if (i < last) entries.push_back(WithPaths(PositionDeletes(DeletePath(i), 2), DataPath(i), DataPath(last)));
    }
    return entries;
  });
  const Planned planned = Plan(&table).ValueOrDie();
  EXPECT_EQ(planned.tasks, 10000);
  EXPECT_EQ(planned.deletes, 2 * 9999);
  EXPECT_LT(planned.peak_bytes, 16 * kMiB);
}

TEST(PlanningMemory, ThousandsOfPositionDeletesThatMayBeAboutEveryFile) {
  LargeTable table;
  table.Add(1, false, 0, DataFiles(500));
  table.Add(10, true, 0, [](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = manifest * 1000; i < (manifest + 1) * 1000; ++i) entries.push_back(PositionDeletes(DeletePath(i), 2));
    return entries;
  });
  const Planned planned = Plan(&table).ValueOrDie();
  EXPECT_EQ(planned.deletes, 500 * 10000);
  EXPECT_LT(planned.peak_bytes, 24 * kMiB);
}

/// A vector for every data file, many in one Puffin file.
TEST(PlanningMemory, AHundredThousandDeletionVectors) {
  const int64_t manifests = memory::kSanitized ? 2 : 20;
  LargeTable table;
  const std::vector<Literal> partition = {int64_t{7}};
  table.Add(manifests, false, 1, DataFiles(5000, partition));
  table.Add(manifests, true, 1, [partition](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = manifest * 5000; i < (manifest + 1) * 5000; ++i) {
      entries.push_back(DeletionVector(DeletePath(i / 100), 2, DataPath(i), partition));
    }
    return entries;
  });
  const Planned planned = Plan(&table).ValueOrDie();
  EXPECT_EQ(planned.tasks, 5000 * manifests);
  EXPECT_EQ(planned.deletes, 5000 * manifests);
  EXPECT_LT(planned.peak_bytes, 48 * kMiB);
}

TEST(PlanningMemory, AnIndexThatDoesNotFitIsAnError) {
  LargeTable table;
  table.Add(1, false, 0, DataFiles(1));
  table.Add(20, true, 0, [](int64_t manifest) {
    std::vector<TestEntry> entries;
    for (int64_t i = manifest * 5000; i < (manifest + 1) * 5000; ++i) {
      entries.push_back(WithPaths(PositionDeletes(DeletePath(i), 2), DataPath(i), DataPath(i)));
    }
    return entries;
  });
  const auto status = Plan(&table, 56 * kMiB).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kMemoryLimit) << status.ToString();
  EXPECT_NE(status.message().find("delete files"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace icebound::iceberg::test
