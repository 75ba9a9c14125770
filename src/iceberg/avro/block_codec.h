// SPDX-License-Identifier: Apache-2.0
//
// The codecs of Avro blocks.
//
//   null        as it is
//   deflate     a raw deflate stream (RFC 1951), which does not say how large it becomes
//   snappy      the size (varint), the compressed bytes; behind them the CRC-32 of the decompressed bytes, big-endian
//   zstandard   one or more frames; the size of a frame is in its header, or bounded by its blocks (128 KiB each)
//
// A decompressor never trusts a size: what these bytes can become at most is computed first and compared, then the output is
// reserved (it is a buffer of the consumer's pool), then decompressed. The libraries' own contexts are charged as kContextBytes.
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "memory/memory_ledger.h"

namespace icebound::iceberg::avro {

enum class Codec : uint8_t { kNull, kDeflate, kSnappy, kZstandard };

/// As it stands in avro.codec.
std::string_view ToString(Codec codec);
/// kUnsupported, with the names there are, for any other (bzip2, xz).
arrow::Result<Codec> CodecByName(std::string_view name);

/// Not thread safe. The consumer must outlive it.
class BlockDecompressor {
 public:
  static arrow::Result<std::unique_ptr<BlockDecompressor>> Make(Codec codec, memory::MemoryConsumer* consumer);

  Codec codec() const { return codec_; }

  /// The decompressed bytes of one block: of a buffer that the next call reuses, or `stored` itself (kNull).
  arrow::Result<std::span<const uint8_t>> Decompress(std::span<const uint8_t> stored);

 private:
  BlockDecompressor(Codec codec, memory::MemoryConsumer* consumer) : codec_(codec), consumer_(consumer), context_(consumer) {}

  arrow::Status Reserve(int64_t bytes);
  arrow::Result<std::span<const uint8_t>> Inflate(std::span<const uint8_t> stored);
  arrow::Result<std::span<const uint8_t>> Unsnappy(std::span<const uint8_t> stored);
  arrow::Result<std::span<const uint8_t>> Unzstandard(std::span<const uint8_t> stored);
  /// Decompresses a stream that does not say its size into output_, growing it step by step. Gives the bytes written.
  arrow::Result<int64_t> Stream(std::span<const uint8_t> stored, int64_t most_bytes, int64_t* used_bytes);

  const Codec codec_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation context_;
  std::unique_ptr<arrow::util::Codec> library_;
  std::shared_ptr<arrow::util::Decompressor> stream_;
  std::shared_ptr<arrow::ResizableBuffer> output_;
  int64_t last_bytes_ = 0;  // decompressed size of the last block: the first guess for the next
};

/// Not thread safe. The consumer must outlive it.
class BlockCompressor {
 public:
  /// `level` is the library's own scale; nullopt for its default.
  static arrow::Result<std::unique_ptr<BlockCompressor>> Make(Codec codec, std::optional<int> level,
                                                              memory::MemoryConsumer* consumer);

  Codec codec() const { return codec_; }

  /// The stored bytes of one block, as BlockDecompressor takes them; valid until the next call.
  arrow::Result<std::span<const uint8_t>> Compress(std::span<const uint8_t> plain);

 private:
  BlockCompressor(Codec codec, memory::MemoryConsumer* consumer) : codec_(codec), consumer_(consumer), context_(consumer) {}

  const Codec codec_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation context_;
  std::unique_ptr<arrow::util::Codec> library_;
  std::shared_ptr<arrow::ResizableBuffer> output_;
};

}  // namespace icebound::iceberg::avro
