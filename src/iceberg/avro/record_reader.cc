// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/record_reader.h"

namespace icebound::iceberg::avro {

arrow::Result<std::unique_ptr<RecordReader>> RecordReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                                std::string name, const ReaderOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto blocks, BlockReader::Open(std::move(file), std::move(name), options));
  return std::unique_ptr<RecordReader>(new RecordReader(std::move(blocks)));
}

}  // namespace icebound::iceberg::avro
