// SPDX-License-Identifier: Apache-2.0
#include "io/stream_sink.h"

#include "base/error.h"
#include "io/format/batch_format.h"

namespace icebound::io {
namespace {

/// A format on a stream, and the file behind the stream when there is one.
class FormatSink final : public runtime::BatchSink {
 public:
  FormatSink(runtime::QueryContext* context, const std::string& format)
      : consumer_(context->ledger.AddConsumer(format + " writer")) {}
  ~FormatSink() override { Abort(); }

  arrow::Status OpenStream(arrow::io::OutputStream* out, const std::string& format, const CopyOptions& options,
                           std::shared_ptr<arrow::Schema> schema) {
    out_ = out;
    FormatTarget target;
    target.out = out;
    target.schema = std::move(schema);
    target.pool = consumer_->pool();
    target.is_file = file_ != nullptr;
    ARROW_ASSIGN_OR_RAISE(format_, MakeBatchFormat(format, options, std::move(target)));
    return arrow::Status::OK();
  }
  arrow::Status OpenFile(std::unique_ptr<OutputFile> file, const std::string& format, const CopyOptions& options,
                         std::shared_ptr<arrow::Schema> schema) {
    file_ = std::move(file);
    file_stream_ = std::make_unique<OutputFileStream>(file_.get());
    return OpenStream(file_stream_.get(), format, options, std::move(schema));
  }

  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    ARROW_RETURN_NOT_OK(Begin());
    return Named(format_->Write(*batch));
  }
  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(Begin());
    ARROW_RETURN_NOT_OK(Named(format_->End()));
    ARROW_RETURN_NOT_OK(Named(out_->Flush()));
    return file_ != nullptr ? file_->Finish() : arrow::Status::OK();
  }
  void Abort() override {
    if (file_ != nullptr) file_->Abort();
  }

 private:
  arrow::Status Begin() {
    if (begun_) return arrow::Status::OK();
    begun_ = true;
    return Named(format_->Begin());
  }
  arrow::Status Named(const arrow::Status& status) const {
    return WithContext(status, ErrorKind::kIo, file_ != nullptr ? "writing " + file_->name() : "writing to the stream");
  }

  const std::unique_ptr<memory::MemoryConsumer> consumer_;  // outlives the format, whose buffers it is charged for
  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<OutputFileStream> file_stream_;
  arrow::io::OutputStream* out_ = nullptr;
  std::unique_ptr<BatchFormat> format_;
  bool begun_ = false;
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeStreamSink(arrow::io::OutputStream* out, const std::string& format,
                                                                  std::shared_ptr<arrow::Schema> schema,
                                                                  runtime::QueryContext* context) {
  auto sink = std::make_unique<FormatSink>(context, format);
  ARROW_RETURN_NOT_OK(sink->OpenStream(out, format, {}, std::move(schema)));
  return sink;
}

arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeFileSink(std::unique_ptr<OutputFile> file, const std::string& format,
                                                                const CopyOptions& options, std::shared_ptr<arrow::Schema> schema,
                                                                runtime::QueryContext* context) {
  auto sink = std::make_unique<FormatSink>(context, format);
  ARROW_RETURN_NOT_OK(sink->OpenFile(std::move(file), format, options, std::move(schema)));
  return sink;
}

}  // namespace icebound::io
