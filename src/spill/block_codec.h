// SPDX-License-Identifier: Apache-2.0
//
// What a block looks like on disk, and how its bytes are compressed.
//
//   block  +--------+--------+--------+--------+--------+-----------+-----------------+
//          | magic  | codec  | rows   | raw    | stored | checksum  | stored bytes... |
//          | 4 B    | 4 B    | 4 B    | 4 B    | 4 B    | 8 B XXH3  |                 |
//          +--------+--------+--------+--------+--------+-----------+-----------------+
//
// raw and stored are the sizes before and after compression. The checksum covers the stored bytes, then the head's first 20
// bytes, and is seeded with the block's offset in the file: a block at the wrong place is as wrong as a flipped bit. Numbers are
// in the machine's byte order: a spill file never leaves its machine.
//
// codec kNone: stored bytes = raw bytes. codec kLz4: stored bytes are pieces,
//
//   piece  +--------+----------------+----------------------------------+
//          | raw    | stored         | stored bytes...                  |
//          | 4 B    | 4 B, top bit:  | LZ4 block format, or plain       |
//          |        | piece is plain |                                  |
//          +--------+----------------+----------------------------------+
//
// each of at most kPieceBytes raw and compressed on its own. So any block is compressed and decompressed through one scratch of
// fixed size (ScratchBuffers), never through a second copy of itself.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <span>

namespace icebound::spill {

enum class BlockCodec : uint32_t { kNone = 0, kLz4 = 1 };

constexpr int64_t kBlockHeadBytes = 28;
constexpr int64_t kPieceHeadBytes = 8;
/// The largest raw block. It bounds what a corrupt head can make a reader ask for.
constexpr int64_t kMaxBlockBytes = int64_t{16} << 20;
/// One piece: L2-sized, and a usual block is a single one, so that it is written with a single call.
constexpr int64_t kPieceBytes = int64_t{256} << 10;
/// Parts shorter than this are gathered to one piece of this size: compressing a validity bitmap alone would cost more than it
/// saves.
constexpr int64_t kGatherBytes = int64_t{64} << 10;
/// The longest a piece can be on disk (LZ4's bound for kPieceBytes, rounded up, and its head).
constexpr int64_t kStoredPieceBytesMax = kPieceBytes + kPieceBytes / 255 + 64 + kPieceHeadBytes;
/// One scratch: the gathered piece, a block's head, and one piece as stored.
constexpr int64_t kScratchBytes = kGatherBytes + kBlockHeadBytes + kStoredPieceBytesMax;

struct BlockHead {
  BlockCodec codec = BlockCodec::kNone;
  uint32_t rows = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint64_t checksum = 0;
};

/// Writes kBlockHeadBytes.
void EncodeHead(const BlockHead& head, uint8_t* out);

/// Reads kBlockHeadBytes; kCorruptData (without a place: the caller knows it) when they cannot be a head.
arrow::Result<BlockHead> DecodeHead(const uint8_t* bytes);

/// Compresses one piece (at most kPieceBytes) to `out`, which must have room for kPieceHeadBytes + LZ4's bound; a piece that does
/// not shrink is stored plain. Returns the bytes written.
int64_t EncodePiece(std::span<const uint8_t> raw, std::span<uint8_t> out);

/// Room EncodePiece needs for a piece of `raw_bytes`.
int64_t EncodedPieceBytesMax(int64_t raw_bytes);

/// Decodes whole pieces from the front of `stored` into the front of `out`. Stops before a piece that is not all there.
struct DecodedPieces {
  int64_t stored_bytes = 0;  ///< taken from `stored`
  int64_t raw_bytes = 0;     ///< put to `out`
};
arrow::Result<DecodedPieces> DecodePieces(std::span<const uint8_t> stored, std::span<uint8_t> out);

/// Walks the parts of a block in pieces to compress: long stretches where they lie, short ones gathered in `gather`.
class PieceCursor {
 public:
  /// `gather` has kGatherBytes. Both must outlive the cursor.
  PieceCursor(std::span<const std::span<const uint8_t>> parts, std::span<uint8_t> gather) : parts_(parts), gather_(gather) {}
  /// The next piece, empty at the end; valid until the next call.
  std::span<const uint8_t> Next();

 private:
  const std::span<const std::span<const uint8_t>> parts_;
  const std::span<uint8_t> gather_;
  size_t part_ = 0;
  size_t position_ = 0;  // in parts_[part_]
};

/// Says whether compressing pays for one file: while the last kWindowBytes saved less than `min_saving` of themselves, blocks are
/// stored plain; a pause, doubled each time, is followed by another look, since data changes. Not thread safe.
class CompressionGauge {
 public:
  static constexpr int64_t kWindowBytes = int64_t{512} << 10;
  static constexpr double kMinSaving = 0.12;
  static constexpr int64_t kFirstPauseBytes = int64_t{32} << 20;
  static constexpr int64_t kLastPauseBytes = int64_t{1} << 30;

  explicit CompressionGauge(double min_saving = kMinSaving) : min_saving_(min_saving) {}

  bool ShouldCompress() const { return pause_left_bytes_ <= 0; }
  void AddCompressed(int64_t raw_bytes, int64_t stored_bytes);
  void AddPlain(int64_t raw_bytes) { pause_left_bytes_ -= raw_bytes; }

 private:
  const double min_saving_;
  int64_t window_raw_bytes_ = 0;
  int64_t window_stored_bytes_ = 0;
  int64_t pause_left_bytes_ = 0;
  int64_t next_pause_bytes_ = kFirstPauseBytes;
};

}  // namespace icebound::spill
