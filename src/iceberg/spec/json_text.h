// SPDX-License-Identifier: Apache-2.0
//
// Iceberg's JSON, read and written a piece at a time. A metadata file of a streaming table has ten thousand snapshots with twenty
// summary entries each; a tree of it takes five times its text. So the text itself is the tree:
//
//   CheckJson(text)                     once, by nlohmann's parser, which builds nothing here: position and cause of a fault
//   JsonObject::Make(slice)             the members of one object: names, and the text of each value
//   JsonElements(slice)                 the elements of one array, one after another
//
// Each is a view of the text and looks only at its own slice, so that the members of a snapshot live while that snapshot is read.
// Everything here expects text that CheckJson accepted (or a slice of such).
//
// Unknown fields are kept: JsonObject remembers which members were asked for, and UnknownMembers() is the text of the others
// (numbers to the last digit), which JsonWriter::Members writes again. Members that are null count as absent, as everywhere in
// Iceberg, except among the unknown ones.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::iceberg {

/// ErrorKind::kCorruptData with line and column when `text` is not one JSON value. Its names and strings are then UTF-8.
arrow::Status CheckJson(std::string_view text);

/// The same value without blanks and line ends between its parts: what is kept of a file that was written for people to read.
std::string CompactJson(std::string_view value);

/// The text of a string value without quotes and escapes.
arrow::Result<std::string> DecodeJsonString(std::string_view value);
arrow::Result<int64_t> DecodeJsonInt64(std::string_view value);
arrow::Result<bool> DecodeJsonBool(std::string_view value);

/// The elements of an array, in order.
class JsonElements {
 public:
  /// `array` outlives the object.
  static arrow::Result<JsonElements> Make(std::string_view array);

  /// False at the end.
  bool Next(std::string_view* element);

  /// All elements (not only those left): so that a vector is made once, in its size.
  int64_t count() const;

 private:
  explicit JsonElements(std::string_view array) : text_(array), position_(1) {}
  std::string_view text_;
  size_t position_;
};

/// The members of an object, by name; of two with one name the later counts. Not thread safe: reading marks what is known.
class JsonObject {
 public:
  /// `object` outlives the object.
  static arrow::Result<JsonObject> Make(std::string_view object);

  /// The text of a member; nullopt when absent or null.
  std::optional<std::string_view> Find(std::string_view name);
  arrow::Result<std::string_view> Get(std::string_view name);

  arrow::Result<int32_t> GetInt32(std::string_view name);
  arrow::Result<int64_t> GetInt64(std::string_view name);
  arrow::Result<bool> GetBool(std::string_view name);
  arrow::Result<std::string> GetString(std::string_view name);
  arrow::Result<std::vector<int32_t>> GetInt32List(std::string_view name);

  arrow::Result<std::optional<int32_t>> FindInt32(std::string_view name);
  arrow::Result<std::optional<int64_t>> FindInt64(std::string_view name);
  arrow::Result<std::optional<std::string>> FindString(std::string_view name);

  /// All members as they come, for maps with free names.
  struct Member {
    std::string name;
    std::string_view value;
    bool known = false;
  };
  const std::vector<Member>& members() const { return members_; }

  /// The members nobody asked for, as text between braces ("\"a\":1,\"b\":[2]"); empty when there are none.
  std::string UnknownMembers() const;

 private:
  std::vector<Member> members_;
};

/// Appends compact JSON to a string. Calls nest as the document does; names and strings are UTF-8.
class JsonWriter {
 public:
  /// `out` outlives the writer.
  explicit JsonWriter(std::string* out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view name);
  void String(std::string_view value);
  void Int(int64_t value);
  void Bool(bool value);
  /// One value as it stands.
  void Raw(std::string_view json);
  /// What JsonObject::UnknownMembers gave, into the object that is open.
  void Members(std::string_view text);

  void StringMember(std::string_view name, std::string_view value) { Key(name), String(value); }
  void IntMember(std::string_view name, int64_t value) { Key(name), Int(value); }
  void BoolMember(std::string_view name, bool value) { Key(name), Bool(value); }
  void RawMember(std::string_view name, std::string_view json) { Key(name), Raw(json); }
  void IntListMember(std::string_view name, const std::vector<int32_t>& values);

 private:
  void Separate();
  void Open(char bracket);
  void Close(char bracket);

  std::string* const out_;
  bool needs_comma_ = false;  ///< a value or member stands before the next one
};

}  // namespace icebound::iceberg
