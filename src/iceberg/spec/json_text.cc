// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/json_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

size_t SkipSpace(std::string_view text, size_t position) {
  while (position < text.size() && IsSpace(text[position])) ++position;
  return position;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = SkipSpace(text, 0);
  size_t end = text.size();
  while (end > begin && IsSpace(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

/// The end of the string that begins (with its quote) at `position`.
size_t StringEnd(std::string_view text, size_t position) {
  for (++position; position < text.size(); ++position) {
    if (text[position] == '\\') {
      ++position;
    } else if (text[position] == '"') {
      return position + 1;
    }
  }
  return text.size();
}

/// The end of the value that begins at `position`.
size_t ValueEnd(std::string_view text, size_t position) {
  int64_t depth = 0;
  while (position < text.size()) {
    const char c = text[position];
    if (c == '"') {
      position = StringEnd(text, position);
      if (depth == 0) return position;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return depth == 1 ? position + 1 : position;
      --depth;
    } else if (depth == 0 && (c == ',' || IsSpace(c))) {
      return position;
    }
    ++position;
  }
  return position;
}

/// Receives parse events and keeps nothing but the first fault.
class SyntaxCheck {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t) { return true; }
  bool number_unsigned(number_unsigned_t) { return true; }
  bool number_float(number_float_t, const string_t&) { return true; }
  bool string(string_t&) { return true; }
  bool binary(binary_t&) { return true; }
  bool start_object(size_t) { return true; }
  bool start_array(size_t) { return true; }
  bool key(string_t&) { return true; }
  bool end_object() { return true; }
  bool end_array() { return true; }
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception&) {
    fault_position = position;
    fault_token = token.substr(token.size() - std::min<size_t>(token.size(), 40));
    return false;
  }

  size_t fault_position = 0;
  std::string fault_token;
};

arrow::Status Missing(std::string_view name) { return MakeError(ErrorKind::kCorruptData, "'{}' is missing", name); }

arrow::Status InMember(const arrow::Status& status, std::string_view name) {
  return status.ok() ? status : WithContext(status, ErrorKind::kCorruptData, fmt::format("'{}'", name));
}

std::string_view Shown(std::string_view value) { return value.substr(0, 60); }

arrow::Result<int32_t> Narrow(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    return MakeError(ErrorKind::kCorruptData, "{} does not fit 32 bits", value);
  }
  return static_cast<int32_t>(value);
}

}  // namespace

arrow::Status CheckJson(std::string_view text) {
  SyntaxCheck check;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &check)) return arrow::Status::OK();
  const size_t end = std::min(check.fault_position, text.size());
  const std::string_view before = text.substr(0, end);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return MakeError(ErrorKind::kCorruptData, "this is not JSON: line {}, column {}, near '{}'", line, end - line_start,
                   check.fault_token);
}

std::string CompactJson(std::string_view value) {
  std::string compact;
  compact.reserve(value.size());
  for (size_t i = 0; i < value.size();) {
    if (IsSpace(value[i])) {
      ++i;
      continue;
    }
    const size_t end = value[i] == '"' ? StringEnd(value, i) : i + 1;
    compact.append(value.substr(i, end - i));
    i = end;
  }
  compact.shrink_to_fit();
  return compact;
}

arrow::Result<std::string> DecodeJsonString(std::string_view value) {
  if (value.size() < 2 || value.front() != '"') {
    return MakeError(ErrorKind::kCorruptData, "a string is expected, not {}", Shown(value));
  }
  if (value.find('\\') == std::string_view::npos) return std::string(value.substr(1, value.size() - 2));
  const nlohmann::json decoded = nlohmann::json::parse(value.begin(), value.end(), nullptr, /*allow_exceptions=*/false);
  if (!decoded.is_string()) return MakeError(ErrorKind::kCorruptData, "a string is expected, not {}", Shown(value));
  return decoded.get<std::string>();
}

arrow::Result<int64_t> DecodeJsonInt64(std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::result_out_of_range) {
    return MakeError(ErrorKind::kCorruptData, "{} does not fit 64 bits", Shown(value));
  }
  if (error != std::errc{} || end != value.data() + value.size()) {
    return MakeError(ErrorKind::kCorruptData, "a whole number is expected, not {}", Shown(value));
  }
  return number;
}

arrow::Result<bool> DecodeJsonBool(std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return MakeError(ErrorKind::kCorruptData, "true or false is expected, not {}", Shown(value));
}

arrow::Result<JsonElements> JsonElements::Make(std::string_view array) {
  array = Trim(array);
  if (array.empty() || array.front() != '[') {
    return MakeError(ErrorKind::kCorruptData, "a list is expected, not {}", Shown(array));
  }
  return JsonElements(array);
}

bool JsonElements::Next(std::string_view* element) {
  position_ = SkipSpace(text_, position_);
  if (position_ < text_.size() && text_[position_] == ',') position_ = SkipSpace(text_, position_ + 1);
  if (position_ >= text_.size() || text_[position_] == ']') return false;
  const size_t end = ValueEnd(text_, position_);
  *element = text_.substr(position_, end - position_);
  position_ = end;
  return true;
}

int64_t JsonElements::count() const {
  JsonElements all(text_);
  std::string_view element;
  int64_t count = 0;
  while (all.Next(&element)) ++count;
  return count;
}

arrow::Result<JsonObject> JsonObject::Make(std::string_view text) {
  text = Trim(text);
  if (text.empty() || text.front() != '{') {
    return MakeError(ErrorKind::kCorruptData, "an object is expected, not {}", Shown(text));
  }
  // Twice: first to count, so that the members of a large map are made room for once.
  const auto for_each = [text](const auto& visit) -> arrow::Status {
    size_t position = SkipSpace(text, 1);
    while (position < text.size() && text[position] == '"') {
      const size_t name_end = StringEnd(text, position);
      const size_t value = SkipSpace(text, SkipSpace(text, name_end) + 1);
      const size_t value_end = ValueEnd(text, value);
      ARROW_RETURN_NOT_OK(visit(text.substr(position, name_end - position), text.substr(value, value_end - value)));
      position = SkipSpace(text, value_end);
      if (position < text.size() && text[position] == ',') position = SkipSpace(text, position + 1);
    }
    return arrow::Status::OK();
  };
  size_t count = 0;
  ARROW_RETURN_NOT_OK(for_each([&](std::string_view, std::string_view) { return ++count, arrow::Status::OK(); }));
  JsonObject object;
  object.members_.reserve(count);
  ARROW_RETURN_NOT_OK(for_each([&](std::string_view name, std::string_view value) {
    auto decoded = DecodeJsonString(name);
    if (decoded.ok()) object.members_.push_back({*std::move(decoded), value});
    return decoded.status();
  }));
  return object;
}

std::optional<std::string_view> JsonObject::Find(std::string_view name) {
  std::optional<std::string_view> found;
  for (Member& member : members_) {
    if (member.name != name) continue;
    member.known = true;
    found = member.value;
  }
  if (found == "null") found.reset();
  return found;
}

arrow::Result<std::string_view> JsonObject::Get(std::string_view name) {
  const auto value = Find(name);
  if (!value) return Missing(name);
  return *value;
}

arrow::Result<int32_t> JsonObject::GetInt32(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const auto value, FindInt32(name));
  if (!value) return Missing(name);
  return *value;
}

arrow::Result<int64_t> JsonObject::GetInt64(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const auto value, FindInt64(name));
  if (!value) return Missing(name);
  return *value;
}

arrow::Result<bool> JsonObject::GetBool(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const std::string_view value, Get(name));
  auto decoded = DecodeJsonBool(value);
  ARROW_RETURN_NOT_OK(InMember(decoded.status(), name));
  return decoded;
}

arrow::Result<std::string> JsonObject::GetString(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(auto value, FindString(name));
  if (!value) return Missing(name);
  return *std::move(value);
}

arrow::Result<std::vector<int32_t>> JsonObject::GetInt32List(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const std::string_view value, Get(name));
  auto elements = JsonElements::Make(value);
  ARROW_RETURN_NOT_OK(InMember(elements.status(), name));
  std::vector<int32_t> numbers;
  numbers.reserve(static_cast<size_t>(elements->count()));
  std::string_view element;
  while (elements->Next(&element)) {
    const auto number = DecodeJsonInt64(element);
    ARROW_RETURN_NOT_OK(InMember(number.status(), name));
    const auto narrow = Narrow(*number);
    ARROW_RETURN_NOT_OK(InMember(narrow.status(), name));
    numbers.push_back(*narrow);
  }
  return numbers;
}

arrow::Result<std::optional<int32_t>> JsonObject::FindInt32(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const auto wide, FindInt64(name));
  if (!wide) return std::optional<int32_t>();
  const auto narrow = Narrow(*wide);
  ARROW_RETURN_NOT_OK(InMember(narrow.status(), name));
  return std::optional<int32_t>(*narrow);
}

arrow::Result<std::optional<int64_t>> JsonObject::FindInt64(std::string_view name) {
  const auto value = Find(name);
  if (!value) return std::optional<int64_t>();
  const auto decoded = DecodeJsonInt64(*value);
  ARROW_RETURN_NOT_OK(InMember(decoded.status(), name));
  return std::optional<int64_t>(*decoded);
}

arrow::Result<std::optional<std::string>> JsonObject::FindString(std::string_view name) {
  const auto value = Find(name);
  if (!value) return std::optional<std::string>();
  auto decoded = DecodeJsonString(*value);
  ARROW_RETURN_NOT_OK(InMember(decoded.status(), name));
  return std::optional<std::string>(*std::move(decoded));
}

std::string JsonObject::UnknownMembers() const {
  std::string text;
  JsonWriter writer(&text);
  for (const Member& member : members_) {
    if (!member.known) writer.RawMember(member.name, CompactJson(member.value));
  }
  text.shrink_to_fit();
  return text;
}

void JsonWriter::Separate() {
  if (needs_comma_) out_->push_back(',');
  needs_comma_ = true;
}

void JsonWriter::Open(char bracket) {
  Separate();
  out_->push_back(bracket);
  needs_comma_ = false;
}

void JsonWriter::Close(char bracket) {
  out_->push_back(bracket);
  needs_comma_ = true;
}

void JsonWriter::Key(std::string_view name) {
  String(name);
  out_->push_back(':');
  needs_comma_ = false;
}

void JsonWriter::String(std::string_view value) {
  Separate();
  out_->push_back('"');
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out_->push_back('\\');
      out_->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(*out_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_->push_back(c);
    }
  }
  out_->push_back('"');
}

void JsonWriter::Int(int64_t value) {
  Separate();
  fmt::format_to(std::back_inserter(*out_), "{}", value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_->append(value ? "true" : "false");
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  out_->append(json);
}

void JsonWriter::Members(std::string_view text) {
  if (!text.empty()) Raw(text);
}

void JsonWriter::IntListMember(std::string_view name, const std::vector<int32_t>& values) {
  Key(name);
  BeginArray();
  for (const int32_t value : values) Int(value);
  EndArray();
}

}  // namespace icebound::iceberg
