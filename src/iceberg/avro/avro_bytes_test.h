// SPDX-License-Identifier: Apache-2.0
//
// Avro files put together byte by byte, by what the format's specification says and without our writer.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/memory_testing.h"

namespace icebound::iceberg::avro::test {

/// A string that is built from Avro's pieces.
class Bytes {
 public:
  Bytes& Long(int64_t value) {
    uint64_t zigzag = value < 0 ? ~static_cast<uint64_t>(value) * 2 + 1 : static_cast<uint64_t>(value) * 2;
    for (; zigzag > 127; zigzag /= 128) text_ += static_cast<char>(zigzag % 128 + 128);
    text_ += static_cast<char>(zigzag);
    return *this;
  }
  Bytes& Raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  Bytes& Text(std::string_view bytes) { return Long(static_cast<int64_t>(bytes.size())).Raw(bytes); }
  template <typename T>
  Bytes& Float(T value) {
    return Raw({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline const std::string kSync = "0123456789abcdef";

inline std::string Header(std::string_view schema, std::string_view codec = "null",
                          const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
  Bytes bytes;
  bytes.Raw(std::string_view("Obj\x01", 4)).Long(static_cast<int64_t>(metadata.size()) + 2);
  bytes.Text("avro.schema").Text(schema).Text("avro.codec").Text(codec);
  for (const auto& [key, value] : metadata) bytes.Text(key).Text(value);
  return bytes.Long(0).Raw(kSync).text();
}

inline std::string Block(int64_t records, std::string_view stored) {
  return Bytes().Long(records).Text(stored).Raw(kSync).text();
}

inline std::shared_ptr<arrow::io::RandomAccessFile> FileOf(std::string text) {
  return std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(text)));
}

/// A ledger with one consumer that may hold this much; the rest of the grants is another's.
struct TestMemory {
  explicit TestMemory(int64_t bytes = int64_t{64} << 20)
      : ledger(memory::MakeLedger(std::max(bytes, int64_t{32} << 20))),
        other(ledger->AddConsumer("other")),
        consumer(ledger->AddConsumer("avro")) {
    EXPECT_TRUE(other->Reserve(ledger->granted_bytes() - bytes).ok());
  }
  ~TestMemory() { other->Release(other->reserved_bytes()); }
  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<memory::MemoryConsumer> other;
  std::unique_ptr<memory::MemoryConsumer> consumer;
};

}  // namespace icebound::iceberg::avro::test
