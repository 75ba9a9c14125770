// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer.h"

#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "io/copy_options.h"
#include "io/output_file.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

constexpr int64_t kDefaultRowGroupRows = 122'880;

class BufferedParquetWriter final : public ParquetWriter {
 public:
  BufferedParquetWriter(const ParquetWriteOptions& options, std::shared_ptr<arrow::Schema> schema, std::unique_ptr<OutputFile> file,
                        runtime::QueryContext* context)
      : options_(options), schema_(std::move(schema)), file_(std::move(file)), consumer_(context->ledger.AddConsumer("parquet writer")) {}

  arrow::Status Open() {
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(consumer_->pool())
        ->created_by("icebound version 0.1.0")
        ->max_row_group_length(options_.row_group_rows.value_or(kDefaultRowGroupRows))
        ->enable_store_decimal_as_integer()
        ->enable_write_page_index();
    if (options_.compression == "snappy") builder.compression(parquet::Compression::SNAPPY);
    if (options_.compression == "zstd") builder.compression(parquet::Compression::ZSTD);
    if (options_.compression_level) builder.compression_level(*options_.compression_level);
    auto properties = builder.build();
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    return GuardParquet(ErrorKind::kIo, "opening a Parquet writer", [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(*schema_, consumer_->pool(),
                                                                      std::make_shared<OutputFileStream>(file_.get()), properties,
                                                                      arrow_properties));
      return arrow::Status::OK();
    });
  }

  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    rows_written_ += batch->num_rows();
    return GuardParquet(ErrorKind::kIo, [&] { return "writing " + file_->name(); }, [&] { return writer_->WriteRecordBatch(*batch); });
  }

  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kIo, [&] { return "writing " + file_->name(); }, [&] { return writer_->Close(); }));
    writer_.reset();
    return file_->Finish();
  }

  void Abort() override { file_->Abort(); }
  int64_t rows_written() const override { return rows_written_; }

 private:
  const ParquetWriteOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<OutputFile> file_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  int64_t rows_written_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<ParquetWriter>> ParquetWriter::Make(const ParquetWriteOptions& options, std::shared_ptr<arrow::Schema> schema,
                                                                  const std::string& path, FileSystems* file_systems,
                                                                  runtime::QueryContext* context) {
  ARROW_RETURN_NOT_OK(CheckParquetOptions(options));
  ARROW_ASSIGN_OR_RAISE(Location location, file_systems->Resolve(path));
  ARROW_ASSIGN_OR_RAISE(auto file, OutputFile::Create(location));
  auto writer = std::make_unique<BufferedParquetWriter>(options, std::move(schema), std::move(file), context);
  ARROW_RETURN_NOT_OK(writer->Open());
  return writer;
}

}  // namespace icebound::io
