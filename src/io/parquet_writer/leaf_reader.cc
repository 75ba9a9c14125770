// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/leaf_reader.h"

#include <arrow/compute/api.h>
#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace icebound::io {

static_assert(std::endian::native == std::endian::little, "Parquet values are little endian, and so are ours");

namespace {

/// Bits [slot, slot + 64) of a bitmap that reaches at least to `slot`; bits beyond its last byte may be anything.
inline uint64_t LoadBits(const uint8_t* bitmap, int64_t slot, int64_t bits_wanted) {
  const uint8_t* first = bitmap + slot / 8;
  const int shift = static_cast<int>(slot % 8);
  const int64_t bytes = std::min<int64_t>((shift + bits_wanted + 7) / 8, 8);
  uint64_t word = 0;
  std::memcpy(&word, first, static_cast<size_t>(bytes));
  return word >> shift;
}

/// Calls visit(slot) for the next `count` valid slots, and returns the slot after the last one. The validity of a slot is bit
/// slot + bit_shift.
template <typename Visit>
inline int64_t VisitValid(const uint8_t* validity, int64_t bit_shift, int64_t slot, int64_t count, Visit&& visit) {
  if (validity == nullptr) {
    for (int64_t end = slot + count; slot < end; ++slot) visit(slot);
    return slot;
  }
  constexpr int kStep = 56;  // what LoadBits gives at any shift
  while (count > 0) {
    uint64_t bits = LoadBits(validity, slot + bit_shift, std::min<int64_t>(count, kStep));
    const int wanted = static_cast<int>(std::min<int64_t>(count, kStep));
    bits &= (uint64_t{1} << wanted) - 1;
    if (std::popcount(bits) == wanted) {
      for (int i = 0; i < wanted; ++i) visit(slot + i);
    } else {
      for (uint64_t rest = bits; rest != 0; rest &= rest - 1) visit(slot + std::countr_zero(rest));
    }
    count -= std::popcount(bits);
    slot += wanted;
  }
  return slot;
}

template <typename T>
inline T Load(const uint8_t* base, int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Conversions. A fault bit is set when the value does not fit its physical type.

template <typename Source, typename Target>
struct Widen {
  static Target Convert(const uint8_t* base, int64_t slot, uint64_t*) { return static_cast<Target>(Load<Source>(base, slot)); }
};

template <typename Source, typename Target, int64_t kFactor>
struct Multiply {
  static Target Convert(const uint8_t* base, int64_t slot, uint64_t* faults) {
    Target result;
    *faults |= static_cast<uint64_t>(__builtin_mul_overflow(Load<Source>(base, slot), kFactor, &result));
    return result;
  }
};

struct MillisecondsToDays {
  static int32_t Convert(const uint8_t* base, int64_t slot, uint64_t* faults) {
    constexpr int64_t kDay = 86'400'000;
    const int64_t milliseconds = Load<int64_t>(base, slot);
    const int64_t days = milliseconds / kDay - (milliseconds % kDay < 0);
    *faults |= static_cast<uint64_t>(days != static_cast<int32_t>(days));
    return static_cast<int32_t>(days);
  }
};

/// A little-endian integer of kWords 64-bit words to a smaller one; what is cut off must be the sign.
template <int kWords, typename Target>
struct NarrowWords {
  static Target Convert(const uint8_t* base, int64_t slot, uint64_t* faults) {
    const uint8_t* value = base + slot * kWords * 8;
    const auto low = Load<int64_t>(value, 0);
    const int64_t sign = static_cast<Target>(low) < 0 ? -1 : 0;
    *faults |= static_cast<uint64_t>(low ^ static_cast<int64_t>(static_cast<Target>(low)));
    for (int word = 1; word < kWords; ++word) *faults |= static_cast<uint64_t>(Load<int64_t>(value, word) ^ sign);
    return static_cast<Target>(low);
  }
};

}  // namespace

struct LeafGathers {
  template <typename Target, typename Conversion>
  static void Fixed(LeafReader* reader, int64_t count, uint8_t* out, uint64_t* faults) {
    const uint8_t* base = reader->values_;
    uint64_t seen = 0;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count, [&](int64_t slot) {
      const Target value = Conversion::Convert(base, slot, &seen);
      std::memcpy(out, &value, sizeof(Target));
      out += sizeof(Target);
    });
    *faults |= seen;
  }

  template <typename T>
  static void Copy(LeafReader* reader, int64_t count, uint8_t* out, uint64_t* faults) {
    Fixed<T, Widen<T, T>>(reader, count, out, faults);
  }

  static void CopyBytes(LeafReader* reader, int64_t count, uint8_t* out, uint64_t*) {
    const auto width = static_cast<size_t>(reader->source_bytes_);
    const uint8_t* base = reader->values_;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count, [&](int64_t slot) {
      std::memcpy(out, base + static_cast<size_t>(slot) * width, width);
      out += width;
    });
  }

  static void Bits(LeafReader* reader, int64_t count, uint8_t* out, uint64_t*) {
    const uint8_t* base = reader->values_;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count,
                               [&](int64_t slot) { *out++ = (base[slot / 8] >> (slot % 8)) & 1; });
  }

  /// A decimal as a big-endian number of value_bytes_ bytes; the bytes cut off must repeat the sign.
  static void BigEndian(LeafReader* reader, int64_t count, uint8_t* out, uint64_t* faults) {
    const int source = reader->source_bytes_;
    const int width = reader->value_bytes_;
    const uint8_t* base = reader->values_;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count, [&](int64_t slot) {
      const uint8_t* value = base + slot * source;
      for (int i = 0; i < width; ++i) out[width - 1 - i] = value[i];
      const uint8_t sign = (value[width - 1] & 0x80) != 0 ? 0xff : 0;
      for (int i = width; i < source; ++i) *faults |= static_cast<uint64_t>(value[i] ^ sign);
      out += width;
    });
  }

  template <typename Offset>
  static parquet::ByteArray OffsetValue(const uint8_t* offsets, const uint8_t* data, int64_t slot) {
    const auto begin = Load<Offset>(offsets, slot);
    return {static_cast<uint32_t>(Load<Offset>(offsets, slot + 1) - begin), data + begin};
  }

  template <typename Offset>
  static void Offsets(LeafReader* reader, int64_t count, parquet::ByteArray* out) {
    const uint8_t* offsets = reader->values_;
    const uint8_t* data = reader->data_;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count,
                               [&](int64_t slot) { *out++ = OffsetValue<Offset>(offsets, data, slot); });
  }

  static void Views(LeafReader* reader, int64_t count, parquet::ByteArray* out) {
    const auto& views = static_cast<const arrow::BinaryViewArray&>(*reader->array_);
    const int64_t offset = views.offset();
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count,
                               [&](int64_t slot) { *out++ = parquet::ByteArray(views.GetView(slot - offset)); });
  }

  template <typename Index>
  static void Indices(LeafReader* reader, int64_t count, uint32_t* out) {
    const uint8_t* base = reader->values_;
    reader->slot_ = VisitValid(reader->validity_, reader->bit_shift_, reader->slot_, count,
                               [&](int64_t slot) { *out++ = static_cast<uint32_t>(Load<Index>(base, slot)); });
  }
};

namespace {

/// Values that lie at the front of an array's second buffer.
const uint8_t* FixedValues(const arrow::Array& array) {
  const auto& buffer = array.data()->buffers[1];
  return buffer == nullptr ? nullptr : buffer->data();
}

bool IsBinaryLike(arrow::Type::type id) {
  switch (id) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return true;
    default:
      return false;
  }
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> ReadableLeaf(std::shared_ptr<arrow::Array> array, arrow::MemoryPool* pool) {
  while (true) {
    switch (array->type_id()) {
      case arrow::Type::EXTENSION:
        array = static_cast<const arrow::ExtensionArray&>(*array).storage();
        continue;
      case arrow::Type::RUN_END_ENCODED: {
        arrow::compute::ExecContext context(pool);
        ARROW_ASSIGN_OR_RAISE(auto decoded, arrow::compute::RunEndDecode(array, &context));
        array = decoded.make_array();
        continue;
      }
      case arrow::Type::DICTIONARY: {
        const auto& encoded = static_cast<const arrow::DictionaryArray&>(*array);
        if (IsBinaryLike(encoded.dictionary()->type_id()) && encoded.dictionary()->null_count() == 0) return array;
        arrow::compute::ExecContext context(pool);
        ARROW_ASSIGN_OR_RAISE(auto decoded, arrow::compute::Take(encoded.dictionary(), encoded.indices(),
                                                                 arrow::compute::TakeOptions::NoBoundsCheck(), &context));
        array = decoded.make_array();
        continue;
      }
      default:
        return array;
    }
  }
}

arrow::Result<LeafReader> LeafReader::Make(const arrow::Array& array, const parquet::ColumnDescriptor& descriptor,
                                           LeafScratch* scratch, const uint8_t* validity) {
  LeafReader reader;
  reader.scratch_ = scratch;
  reader.array_ = &array;
  reader.slot_ = array.offset();
  if (validity != nullptr) {
    reader.validity_ = validity;
    reader.bit_shift_ = -array.offset();
  } else if (array.null_count() > 0 && array.data()->buffers[0] != nullptr) {
    reader.validity_ = array.data()->buffers[0]->data();
  }
  if (array.type_id() == arrow::Type::NA) return reader;  // no values to read
  const bool is_readable =
      descriptor.physical_type() == parquet::Type::BYTE_ARRAY ? reader.InitBytes(array) : reader.InitFixed(array, descriptor);
  if (is_readable) return reader;
  return MakeError(ErrorKind::kUnsupported, "column {}: values of type {} cannot be written as Parquet {}",
                   descriptor.path()->ToDotString(), array.type()->ToString(), parquet::TypeToString(descriptor.physical_type()));
}

bool LeafReader::InitFixed(const arrow::Array& array, const parquet::ColumnDescriptor& descriptor) {
  using arrow::TimeUnit;
  using arrow::Type;
  using G = LeafGathers;
  values_ = FixedValues(array);
  const auto id = array.type_id();
  const auto use = [&](int source_bytes, int value_bytes, FixedGather gather, bool same_layout = false) {
    source_bytes_ = source_bytes;
    value_bytes_ = value_bytes;
    fixed_gather_ = same_layout && validity_ == nullptr ? nullptr : gather;
    return true;
  };
  switch (descriptor.physical_type()) {
    case parquet::Type::BOOLEAN:
      if (id == Type::BOOL) return use(1, 1, &G::Bits);
      break;
    case parquet::Type::INT32:
      if (id == Type::INT8) return use(1, 4, &G::Fixed<int32_t, Widen<int8_t, int32_t>>);
      if (id == Type::UINT8) return use(1, 4, &G::Fixed<int32_t, Widen<uint8_t, int32_t>>);
      if (id == Type::INT16) return use(2, 4, &G::Fixed<int32_t, Widen<int16_t, int32_t>>);
      if (id == Type::UINT16) return use(2, 4, &G::Fixed<int32_t, Widen<uint16_t, int32_t>>);
      if (id == Type::TIME32 && static_cast<const arrow::Time32Type&>(*array.type()).unit() == TimeUnit::SECOND) {
        return use(4, 4, &G::Fixed<int32_t, Multiply<int32_t, int32_t, 1000>>);
      }
      if (id == Type::INT32 || id == Type::UINT32 || id == Type::DATE32 || id == Type::TIME32 || id == Type::DECIMAL32) {
        return use(4, 4, &G::Copy<int32_t>, true);
      }
      if (id == Type::DATE64) return use(8, 4, &G::Fixed<int32_t, MillisecondsToDays>);
      if (id == Type::DECIMAL64) return use(8, 4, &G::Fixed<int32_t, NarrowWords<1, int32_t>>);
      if (id == Type::DECIMAL128) return use(16, 4, &G::Fixed<int32_t, NarrowWords<2, int32_t>>);
      if (id == Type::DECIMAL256) return use(32, 4, &G::Fixed<int32_t, NarrowWords<4, int32_t>>);
      break;
    case parquet::Type::INT64:
      if (id == Type::TIMESTAMP && static_cast<const arrow::TimestampType&>(*array.type()).unit() == TimeUnit::SECOND) {
        return use(8, 8, &G::Fixed<int64_t, Multiply<int64_t, int64_t, 1000>>);
      }
      if (id == Type::INT64 || id == Type::UINT64 || id == Type::TIME64 || id == Type::TIMESTAMP || id == Type::DURATION ||
          id == Type::DECIMAL64) {
        return use(8, 8, &G::Copy<int64_t>, true);
      }
      if (id == Type::DECIMAL128) return use(16, 8, &G::Fixed<int64_t, NarrowWords<2, int64_t>>);
      if (id == Type::DECIMAL256) return use(32, 8, &G::Fixed<int64_t, NarrowWords<4, int64_t>>);
      break;
    case parquet::Type::FLOAT:
      if (id == Type::FLOAT) return use(4, 4, &G::Copy<int32_t>, true);
      break;
    case parquet::Type::DOUBLE:
      if (id == Type::DOUBLE) return use(8, 8, &G::Copy<int64_t>, true);
      break;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      const int width = descriptor.type_length();
      if (id == Type::DECIMAL128) return use(16, width, &G::BigEndian);
      if (id == Type::DECIMAL256) return use(32, width, &G::BigEndian);
      if (id == Type::HALF_FLOAT && width == 2) return use(2, 2, &G::CopyBytes, true);
      if (id == Type::FIXED_SIZE_BINARY && static_cast<const arrow::FixedSizeBinaryType&>(*array.type()).byte_width() == width) {
        return use(width, width, &G::CopyBytes, true);
      }
      break;
    }
    default:
      break;
  }
  return false;
}

bool LeafReader::InitBytes(const arrow::Array& array) {
  using arrow::Type;
  using G = LeafGathers;
  values_ = FixedValues(array);
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: {
      const bool large = array.type_id() == Type::LARGE_STRING || array.type_id() == Type::LARGE_BINARY;
      bytes_gather_ = large ? &G::Offsets<int64_t> : &G::Offsets<int32_t>;
      const auto& data = array.data()->buffers[2];
      data_ = data == nullptr ? nullptr : data->data();
      return true;
    }
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      bytes_gather_ = &G::Views;
      return true;
    case Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      dictionary_ = encoded.dictionary().get();
      switch (static_cast<const arrow::FixedWidthType&>(*encoded.indices()->type()).bit_width()) {
        case 8:
          index_gather_ = &G::Indices<uint8_t>;
          break;
        case 16:
          index_gather_ = &G::Indices<uint16_t>;
          break;
        case 32:
          index_gather_ = &G::Indices<uint32_t>;
          break;
        default:
          index_gather_ = &G::Indices<uint64_t>;
          break;
      }
      return true;
    }
    default:
      return false;
  }
}

arrow::Result<const uint8_t*> LeafReader::NextFixed(int64_t count) {
  if (fixed_gather_ == nullptr) {
    const uint8_t* next = values_ + slot_ * source_bytes_;
    slot_ += count;
    return next;
  }
  ARROW_RETURN_NOT_OK(scratch_->fixed.Resize(count * value_bytes_));
  uint64_t faults = 0;
  fixed_gather_(this, count, scratch_->fixed.data(), &faults);
  if (faults != 0) {
    return MakeError(ErrorKind::kExecution, "a value of type {} is out of range for its Parquet column",
                     array_->type()->ToString());
  }
  return scratch_->fixed.data();
}

arrow::Result<const parquet::ByteArray*> LeafReader::NextBytes(int64_t count) {
  ARROW_RETURN_NOT_OK(scratch_->bytes.Resize(count));
  parquet::ByteArray* out = scratch_->bytes.data();
  if (dictionary_ == nullptr) {
    bytes_gather_(this, count, out);
    return out;
  }
  ARROW_ASSIGN_OR_RAISE(const uint32_t* indices, NextIndices(count));
  for (int64_t i = 0; i < count; ++i) out[i] = DictionaryEntry(indices[i]);
  return out;
}

arrow::Result<const uint32_t*> LeafReader::NextIndices(int64_t count) {
  ARROW_RETURN_NOT_OK(scratch_->indices.Resize(count));
  index_gather_(this, count, scratch_->indices.data());
  return scratch_->indices.data();
}

parquet::ByteArray LeafReader::DictionaryEntry(uint32_t index) const {
  switch (dictionary_->type_id()) {
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return parquet::ByteArray(static_cast<const arrow::LargeBinaryArray*>(dictionary_)->GetView(index));
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return parquet::ByteArray(static_cast<const arrow::BinaryViewArray*>(dictionary_)->GetView(index));
    default:
      return parquet::ByteArray(static_cast<const arrow::BinaryArray*>(dictionary_)->GetView(index));
  }
}

}  // namespace icebound::io
