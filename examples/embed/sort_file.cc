// SPDX-License-Identifier: Apache-2.0
//
// Sorts a Parquet file of any size in 64 MiB: sort_file INPUT.parquet COLUMN
#include <icebound/session.h>

#include <iostream>

arrow::Status Run(const std::string& path, const std::string& column) {
  icebound::BoundedSessionConfig config(64 << 20);
  ARROW_ASSIGN_OR_RAISE(auto session, icebound::CreateBoundedSession(config));
  ARROW_RETURN_NOT_OK(session->RegisterParquet("data", path));
  ARROW_ASSIGN_OR_RAISE(auto result, session->Sql("SELECT * FROM data ORDER BY " + column));
  ARROW_ASSIGN_OR_RAISE(auto reader, result->ToReader());
  int64_t rows = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  do {
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch != nullptr) rows += batch->num_rows();
  } while (batch != nullptr);
  std::cout << rows << " rows, peak " << (session->metrics().peak_rss_bytes >> 20) << " MiB\n";
  return arrow::Status::OK();
}

int main(int argc, char** argv) {
  const arrow::Status status =
      argc == 3 ? Run(argv[1], argv[2]) : arrow::Status::Invalid("usage: sort_file INPUT.parquet COLUMN");
  if (!status.ok()) std::cerr << status.message() << '\n';
  return icebound::ExitCode(status);
}
