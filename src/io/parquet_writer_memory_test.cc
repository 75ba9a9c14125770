// SPDX-License-Identifier: Apache-2.0
//
// The Parquet writer's memory, as the operating system measures it.
#include "io/parquet_writer.h"

#include <sys/wait.h>
#include <unistd.h>

#include "io/parquet_writer_testing.h"
#include "memory/memory_testing.h"
#include "memory/process_tuning.h"

namespace icebound::io {
namespace {

using namespace testing;  // NOLINT: the tests' own vocabulary
using memory::kSanitized;

/// Writes batches made by `make_batch` until it gives null, in a process of its own with a real baseline, and compares its
/// high-water mark with the promise. Returns an error text.
std::string WriteWithinPromise(
    int64_t limit_mib, const ParquetWriteOptions& options, const std::shared_ptr<arrow::Schema>& schema, const std::string& path,
    const std::function<std::shared_ptr<arrow::RecordBatch>(int64_t, arrow::MemoryPool*)>& make_batch) {
  memory::TuneProcessForBound();
  memory::MemoryLedgerOptions ledger_options;
  ledger_options.limit_bytes = limit_mib << 20;
  ledger_options.baseline_bytes = memory::MeasureBaseline();
  auto ledger = std::move(memory::MemoryLedger::Make(ledger_options)).ValueOrDie();
  auto disk = spill::DiskManager::Make({}).ValueOrDie();
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry metrics;
  FileSystems file_systems({}, ledger->pool());
  runtime::QueryContext context{.ledger = *ledger, .disk = *disk, .cancellation = cancellation, .metrics = metrics, .threads = 2};
  auto writer = ParquetWriter::Make(options, schema, path, &file_systems, &context);
  if (!writer.ok()) return writer.status().ToString();
  auto consumer = ledger->AddConsumer("source");
  for (int64_t i = 0;; ++i) {
    auto batch = make_batch(i, consumer->pool());
    if (batch == nullptr) break;
    if (const arrow::Status status = (*writer)->Write(batch); !status.ok()) return status.ToString();
  }
  if (const arrow::Status status = (*writer)->Finish(); !status.ok()) return status.ToString();
  const int64_t peak = memory::ProbeResidentMemory().peak_bytes;
  std::fprintf(stderr, "VmHWM %.1f MiB, ledger's peak %.1f MiB, spilled %.1f MiB\n", static_cast<double>(peak) / kMiB,
               static_cast<double>(ledger->peak_bytes()) / kMiB, static_cast<double>(disk->written_bytes()) / kMiB);
  if (peak > memory::PromisedResidentBytes(limit_mib << 20)) {
    return fmt::format("VmHWM {} MiB, promised {} MiB, ledger's peak {} MiB", peak >> 20,
                       memory::PromisedResidentBytes(limit_mib << 20) >> 20, ledger->peak_bytes() >> 20);
  }
  return "";
}

/// Runs `body(folder)` in a fresh process of this program, whose resident sizes are its own, and shows the error text that it
/// returns. Whatever tests ran before would be part of a fork.
void ExpectInFreshProcess(const std::string& folder, const std::function<std::string(const std::string&)>& body) {
  constexpr char kFolderVariable[] = "ICEBOUND_TEST_CHILD_FOLDER";
  if (const char* inherited = getenv(kFolderVariable)) {
    const std::string message = body(inherited);
    std::fprintf(stderr, "%s\n", message.c_str());
    _exit(message.empty() ? 0 : 1);
  }
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = fmt::format("--gtest_filter={}.{}", test->test_suite_name(), test->name());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv(kFolderVariable, folder.c_str(), 1);
    execl("/proc/self/exe", "io_test", filter.c_str(), static_cast<char*>(nullptr));
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

/// Numbers and texts that do not compress.
std::shared_ptr<arrow::RecordBatch> NoiseBatch(const std::shared_ptr<arrow::Schema>& schema, int64_t rows, int64_t text_bytes,
                                               uint64_t seed, arrow::MemoryPool* pool) {
  std::mt19937_64 random(seed);
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    if (field->type()->id() == arrow::Type::INT64) {
      arrow::Int64Builder builder(pool);
      for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(static_cast<int64_t>(random())).ok());
      columns.push_back(builder.Finish().ValueOrDie());
    } else {
      arrow::StringBuilder builder(pool);
      std::string text(static_cast<size_t>(text_bytes), ' ');
      for (int64_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j + 8 <= text.size(); j += 8) {
          const uint64_t word = random() & 0x7f7f7f7f7f7f7f7f;
          std::memcpy(text.data() + j, &word, sizeof word);
        }
        EXPECT_TRUE(builder.Append(text).ok());
      }
      columns.push_back(builder.Finish().ValueOrDie());
    }
  }
  return arrow::RecordBatch::Make(schema, rows, columns);
}

TEST(ParquetWriterMemory, ALargeRowGroupAtASmallLimit) {
  SKIP_WHEN_SANITIZED();
  Directory directory;
  auto schema =
      arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64()), arrow::field("t", arrow::utf8())});
  ExpectInFreshProcess(directory.path(), [&](const std::string& folder) {
    ParquetWriteOptions options;
    options.row_group_bytes = 128 * kMiB;
    options.row_group_rows = 100'000'000;
    return WriteWithinPromise(64, options, schema, folder + "/t.parquet", [&](int64_t i, arrow::MemoryPool* pool) {
      return i == 500 ? nullptr : NoiseBatch(schema, 8192, 64, i, pool);
    });
  });
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_GE(reader->metadata()->RowGroup(0)->total_compressed_size(), 120 * kMiB);
  EXPECT_EQ(reader->metadata()->num_rows(), 500 * 8192);
}

std::shared_ptr<arrow::Schema> ManyColumns(int count) {
  arrow::FieldVector fields;
  for (int i = 0; i < count; ++i) fields.push_back(arrow::field(fmt::format("column_{}", i), arrow::int64()));
  return arrow::schema(fields);
}

TEST(ParquetWriterMemory, TwoThousandColumns) {
  SKIP_WHEN_SANITIZED();
  Directory directory;
  const auto schema = ManyColumns(2000);
  ExpectInFreshProcess(directory.path(), [&](const std::string& folder) {
    return WriteWithinPromise(32, {}, schema, folder + "/t.parquet", [&](int64_t i, arrow::MemoryPool* pool) {
      return i == 200 ? nullptr : NoiseBatch(schema, 64, 0, i, pool);
    });
  });
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_EQ(reader->metadata()->num_rows(), 200 * 64);
  EXPECT_LE(reader->metadata()->num_row_groups(), 2);
}

TEST(ParquetWriterMemory, FiveThousandColumns) {
  SKIP_WHEN_SANITIZED();
  Directory directory;
  const auto schema = ManyColumns(5000);
  ExpectInFreshProcess(directory.path(), [&](const std::string& folder) {
    return WriteWithinPromise(64, {}, schema, folder + "/t.parquet", [&](int64_t i, arrow::MemoryPool* pool) {
      return i == 40 ? nullptr : NoiseBatch(schema, 64, 0, i, pool);
    });
  });
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_EQ(reader->metadata()->num_rows(), 40 * 64);
  EXPECT_LE(reader->metadata()->num_row_groups(), 2);
}

TEST(ParquetWriterMemory, TooManyColumnsAreRefusedAtOnce) {
  Directory directory;
  Engine engine(32);
  const auto open = [&](int columns) {
    return ParquetWriter::Make({}, ManyColumns(columns), directory / "t.parquet", engine.file_systems.get(), engine.context.get())
        .status();
  };
  const arrow::Status status = open(8000);
  ASSERT_FAILS(ErrorKind::kMemoryLimit, "memory limit too small: writing 8000 columns", status);
  EXPECT_NE(status.message().find("raise it by at least"), std::string::npos) << status.message();
  EXPECT_TRUE(Names(directory.path()).empty());
}

/// What the writer of `table` holds at most, a row at a time; and the file has what the table has.
int64_t PeakWritingRows(const arrow::Table& table, const ParquetWriteOptions& options) {
  Directory directory;
  Engine engine(64);
  const int64_t before = engine.ledger->reserved_bytes();
  WriteSettings settings;
  settings.options = options;
  settings.batch_rows = 1;
  const auto counts = WriteTable(table, directory / "t.parquet", &engine, settings);
  EXPECT_TRUE(counts.ok()) << counts.status().ToString();
  if (!counts.ok()) return 0;
  const int64_t peak = engine.ledger->peak_bytes() - before;
  ExpectSameTable(table, *ReadBack(directory / "t.parquet"));
  return peak;
}

TEST(ParquetWriterMemory, AWideListRowTakesAFewTimesItself) {
  constexpr int64_t kLength = 1'000'000;
  for (const bool with_nulls : {false, true}) {
    auto values = std::make_shared<arrow::Int64Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    ASSERT_STATUS_OK(lists.Append());
    for (int64_t i = 0; i < kLength; ++i) {
      ASSERT_STATUS_OK(with_nulls && i % 7 == 0 ? values->AppendNull() : values->Append(i * 31));
    }
    const auto array = lists.Finish().ValueOrDie();
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("l", array->type())}), {array});
    const int64_t row_bytes = kLength * 8;
    // Its levels, its page, and that compressed; levels that are no runs are put in front of a copy of the page.
    EXPECT_LT(PeakWritingRows(*table, {}), (with_nulls ? 4 * row_bytes : row_bytes * 7 / 2)) << with_nulls;
  }
}

/// A dictionary is given up, or outgrown, inside of a row as well as between rows; values that repeat stay codes.
TEST(ParquetWriterMemory, WideListRowsOfAllKinds) {
  auto values = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  const auto append_row = [&](int64_t length, int64_t distinct, size_t text_bytes) {
    ASSERT_STATUS_OK(lists.Append());
    for (int64_t i = 0; i < length; ++i) {
      const std::string text = std::to_string(i % distinct);
      ASSERT_STATUS_OK(values->Append(text + std::string(text_bytes, 'w')));
    }
  };
  for (const int64_t distinct : {int64_t{10}, int64_t{500'000}}) {
    append_row(3, 3, 0);
    append_row(50'000, distinct, 40);
    append_row(1, 1, size_t{3} << 20);
    append_row(2, 2, size_t{3} << 20);
    append_row(0, 1, 0);
    append_row(5000, distinct, 0);
  }
  const auto array = lists.Finish().ValueOrDie();
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("l", array->type())}), {array});
  for (const char* compression : {"snappy", "none"}) {
    ParquetWriteOptions options;
    options.compression = compression;
    EXPECT_GT(PeakWritingRows(*table, options), 0);
  }
}

TEST(ParquetWriterMemory, WideTextThatRepeatsStaysCodes) {
  SKIP_WHEN_SANITIZED();
  Directory directory;
  const auto schema = arrow::schema({arrow::field("t", arrow::utf8())});
  constexpr int64_t kRows = 2000;
  constexpr int64_t kRowsOfAText = 54;
  const auto text = [&](int64_t row) { return std::string(100'000, 'q') + std::to_string(row / kRowsOfAText); };
  ExpectInFreshProcess(directory.path(), [&](const std::string& folder) {
    return WriteWithinPromise(32, {}, schema, folder + "/t.parquet",
                              [&](int64_t i, arrow::MemoryPool* pool) -> std::shared_ptr<arrow::RecordBatch> {
                                constexpr int64_t kBatchRows = 10;
                                if (i == kRows / kBatchRows) return nullptr;
                                arrow::StringBuilder texts(pool);
                                for (int64_t row = i * kBatchRows; row < (i + 1) * kBatchRows; ++row)
                                  EXPECT_TRUE(texts.Append(text(row)).ok());
                                return arrow::RecordBatch::Make(schema, kBatchRows, {texts.Finish().ValueOrDie()});
                              });
  });
  const auto table = ReadBack(directory / "t.parquet");
  ASSERT_EQ(table->num_rows(), kRows);
  int64_t row = 0;
  for (const auto& chunk : table->column(0)->chunks()) {
    const auto& texts = static_cast<const arrow::StringArray&>(*chunk);
    for (int64_t i = 0; i < texts.length(); ++i, ++row) ASSERT_EQ(texts.GetView(i), text(row));
  }
}

/// Codes of a skewed dictionary stand for far more than the average of its entries says.
TEST(ParquetWriterMemory, ASkewedArrowDictionary) {
  Directory directory;
  Engine engine(32);
  arrow::StringBuilder entries;
  for (int i = 0; i < 1000; ++i) ASSERT_STATUS_OK(entries.Append(std::to_string(i)));
  const std::string wide(300'000, 'w');
  ASSERT_STATUS_OK(entries.Append(wide));
  arrow::Int32Builder indices;
  for (int i = 0; i < 3000; ++i) ASSERT_STATUS_OK(indices.Append(i % 1000 == 7 ? 3 : 1000));
  auto dictionary = arrow::DictionaryArray::FromArrays(indices.Finish().ValueOrDie(), entries.Finish().ValueOrDie()).ValueOrDie();
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("d", dictionary->type())}), {dictionary});
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine).status());
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_EQ(reader->metadata()->num_rows(), 3000);
  EXPECT_LT(reader->metadata()->RowGroup(0)->total_byte_size(), 16 * kMiB);
}

TEST(ParquetWriterMemory, RowsOfAMegabyteAndMoreThanTwoGigabytesOfText) {
  SKIP_WHEN_SANITIZED();
  Directory directory;
  auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("t", arrow::utf8())});
  constexpr int64_t kRows = 2300;
  ExpectInFreshProcess(directory.path(), [&](const std::string& folder) {
    ParquetWriteOptions options;
    options.row_group_rows = kRows;  // staged: one row group with more than 2 GiB of text
    std::string text(kMiB, 'x');
    return WriteWithinPromise(
        64, options, schema, folder + "/t.parquet",
        [&](int64_t i, arrow::MemoryPool* pool) -> std::shared_ptr<arrow::RecordBatch> {
          if (i == kRows) return nullptr;
          arrow::Int64Builder ids(pool);
          arrow::StringBuilder texts(pool);
          std::memcpy(text.data(), &i, sizeof i);
          for (char& c : std::span(text.data(), sizeof i)) c = static_cast<char>('a' + (c & 15));
          EXPECT_TRUE(ids.Append(i).ok() && texts.Append(text).ok());
          return arrow::RecordBatch::Make(schema, 1, {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
        });
  });
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_EQ(reader->metadata()->num_rows(), kRows);
  EXPECT_EQ(reader->metadata()->num_row_groups(), 1);
  EXPECT_GT(reader->metadata()->RowGroup(0)->total_byte_size(), int64_t{1} << 31);
}

}  // namespace
}  // namespace icebound::io
