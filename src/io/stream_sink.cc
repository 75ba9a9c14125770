// SPDX-License-Identifier: Apache-2.0
#include "io/stream_sink.h"

#include "base/error.h"

namespace icebound::io {
namespace {

class TableText final : public runtime::BatchSink {
 public:
  TableText(arrow::io::OutputStream* out, std::shared_ptr<arrow::Schema> schema) : out_(out), schema_(std::move(schema)) {}
  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string line;
      for (const auto& column : batch->columns()) {
        ARROW_ASSIGN_OR_RAISE(auto value, column->GetScalar(row));
        line += value->ToString() + " | ";
      }
      ARROW_RETURN_NOT_OK(out_->Write(line + "\n"));
    }
    return arrow::Status::OK();
  }
  arrow::Status Finish() override { return out_->Flush(); }
  void Abort() override {}

 private:
  arrow::io::OutputStream* const out_;
  const std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::BatchSink>> MakeStreamSink(arrow::io::OutputStream* out, const std::string& format,
                                                                  std::shared_ptr<arrow::Schema> schema,
                                                                  runtime::QueryContext* context) {
  return std::make_unique<TableText>(out, std::move(schema));
}

}  // namespace icebound::io
