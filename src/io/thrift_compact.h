// SPDX-License-Identifier: Apache-2.0
//
// Just enough of Thrift's compact protocol to walk a Parquet footer without building it, and to compose a smaller one.
// Source: the Apache Thrift project, doc/specs/thrift-compact-protocol.md.
//
//   struct  = field* 0x00
//   field   = (delta << 4 | type) value              1 <= delta <= 15: field id = previous id + delta
//           |  type zigzag16(id) value                otherwise
//   bool    is its field's type (1 true, 2 false); in a list one byte
//   i8      one byte;  i16 i32 i64 zigzag varint;  double 8 bytes;  binary/string varint length, bytes
//   list    = (size << 4 | type) element*             size < 15
//           | (0xF0 | type) varint size element*      otherwise; sets alike
//   map     = varint size [key type << 4 | value type, (key value)*]
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace icebound::io {

enum class ThriftType : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kI8 = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

/// Where the bytes come from: asked for the part from `offset` on, gives at least one byte (at most what it likes), empty at the
/// end. The view lives until the next call.
using ThriftSource = std::function<arrow::Result<std::string_view>(int64_t offset)>;

/// Reads forward over a source. Every value is bounded by the source's end and nesting by kMaxDepth, so no input makes it loop or
/// recurse without end. Errors are plain arrow::Status::Invalid: the caller knows which file they are about. Not thread safe.
class ThriftWalker {
 public:
  struct FieldHead {
    int16_t id = 0;
    ThriftType type = ThriftType::kStop;
  };
  struct ListHead {
    int64_t size = 0;
    ThriftType type = ThriftType::kStop;
  };

  ThriftWalker(ThriftSource source, int64_t size_bytes) : source_(std::move(source)), size_(size_bytes) {}

  int64_t offset() const { return offset_; }
  /// The next field's head; type kStop ends the struct. `previous_id` is the id of the field before it (0 at the start).
  arrow::Result<FieldHead> ReadField(int16_t previous_id);
  arrow::Result<ListHead> ReadList();
  arrow::Result<int64_t> ReadInteger();  ///< zigzag varint
  arrow::Status Skip(ThriftType type);

 private:
  static constexpr int kMaxDepth = 64;

  arrow::Result<uint8_t> ReadByte();
  arrow::Result<uint64_t> ReadVarint();
  arrow::Status Advance(int64_t count);
  arrow::Status SkipValue(ThriftType type, bool in_container, int depth);
  arrow::Status SkipStruct(int depth);

  ThriftSource source_;
  const int64_t size_;
  int64_t offset_ = 0;
  std::string_view view_;  // bytes from view_offset_ on
  int64_t view_offset_ = 0;
};

/// Appends compact-protocol pieces to `out`.
class ThriftAppender {
 public:
  explicit ThriftAppender(std::string* out) : out_(*out) {}
  /// Goes on after field `id` of a struct that was begun elsewhere.
  void Continue(int16_t id) { last_id_ = id; }
  /// A field head; ids must rise.
  void Field(int16_t id, ThriftType type);
  /// A field head whose meaning does not hang on the field before it.
  void FieldInFull(int16_t id, ThriftType type);
  void Integer(int64_t value);  ///< zigzag varint
  void Binary(std::string_view bytes);
  void List(int64_t size, ThriftType element);
  void Raw(std::string_view bytes) { out_.append(bytes); }
  /// Begins a struct as the value of a field or an element of a list; at most kMaxDepth inside each other.
  void BeginStruct() { outer_ids_[depth_++] = last_id_, last_id_ = 0; }
  /// Ends it; the id is again the one of the enclosing struct.
  void EndStruct() { out_.push_back('\0'), last_id_ = outer_ids_[--depth_]; }

 private:
  void Varint(uint64_t value);

  static constexpr size_t kMaxDepth = 8;

  std::string& out_;
  int16_t last_id_ = 0;
  std::array<int16_t, kMaxDepth> outer_ids_{};
  size_t depth_ = 0;
};

}  // namespace icebound::io
