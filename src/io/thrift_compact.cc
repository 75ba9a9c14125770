// SPDX-License-Identifier: Apache-2.0
#include "io/thrift_compact.h"

#include <limits>

namespace icebound::io {

arrow::Result<uint8_t> ThriftWalker::ReadByte() {
  if (offset_ >= size_) return arrow::Status::Invalid("ends in the middle of a value");
  if (offset_ >= view_offset_ + static_cast<int64_t>(view_.size())) {
    view_offset_ = offset_;
    ARROW_ASSIGN_OR_RAISE(view_, source_(offset_));
    if (view_.empty()) return arrow::Status::Invalid("ends in the middle of a value");
  }
  return static_cast<uint8_t>(view_[static_cast<size_t>(offset_++ - view_offset_)]);
}

arrow::Result<uint64_t> ThriftWalker::ReadVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    ARROW_ASSIGN_OR_RAISE(const uint8_t byte, ReadByte());
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return arrow::Status::Invalid("a number of more than 64 bits");
}

arrow::Result<int64_t> ThriftWalker::ReadInteger() {
  ARROW_ASSIGN_OR_RAISE(const uint64_t raw, ReadVarint());
  return static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
}

arrow::Status ThriftWalker::Advance(int64_t count) {
  if (count < 0 || count > size_ - offset_)
    return arrow::Status::Invalid("a length of ", count, " bytes where ", size_ - offset_, " are left");
  offset_ += count;
  return arrow::Status::OK();
}

arrow::Result<ThriftWalker::FieldHead> ThriftWalker::ReadField(int16_t previous_id) {
  ARROW_ASSIGN_OR_RAISE(const uint8_t head, ReadByte());
  FieldHead field{.id = 0, .type = static_cast<ThriftType>(head & 0x0f)};
  if (field.type == ThriftType::kStop) return field;
  if (field.type > ThriftType::kStruct) return arrow::Status::Invalid("a field of unknown type ", head & 0x0f);
  const int delta = head >> 4;
  int64_t id = previous_id + delta;
  if (delta == 0) {
    ARROW_ASSIGN_OR_RAISE(id, ReadInteger());
  }
  if (id < 0 || id > std::numeric_limits<int16_t>::max()) return arrow::Status::Invalid("a field number of ", id);
  field.id = static_cast<int16_t>(id);
  return field;
}

arrow::Result<ThriftWalker::ListHead> ThriftWalker::ReadList() {
  ARROW_ASSIGN_OR_RAISE(const uint8_t head, ReadByte());
  ListHead list{.size = head >> 4, .type = static_cast<ThriftType>(head & 0x0f)};
  if (list.size == 15) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t size, ReadVarint());
    if (size > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
      return arrow::Status::Invalid("a list of ", size, " elements");
    list.size = static_cast<int64_t>(size);
  }
  // Every element takes at least a byte: a longer list than the bytes left is a lie, found here rather than element by element.
  if (list.size > size_ - offset_)
    return arrow::Status::Invalid("a list of ", list.size, " elements where ", size_ - offset_, " bytes are left");
  if (list.type == ThriftType::kStop || list.type > ThriftType::kStruct) return arrow::Status::Invalid("a list of unknown type");
  return list;
}

arrow::Status ThriftWalker::Skip(ThriftType type) { return SkipValue(type, /*in_container=*/false, 0); }

arrow::Status ThriftWalker::SkipStruct(int depth) {
  int16_t id = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const FieldHead field, ReadField(id));
    if (field.type == ThriftType::kStop) return arrow::Status::OK();
    id = field.id;
    ARROW_RETURN_NOT_OK(SkipValue(field.type, /*in_container=*/false, depth + 1));
  }
}

arrow::Status ThriftWalker::SkipValue(ThriftType type, bool in_container, int depth) {
  if (depth > kMaxDepth) return arrow::Status::Invalid("nested more than ", kMaxDepth, " levels deep");
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      return in_container ? Advance(1) : arrow::Status::OK();
    case ThriftType::kI8:
      return Advance(1);
    case ThriftType::kI16:
    case ThriftType::kI32:
    case ThriftType::kI64:
      return ReadVarint().status();
    case ThriftType::kDouble:
      return Advance(8);
    case ThriftType::kBinary: {
      ARROW_ASSIGN_OR_RAISE(const uint64_t length, ReadVarint());
      return Advance(static_cast<int64_t>(std::min<uint64_t>(length, std::numeric_limits<int64_t>::max())));
    }
    case ThriftType::kList:
    case ThriftType::kSet: {
      ARROW_ASSIGN_OR_RAISE(const ListHead list, ReadList());
      for (int64_t i = 0; i < list.size; ++i) ARROW_RETURN_NOT_OK(SkipValue(list.type, /*in_container=*/true, depth + 1));
      return arrow::Status::OK();
    }
    case ThriftType::kMap: {
      ARROW_ASSIGN_OR_RAISE(const uint64_t size, ReadVarint());
      if (size == 0) return arrow::Status::OK();
      ARROW_ASSIGN_OR_RAISE(const uint8_t types, ReadByte());
      for (uint64_t i = 0; i < size; ++i) {
        ARROW_RETURN_NOT_OK(SkipValue(static_cast<ThriftType>(types >> 4), /*in_container=*/true, depth + 1));
        ARROW_RETURN_NOT_OK(SkipValue(static_cast<ThriftType>(types & 0x0f), /*in_container=*/true, depth + 1));
      }
      return arrow::Status::OK();
    }
    case ThriftType::kStruct:
      return SkipStruct(depth);
    default:
      return arrow::Status::Invalid("a value of unknown type ", static_cast<int>(type));
  }
}

void ThriftAppender::Varint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void ThriftAppender::Integer(int64_t value) { Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63)); }

void ThriftAppender::Field(int16_t id, ThriftType type) {
  const int delta = id - last_id_;
  if (delta >= 1 && delta <= 15) {
    out_.push_back(static_cast<char>(delta << 4 | static_cast<int>(type)));
  } else {
    out_.push_back(static_cast<char>(type));
    Integer(id);
  }
  last_id_ = id;
}

void ThriftAppender::FieldInFull(int16_t id, ThriftType type) {
  out_.push_back(static_cast<char>(type));
  Integer(id);
  last_id_ = id;
}

void ThriftAppender::Binary(std::string_view bytes) {
  Varint(bytes.size());
  out_.append(bytes);
}

void ThriftAppender::List(int64_t size, ThriftType element) {
  if (size < 15) {
    out_.push_back(static_cast<char>(size << 4 | static_cast<int>(element)));
  } else {
    out_.push_back(static_cast<char>(0xf0 | static_cast<int>(element)));
    Varint(static_cast<uint64_t>(size));
  }
}

}  // namespace icebound::io
