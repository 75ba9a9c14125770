// SPDX-License-Identifier: Apache-2.0
#include "spill/block_codec.h"

#include <lz4.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace icebound::spill {
namespace {

constexpr uint32_t kMagic = 0x4b4c4249;        // "IBLK"
constexpr uint32_t kPlainPiece = 0x80000000u;  // top bit of a piece's stored size

static_assert(kStoredPieceBytesMax >= LZ4_COMPRESSBOUND(kPieceBytes) + kPieceHeadBytes);

void Put32(uint8_t* out, uint32_t value) { std::memcpy(out, &value, sizeof value); }

uint32_t Get32(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

void EncodeHead(const BlockHead& head, uint8_t* out) {
  Put32(out, kMagic);
  Put32(out + 4, static_cast<uint32_t>(head.codec));
  Put32(out + 8, head.rows);
  Put32(out + 12, head.raw_bytes);
  Put32(out + 16, head.stored_bytes);
  std::memcpy(out + 20, &head.checksum, sizeof head.checksum);
}

arrow::Result<BlockHead> DecodeHead(const uint8_t* bytes) {
  if (Get32(bytes) != kMagic) {
    const bool zero = std::all_of(bytes, bytes + kBlockHeadBytes, [](uint8_t byte) { return byte == 0; });
    return MakeError(ErrorKind::kCorruptData, "{}", zero ? "the block was freed or never written" : "no block begins here");
  }
  BlockHead head;
  const uint32_t codec = Get32(bytes + 4);
  if (codec > static_cast<uint32_t>(BlockCodec::kLz4)) return MakeError(ErrorKind::kCorruptData, "unknown codec {}", codec);
  head.codec = static_cast<BlockCodec>(codec);
  head.rows = Get32(bytes + 8);
  head.raw_bytes = Get32(bytes + 12);
  head.stored_bytes = Get32(bytes + 16);
  std::memcpy(&head.checksum, bytes + 20, sizeof head.checksum);
  // Pieces of at least 1 byte could in theory blow a block up ninefold; the writer never lets them pass the raw size by more than
  // the heads.
  const bool plausible = head.raw_bytes <= kMaxBlockBytes &&
                         (head.codec == BlockCodec::kNone ? head.stored_bytes == head.raw_bytes
                                                          : head.stored_bytes <= 2 * kMaxBlockBytes && head.raw_bytes > 0);
  if (!plausible) {
    return MakeError(ErrorKind::kCorruptData, "impossible sizes: {} bytes raw, {} stored", head.raw_bytes, head.stored_bytes);
  }
  return head;
}

int64_t EncodedPieceBytesMax(int64_t raw_bytes) { return kPieceHeadBytes + LZ4_compressBound(static_cast<int>(raw_bytes)); }

int64_t EncodePiece(std::span<const uint8_t> raw, std::span<uint8_t> out) {
  uint8_t* body = out.data() + kPieceHeadBytes;
  int stored = LZ4_compress_default(reinterpret_cast<const char*>(raw.data()), reinterpret_cast<char*>(body),
                                    static_cast<int>(raw.size()), static_cast<int>(out.size() - kPieceHeadBytes));
  uint32_t flag = 0;
  if (stored <= 0 || static_cast<size_t>(stored) >= raw.size()) {
    std::memcpy(body, raw.data(), raw.size());
    stored = static_cast<int>(raw.size());
    flag = kPlainPiece;
  }
  Put32(out.data(), static_cast<uint32_t>(raw.size()));
  Put32(out.data() + 4, static_cast<uint32_t>(stored) | flag);
  return kPieceHeadBytes + stored;
}

arrow::Result<DecodedPieces> DecodePieces(std::span<const uint8_t> stored, std::span<uint8_t> out) {
  DecodedPieces done;
  while (static_cast<int64_t>(stored.size()) - done.stored_bytes >= kPieceHeadBytes) {
    const uint8_t* piece = stored.data() + done.stored_bytes;
    const int64_t raw_bytes = Get32(piece);
    const int64_t piece_bytes = Get32(piece + 4) & ~kPlainPiece;
    const bool plain = (Get32(piece + 4) & kPlainPiece) != 0;
    const int64_t room = static_cast<int64_t>(out.size()) - done.raw_bytes;
    if (raw_bytes > std::min(room, kPieceBytes) || raw_bytes == 0 || kPieceHeadBytes + piece_bytes > kStoredPieceBytesMax ||
        (plain && piece_bytes != raw_bytes)) {
      return MakeError(ErrorKind::kCorruptData, "impossible piece: {} bytes raw, {} stored", raw_bytes, piece_bytes);
    }
    if (static_cast<int64_t>(stored.size()) - done.stored_bytes < kPieceHeadBytes + piece_bytes) break;
    uint8_t* target = out.data() + done.raw_bytes;
    if (plain) {
      std::memcpy(target, piece + kPieceHeadBytes, raw_bytes);
    } else if (LZ4_decompress_safe(reinterpret_cast<const char*>(piece + kPieceHeadBytes), reinterpret_cast<char*>(target),
                                   static_cast<int>(piece_bytes), static_cast<int>(raw_bytes)) != raw_bytes) {
      return MakeError(ErrorKind::kCorruptData, "a piece of {} bytes does not decompress to {}", piece_bytes, raw_bytes);
    }
    done.stored_bytes += kPieceHeadBytes + piece_bytes;
    done.raw_bytes += raw_bytes;
  }
  return done;
}

std::span<const uint8_t> PieceCursor::Next() {
  size_t gathered = 0;
  while (part_ < parts_.size()) {
    const std::span<const uint8_t> rest = parts_[part_].subspan(position_);
    const bool last = part_ + 1 == parts_.size();
    if (gathered == 0 && !rest.empty() && (last || rest.size() >= gather_.size())) {
      const size_t piece = std::min<size_t>(rest.size(), kPieceBytes);
      position_ += piece;
      if (position_ == parts_[part_].size()) ++part_, position_ = 0;
      return rest.first(piece);
    }
    // A long part after short ones is left where it lies rather than cut for the gathered piece.
    if (gathered > 0 && rest.size() >= gather_.size()) break;
    const size_t taken = std::min(rest.size(), gather_.size() - gathered);
    if (taken > 0) std::memcpy(gather_.data() + gathered, rest.data(), taken);
    gathered += taken;
    position_ += taken;
    if (position_ == parts_[part_].size()) ++part_, position_ = 0;
    if (gathered == gather_.size()) break;
  }
  return gather_.first(gathered);
}

void CompressionGauge::AddCompressed(int64_t raw_bytes, int64_t stored_bytes) {
  window_raw_bytes_ += raw_bytes;
  window_stored_bytes_ += stored_bytes;
  if (window_raw_bytes_ < kWindowBytes) return;
  const bool pays = static_cast<double>(window_stored_bytes_) <= (1.0 - min_saving_) * static_cast<double>(window_raw_bytes_);
  if (pays) {
    next_pause_bytes_ = kFirstPauseBytes;
  } else {
    pause_left_bytes_ = next_pause_bytes_;
    next_pause_bytes_ = std::min(2 * next_pause_bytes_, kLastPauseBytes);
  }
  window_raw_bytes_ = window_stored_bytes_ = 0;
}

}  // namespace icebound::spill
