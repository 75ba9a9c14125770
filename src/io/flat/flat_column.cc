// SPDX-License-Identifier: Apache-2.0
#include "io/flat/flat_column.h"

#include <arrow/util/decimal.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace icebound::io {
namespace {

using arrow::Type;

uint32_t Load32(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

bool IsDictionaryEncoding(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::RLE_DICTIONARY || encoding == parquet::Encoding::PLAIN_DICTIONARY;
}

/// Bytes of an Arrow value that is stored as it is; 0 when it is not.
int StoredAsItIs(parquet::Type::type physical, const arrow::DataType& type, int type_length) {
  switch (type.id()) {
    case Type::INT32:
    case Type::UINT32:
    case Type::DATE32:
    case Type::TIME32:
      return physical == parquet::Type::INT32 ? 4 : 0;
    case Type::INT64:
    case Type::UINT64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return physical == parquet::Type::INT64 ? 8 : 0;
    case Type::FLOAT:
      return physical == parquet::Type::FLOAT ? 4 : 0;
    case Type::DOUBLE:
      return physical == parquet::Type::DOUBLE ? 8 : 0;
    case Type::FIXED_SIZE_BINARY:
      return physical == parquet::Type::FIXED_LEN_BYTE_ARRAY && type.byte_width() == type_length ? type_length : 0;
    default:
      return 0;
  }
}

/// Blocks of a fixed number of indexes: loops over them become vector instructions.
constexpr int64_t kBlock = 32;

bool AllBelow(const uint32_t* indexes, int64_t count, int64_t limit) {
  const auto last = static_cast<int32_t>(limit - 1);
  int64_t i = 0;
  if (limit <= INT32_MAX) {
    // The sign of a difference says which is greater, and the sign of an index that it is too large for one.
    int32_t signs[kBlock] = {};
    for (; i + kBlock <= count; i += kBlock) {
      for (int64_t k = 0; k < kBlock; ++k) {
        const auto index = static_cast<int32_t>(indexes[i + k]);
        signs[k] |= static_cast<int32_t>(static_cast<uint32_t>(last) - static_cast<uint32_t>(index)) | index;
      }
    }
    int32_t all = 0;
    for (const int32_t sign : signs) all |= sign;
    if (all < 0) return false;
  }
  for (; i < count; ++i) {
    if (int64_t{indexes[i]} >= limit) return false;
  }
  return true;
}

/// A decimal of 16 bytes, little endian, from one of `bytes` bytes, big endian.
void CopyBigEndian(const uint8_t* from, int64_t bytes, uint8_t* to) {
  uint8_t wide[16];
  std::memset(wide, (from[0] & 0x80) != 0 ? 0xFF : 0, sizeof(wide));
  for (int64_t i = 0; i < bytes; ++i) wide[bytes - 1 - i] = from[i];
  std::memcpy(to, wide, sizeof(wide));
}

void CopySigned(int64_t value, uint8_t* to) {
  const int64_t words[2] = {value, value >> 63};
  std::memcpy(to, words, sizeof(words));
}

}  // namespace

/// Where slots point to: values `stored_bytes_` apart, or texts.
struct FlatColumn::Source {
  const uint8_t* data = nullptr;
  const uint8_t* data_end = nullptr;  // what may be read
  const int32_t* offsets = nullptr;   // of texts in a dictionary; null: a text lies behind its length
  uint32_t null_slot = kNoSlot;
  const uint32_t* slots = nullptr;  // null: row i has slot first_value + i
  int64_t first_value = 0;
  bool has_nulls = false;

  const uint8_t* Text(uint32_t slot) const { return data + (offsets != nullptr ? static_cast<uint32_t>(offsets[slot]) : slot); }
  int64_t TextBytes(uint32_t slot) const {
    return offsets != nullptr ? offsets[slot + 1] - offsets[slot] : Load32(data + slot - 4);
  }
};

bool FlatColumn::CanRead(const parquet::ColumnDescriptor& descriptor, const parquet::ColumnChunkMetaData& chunk,
                         const arrow::DataType& type) {
  if (descriptor.max_repetition_level() > 0 || descriptor.max_definition_level() > 1) return false;
  for (const parquet::Encoding::type encoding : chunk.encodings()) {
    const bool is_known =
        encoding == parquet::Encoding::PLAIN || encoding == parquet::Encoding::RLE || IsDictionaryEncoding(encoding);
    if (!is_known) return false;
  }
  const parquet::Type::type physical = descriptor.physical_type();
  if (type.id() == Type::STRING || type.id() == Type::BINARY) return physical == parquet::Type::BYTE_ARRAY;
  if (type.id() == Type::DECIMAL128) {
    return physical == parquet::Type::INT32 || physical == parquet::Type::INT64 ||
           (physical == parquet::Type::FIXED_LEN_BYTE_ARRAY && descriptor.type_length() >= 1 && descriptor.type_length() <= 16);
  }
  return StoredAsItIs(physical, type, descriptor.type_length()) > 0;
}

FlatColumn::FlatColumn(const parquet::ColumnDescriptor& descriptor, std::shared_ptr<arrow::DataType> type,
                       FlatColumnOptions options, memory::MemoryConsumer* consumer)
    : type_(std::move(type)),
      consumer_(consumer),
      is_nullable_(descriptor.max_definition_level() > 0),
      segments_(std::move(options.segments)),
      rows_(options.rows),
      shape_(Shape::kFixed),
      pages_(std::move(options.pages)),
      dictionary_offsets_(consumer),
      nulls_(consumer) {
  if (type_->id() == Type::STRING || type_->id() == Type::BINARY) {
    shape_ = Shape::kText;
  } else if (type_->id() != Type::DECIMAL128) {
    stored_bytes_ = type_->byte_width();
  } else if (descriptor.physical_type() == parquet::Type::INT32) {
    shape_ = Shape::kDecimal32, stored_bytes_ = 4;
  } else if (descriptor.physical_type() == parquet::Type::INT64) {
    shape_ = Shape::kDecimal64, stored_bytes_ = 8;
  } else {
    shape_ = Shape::kDecimalBytes, stored_bytes_ = descriptor.type_length();
  }
  next_page_row_ = segments_.empty() ? 0 : segments_.front().begin;
  pages_->set_data_page_filter([this](const parquet::DataPageStats& page) {
    const int64_t end = NextPageBegin() + page.num_values;
    if (page.num_values <= 0 || end > wanted_row_ || segment_ >= segments_.size() || end > segments_[segment_].end) return false;
    next_page_row_ = end;
    return true;
  });
}

arrow::Status FlatColumn::Unreadable(std::string_view what) {
  is_unreadable_ = true;
  return arrow::Status::NotImplemented(what);
}

// --- pages ------------------------------------------------------------------------------------------------------------------

/// The row that the next page begins with.
int64_t FlatColumn::NextPageBegin() {
  if (segment_ < segments_.size() && next_page_row_ >= segments_[segment_].end && segment_ + 1 < segments_.size()) {
    next_page_row_ = segments_[++segment_].begin;
  }
  return next_page_row_;
}

arrow::Result<int64_t> FlatColumn::Seek(int64_t row) {
  while (page_ == nullptr || row >= page_end_) ARROW_RETURN_NOT_OK(NextPage(row));
  if (row < row_) return arrow::Status::Invalid("its pages leave rows out before row ", row_);
  return page_end_ - row;
}

arrow::Status FlatColumn::NextPage(int64_t row) {
  page_.reset();
  wanted_row_ = row;
  std::shared_ptr<parquet::Page> page = pages_->NextPage();
  if (page == nullptr) {
    return arrow::Status::Invalid("it ends at row ", next_page_row_, ", the row group has ", rows_);
  }
  if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
    return LoadDictionary(static_cast<const parquet::DictionaryPage&>(*page));
  }
  if (page->type() != parquet::PageType::DATA_PAGE && page->type() != parquet::PageType::DATA_PAGE_V2) return arrow::Status::OK();
  const auto& data_page = static_cast<const parquet::DataPage&>(*page);
  const int64_t begin = NextPageBegin();
  const int64_t rows = data_page.num_values();
  if (rows < 0 || segment_ >= segments_.size() || rows > segments_[segment_].end - begin) {
    return arrow::Status::Invalid("its pages have more rows than the row group, or than its offset index says: ", rows,
                                  " from row ", begin, " on");
  }
  next_page_row_ = begin + rows;
  if (rows == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(StartPage(data_page));
  row_ = begin;
  page_end_ = begin + rows;
  page_ = std::move(page);
  return arrow::Status::OK();
}

arrow::Status FlatColumn::LoadDictionary(const parquet::DictionaryPage& page) {
  if (has_dictionary_) return arrow::Status::Invalid("it has two dictionaries");
  if (page.encoding() != parquet::Encoding::PLAIN && page.encoding() != parquet::Encoding::PLAIN_DICTIONARY) {
    return Unreadable("a dictionary of another encoding");
  }
  const int64_t count = page.num_values();
  if (count < 0) return arrow::Status::Invalid("its dictionary has ", count, " values");
  int64_t bytes = count * stored_bytes_;
  if (shape_ == Shape::kText) {
    // The lengths go, so the texts take less than the page.
    ARROW_RETURN_NOT_OK(dictionary_offsets_.Resize(count + 1));
    bytes = std::max<int64_t>(0, page.size() - 4 * count);
  } else if (bytes > page.size()) {
    return arrow::Status::Invalid("its dictionary has ", page.size(), " bytes for ", count, " values");
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(bytes + FlatOutput::kTextSlackBytes, consumer_->pool()));
  uint8_t* out = values->mutable_data();
  if (shape_ == Shape::kText) {
    text_at_ = page.data();
    values_end_ = page.data() + page.size();
    int64_t at = 0, number = 0;
    ARROW_RETURN_NOT_OK(WalkTexts(count, [&](const uint8_t* text, uint32_t length) {
      std::memcpy(out + at, text, length);
      at += length;
      dictionary_offsets_[++number] = static_cast<int32_t>(at);
    }));
  } else if (bytes > 0) {
    std::memcpy(out, page.data(), static_cast<size_t>(bytes));
  }
  dictionary_ = std::move(values);
  dictionary_size_ = count;
  has_dictionary_ = true;
  return arrow::Status::OK();
}

/// Levels, if there are any, come first: they become levels_, and the data begins behind them.
arrow::Status FlatColumn::StartLevels(const parquet::DataPage& page, const uint8_t** data, int64_t* bytes) {
  int64_t levels_bytes = 0;
  if (page.type() == parquet::PageType::DATA_PAGE_V2) {
    const auto& second = static_cast<const parquet::DataPageV2&>(page);
    const int64_t repetition_bytes = second.repetition_levels_byte_length();
    levels_bytes = second.definition_levels_byte_length();
    if (levels_bytes < 0 || repetition_bytes < 0 || levels_bytes + repetition_bytes > *bytes) {
      return arrow::Status::Invalid("a page is shorter than its levels");
    }
    *data += repetition_bytes, *bytes -= repetition_bytes;
    if (is_nullable_) levels_.Start(*data, levels_bytes, 1);
  } else if (is_nullable_) {
    const auto& first = static_cast<const parquet::DataPageV1&>(page);
    if (first.definition_level_encoding() != parquet::Encoding::RLE) return Unreadable("levels of another encoding");
    if (*bytes < 4 || Load32(*data) > *bytes - 4) return arrow::Status::Invalid("a page is shorter than its levels");
    levels_bytes = Load32(*data);
    *data += 4, *bytes -= 4;
    levels_.Start(*data, levels_bytes, 1);
  }
  *data += levels_bytes, *bytes -= levels_bytes;
  return arrow::Status::OK();
}

arrow::Status FlatColumn::StartPage(const parquet::DataPage& page) {
  const uint8_t* data = page.data();
  int64_t bytes = page.size();
  ARROW_RETURN_NOT_OK(StartLevels(page, &data, &bytes));
  page_is_dictionary_ = IsDictionaryEncoding(page.encoding());
  if (page_is_dictionary_) {
    if (!has_dictionary_) return arrow::Status::Invalid("a page has indexes into a dictionary that is not there");
    // A page of NULLs may have nothing at all.
    const int bits = bytes > 0 ? data[0] : 0;
    if (bits > HybridRuns::kMaxBits) return arrow::Status::Invalid("dictionary indexes of ", bits, " bits");
    indexes_.Start(data + (bytes > 0), bytes - (bytes > 0), bits);
  } else if (page.encoding() != parquet::Encoding::PLAIN) {
    return Unreadable("a page of another encoding");
  }
  values_ = text_at_ = data;
  values_end_ = data + bytes;
  value_at_ = 0;
  return arrow::Status::OK();
}

// --- windows ----------------------------------------------------------------------------------------------------------------

/// Calls visit(text, bytes) for the next `count` plain texts.
template <typename Visit>
arrow::Status FlatColumn::WalkTexts(int64_t count, Visit&& visit) {
  for (int64_t i = 0; i < count; ++i) {
    if (values_end_ - text_at_ < 4 || Load32(text_at_) > values_end_ - text_at_ - 4) {
      return arrow::Status::Invalid("a text runs over the end of its page");
    }
    const uint32_t length = Load32(text_at_);
    visit(text_at_ + 4, length);
    text_at_ += 4 + int64_t{length};
  }
  return arrow::Status::OK();
}

arrow::Status FlatColumn::SkipValues(int64_t values) {
  if (page_is_dictionary_) return indexes_.Skip(values);
  if (shape_ == Shape::kText) return WalkTexts(values, [](const uint8_t*, uint32_t) {});
  value_at_ += values;
  return arrow::Status::OK();
}

arrow::Status FlatColumn::SkipRows(int64_t rows) {
  if (rows == 0) return arrow::Status::OK();
  int64_t values = rows;
  if (is_nullable_) {
    ARROW_ASSIGN_OR_RAISE(values, levels_.SkipAndCountOnes(rows));
  }
  row_ += rows;
  return SkipValues(values);
}

arrow::Status FlatColumn::Load(int64_t row, int64_t count, FlatSlots* slots) {
  ARROW_RETURN_NOT_OK(SkipRows(row - row_));
  slots_ = slots;
  window_rows_ = count;
  has_nulls_ = false;
  const uint32_t* levels = nullptr;
  int64_t values = count;
  bool all_there = true;
  if (is_nullable_) {
    ARROW_ASSIGN_OR_RAISE(all_there, levels_.SkipRunOf(1, count));
  }
  const int64_t needed = all_there ? count : 2 * count;
  if (slots->size() < needed) ARROW_RETURN_NOT_OK(slots->Resize(needed));
  if (!all_there) {
    uint32_t* read = slots->data() + count;
    ARROW_RETURN_NOT_OK(levels_.Read(count, read));
    values = 0;
    for (int64_t i = 0; i < count; ++i) values += read[i];
    has_nulls_ = values < count;
    levels = read;
  }
  ARROW_RETURN_NOT_OK(LoadValues(values));
  if (has_nulls_) SpreadSlots(values, count, levels);
  row_ += count;
  return arrow::Status::OK();
}

/// Slots of the next `values` values that are there; none when they simply follow each other.
arrow::Status FlatColumn::LoadValues(int64_t values) {
  uint32_t* slots = slots_->data();
  has_slots_ = true;
  if (page_is_dictionary_) {
    ARROW_RETURN_NOT_OK(indexes_.Read(values, slots));
    if (!AllBelow(slots, values, dictionary_size_)) {
      return arrow::Status::Invalid("an index beyond its dictionary of ", dictionary_size_, " values");
    }
    return arrow::Status::OK();
  }
  if (shape_ == Shape::kText) {
    return WalkTexts(values, [&](const uint8_t* text, uint32_t) { *slots++ = static_cast<uint32_t>(text - values_); });
  }
  if ((value_at_ + values) * stored_bytes_ > values_end_ - values_) {
    return arrow::Status::Invalid("a page has ", values_end_ - values_, " bytes of values where ", value_at_ + values,
                                  " values should be");
  }
  first_value_ = value_at_;
  value_at_ += values;
  has_slots_ = has_nulls_;
  for (int64_t i = 0; has_slots_ && i < values; ++i) slots[i] = static_cast<uint32_t>(first_value_ + i);
  return arrow::Status::OK();
}

/// From slots of the values that are there to slots of all rows.
void FlatColumn::SpreadSlots(int64_t values, int64_t rows, const uint32_t* levels) {
  uint32_t* slots = slots_->data();
  const uint32_t null_slot = page_is_dictionary_ ? static_cast<uint32_t>(dictionary_size_) : kNoSlot;
  // From the end: a value never moves to the left.
  for (int64_t row = rows; row-- > 0;) slots[row] = levels[row] != 0 ? slots[--values] : null_slot;
}

// --- values -----------------------------------------------------------------------------------------------------------------

arrow::Status FlatColumn::Append(const int32_t* positions, int64_t count, int64_t first, FlatOutput* output) {
  Source source;
  source.slots = has_slots_ ? slots_->data() : nullptr;
  source.first_value = first_value_;
  source.has_nulls = has_nulls_;
  if (page_is_dictionary_) {
    source.data = dictionary_->data();
    source.data_end = dictionary_->data() + dictionary_->size();
    if (shape_ == Shape::kText) source.offsets = dictionary_offsets_.data();
    source.null_slot = static_cast<uint32_t>(dictionary_size_);
  } else {
    source.data = values_;
    source.data_end = values_end_;
  }
  return Gather(source, positions, count, first, output);
}

arrow::Result<std::shared_ptr<arrow::Array>> FlatColumn::DictionaryAndNull() {
  FlatSlots slots(consumer_);
  ARROW_RETURN_NOT_OK(slots.Resize(dictionary_size_ + 1));
  for (int64_t i = 0; i <= dictionary_size_; ++i) slots[i] = static_cast<uint32_t>(i);
  Source source;
  source.data = dictionary_->data();
  source.data_end = dictionary_->data() + dictionary_->size();
  if (shape_ == Shape::kText) source.offsets = dictionary_offsets_.data();
  source.null_slot = static_cast<uint32_t>(dictionary_size_);
  source.slots = slots.data();
  source.has_nulls = true;
  FlatOutput output(type_, consumer_->pool());
  ARROW_RETURN_NOT_OK(Gather(source, nullptr, dictionary_size_ + 1, 0, &output));
  return output.Finish();
}

arrow::Status FlatColumn::Gather(const Source& source, const int32_t* positions, int64_t count, int64_t first,
                                 FlatOutput* output) {
  if (count == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(output->Reserve(count));
  if (source.has_nulls) {
    if (nulls_.size() < count) ARROW_RETURN_NOT_OK(nulls_.Resize(count));
    return positions != nullptr ? GatherRows<true, true, true>(source, positions, count, first, output)
                                : GatherRows<false, true, true>(source, positions, count, first, output);
  }
  if (source.slots != nullptr) {
    return positions != nullptr ? GatherRows<true, true, false>(source, positions, count, first, output)
                                : GatherRows<false, true, false>(source, positions, count, first, output);
  }
  return positions != nullptr ? GatherRows<true, false, false>(source, positions, count, first, output)
                              : GatherRows<false, false, false>(source, positions, count, first, output);
}

template <bool kPositions, bool kSlots, bool kNulls>
arrow::Status FlatColumn::GatherRows(const Source& source, const int32_t* positions, int64_t count, int64_t first,
                                     FlatOutput* output) {
  uint8_t* nulls = nulls_.data();
  const auto slot_of = [&](int64_t i) -> uint32_t {
    const int64_t row = kPositions ? positions[i] - first : i;
    return kSlots ? source.slots[row] : static_cast<uint32_t>(source.first_value + row);
  };
  const auto gather = [&](int64_t value_bytes, auto&& copy) {
    uint8_t* out = output->values_end();
    for (int64_t i = 0; i < count; ++i, out += value_bytes) {
      const uint32_t slot = slot_of(i);
      if constexpr (kNulls) {
        nulls[i] = slot == source.null_slot ? 1 : 0;
        if (nulls[i] != 0) {
          std::memset(out, 0, static_cast<size_t>(value_bytes));
          continue;
        }
      }
      copy(source.data + int64_t{slot} * stored_bytes_, out);
    }
    return kNulls ? output->AdvanceWithNulls(count, nulls) : (output->Advance(count), arrow::Status::OK());
  };
  switch (shape_) {
    case Shape::kFixed:
      if constexpr (!kPositions && !kSlots) {
        std::memcpy(output->values_end(), source.data + source.first_value * stored_bytes_,
                    static_cast<size_t>(count * stored_bytes_));
        output->Advance(count);
        return arrow::Status::OK();
      }
      if (stored_bytes_ == 4) return gather(4, [](const uint8_t* from, uint8_t* to) { std::memcpy(to, from, 4); });
      if (stored_bytes_ == 8) return gather(8, [](const uint8_t* from, uint8_t* to) { std::memcpy(to, from, 8); });
      return gather(stored_bytes_,
                    [this](const uint8_t* from, uint8_t* to) { std::memcpy(to, from, static_cast<size_t>(stored_bytes_)); });
    case Shape::kDecimal32:
      return gather(16, [](const uint8_t* from, uint8_t* to) { CopySigned(static_cast<int32_t>(Load32(from)), to); });
    case Shape::kDecimal64:
      return gather(16, [](const uint8_t* from, uint8_t* to) {
        int64_t value;
        std::memcpy(&value, from, sizeof(value));
        CopySigned(value, to);
      });
    case Shape::kDecimalBytes:
      return gather(16, [this](const uint8_t* from, uint8_t* to) { CopyBigEndian(from, stored_bytes_, to); });
    case Shape::kText:
      break;
  }
  return GatherTexts<kNulls>(source, count, slot_of, output);
}

template <bool kNulls, typename SlotOf>
arrow::Status FlatColumn::GatherTexts(const Source& source, int64_t count, SlotOf&& slot_of, FlatOutput* output) {
  uint8_t* nulls = nulls_.data();
  int32_t* offsets = output->offsets_end();
  int64_t total = output->text_bytes();
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t slot = slot_of(i);
    if constexpr (kNulls) nulls[i] = slot == source.null_slot ? 1 : 0;
    total += kNulls && nulls[i] != 0 ? 0 : source.TextBytes(slot);
    offsets[i] = static_cast<int32_t>(total);
  }
  const int64_t bytes = total - output->text_bytes();
  ARROW_RETURN_NOT_OK(output->ReserveText(bytes));
  uint8_t* out = output->text_end();
  for (int64_t i = 0; i < count; ++i) {
    if (kNulls && nulls[i] != 0) continue;
    const uint32_t slot = slot_of(i);
    const uint8_t* text = source.Text(slot);
    const int64_t length = source.TextBytes(slot);
    if (length <= FlatOutput::kTextSlackBytes && source.data_end - text >= FlatOutput::kTextSlackBytes) {
      std::memcpy(out, text, FlatOutput::kTextSlackBytes);
    } else {
      std::memcpy(out, text, static_cast<size_t>(length));
    }
    out += length;
  }
  return kNulls ? output->AdvanceWithNulls(count, nulls, bytes) : (output->Advance(count, bytes), arrow::Status::OK());
}

}  // namespace icebound::io
