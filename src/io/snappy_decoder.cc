// SPDX-License-Identifier: Apache-2.0
#include "io/snappy_decoder.h"

#include <algorithm>
#include <cstring>

namespace icebound::io {
namespace {

/// The longest head of a 32-bit length.
constexpr size_t kHeadBytesMax = 5;

/// An element of three bytes makes at most 64.
constexpr int64_t kExpansionMax = 22;

/// What a short element may read behind its tag, and write beside its own bytes.
constexpr int64_t kReadAhead = 64;
constexpr int64_t kWriteAhead = 80;

/// Literals up to this length have it in their tag.
constexpr uint32_t kTagLiteralMax = 60;

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void Copy8(uint8_t* out, const uint8_t* in) {
  const auto word = Load<uint64_t>(in);
  std::memcpy(out, &word, sizeof(word));
}

void Copy16(uint8_t* out, const uint8_t* in) {
  using Words = uint64_t __attribute__((vector_size(16)));
  const auto words = Load<Words>(in);
  std::memcpy(out, &words, sizeof(words));
}

/// Copies up to 64 bytes, and writes up to kWriteAhead.
void CopyBack(uint8_t* out, uint32_t distance, uint32_t bytes) {
  const uint8_t* from = out - distance;
  if (distance >= 16) {
    Copy16(out, from);
    for (uint32_t i = 16; i < bytes; i += 16) Copy16(out + i, from + i);
    return;
  }
  if (distance >= 8) {
    Copy8(out, from);
    Copy8(out + 8, from + 8);
    for (uint32_t i = 16; i < bytes; i += 8) Copy8(out + i, from + i);
    return;
  }
  // By distance: the most of the first eight bytes that are whole patterns.
  static constexpr uint8_t kPatternBytes[8] = {0, 8, 8, 6, 8, 5, 6, 7};
  for (int i = 0; i < 8; ++i) out[i] = from[i];
  const uint32_t step = kPatternBytes[distance];
  for (uint32_t i = step; i < bytes; i += step) Copy8(out + i, out);
}

class Decoder {
 public:
  Decoder(std::span<const uint8_t> in, uint8_t* out, int64_t out_bytes)
      : in_(in.data()), in_end_(in.data() + in.size()), out_(out), out_begin_(out), out_end_(out + out_bytes) {}

  bool Run() {
    while (in_end_ - in_ > kReadAhead && out_end_ - out_ >= kWriteAhead) {
      if (!DecodeMany()) return false;
    }
    while (in_ < in_end_) {
      if (!DecodeOne()) return false;
    }
    return out_ == out_end_;
  }

 private:
  /// Elements as long as there is room for any short one, up to a long literal.
  bool DecodeMany() {
    const uint8_t* in = in_;
    uint8_t* out = out_;
    const uint8_t* const in_safe = in_end_ - kReadAhead;
    uint8_t* const out_safe = out_end_ - kWriteAhead;
    while (in < in_safe && out <= out_safe) {
      const uint8_t tag = *in++;
      uint32_t bytes = (tag >> 2) + 1;
      if ((tag & 3) == 0) {
        if (bytes > kTagLiteralMax) {
          in_ = in;
          out_ = out;
          return CopyLongLiteral(bytes - kTagLiteralMax);
        }
        Copy16(out, in);
        for (uint32_t i = 16; i < bytes; i += 16) Copy16(out + i, in + i);
        in += bytes;
        out += bytes;
        continue;
      }
      uint32_t distance;
      if ((tag & 3) == 1) {
        bytes = 4 + ((tag >> 2) & 7);
        distance = static_cast<uint32_t>(tag >> 5) << 8 | *in;
        in += 1;
      } else if ((tag & 3) == 2) {
        distance = Load<uint16_t>(in);
        in += 2;
      } else {
        distance = Load<uint32_t>(in);
        in += 4;
      }
      if (IsTooFar(distance, out)) return false;
      CopyBack(out, distance, bytes);
      out += bytes;
    }
    in_ = in;
    out_ = out;
    return true;
  }

  /// Any element, a byte at a time.
  bool DecodeOne() {
    const uint8_t tag = *in_++;
    int64_t bytes = (tag >> 2) + 1;
    if ((tag & 3) == 0) {
      return bytes > kTagLiteralMax ? CopyLongLiteral(static_cast<uint32_t>(bytes) - kTagLiteralMax) : CopyLiteral(bytes);
    }
    static constexpr uint8_t kDistanceBytes[4] = {0, 1, 2, 4};
    uint32_t distance = 0;
    if (!ReadNumber(kDistanceBytes[tag & 3], &distance)) return false;
    if ((tag & 3) == 1) {
      bytes = 4 + ((tag >> 2) & 7);
      distance |= static_cast<uint32_t>(tag >> 5) << 8;
    }
    if (IsTooFar(distance, out_) || bytes > out_end_ - out_) return false;
    for (int64_t i = 0; i < bytes; ++i) out_[i] = out_[i - static_cast<int64_t>(distance)];
    out_ += bytes;
    return true;
  }

  bool CopyLongLiteral(uint32_t length_bytes) {
    uint32_t less_one = 0;
    return ReadNumber(length_bytes, &less_one) && CopyLiteral(int64_t{less_one} + 1);
  }

  bool CopyLiteral(int64_t bytes) {
    if (bytes > in_end_ - in_ || bytes > out_end_ - out_) return false;
    std::memcpy(out_, in_, static_cast<size_t>(bytes));
    in_ += bytes;
    out_ += bytes;
    return true;
  }

  bool ReadNumber(uint32_t bytes, uint32_t* number) {
    if (bytes > in_end_ - in_) return false;
    for (uint32_t i = 0; i < bytes; ++i) *number |= static_cast<uint32_t>(in_[i]) << (8 * i);
    in_ += bytes;
    return true;
  }

  /// Also when it is 0.
  bool IsTooFar(uint32_t distance, const uint8_t* out) const {
    return static_cast<uint64_t>(distance) - 1 >= static_cast<uint64_t>(out - out_begin_);
  }

  const uint8_t* in_;
  const uint8_t* const in_end_;
  uint8_t* out_;
  uint8_t* const out_begin_;
  uint8_t* const out_end_;
};

}  // namespace

std::optional<SnappyBlock> OpenSnappyBlock(std::span<const uint8_t> block) {
  uint64_t length = 0;
  for (size_t i = 0; i < std::min(block.size(), kHeadBytesMax); ++i) {
    length |= static_cast<uint64_t>(block[i] & 0x7F) << (7 * i);
    if ((block[i] & 0x80) != 0) continue;
    const auto text_bytes = static_cast<int64_t>(length);
    if (length > UINT32_MAX || text_bytes > kExpansionMax * static_cast<int64_t>(block.size())) return std::nullopt;
    return SnappyBlock{text_bytes, block.subspan(i + 1)};
  }
  return std::nullopt;
}

bool DecodeSnappy(const SnappyBlock& block, uint8_t* text) { return Decoder(block.elements, text, block.text_bytes).Run(); }

}  // namespace icebound::io
