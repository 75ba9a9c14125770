// SPDX-License-Identifier: Apache-2.0
//
// Position delete files about many data files, against the sets they were made of: in memory, spilled, forgotten and read again.
#include "bridge/shared_position_deletes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "io/parquet_testing.h"

namespace icebound::bridge {
namespace {

using iceberg::puffin::DeletionVector;
using io::testing::Directory;
using io::testing::Engine;

using Positions = std::map<std::string, std::set<int64_t>>;

/// Writes rows in the order given.
iceberg::DeleteFile Write(const std::string& path, const std::vector<std::pair<std::string, int64_t>>& rows) {
  arrow::StringBuilder paths;
  arrow::Int64Builder positions;
  for (const auto& [name, position] : rows) {
    EXPECT_TRUE(paths.Append(name).ok() && positions.Append(position).ok());
  }
  const auto schema = arrow::schema(
      {ColumnWithId("file_path", arrow::utf8(), kDeletePathColumn), ColumnWithId("pos", arrow::int64(), kDeletePositionColumn)});
  io::testing::WriteFile(path, *arrow::Table::Make(schema, {*paths.Finish(), *positions.Finish()}), {.row_group_rows = 100'000});
  iceberg::DeleteFile deletes;
  deletes.file.file_path = path;
  deletes.file.file_format = "PARQUET";
  return deletes;
}

struct Fixture {
  explicit Fixture(int64_t limit_mib = 64) : engine(limit_mib, /*threads=*/2), consumer(engine.ledger->AddConsumer("deletes")) {
    read->name = "t";
    read->file_systems = engine.file_systems.get();
    read->ledger = engine.ledger.get();
  }
  std::set<int64_t> Read(SharedPositionDeletes* shared, const iceberg::DeleteFile& deletes, const std::string& path) {
    DeletionVector vector(consumer.get());
    const arrow::Status status = shared->AddTo(deletes, path, &vector);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::vector<int64_t> positions(static_cast<size_t>(vector.cardinality()));
    vector.Positions(0, positions);
    return {positions.begin(), positions.end()};
  }

  Engine engine;
  std::shared_ptr<SnapshotRead> read = std::make_shared<SnapshotRead>();
  std::unique_ptr<memory::MemoryConsumer> consumer;
};

TEST(SharedPositionDeletes, PathsThatComeAgain) {
  Directory directory;
  Fixture fixture;
  const auto deletes = Write(directory / "d.parquet", {{"a", 5}, {"a", 1}, {"b", 2}, {"a", 9}, {"b", 3}, {"a", 5}});
  SharedPositionDeletes shared(fixture.read, fixture.engine.context.get(), fixture.consumer.get());
  EXPECT_EQ(fixture.Read(&shared, deletes, "a"), (std::set<int64_t>{1, 5, 9}));
  EXPECT_EQ(fixture.Read(&shared, deletes, "b"), (std::set<int64_t>{2, 3}));
  EXPECT_TRUE(fixture.Read(&shared, deletes, "c").empty());
  EXPECT_EQ(fixture.engine.disk->created_files(), 0);
}

TEST(SharedPositionDeletes, WhatDoesNotFitGoesToDisk) {
  Directory directory;
  Fixture fixture;
  std::mt19937_64 random(3);
  Positions expected;
  for (int i = 0; i < 40; ++i) {
    std::set<int64_t>& rows = expected[fmt::format("s3://bucket/table/data/file-{:04}.parquet", i)];
    while (rows.size() < 100'000) rows.insert(static_cast<int64_t>(random() % 50'000'000));
  }
  std::vector<std::pair<std::string, int64_t>> rows;
  for (const auto& [path, positions] : expected) {
    for (const int64_t position : positions) rows.emplace_back(path, position);
  }
  const auto deletes = Write(directory / "d.parquet", rows);
  SharedPositionDeletes shared(fixture.read, fixture.engine.context.get(), fixture.consumer.get());
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      int i = 0;
      for (const auto& [path, positions] : expected) {
        if (i++ % 2 != t) continue;
        EXPECT_EQ(fixture.Read(&shared, deletes, path), positions) << path;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fixture.engine.disk->created_files(), 1);
  EXPECT_GT(fixture.engine.disk->written_raw_bytes(), 1 << 20);
  // Of 4 million positions (32 MB as numbers) little more than the blobs' share stays.
  EXPECT_LT(fixture.consumer->reserved_bytes(), 8 << 20);
}

TEST(SharedPositionDeletes, ThreadsThatAskSideBySide) {
  Directory directory;
  Fixture fixture;
  std::vector<std::pair<std::string, int64_t>> rows;
  const auto path_of = [](int i) { return fmt::format("s3://bucket/table/data/p={}/file-{:05}.parquet", i % 3, i); };
  for (int i = 0; i < 2000; ++i) rows.emplace_back(path_of(i), i);
  const auto deletes = Write(directory / "d.parquet", rows);
  SharedPositionDeletes shared(fixture.read, fixture.engine.context.get(), fixture.consumer.get());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const int file = (i + 500 * t) % 2000;
        if (fixture.Read(&shared, deletes, path_of(file)) != std::set<int64_t>{file}) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(SharedPositionDeletes, DamageIsNotForgotten) {
  Directory directory;
  Fixture fixture;
  const auto deletes = Write(directory / "d.parquet", {{"a", 1}, {"b", -2}});
  SharedPositionDeletes shared(fixture.read, fixture.engine.context.get(), fixture.consumer.get());
  for (int i = 0; i < 2; ++i) {
    DeletionVector vector(fixture.consumer.get());
    const arrow::Status status = shared.AddTo(deletes, "a", &vector);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status.ToString();
    EXPECT_NE(status.message().find("d.parquet"), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace icebound::bridge
