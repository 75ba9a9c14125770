// SPDX-License-Identifier: Apache-2.0
//
// Records like a manifest's entries (a path, sizes, metrics of eight columns) into structs and out of them, and rows like those
// of a data file into Arrow batches. Bytes a second are those of the records, not compressed.
#include <arrow/io/memory.h>
#include <arrow/util/key_value_metadata.h>
#include <arrow/util/logging.h>
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "iceberg/avro/batch_reader.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/record_writer.h"

namespace icebound::iceberg::avro {
namespace {

constexpr int64_t kRecords = 20000;
constexpr int32_t kColumns = 8;

struct Memory {
  Memory() {
    memory::MemoryLedgerOptions options;
    options.limit_bytes = int64_t{256} << 20;
    options.inside_host = true;
    ledger = memory::MemoryLedger::Make(options).ValueOrDie();
    consumer = ledger->AddConsumer("benchmark");
  }
  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<memory::MemoryConsumer> consumer;
};

using Bounds = std::vector<std::pair<int32_t, std::string>>;
using Counts = std::vector<std::pair<int32_t, int64_t>>;

struct Entry {
  int32_t status = 0;
  std::string path;
  int64_t record_count = 0;
  double weight = 0;
  Counts value_counts;
  Bounds lower_bounds;
};

std::shared_ptr<const Schema> EntrySchema(memory::MemoryConsumer* consumer) {
  SchemaBuilder b(consumer);
  const Node* root = b.Record(
      "entry", {b.Required("status", 0, b.Primitive(Type::kInt)), b.Required("path", 100, b.Primitive(Type::kString)),
                b.Required("record_count", 103, b.Primitive(Type::kLong)), b.Optional("weight", 104, b.Primitive(Type::kDouble)),
                b.Optional("value_counts", 109, b.Map(119, b.Primitive(Type::kInt), 120, b.Primitive(Type::kLong))),
                b.Optional("lower_bounds", 125, b.Map(126, b.Primitive(Type::kInt), 127, b.Primitive(Type::kBytes)))});
  return b.Finish(root).ValueOrDie();
}

Entry MakeEntry(int64_t i) {
  Entry entry;
  entry.status = static_cast<int32_t>(i % 3);
  entry.path = "s3://warehouse/db.db/events/data/day=2026-01-01/" + std::to_string(i * 7919) + "-0-d1b2f0e2-3f2a.parquet";
  entry.record_count = i * 1000;
  entry.weight = static_cast<double>(i) / 3;
  for (int32_t c = 1; c <= kColumns; ++c) {
    entry.value_counts.emplace_back(c, i * 1000);
    entry.lower_bounds.emplace_back(c, std::string(8, static_cast<char>(i + c)));
  }
  return entry;
}

arrow::Status WriteEntry(const Entry& entry, ValueWriter& record) {
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  return record.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
    switch (field.id) {
      case 0:
        return value.Write(entry.status);
      case 100:
        return value.Write(entry.path);
      case 103:
        return value.Write(entry.record_count);
      case 104:
        return value.Write(entry.weight);
      case 109:
        return value.WriteMap(
            kColumns, [&](int64_t i, ValueWriter& key) { return key.Write(entry.value_counts[at(i)].first); },
            [&](int64_t i, ValueWriter& count) { return count.Write(entry.value_counts[at(i)].second); });
      default:
        return value.WriteMap(
            kColumns, [&](int64_t i, ValueWriter& key) { return key.Write(entry.lower_bounds[at(i)].first); },
            [&](int64_t i, ValueWriter& bound) { return bound.Write(entry.lower_bounds[at(i)].second); });
    }
  });
}

arrow::Status ReadEntry(ValueReader& record, Entry* entry) {
  return record.ReadRecord([&](const Field& field, ValueReader& value) -> arrow::Status {
    switch (field.id) {
      case 0:
        return value.Read(&entry->status);
      case 100:
        return value.Read(&entry->path);
      case 103:
        return value.Read(&entry->record_count);
      case 104:
        return value.Read(&entry->weight);
      case 109: {
        size_t n = 0;
        entry->value_counts.resize(kColumns);
        return value.ReadMap([&](ValueReader& key) { return key.Read(&entry->value_counts[n].first); },
                             [&](ValueReader& count) { return count.Read(&entry->value_counts[n++].second); });
      }
      default: {
        size_t n = 0;
        entry->lower_bounds.resize(kColumns);
        return value.ReadMap([&](ValueReader& key) { return key.Read(&entry->lower_bounds[n].first); },
                             [&](ValueReader& bound) { return bound.Read(&entry->lower_bounds[n++].second); });
      }
    }
  });
}

/// The file, and how many bytes its records have.
std::pair<std::shared_ptr<arrow::Buffer>, int64_t> MakeFile(Codec codec, memory::MemoryConsumer* consumer) {
  const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
  WriterOptions options;
  options.consumer = consumer;
  options.codec = codec;
  auto writer = RecordWriter::Open(output.get(), "benchmark", EntrySchema(consumer), options).ValueOrDie();
  for (int64_t i = 0; i < kRecords; ++i) {
    const Entry entry = MakeEntry(i);
    ARROW_CHECK_OK(writer->Append([&](ValueWriter& record) { return WriteEntry(entry, record); }));
  }
  ARROW_CHECK_OK(writer->Finish());
  return {output->Finish().ValueOrDie(), writer->written_bytes()};
}

int64_t PlainBytes() {
  Memory memory;
  static const int64_t bytes = MakeFile(Codec::kNull, memory.consumer.get()).second;
  return bytes;
}

void Count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kRecords);
  state.SetBytesProcessed(state.iterations() * PlainBytes());
  state.SetLabel(std::string(ToString(static_cast<Codec>(state.range(0)))));
}

void ReadEntries(benchmark::State& state) {
  Memory memory;
  const auto [file, bytes] = MakeFile(static_cast<Codec>(state.range(0)), memory.consumer.get());
  ReaderOptions options;
  options.consumer = memory.consumer.get();
  for (auto _ : state) {
    auto reader = RecordReader::Open(std::make_shared<arrow::io::BufferReader>(file), "benchmark", options).ValueOrDie();
    Entry entry;
    int64_t sum = 0;
    while (*reader->Next([&](ValueReader& record) { return ReadEntry(record, &entry); })) sum += entry.record_count;
    benchmark::DoNotOptimize(sum);
  }
  Count(state);
}

void WriteEntries(benchmark::State& state) {
  Memory memory;
  for (auto _ : state) benchmark::DoNotOptimize(MakeFile(static_cast<Codec>(state.range(0)), memory.consumer.get()));
  Count(state);
}

void ReadBatches(benchmark::State& state) {
  Memory memory;
  const auto [file, bytes] = MakeFile(static_cast<Codec>(state.range(0)), memory.consumer.get());
  const auto column = [](const char* name, int id, std::shared_ptr<arrow::DataType> type) {
    return arrow::field(name, std::move(type), true, arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
  };
  const auto wanted = arrow::schema({column("status", 0, arrow::int32()), column("path", 100, arrow::utf8()),
                                     column("record_count", 103, arrow::int64()), column("weight", 104, arrow::float64()),
                                     column("value_counts", 109, arrow::map(arrow::int32(), arrow::int64())),
                                     column("lower_bounds", 125, arrow::map(arrow::int32(), arrow::binary()))});
  BatchReaderOptions options;
  options.file.consumer = memory.consumer.get();
  for (auto _ : state) {
    auto reader = BatchReader::Open(std::make_shared<arrow::io::BufferReader>(file), "benchmark", wanted, options).ValueOrDie();
    int64_t rows = 0;
    while (const auto batch = reader->Next().ValueOrDie()) rows += batch->num_rows();
    benchmark::DoNotOptimize(rows);
  }
  Count(state);
}

BENCHMARK(ReadEntries)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(WriteEntries)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadBatches)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace icebound::iceberg::avro
