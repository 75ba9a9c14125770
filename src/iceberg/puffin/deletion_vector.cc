// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/deletion_vector.h"

#include <arrow/util/bit_util.h>
#include <arrow/util/crc32.h>
#include <fmt/format.h>
#include <roaring.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "iceberg/puffin/little_endian.h"

namespace icebound::iceberg::puffin {

using roaring::api::roaring_bitmap_s;

namespace {

constexpr std::array<uint8_t, 4> kMagic = {0xD1, 0xD3, 0x39, 0x64};
constexpr size_t kLengthBytes = 4;
constexpr size_t kCrcBytes = 4;
constexpr size_t kCountBytes = 8;
constexpr size_t kKeyBytes = 4;
constexpr uint32_t kMaxKey = 0x7fffffff;

// The portable format of one bitmap begins with one of two cookies.
constexpr uint32_t kCookieWithRuns = 12347;
constexpr uint32_t kCookieWithoutRuns = 12346;

/// A container beside its payload: its head, its places in the three arrays of the bitmap, and what malloc adds to each.
constexpr int64_t kContainerBytes = 128;
/// A container on its way to another kind is there twice.
constexpr int64_t kConversionBytes = 16 << 10;
constexpr int64_t kPartBytes = 256;
/// Positions are added in pieces, each reserved before. A new position costs a container at most.
constexpr size_t kAddPiece = 1024;

uint32_t ReadBigEndian32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 | static_cast<uint32_t>(at[2]) << 8 | at[3];
}
void WriteBigEndian32(uint32_t value, uint8_t* at) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

template <typename... Args>
arrow::Status Bad(fmt::format_string<Args...> format, Args&&... args) {
  return ErrorStatus(ErrorKind::kCorruptData, fmt::format(format, std::forward<Args>(args)...));
}

uint32_t KeyOf(int64_t position) { return static_cast<uint32_t>(position >> 32); }
int64_t PositionOf(uint32_t key, uint32_t low) { return static_cast<int64_t>(key) << 32 | low; }

/// How many containers a serialized bitmap names.
arrow::Result<int64_t> CountContainers(std::span<const uint8_t> bytes) {
  if (bytes.size() < 4) return Bad("a bitmap is cut short");
  const auto cookie = ReadLittleEndian<uint32_t>(bytes.data());
  if ((cookie & 0xffff) == kCookieWithRuns) return (cookie >> 16) + 1;
  if (cookie != kCookieWithoutRuns || bytes.size() < 8) return Bad("a bitmap begins with {:08x}", cookie);
  const auto count = ReadLittleEndian<uint32_t>(bytes.data() + 4);
  if (count > 65536) return Bad("a bitmap of {} containers", count);
  return count;
}

int64_t MeasureBitmap(const roaring_bitmap_s* bitmap) {
  roaring_statistics_t statistics;
  roaring_bitmap_statistics(bitmap, &statistics);
  // Arrays grow by doubling at most.
  return 2 * (static_cast<int64_t>(statistics.n_bytes_array_containers) + statistics.n_bytes_run_containers) +
         statistics.n_bytes_bitset_containers + kContainerBytes * statistics.n_containers + kPartBytes;
}

}  // namespace

DeletionVector::DeletionVector(memory::MemoryConsumer* consumer) : consumer_(consumer), reservation_(consumer) {}

DeletionVector::~DeletionVector() { Free(); }

DeletionVector::DeletionVector(DeletionVector&& other) noexcept
    : consumer_(other.consumer_),
      reservation_(std::move(other.reservation_)),
      parts_(std::exchange(other.parts_, {})),
      bound_bytes_(std::exchange(other.bound_bytes_, 0)) {}

DeletionVector& DeletionVector::operator=(DeletionVector&& other) noexcept {
  if (this != &other) {
    Free();
    consumer_ = other.consumer_;
    reservation_ = std::move(other.reservation_);
    parts_ = std::exchange(other.parts_, {});
    bound_bytes_ = std::exchange(other.bound_bytes_, 0);
  }
  return *this;
}

void DeletionVector::Free() {
  for (const Part& part : parts_) roaring_bitmap_free(part.bitmap);
  parts_.clear();
  bound_bytes_ = 0;
}

arrow::Status DeletionVector::ReserveMore(int64_t bytes) {
  bound_bytes_ += bytes;
  if (bound_bytes_ <= reservation_.bytes()) return arrow::Status::OK();
  // The bound only grows; the truth may be far below it.
  bound_bytes_ = MeasureBytes() + bytes;
  if (bound_bytes_ <= reservation_.bytes()) return arrow::Status::OK();
  // Half as much again, so that measuring (a pass over the containers) is rare.
  if (reservation_.TryResizeTo(bound_bytes_ + bound_bytes_ / 2)) return arrow::Status::OK();
  return reservation_.ResizeTo(bound_bytes_);
}

int64_t DeletionVector::MeasureBytes() const {
  int64_t bytes = 0;
  for (const Part& part : parts_) bytes += MeasureBitmap(part.bitmap);
  return bytes;
}

arrow::Result<DeletionVector> DeletionVector::Read(arrow::io::RandomAccessFile* file, std::string_view name, int64_t offset,
                                                   int64_t size, memory::MemoryConsumer* consumer) {
  const std::string context = fmt::format("{}, deletion vector at byte {}", name, offset);
  const auto file_bytes = file->GetSize();
  if (!file_bytes.ok()) return WithContext(file_bytes.status(), ErrorKind::kIo, context);
  if (offset < 0 || size < 0 || size > *file_bytes - offset) {
    return Bad("{}: {} bytes do not fit in the file's {}", context, size, *file_bytes);
  }
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(size, consumer->pool()));
  const auto read = file->ReadAt(offset, size, buffer->mutable_data());
  if (!read.ok()) return WithContext(read.status(), ErrorKind::kIo, context);
  if (*read != size) return Bad("{}: the file ends after {} bytes of {}", context, *read, size);
  auto parsed = Parse({buffer->data(), static_cast<size_t>(size)}, consumer);
  if (!parsed.ok()) return WithContext(parsed.status(), ErrorKind::kCorruptData, context);
  return parsed;
}

arrow::Result<DeletionVector> DeletionVector::Parse(std::span<const uint8_t> blob, memory::MemoryConsumer* consumer) {
  constexpr size_t kLeastBytes = kLengthBytes + kMagic.size() + kCountBytes + kCrcBytes;
  if (blob.size() < kLeastBytes) return Bad("a deletion vector of {} bytes; the least is {}", blob.size(), kLeastBytes);
  const uint32_t length = ReadBigEndian32(blob.data());
  if (length != blob.size() - kLengthBytes - kCrcBytes) {
    return Bad("the vector says that it has {} bytes; there are {}", length, blob.size() - kLengthBytes - kCrcBytes);
  }
  const auto body = blob.subspan(kLengthBytes, length);
  if (!std::equal(kMagic.begin(), kMagic.end(), body.begin())) return Bad("the vector does not begin with D1D33964");
  const uint32_t crc = arrow::internal::crc32(0, body.data(), body.size());
  const uint32_t stored_crc = ReadBigEndian32(blob.data() + blob.size() - kCrcBytes);
  if (crc != stored_crc) return Bad("the checksum is {:08x}, not {:08x}", crc, stored_crc);
  DeletionVector vector(consumer);
  ARROW_RETURN_NOT_OK(vector.ParseVector(body.subspan(kMagic.size())));
  return vector;
}

arrow::Status DeletionVector::ParseVector(std::span<const uint8_t> bytes) {
  const auto count = ReadLittleEndian<uint64_t>(bytes.data());
  bytes = bytes.subspan(kCountBytes);
  // A bitmap has a key and a cookie at least.
  if (count > bytes.size() / (kKeyBytes + 4)) return Bad("{} bitmaps do not fit in {} bytes", count, bytes.size());
  ARROW_RETURN_NOT_OK(ReserveMore(static_cast<int64_t>(count) * kPartBytes));
  parts_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() < kKeyBytes) return Bad("bitmap {} of {} is missing", i, count);
    const auto key = ReadLittleEndian<uint32_t>(bytes.data());
    size_t used = 0;
    const arrow::Status status = AddPart(key, bytes.subspan(kKeyBytes), &used);
    if (!status.ok()) return WithContext(status, ErrorKind::kCorruptData, fmt::format("bitmap {} of {}", i, count));
    bytes = bytes.subspan(kKeyBytes + used);
  }
  if (!bytes.empty()) return Bad("{} bytes stand behind the last bitmap", bytes.size());
  return ReleaseSpare();
}

arrow::Status DeletionVector::ReleaseSpare() {
  bound_bytes_ = MeasureBytes();
  return reservation_.ResizeTo(bound_bytes_);
}

arrow::Status DeletionVector::Compact() {
  ARROW_RETURN_NOT_OK(ReserveMore(kConversionBytes));
  for (const Part& part : parts_) {
    roaring_bitmap_run_optimize(part.bitmap);
    roaring_bitmap_shrink_to_fit(part.bitmap);
  }
  return ReleaseSpare();
}

arrow::Status DeletionVector::AddPart(uint32_t key, std::span<const uint8_t> bytes, size_t* used) {
  if (key > kMaxKey) return Bad("the key {:08x} is that of negative positions", key);
  if (!parts_.empty() && key <= parts_.back().key) return Bad("the keys do not rise: {} behind {}", key, parts_.back().key);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  ARROW_ASSIGN_OR_RAISE(const int64_t containers, CountContainers(bytes));
  *used = roaring_bitmap_portable_deserialize_size(text, bytes.size());
  if (*used == 0) return Bad("a bitmap is cut short, or none");
  ARROW_RETURN_NOT_OK(ReserveMore(static_cast<int64_t>(*used) + containers * kContainerBytes + kConversionBytes));
  roaring_bitmap_s* bitmap = roaring_bitmap_portable_deserialize_safe(text, *used);
  if (bitmap == nullptr) return Bad("not a Roaring bitmap");
  parts_.push_back({key, bitmap});
  const char* reason = nullptr;
  if (!roaring_bitmap_internal_validate(bitmap, &reason)) return Bad("a bitmap contradicts itself: {}", reason);
  return arrow::Status::OK();
}

arrow::Result<roaring_bitmap_s*> DeletionVector::PartOf(uint32_t key) {
  const auto at = std::lower_bound(parts_.begin(), parts_.end(), key, [](const Part& part, uint32_t k) { return part.key < k; });
  if (at != parts_.end() && at->key == key) return at->bitmap;
  ARROW_RETURN_NOT_OK(ReserveMore(2 * kPartBytes));
  roaring_bitmap_s* bitmap = roaring_bitmap_create();
  if (bitmap == nullptr) return MakeError(ErrorKind::kMemoryLimit, "no memory for a bitmap");
  parts_.insert(at, {key, bitmap});
  return bitmap;
}

arrow::Status DeletionVector::Add(std::span<const int64_t> positions) {
  for (size_t begin = 0; begin < positions.size(); begin += kAddPiece) {
    const auto piece = positions.subspan(begin, std::min(kAddPiece, positions.size() - begin));
    ARROW_RETURN_NOT_OK(ReserveMore(static_cast<int64_t>(piece.size()) * kContainerBytes + kConversionBytes));
    roaring_bitmap_s* bitmap = nullptr;
    uint32_t bitmap_key = 0;
    roaring_bulk_context_t context{};
    for (const int64_t position : piece) {
      if (position < 0) return MakeError(ErrorKind::kInternal, "the position of a deleted row is negative: {}", position);
      if (bitmap == nullptr || KeyOf(position) != bitmap_key) {
        bitmap_key = KeyOf(position);
        ARROW_ASSIGN_OR_RAISE(bitmap, PartOf(bitmap_key));
        context = {};
      }
      roaring_bitmap_add_bulk(bitmap, &context, static_cast<uint32_t>(position));
    }
  }
  return arrow::Status::OK();
}

arrow::Status DeletionVector::Union(const DeletionVector& other) {
  for (const Part& part : other.parts_) {
    ARROW_RETURN_NOT_OK(ReserveMore(2 * MeasureBitmap(part.bitmap) + kConversionBytes));
    ARROW_ASSIGN_OR_RAISE(roaring_bitmap_s * bitmap, PartOf(part.key));
    roaring_bitmap_or_inplace(bitmap, part.bitmap);
  }
  return arrow::Status::OK();
}

int64_t DeletionVector::cardinality() const {
  int64_t count = 0;
  for (const Part& part : parts_) count += static_cast<int64_t>(roaring_bitmap_get_cardinality(part.bitmap));
  return count;
}

bool DeletionVector::Contains(int64_t position) const {
  for (const Part& part : parts_) {
    if (position >= 0 && part.key == KeyOf(position))
      return roaring_bitmap_contains(part.bitmap, static_cast<uint32_t>(position));
  }
  return false;
}

int64_t DeletionVector::ClearDeleted(int64_t first_row, int64_t rows, uint8_t* bitmap) const {
  int64_t deleted = 0;
  const int64_t end = first_row + rows;
  for (const Part& part : parts_) {
    if (PositionOf(part.key, 0xffffffff) < first_row || PositionOf(part.key, 0) >= end) continue;
    roaring_uint32_iterator_t at;
    roaring_iterator_init(part.bitmap, &at);
    const int64_t from = std::max(first_row, PositionOf(part.key, 0));
    for (bool more = roaring_uint32_iterator_move_equalorlarger(&at, static_cast<uint32_t>(from)); more;
         more = roaring_uint32_iterator_advance(&at)) {
      const int64_t row = PositionOf(part.key, at.current_value);
      if (row >= end) break;
      arrow::bit_util::ClearBit(bitmap, row - first_row);
      ++deleted;
    }
  }
  return deleted;
}

int64_t DeletionVector::Positions(int64_t from, std::span<int64_t> out) const {
  size_t count = 0;
  for (const Part& part : parts_) {
    if (PositionOf(part.key, 0xffffffff) < from) continue;
    roaring_uint32_iterator_t at;
    roaring_iterator_init(part.bitmap, &at);
    const int64_t begin = std::max(from, PositionOf(part.key, 0));
    bool more = roaring_uint32_iterator_move_equalorlarger(&at, static_cast<uint32_t>(begin));
    for (; more && count < out.size(); more = roaring_uint32_iterator_advance(&at)) {
      out[count++] = PositionOf(part.key, at.current_value);
    }
  }
  return static_cast<int64_t>(count);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> DeletionVector::Serialize() {
  size_t vector_bytes = kCountBytes;
  ARROW_RETURN_NOT_OK(Compact());
  for (const Part& part : parts_) {
    vector_bytes += kKeyBytes + roaring_bitmap_portable_size_in_bytes(part.bitmap);
  }
  const size_t body_bytes = kMagic.size() + vector_bytes;
  if (body_bytes > 0x7fffffff) return MakeError(ErrorKind::kUnsupported, "a deletion vector of {} bytes", body_bytes);
  const size_t blob_bytes = kLengthBytes + body_bytes + kCrcBytes;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> blob,
                        arrow::AllocateBuffer(static_cast<int64_t>(blob_bytes), consumer_->pool()));
  uint8_t* at = blob->mutable_data();
  WriteBigEndian32(static_cast<uint32_t>(body_bytes), at);
  at = std::copy(kMagic.begin(), kMagic.end(), at + kLengthBytes);
  const uint64_t count = parts_.size();
  std::memcpy(at, &count, sizeof(count));
  at += sizeof(count);
  for (const Part& part : parts_) {
    std::memcpy(at, &part.key, sizeof(part.key));
    at += sizeof(part.key);
    at += roaring_bitmap_portable_serialize(part.bitmap, reinterpret_cast<char*>(at));
  }
  const uint32_t crc = arrow::internal::crc32(0, blob->data() + kLengthBytes, body_bytes);
  WriteBigEndian32(crc, at);
  return blob;
}

}  // namespace icebound::iceberg::puffin
