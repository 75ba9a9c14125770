// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/frame_codec.h"

#include <arrow/util/compression.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "iceberg/puffin/little_endian.h"

namespace icebound::iceberg::puffin {

namespace {

// An LZ4 frame: magic (4) | FLG | BD | content size (8, when FLG bit 3) | ... | header checksum | blocks
constexpr uint32_t kLz4Magic = 0x184D2204;
constexpr uint8_t kLz4HasContentSize = 0x08;
constexpr size_t kLz4SizeOffset = 6;
constexpr int64_t kLz4Ratio = 255;  // a byte of a match's length stands for 255

// A zstandard frame: magic (4) | descriptor | window (1, unless single segment) | dictionary id (0 to 4) | content size (0 to 8)
constexpr uint32_t kZstdMagic = 0xFD2FB528;
constexpr int64_t kZstdRatio = int64_t{128} << 10;  // a block of 4 bytes becomes 128 KiB at most, so less than this a byte

constexpr int64_t kZstdContextBytes = 4 << 20;

arrow::Status NoSize(std::string_view kind) {
  return MakeError(ErrorKind::kCorruptData, "{}: the frame is cut short, or does not say how large it becomes", kind);
}

/// What the frame says it becomes, and what the library holds to get there.
struct FrameSize {
  int64_t content_bytes = 0;
  int64_t context_bytes = 0;
};

arrow::Result<FrameSize> MeasureLz4(std::span<const uint8_t> frame) {
  if (frame.size() < kLz4SizeOffset + 9) return NoSize("lz4");
  if (ReadLittleEndian<uint32_t>(frame.data()) != kLz4Magic) return MakeError(ErrorKind::kCorruptData, "lz4: not a frame");
  if ((frame[4] & kLz4HasContentSize) == 0) return NoSize("lz4");
  const int block_code = (frame[5] >> 4) & 7;
  if (block_code < 4) return MakeError(ErrorKind::kCorruptData, "lz4: blocks of an unknown size");
  const int64_t block_bytes = int64_t{1} << (8 + 2 * block_code);
  const auto bytes = ReadLittleEndian<uint64_t>(frame.data() + kLz4SizeOffset);
  return FrameSize{static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 62)), 2 * block_bytes + (256 << 10)};
}

arrow::Result<FrameSize> MeasureZstd(std::span<const uint8_t> frame) {
  if (frame.size() < 5) return NoSize("zstd");
  if (ReadLittleEndian<uint32_t>(frame.data()) != kZstdMagic) return MakeError(ErrorKind::kCorruptData, "zstd: not a frame");
  const uint8_t descriptor = frame[4];
  const bool single_segment = (descriptor & 0x20) != 0;
  constexpr size_t kDictionaryBytes[] = {0, 1, 2, 4};
  const size_t at = 5 + (single_segment ? 0 : 1) + kDictionaryBytes[descriptor & 3];
  const size_t size_bytes = (descriptor >> 6) == 0 ? (single_segment ? 1 : 0) : size_t{1} << (descriptor >> 6);
  if (size_bytes == 0 || frame.size() < at + size_bytes) return NoSize("zstd");
  uint64_t bytes = 0;
  std::memcpy(&bytes, frame.data() + at, size_bytes);
  if (size_bytes == 2) bytes += 256;
  return FrameSize{static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 62)), kZstdContextBytes};
}

arrow::Result<std::unique_ptr<arrow::util::Codec>> MakeLibrary(FrameKind kind) {
  return arrow::util::Codec::Create(kind == FrameKind::kLz4 ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD);
}

/// The library writes frames without the content's size: puts it in.
void AddLz4Size(uint64_t content_bytes, uint8_t* frame, int64_t* frame_bytes) {
  std::memmove(frame + kLz4SizeOffset + 8, frame + kLz4SizeOffset, static_cast<size_t>(*frame_bytes) - kLz4SizeOffset);
  frame[4] |= kLz4HasContentSize;
  std::memcpy(frame + kLz4SizeOffset, &content_bytes, sizeof(content_bytes));
  // The checksum covers the descriptor, from FLG on.
  frame[kLz4SizeOffset + 8] = static_cast<uint8_t>(XXH32(frame + 4, 10, 0) >> 8);
  *frame_bytes += 8;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Buffer>> DecompressFrame(FrameKind kind, std::span<const uint8_t> frame,
                                                              memory::MemoryConsumer* consumer) {
  const std::string_view name = kind == FrameKind::kLz4 ? "lz4" : "zstd";
  ARROW_ASSIGN_OR_RAISE(const FrameSize size, kind == FrameKind::kLz4 ? MeasureLz4(frame) : MeasureZstd(frame));
  const auto frame_bytes = static_cast<int64_t>(frame.size());
  const int64_t ratio = kind == FrameKind::kLz4 ? kLz4Ratio : kZstdRatio;
  if (size.content_bytes / ratio > frame_bytes) {
    return MakeError(ErrorKind::kCorruptData, "{}: {} bytes cannot become the {} that they say", name, frame_bytes,
                     size.content_bytes);
  }
  memory::Reservation context(consumer);
  ARROW_RETURN_NOT_OK(context.ResizeTo(size.context_bytes));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> content, arrow::AllocateBuffer(size.content_bytes, consumer->pool()));
  ARROW_ASSIGN_OR_RAISE(const auto library, MakeLibrary(kind));
  const auto written = library->Decompress(frame_bytes, frame.data(), size.content_bytes, content->mutable_data());
  if (!written.ok()) return WithContext(written.status(), ErrorKind::kCorruptData, name);
  if (*written != size.content_bytes) {
    return MakeError(ErrorKind::kCorruptData, "{}: {} bytes instead of {}", name, *written, size.content_bytes);
  }
  return content;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> CompressFrame(FrameKind kind, std::span<const uint8_t> plain,
                                                            memory::MemoryConsumer* consumer) {
  memory::Reservation context(consumer);
  ARROW_RETURN_NOT_OK(context.ResizeTo(kind == FrameKind::kLz4 ? 512 << 10 : kZstdContextBytes));
  ARROW_ASSIGN_OR_RAISE(const auto library, MakeLibrary(kind));
  const auto plain_bytes = static_cast<int64_t>(plain.size());
  const int64_t bound = library->MaxCompressedLen(plain_bytes, plain.data());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> frame,
                        arrow::AllocateResizableBuffer(bound + 8, consumer->pool()));
  ARROW_ASSIGN_OR_RAISE(int64_t frame_bytes, library->Compress(plain_bytes, plain.data(), bound, frame->mutable_data()));
  if (kind == FrameKind::kLz4 && (frame->data()[4] & kLz4HasContentSize) == 0) {
    AddLz4Size(plain.size(), frame->mutable_data(), &frame_bytes);
  }
  ARROW_RETURN_NOT_OK(frame->Resize(frame_bytes));
  return frame;
}

}  // namespace icebound::iceberg::puffin
