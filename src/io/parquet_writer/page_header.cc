// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/page_header.h"

namespace icebound::io {
namespace {

constexpr uint8_t kNextI32 = 0x15;
constexpr uint8_t kTwoFurtherStruct = 0x2c;
constexpr uint8_t kFourFurtherStruct = 0x4c;
constexpr uint8_t kStop = 0x00;

constexpr int32_t kDataPage = 0;
constexpr int32_t kDictionaryPage = 2;

/// Numbers of parquet.thrift's Encoding, which differ from the library's enum in nothing we write, but are a format and not an
/// enum.
int32_t ThriftEncoding(parquet::Encoding::type encoding) {
  switch (encoding) {
    case parquet::Encoding::RLE:
      return 3;
    case parquet::Encoding::RLE_DICTIONARY:
      return 8;
    default:
      return 0;  // PLAIN
  }
}

}  // namespace

PageHeaderBytes::PageHeaderBytes(const PageHeader& header) {
  PutInt(header.is_dictionary ? kDictionaryPage : kDataPage);
  PutInt(header.uncompressed_bytes);
  PutInt(header.compressed_bytes);
  bytes_[size_++] = header.is_dictionary ? kFourFurtherStruct : kTwoFurtherStruct;
  PutInt(header.value_count);
  PutInt(ThriftEncoding(header.encoding));
  if (!header.is_dictionary) {
    PutInt(ThriftEncoding(parquet::Encoding::RLE));  // definition levels
    PutInt(ThriftEncoding(parquet::Encoding::RLE));  // repetition levels
  }
  bytes_[size_++] = kStop;
  bytes_[size_++] = kStop;
}

void PageHeaderBytes::PutInt(int32_t value) {
  bytes_[size_++] = kNextI32;
  uint32_t zigzag = (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
  while (zigzag >= 0x80) {
    bytes_[size_++] = static_cast<uint8_t>(zigzag) | 0x80;
    zigzag >>= 7;
  }
  bytes_[size_++] = static_cast<uint8_t>(zigzag);
}

}  // namespace icebound::io
