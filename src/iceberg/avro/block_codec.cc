// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/block_codec.h"

#include <arrow/util/crc32.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "iceberg/avro/binary.h"
#include "iceberg/avro/zstandard_frame.h"

namespace icebound::iceberg::avro {

namespace {

struct CodecRow {
  Codec codec;
  std::string_view name;
  arrow::Compression::type library;
  // What a context of the library holds outside of our pools.
  int64_t decompress_context_bytes;
  int64_t compress_context_bytes;
};

// deflate: a window of 32 KiB and tables; for compressing also hash chains. snappy: a hash table for compressing. zstandard:
// tables, for compressing also a window and chains of the size of the block.
constexpr std::array kCodecs = {
    CodecRow{Codec::kNull, "null", arrow::Compression::UNCOMPRESSED, 0, 0},
    CodecRow{Codec::kDeflate, "deflate", arrow::Compression::GZIP, 64 << 10, 320 << 10},
    CodecRow{Codec::kSnappy, "snappy", arrow::Compression::SNAPPY, 0, 64 << 10},
    CodecRow{Codec::kZstandard, "zstandard", arrow::Compression::ZSTD, 256 << 10, 4 << 20},
};

const CodecRow& RowOf(Codec codec) { return kCodecs[static_cast<size_t>(codec)]; }

// RFC 1951: a code of one bit repeats 258 bytes, so a byte makes 1032 at most (and a stream of no data is not empty).
constexpr int64_t kDeflateRatio = 1032;
// The library's own default, 9, takes two to four times the time for a manifest's bytes, and makes them less than 1 % smaller.
constexpr int kDeflateLevel = 6;
// A copy of three bytes makes 64.
constexpr int64_t kSnappyRatio = 22;
// Some writers cut a zlib stream out by hand and leave bytes of its checksum (4) behind the deflate stream.
constexpr int64_t kDeflateTail = 4;
constexpr int64_t kCrcBytes = 4;

uint32_t ReadBigEndian32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 | static_cast<uint32_t>(at[2]) << 8 | at[3];
}

arrow::Result<std::unique_ptr<arrow::util::Codec>> MakeLibrary(Codec codec, std::optional<int> level) {
  if (codec == Codec::kNull) return nullptr;
  if (codec == Codec::kDeflate) {
    arrow::util::GZipCodecOptions options;
    options.gzip_format = arrow::util::GZipFormat::DEFLATE;
    options.compression_level = level.value_or(kDeflateLevel);
    return arrow::util::Codec::Create(RowOf(codec).library, options);
  }
  const bool has_levels = arrow::util::Codec::SupportsCompressionLevel(RowOf(codec).library);
  return arrow::util::Codec::Create(RowOf(codec).library,
                                    level && has_levels ? *level : arrow::util::kUseDefaultCompressionLevel);
}

arrow::Status Corrupt(std::string_view what, const arrow::Status& status) {
  return WithContext(status, ErrorKind::kCorruptData, what);
}

std::span<const uint8_t> BytesOf(const arrow::Buffer& buffer, int64_t size) { return {buffer.data(), static_cast<size_t>(size)}; }

/// Makes `*buffer` at least `bytes` long; what it holds stays.
arrow::Status Grow(int64_t bytes, arrow::MemoryPool* pool, std::shared_ptr<arrow::ResizableBuffer>* buffer) {
  if (*buffer == nullptr) {
    ARROW_ASSIGN_OR_RAISE(*buffer, arrow::AllocateResizableBuffer(bytes, pool));
    return arrow::Status::OK();
  }
  return (*buffer)->size() >= bytes ? arrow::Status::OK() : (*buffer)->Resize(bytes, /*shrink_to_fit=*/false);
}

}  // namespace

std::string_view ToString(Codec codec) { return RowOf(codec).name; }

arrow::Result<Codec> CodecByName(std::string_view name) {
  for (const CodecRow& row : kCodecs) {
    if (row.name == name) return row.codec;
  }
  return MakeError(ErrorKind::kUnsupported, "Avro codec \"{}\": there are null, deflate, snappy and zstandard", name);
}

arrow::Result<std::unique_ptr<BlockDecompressor>> BlockDecompressor::Make(Codec codec, memory::MemoryConsumer* consumer) {
  std::unique_ptr<BlockDecompressor> made(new BlockDecompressor(codec, consumer));
  ARROW_RETURN_NOT_OK(made->context_.ResizeTo(RowOf(codec).decompress_context_bytes));
  ARROW_ASSIGN_OR_RAISE(made->library_, MakeLibrary(codec, std::nullopt));
  return made;
}

arrow::Result<std::span<const uint8_t>> BlockDecompressor::Decompress(std::span<const uint8_t> stored) {
  switch (codec_) {
    case Codec::kNull:
      return stored;
    case Codec::kDeflate:
      return Inflate(stored);
    case Codec::kSnappy:
      return Unsnappy(stored);
    case Codec::kZstandard:
      return Unzstandard(stored);
  }
  return MakeError(ErrorKind::kInternal, "no such Avro codec");
}

arrow::Status BlockDecompressor::Reserve(int64_t bytes) { return Grow(std::max<int64_t>(bytes, 1), consumer_->pool(), &output_); }

arrow::Result<int64_t> BlockDecompressor::Stream(std::span<const uint8_t> stored, int64_t most_bytes, int64_t* used_bytes) {
  if (stream_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(stream_, library_->MakeDecompressor());
  } else {
    ARROW_RETURN_NOT_OK(stream_->Reset());
  }
  const auto stored_bytes = static_cast<int64_t>(stored.size());
  ARROW_RETURN_NOT_OK(Reserve(std::min(most_bytes, std::max(last_bytes_ + last_bytes_ / 8, 4 * stored_bytes))));
  int64_t read = 0;
  int64_t written = 0;
  // Zstandard streams may stand one behind another.
  while (!stream_->IsFinished() || (codec_ == Codec::kZstandard && read < stored_bytes)) {
    if (stream_->IsFinished()) ARROW_RETURN_NOT_OK(stream_->Reset());
    if (written == output_->size()) {
      // One byte beyond what is possible lets the library say that there is more.
      if (written > most_bytes) return MakeError(ErrorKind::kCorruptData, "the block becomes larger than its codec can make it");
      ARROW_RETURN_NOT_OK(Reserve(std::min(most_bytes + 1, 2 * written)));
    }
    ARROW_ASSIGN_OR_RAISE(const auto step, stream_->Decompress(stored_bytes - read, stored.data() + read,
                                                               output_->size() - written, output_->mutable_data() + written));
    read += step.bytes_read;
    written += step.bytes_written;
    // There is room for output always, so no progress means no more input. (The library says "more output" then, too.)
    if (step.bytes_read == 0 && step.bytes_written == 0 && !stream_->IsFinished()) {
      return MakeError(ErrorKind::kCorruptData, "the {} stream is cut short after {} bytes", ToString(codec_), read);
    }
  }
  *used_bytes = read;
  return written;
}

arrow::Result<std::span<const uint8_t>> BlockDecompressor::Inflate(std::span<const uint8_t> stored) {
  const auto stored_bytes = static_cast<int64_t>(stored.size());
  int64_t used = 0;
  auto written = Stream(stored, stored_bytes * kDeflateRatio, &used);
  if (!written.ok()) return Corrupt("deflate", written.status());
  if (stored_bytes - used > kDeflateTail) {
    return MakeError(ErrorKind::kCorruptData, "{} bytes stand behind the deflate stream", stored_bytes - used);
  }
  last_bytes_ = *written;
  return BytesOf(*output_, *written);
}

arrow::Result<std::span<const uint8_t>> BlockDecompressor::Unsnappy(std::span<const uint8_t> stored) {
  const int64_t compressed_bytes = static_cast<int64_t>(stored.size()) - kCrcBytes;
  if (compressed_bytes < 1) return MakeError(ErrorKind::kCorruptData, "snappy: a block of {} bytes", stored.size());
  uint64_t plain_bytes = 0;
  for (int64_t i = 0, shift = 0;; ++i, shift += 7) {
    if (i == compressed_bytes || shift > 28) return MakeError(ErrorKind::kCorruptData, "snappy: the size is cut short");
    const uint8_t byte = stored[static_cast<size_t>(i)];
    plain_bytes |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const auto bytes = static_cast<int64_t>(plain_bytes);
  if (bytes > compressed_bytes * kSnappyRatio) {
    return MakeError(ErrorKind::kCorruptData, "snappy: {} bytes cannot become the {} that they say", compressed_bytes, bytes);
  }
  ARROW_RETURN_NOT_OK(Reserve(bytes));
  auto written = library_->Decompress(compressed_bytes, stored.data(), bytes, output_->mutable_data());
  if (!written.ok()) return Corrupt("snappy", written.status());
  if (*written != bytes) return MakeError(ErrorKind::kCorruptData, "snappy: {} bytes instead of {}", *written, bytes);
  const uint32_t expected = ReadBigEndian32(stored.data() + compressed_bytes);
  const uint32_t actual = arrow::internal::crc32(0, output_->data(), static_cast<size_t>(bytes));
  if (expected != actual) {
    return MakeError(ErrorKind::kCorruptData, "snappy: the checksum is {:08x}, not {:08x}", actual, expected);
  }
  return BytesOf(*output_, bytes);
}

arrow::Result<std::span<const uint8_t>> BlockDecompressor::Unzstandard(std::span<const uint8_t> stored) {
  ARROW_ASSIGN_OR_RAISE(const ZstandardSize size, MeasureZstandard(stored));
  if (size.is_exact) {
    ARROW_RETURN_NOT_OK(Reserve(size.bytes));
    auto written = library_->Decompress(static_cast<int64_t>(stored.size()), stored.data(), size.bytes, output_->mutable_data());
    if (!written.ok()) return Corrupt("zstandard", written.status());
    return BytesOf(*output_, *written);
  }
  // Without a size the library needs a stream, and a stream a window of its own.
  const int64_t window_bytes = size.window_bytes + 2 * kZstandardBlockBytes;
  if (window_bytes > context_.bytes() - RowOf(codec_).decompress_context_bytes) {
    ARROW_RETURN_NOT_OK(context_.ResizeTo(RowOf(codec_).decompress_context_bytes + window_bytes));
  }
  int64_t used = 0;
  auto written = Stream(stored, size.bytes, &used);
  if (!written.ok()) return Corrupt("zstandard", written.status());
  last_bytes_ = *written;
  return BytesOf(*output_, *written);
}

arrow::Result<std::unique_ptr<BlockCompressor>> BlockCompressor::Make(Codec codec, std::optional<int> level,
                                                                      memory::MemoryConsumer* consumer) {
  std::unique_ptr<BlockCompressor> made(new BlockCompressor(codec, consumer));
  ARROW_RETURN_NOT_OK(made->context_.ResizeTo(RowOf(codec).compress_context_bytes));
  auto library = MakeLibrary(codec, level);
  if (!library.ok())
    return WithContext(library.status(), ErrorKind::kInvalidInput, fmt::format("Avro codec {}", ToString(codec)));
  made->library_ = std::move(library).ValueUnsafe();
  return made;
}

arrow::Result<std::span<const uint8_t>> BlockCompressor::Compress(std::span<const uint8_t> plain) {
  if (codec_ == Codec::kNull) return plain;
  const auto plain_bytes = static_cast<int64_t>(plain.size());
  const int64_t bound = library_->MaxCompressedLen(plain_bytes, plain.data());
  ARROW_RETURN_NOT_OK(Grow(bound + kCrcBytes, consumer_->pool(), &output_));
  uint8_t* out = output_->mutable_data();
  ARROW_ASSIGN_OR_RAISE(int64_t bytes, library_->Compress(plain_bytes, plain.data(), bound, out));
  if (codec_ == Codec::kSnappy) {
    const uint32_t crc = arrow::internal::crc32(0, plain.data(), plain.size());
    for (int shift = 24; shift >= 0; shift -= 8) out[bytes++] = static_cast<uint8_t>(crc >> shift);
  }
  return BytesOf(*output_, bytes);
}

}  // namespace icebound::iceberg::avro
