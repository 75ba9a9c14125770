// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/zstandard_frame.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace icebound::iceberg::avro {

namespace {

constexpr uint32_t kFrameMagic = 0xFD2FB528;
constexpr uint32_t kSkippableMagic = 0x184D2A50;
constexpr uint32_t kSkippableMask = 0xFFFFFFF0;
// What the library's streams accept.
constexpr int64_t kMaxWindowBytes = int64_t{128} << 20;
enum BlockKind { kRaw = 0, kRepeat = 1, kCompressed = 2 };

class FrameWalker {
 public:
  explicit FrameWalker(std::span<const uint8_t> stored) : stored_(stored) {}

  bool at_end() const { return at_ == stored_.size(); }

  arrow::Status Frame(ZstandardSize* size) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t magic, Take(4));
    if ((magic & kSkippableMask) == kSkippableMagic) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t bytes, Take(4));
      return Skip(bytes);
    }
    if (magic != kFrameMagic) return MakeError(ErrorKind::kCorruptData, "zstandard: a frame begins with {:08x}", magic);
    ARROW_ASSIGN_OR_RAISE(const uint64_t descriptor, Take(1));
    int64_t window_bytes = 0;
    std::optional<int64_t> content_bytes;
    ARROW_RETURN_NOT_OK(Header(descriptor, &window_bytes, &content_bytes));
    ARROW_ASSIGN_OR_RAISE(const int64_t bound, Blocks());
    if ((descriptor & 4) != 0) ARROW_RETURN_NOT_OK(Skip(4));
    if (content_bytes > bound) {
      return MakeError(ErrorKind::kCorruptData, "zstandard: a frame that can become {} bytes says that it becomes {}", bound,
                       *content_bytes);
    }
    size->bytes += content_bytes.value_or(bound);
    size->is_exact = size->is_exact && content_bytes.has_value();
    size->window_bytes = std::max(size->window_bytes, window_bytes);
    return arrow::Status::OK();
  }

 private:
  arrow::Status Header(uint64_t descriptor, int64_t* window_bytes, std::optional<int64_t>* content_bytes) {
    const bool single_segment = (descriptor & 0x20) != 0;
    if (!single_segment) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t window, Take(1));
      const int64_t base = int64_t{1} << (10 + (window >> 3));
      *window_bytes = base + base / 8 * static_cast<int64_t>(window & 7);
    }
    constexpr int kDictionaryBytes[] = {0, 1, 2, 4};
    ARROW_RETURN_NOT_OK(Skip(static_cast<uint64_t>(kDictionaryBytes[descriptor & 3])));
    const int size_bytes = (descriptor >> 6) == 0 ? (single_segment ? 1 : 0) : 1 << (descriptor >> 6);
    if (size_bytes > 0) {
      ARROW_ASSIGN_OR_RAISE(uint64_t bytes, Take(size_bytes));
      if (size_bytes == 2) bytes += 256;
      *content_bytes = static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 62));
      if (single_segment) *window_bytes = **content_bytes;
    }
    if (!content_bytes->has_value() && *window_bytes > kMaxWindowBytes) {
      return MakeError(ErrorKind::kUnsupported, "zstandard: a window of {} bytes; at most {}", *window_bytes, kMaxWindowBytes);
    }
    return arrow::Status::OK();
  }

  /// Walks the blocks of a frame; what they become at most.
  arrow::Result<int64_t> Blocks() {
    int64_t bound = 0;
    for (bool last = false; !last;) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t header, Take(3));
      last = (header & 1) != 0;
      const uint64_t kind = (header >> 1) & 3;
      const uint64_t bytes = header >> 3;
      if (kind > kCompressed || bytes > static_cast<uint64_t>(kZstandardBlockBytes)) {
        return MakeError(ErrorKind::kCorruptData, "zstandard: a block of kind {} and {} bytes", kind, bytes);
      }
      ARROW_RETURN_NOT_OK(Skip(kind == kRepeat ? 1 : bytes));
      bound += kind == kCompressed ? kZstandardBlockBytes : static_cast<int64_t>(bytes);
    }
    return bound;
  }

  arrow::Result<uint64_t> Take(int bytes) {
    const size_t from = at_;
    ARROW_RETURN_NOT_OK(Skip(static_cast<uint64_t>(bytes)));
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(stored_[from + static_cast<size_t>(i)]) << (8 * i);
    return value;
  }

  arrow::Status Skip(uint64_t bytes) {
    if (bytes > stored_.size() - at_) return MakeError(ErrorKind::kCorruptData, "zstandard: a frame is cut short");
    at_ += bytes;
    return arrow::Status::OK();
  }

  std::span<const uint8_t> stored_;
  size_t at_ = 0;
};

}  // namespace

arrow::Result<ZstandardSize> MeasureZstandard(std::span<const uint8_t> stored) {
  ZstandardSize size;
  FrameWalker walker(stored);
  while (!walker.at_end()) ARROW_RETURN_NOT_OK(walker.Frame(&size));
  return size;
}

}  // namespace icebound::iceberg::avro
