// SPDX-License-Identifier: Apache-2.0
//
// The header in front of every page, in Thrift's compact protocol (parquet.thrift, PageHeader):
//
//   15 <type>  15 <bytes before compression>  15 <bytes after>  2c|4c { 15 <values> 15 <encoding> ... 00 } 00
//
// Each number is a zigzag varint; 0x15 is "next field, i32", 0x2c and 0x4c are "the field two (four) further, struct", 0x00 ends
// a struct.
#pragma once

#include <parquet/types.h>

#include <array>
#include <cstdint>
#include <span>

namespace icebound::io {

/// A data page (version 1), or a dictionary page when `is_dictionary`.
struct PageHeader {
  bool is_dictionary = false;
  int32_t uncompressed_bytes = 0;
  int32_t compressed_bytes = 0;
  int32_t value_count = 0;  ///< nulls included; entries of a dictionary
  parquet::Encoding::type encoding = parquet::Encoding::PLAIN;
};

/// A serialized header.
class PageHeaderBytes {
 public:
  explicit PageHeaderBytes(const PageHeader& header);
  std::span<const uint8_t> span() const { return {bytes_.data(), static_cast<size_t>(size_)}; }
  int64_t size() const { return size_; }

 private:
  void PutInt(int32_t value);

  std::array<uint8_t, 48> bytes_;  // at most 7 numbers of 5 bytes and 11 bytes of field headers
  int64_t size_ = 0;
};

}  // namespace icebound::io
