// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/page_parts.h"

#include <array>
#include <cstring>

#include "base/error.h"

namespace icebound::io {
namespace {

constexpr int64_t kHeaderBytesMax = 64;

/// Of the short part.
constexpr size_t kSnappyHeadBytesMax = 256;
constexpr size_t kVarintBytesMax = 5;
constexpr size_t kLiteralTagBytesMax = 2;

/// A literal of up to 60 bytes says its length in its tag, a longer one in a byte behind it.
constexpr size_t kShortLiteralBytes = 60;
constexpr uint8_t kLongLiteralTag = 60 << 2;

constexpr int kPiecewiseZstdLevelMax = 3;

size_t PutVarint(uint32_t value, uint8_t* out) {
  size_t bytes = 0;
  for (; value >= 0x80; value >>= 7) out[bytes++] = static_cast<uint8_t>(value | 0x80);
  out[bytes++] = static_cast<uint8_t>(value);
  return bytes;
}

size_t VarintBytes(const uint8_t* at) {
  size_t bytes = 1;
  while ((at[bytes - 1] & 0x80) != 0) ++bytes;
  return bytes;
}

size_t PutLiteral(std::span<const uint8_t> literal, uint8_t* out) {
  size_t bytes = 0;
  if (literal.empty()) return bytes;
  const auto last = static_cast<uint8_t>(literal.size() - 1);
  if (literal.size() <= kShortLiteralBytes) {
    out[bytes++] = static_cast<uint8_t>(last << 2);
  } else {
    out[bytes++] = kLongLiteralTag;
    out[bytes++] = last;
  }
  std::memcpy(out + bytes, literal.data(), literal.size());
  return bytes + literal.size();
}

/// Compressed bytes in a page that is still to get its header: `front`, and `rest_bytes` bytes at `rest`, inside `result` and at
/// least kHeaderBytesMax and the front behind its beginning.
struct CompressedParts {
  PoolVector<uint8_t> result;
  std::array<uint8_t, kVarintBytesMax + kLiteralTagBytesMax + kSnappyHeadBytesMax> front;
  size_t front_bytes = 0;
  const uint8_t* rest = nullptr;
  int64_t rest_bytes = 0;

  explicit CompressedParts(arrow::MemoryPool* pool) : result(pool) {}
};

arrow::Status CompressSnappy(std::span<const uint8_t> head, std::span<const uint8_t> rest, arrow::util::Codec* codec,
                             CompressedParts* parts) {
  parts->front_bytes = PutVarint(static_cast<uint32_t>(head.size() + rest.size()), parts->front.data());
  parts->front_bytes += PutLiteral(head, parts->front.data() + parts->front_bytes);
  const auto bytes = static_cast<int64_t>(rest.size());
  const int64_t room_bytes = kHeaderBytesMax + static_cast<int64_t>(parts->front_bytes);
  const int64_t compressed_bytes_max = codec->MaxCompressedLen(bytes, rest.data());
  ARROW_RETURN_NOT_OK(parts->result.ReserveExactly(room_bytes + compressed_bytes_max));
  uint8_t* const compressed = parts->result.data() + room_bytes;
  ARROW_ASSIGN_OR_RAISE(const int64_t compressed_bytes, codec->Compress(bytes, rest.data(), compressed_bytes_max, compressed));
  const size_t length_bytes = VarintBytes(compressed);
  parts->rest = compressed + length_bytes;
  parts->rest_bytes = compressed_bytes - static_cast<int64_t>(length_bytes);
  return arrow::Status::OK();
}

arrow::Status CompressZstd(std::span<const uint8_t> head, std::span<const uint8_t> rest, arrow::util::Codec* codec,
                           CompressedParts* parts) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::util::Compressor> compressor, codec->MakeCompressor());
  const int64_t compressed_bytes_max = codec->MaxCompressedLen(static_cast<int64_t>(head.size() + rest.size()), head.data());
  ARROW_RETURN_NOT_OK(parts->result.ReserveExactly(kHeaderBytesMax + compressed_bytes_max));
  uint8_t* const compressed = parts->result.data() + kHeaderBytesMax;
  int64_t used_bytes = 0;
  for (std::span<const uint8_t> part : {head, rest}) {
    while (!part.empty()) {
      ARROW_ASSIGN_OR_RAISE(const auto step, compressor->Compress(static_cast<int64_t>(part.size()), part.data(),
                                                                  compressed_bytes_max - used_bytes, compressed + used_bytes));
      if (step.bytes_read == 0 && step.bytes_written == 0) return MakeError(ErrorKind::kInternal, "zstd makes no progress");
      part = part.subspan(static_cast<size_t>(step.bytes_read));
      used_bytes += step.bytes_written;
    }
  }
  ARROW_ASSIGN_OR_RAISE(const auto end, compressor->End(compressed_bytes_max - used_bytes, compressed + used_bytes));
  if (end.should_retry) return MakeError(ErrorKind::kInternal, "zstd needs more than it said");
  parts->rest = compressed;
  parts->rest_bytes = used_bytes + end.bytes_written;
  return arrow::Status::OK();
}

}  // namespace

bool CanCompressInParts(const arrow::util::Codec& codec, size_t head_bytes) {
  if (codec.compression_type() == arrow::Compression::SNAPPY) return head_bytes <= kSnappyHeadBytesMax;
  return codec.compression_type() == arrow::Compression::ZSTD && codec.compression_level() <= kPiecewiseZstdLevelMax;
}

arrow::Result<PoolVector<uint8_t>> CompressInParts(PageHeader* header, std::span<const uint8_t> head,
                                                   std::span<const uint8_t> rest, arrow::util::Codec* codec,
                                                   arrow::MemoryPool* pool) {
  CompressedParts parts(pool);
  const bool is_snappy = codec->compression_type() == arrow::Compression::SNAPPY;
  ARROW_RETURN_NOT_OK(is_snappy ? CompressSnappy(head, rest, codec, &parts) : CompressZstd(head, rest, codec, &parts));
  header->uncompressed_bytes = static_cast<int32_t>(head.size() + rest.size());
  header->compressed_bytes = static_cast<int32_t>(static_cast<int64_t>(parts.front_bytes) + parts.rest_bytes);
  const PageHeaderBytes header_bytes(*header);
  if (header_bytes.size() > kHeaderBytesMax) {
    return MakeError(ErrorKind::kInternal, "a page header of {} bytes", header_bytes.size());
  }
  PoolVector<uint8_t>& result = parts.result;
  result.AppendUnchecked(header_bytes.span().data(), header_bytes.size());
  result.AppendUnchecked(parts.front.data(), static_cast<int64_t>(parts.front_bytes));
  std::memmove(result.end(), parts.rest, static_cast<size_t>(parts.rest_bytes));
  result.Advance(parts.rest_bytes);
  ARROW_RETURN_NOT_OK(result.ShrinkToFit());
  return std::move(parts.result);
}

}  // namespace icebound::io
