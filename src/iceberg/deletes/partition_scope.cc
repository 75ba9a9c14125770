// SPDX-License-Identifier: Apache-2.0
#include "iceberg/deletes/partition_scope.h"

#include <arrow/util/endian.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

enum Tag : uint8_t { kNull = 0, kBoolean = 1, kInteger = 2, kFloating = 3, kDecimal = 4, kBytes = 5 };

void Append(Tag tag, std::string* bytes) { bytes->push_back(static_cast<char>(tag)); }

template <typename T>
void Append(T value, std::string* bytes) {
  value = arrow::bit_util::ToLittleEndian(value);
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Takes from the front.
template <typename T>
bool Take(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) return false;
  std::memcpy(value, bytes->data(), sizeof(T));
  *value = arrow::bit_util::FromLittleEndian(*value);
  bytes->remove_prefix(sizeof(T));
  return true;
}

constexpr int64_t kOneNan = int64_t{0x7ff8000000000000};

struct Encoder {
  std::string* bytes;

  void operator()(std::monostate) { Append(kNull, bytes); }
  void operator()(bool value) {
    Append(kBoolean, bytes);
    bytes->push_back(value ? '\1' : '\0');
  }
  void operator()(int32_t value) { (*this)(int64_t{value}); }
  void operator()(int64_t value) {
    Append(kInteger, bytes);
    Append(value, bytes);
  }
  void operator()(float value) { (*this)(static_cast<double>(value)); }
  void operator()(double value) {
    Append(kFloating, bytes);
    Append(std::isnan(value) ? kOneNan : std::bit_cast<int64_t>(value), bytes);
  }
  void operator()(const arrow::Decimal128& value) {
    Append(kDecimal, bytes);
    Append(value.low_bits(), bytes);
    Append(value.high_bits(), bytes);
  }
  void operator()(const std::string& value) {
    Append(kBytes, bytes);
    Append(static_cast<uint32_t>(value.size()), bytes);
    bytes->append(value);
  }
};

bool TakeValue(const Type& type, std::string_view* bytes, Literal* value) {
  uint8_t tag = 0;
  if (!Take(bytes, &tag)) return false;
  int64_t number = 0;
  uint64_t low = 0;
  switch (tag) {
    case kNull:
      *value = Literal();
      return true;
    case kBoolean:
      if (!Take(bytes, &tag)) return false;
      *value = tag != 0;
      return true;
    case kInteger:
      if (!Take(bytes, &number)) return false;
      *value = number;
      if (type.id() == TypeId::kInt || type.id() == TypeId::kDate) *value = static_cast<int32_t>(number);
      return true;
    case kFloating:
      if (!Take(bytes, &number)) return false;
      *value = std::bit_cast<double>(number);
      if (type.id() == TypeId::kFloat) *value = static_cast<float>(std::bit_cast<double>(number));
      return true;
    case kDecimal:
      if (!Take(bytes, &low) || !Take(bytes, &number)) return false;
      *value = arrow::Decimal128(number, low);
      return true;
    case kBytes: {
      uint32_t size = 0;
      if (!Take(bytes, &size) || bytes->size() < size) return false;
      *value = std::string(bytes->substr(0, size));
      bytes->remove_prefix(size);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

void EncodePartitionScope(int32_t spec_id, std::span<const Literal> tuple, std::string* scope) {
  scope->clear();
  for (int shift = 24; shift >= 0; shift -= 8) scope->push_back(static_cast<char>(static_cast<uint32_t>(spec_id) >> shift));
  for (const Literal& value : tuple) std::visit(Encoder{scope}, value);
}

int32_t SpecOfScope(std::string_view scope) {
  uint32_t spec_id = 0;
  for (size_t i = 0; i < sizeof(spec_id) && i < scope.size(); ++i) spec_id = spec_id << 8 | static_cast<unsigned char>(scope[i]);
  return static_cast<int32_t>(spec_id);
}

arrow::Result<PartitionScope> DecodePartitionScope(std::string_view scope, const Type& tuple_type) {
  PartitionScope decoded;
  decoded.spec_id = SpecOfScope(scope);
  decoded.tuple.resize(tuple_type.fields().size());
  std::string_view rest = scope.substr(std::min(scope.size(), sizeof(int32_t)));
  bool whole = scope.size() >= sizeof(int32_t);
  for (size_t i = 0; i < decoded.tuple.size() && whole; ++i) {
    whole = TakeValue(*tuple_type.fields()[i].type, &rest, &decoded.tuple[i]);
  }
  if (!whole || !rest.empty()) return MakeError(ErrorKind::kInternal, "{} bytes are no partition scope", scope.size());
  return decoded;
}

}  // namespace icebound::iceberg
