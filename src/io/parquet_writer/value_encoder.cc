// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/value_encoder.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "io/parquet_writer/dictionary_choice.h"
#include "io/parquet_writer/hybrid_encoding.h"
#include "io/parquet_writer/value_dictionary.h"

namespace icebound::io {
namespace {

/// What general-purpose codecs leave of text, roughly; and what they add to the bytes of a number that really vary.
constexpr double kTextShare = 0.6;
constexpr double kNumberOverheadBytes = 2;

/// A page of codes ends when they stand for more than so many times what the dictionary, and so a page, may hold, or for so many
/// bytes; codes that stand for even more are decoded only where that does not take much more than the dictionary does.
constexpr int64_t kCodedPagePart = 8;
constexpr int64_t kCodedBytesMax = int64_t{4} << 20;
constexpr int64_t kDecodedPart = 2;

/// What the estimate of a row's bytes may be short of.
constexpr int64_t kRowSlackShare = 64;

/// The part that numbers and byte strings share: codes, PLAIN pages, and the choice between them.
class ChoosingEncoder : public ValueEncoder {
 public:
  explicit ChoosingEncoder(const ValueEncoderOptions& options)
      : options_(options), codes_(options.pool), plain_(options.pool), mode_(FirstMode()) {}

  int64_t page_bytes() const final {
    if (mode_ == Mode::kPlain) return page_open_ ? plain_.size() - kPageHeadroomBytes + static_cast<int64_t>(lent_.size()) : 0;
    return codes_.size() * CodeBits() / 8 + 1;
  }
  bool wants_new_page() const final {
    if (mode_ == Mode::kPlain) return false;
    return coded_bytes_ > CodedBytesMax() || (mode_ == Mode::kDictionary && DictionaryIsFull());
  }

  void ExpectRow(int64_t bytes) final {
    const int64_t before = page_open_ ? coded_bytes_ + plain_.size() : 0;
    expected_bytes_ = kPageHeadroomBytes + before + bytes + bytes / kRowSlackShare;
  }

  arrow::Result<PageValues> FinishPage(EncodeScratch* scratch) final {
    ARROW_RETURN_NOT_OK(OpenPage());
    if (mode_ == Mode::kUndecided) {
      if (Pays() || !DecodingIsCheap()) {
        mode_ = Mode::kDictionary;
      } else {
        ARROW_RETURN_NOT_OK(GiveUpDictionary());
      }
    }
    page_open_ = false;
    expected_bytes_ = 0;
    if (mode_ == Mode::kPlain) {
      return PageValues{parquet::Encoding::PLAIN, plain_.data() + kPageHeadroomBytes, plain_.size() - kPageHeadroomBytes,
                        std::exchange(lent_, {})};
    }
    ARROW_ASSIGN_OR_RAISE(PageValues page, FinishCodes(&scratch->values));
    if (!Pays()) mode_ = Mode::kPlain;
    return page;
  }

  DictionaryValues dictionary() const final { return dictionary_used_ ? DictionaryPage() : DictionaryValues{}; }

  void ResetChunk() final {
    mode_ = FirstMode();
    dictionary_used_ = false;
    page_open_ = false;
    values_in_codes_ = coded_bytes_ = expected_bytes_ = 0;
    codes_.Clear();
    ResetValues();
  }

  void ShrinkBuffers(int64_t kept_bytes) final { plain_.ReleaseIfLarger(kept_bytes); }

  int64_t memory_bytes() const final { return codes_.capacity_bytes() + plain_.capacity_bytes() + ValueMemoryBytes(); }

 protected:
  enum class Mode { kUndecided, kDictionary, kPlain };

  Mode mode() const { return mode_; }
  PoolVector<uint32_t>& codes() { return codes_; }
  PoolVector<uint8_t>& plain() { return plain_; }
  bool page_is_empty() const { return page_open_ && lent_.empty() && plain_.size() == kPageHeadroomBytes; }
  void Lend(std::span<const uint8_t> value) { lent_ = value; }
  const ValueEncoderOptions& options() const { return options_; }

  /// Call first in Append.
  arrow::Status OpenPage() {
    if (page_open_) return arrow::Status::OK();
    page_open_ = true;
    plain_.Clear();
    if (mode_ != Mode::kPlain) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(plain_.Reserve(kPageHeadroomBytes));
    plain_.Advance(kPageHeadroomBytes);
    return arrow::Status::OK();
  }

  /// Room for `extra` more bytes in plain(): for all of the row, when it is known how many come.
  arrow::Status ReservePlain(int64_t extra) {
    const int64_t expected = expected_bytes_ - plain_.size();
    return extra <= expected ? plain_.ReserveExactly(expected) : plain_.Reserve(extra);
  }

  /// Call after `count` values, `bytes` bytes as PLAIN ones, have become codes.
  arrow::Status CountCodes(int64_t count, int64_t bytes) {
    values_in_codes_ += count;
    coded_bytes_ += bytes;
    if (mode_ == Mode::kDictionary) {
      // Inside of a row that is wider than a page; otherwise the page would have ended.
      const bool overflows = DictionaryBytes() > 2 * options_.dictionary_bytes_max;
      return overflows && DecodingIsCheap() ? TurnPlain() : arrow::Status::OK();
    }
    if (!DictionaryIsFull() && (values_in_codes_ < kJudgedValues || Pays())) return arrow::Status::OK();
    if (DecodingIsCheap()) return GiveUpDictionary();
    mode_ = Mode::kDictionary;  // until this page ends
    return arrow::Status::OK();
  }

  /// Makes the current page PLAIN, and all that follow.
  arrow::Status TurnPlain() {
    if (!dictionary_used_) return GiveUpDictionary();
    // Earlier pages refer to the dictionary: it stays.
    mode_ = Mode::kPlain;
    page_open_ = false;
    return DecodePage();
  }

  virtual int64_t DictionaryBytes() const = 0;
  virtual int64_t DictionaryEntries() const = 0;
  virtual DictionaryValues DictionaryPage() const = 0;
  /// Bytes of one value in the file, once compressed.
  virtual double StoredBytes() const = 0;
  /// Appends the values that codes() stand for to plain(), which has room for them.
  virtual void DecodeCodes() = 0;
  virtual void ReleaseDictionary() = 0;
  virtual void ResetValues() = 0;
  virtual int64_t ValueMemoryBytes() const = 0;

 private:
  Mode FirstMode() const { return options_.dictionary_bytes_max > 0 ? Mode::kUndecided : Mode::kPlain; }

  int CodeBits() const { return std::max(1, BitWidth(static_cast<uint32_t>(std::max<int64_t>(DictionaryEntries() - 1, 0)))); }

  bool Pays() const {
    DictionaryEvidence evidence;
    evidence.values = values_in_codes_;
    evidence.distinct = DictionaryEntries();
    evidence.expected_values = options_.expected_values;
    evidence.entry_bytes =
        static_cast<double>(DictionaryBytes()) / static_cast<double>(std::max<int64_t>(DictionaryEntries(), 1));
    evidence.stored_bytes = StoredBytes();
    evidence.dictionary_bytes_max = options_.dictionary_bytes_max;
    return DictionaryPays(evidence);
  }

  bool DictionaryIsFull() const { return DictionaryBytes() > options_.dictionary_bytes_max; }

  int64_t CodedBytesMax() const { return std::min(kCodedPagePart * options_.dictionary_bytes_max, kCodedBytesMax); }
  bool DecodingIsCheap() const { return coded_bytes_ <= std::max(CodedBytesMax(), kDecodedPart * DictionaryBytes()); }

  /// The current page's codes become PLAIN values.
  arrow::Status DecodePage() {
    ARROW_RETURN_NOT_OK(OpenPage());
    ARROW_RETURN_NOT_OK(plain_.ReserveExactly(std::max(coded_bytes_, expected_bytes_ - plain_.size())));
    DecodeCodes();
    codes_.Clear();
    coded_bytes_ = 0;
    return arrow::Status::OK();
  }

  arrow::Status GiveUpDictionary() {
    mode_ = Mode::kPlain;
    page_open_ = false;
    ARROW_RETURN_NOT_OK(DecodePage());
    ReleaseDictionary();
    return arrow::Status::OK();
  }

  arrow::Result<PageValues> FinishCodes(PoolVector<uint8_t>* out) {
    const int bits = CodeBits();
    out->Clear();
    ARROW_RETURN_NOT_OK(out->Reserve(kPageHeadroomBytes + 1 + MaxHybridBytes(codes_.size(), bits)));
    uint8_t* page = out->data() + kPageHeadroomBytes;
    page[0] = static_cast<uint8_t>(bits);
    const int64_t bytes = 1 + EncodeHybrid(codes_.data(), codes_.size(), bits, page + 1);
    out->Advance(kPageHeadroomBytes + bytes);
    codes_.Clear();
    coded_bytes_ = 0;
    dictionary_used_ = true;
    return PageValues{parquet::Encoding::RLE_DICTIONARY, page, bytes, {}};
  }

  const ValueEncoderOptions options_;
  PoolVector<uint32_t> codes_;  // of the current page
  PoolVector<uint8_t> plain_;   // headroom and values of the current page, when plain
  std::span<const uint8_t> lent_;
  Mode mode_;
  bool page_open_ = false;
  bool dictionary_used_ = false;  // a page of codes was finished in this chunk
  int64_t values_in_codes_ = 0;   // of this chunk
  int64_t coded_bytes_ = 0;       // what codes_ stand for, as PLAIN values
  int64_t expected_bytes_ = 0;    // of plain_, when the page's only row is in it; 0: not known
};

template <typename Number>
class NumberEncoder final : public ChoosingEncoder {
 public:
  explicit NumberEncoder(const ValueEncoderOptions& options) : ChoosingEncoder(options), dictionary_(options.pool) {}

  arrow::Status Append(LeafReader* reader, int64_t count, bool, EncodeScratch*) override {
    ARROW_RETURN_NOT_OK(OpenPage());
    ARROW_ASSIGN_OR_RAISE(const uint8_t* values, reader->NextFixed(count));
    page_bounds_.Update(reinterpret_cast<const Number*>(values), count);
    const int64_t bytes = count * static_cast<int64_t>(sizeof(Number));
    if (mode() == Mode::kPlain) {
      ARROW_RETURN_NOT_OK(ReservePlain(bytes));
      return plain().Append(values, bytes);
    }
    ARROW_RETURN_NOT_OK(codes().Reserve(count));
    ARROW_RETURN_NOT_OK(dictionary_.Encode(reinterpret_cast<const Bits*>(values), count, codes().end()));
    codes().Advance(count);
    return CountCodes(count, bytes);
  }

  EncodedBounds TakePageBounds() override {
    EncodedBounds encoded = page_bounds_.Encode();
    chunk_bounds_.Merge(page_bounds_);
    page_bounds_.Reset();
    return encoded;
  }
  EncodedBounds chunk_bounds() const override { return chunk_bounds_.Encode(); }

 protected:
  int64_t DictionaryBytes() const override { return dictionary_.entry_bytes(); }
  int64_t DictionaryEntries() const override { return dictionary_.size(); }
  DictionaryValues DictionaryPage() const override { return {dictionary_.page(), dictionary_.size()}; }

  double StoredBytes() const override {
    if (!options().compressed || std::is_floating_point_v<Number>) return sizeof(Number);
    NumberBounds<Number> seen = page_bounds_;
    seen.Merge(chunk_bounds_);
    const double range = static_cast<double>(seen.maximum()) - static_cast<double>(seen.minimum());
    return std::min<double>(sizeof(Number), std::log2(range + 1) / 8 + kNumberOverheadBytes);
  }

  void DecodeCodes() override {
    for (int64_t i = 0; i < codes().size(); ++i) {
      const Bits value = dictionary_[codes()[i]];
      plain().AppendUnchecked(reinterpret_cast<const uint8_t*>(&value), sizeof value);
    }
  }

  void ReleaseDictionary() override { dictionary_.Release(); }
  void ResetValues() override {
    dictionary_.Clear();
    page_bounds_.Reset();
    chunk_bounds_.Reset();
  }
  int64_t ValueMemoryBytes() const override { return dictionary_.memory_bytes(); }

 private:
  using Bits = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>;

  NumberDictionary<Bits> dictionary_;
  NumberBounds<Number> page_bounds_;
  NumberBounds<Number> chunk_bounds_;
};

/// Overlapping loads instead of a call for the short strings that columns are made of. Reads and writes exactly `length` bytes.
inline void CopyShort(uint8_t* to, const uint8_t* from, size_t length) {
  const auto copy_ends = [&]<size_t kBytes>(std::integral_constant<size_t, kBytes>) {
    std::array<uint8_t, kBytes> first;
    std::array<uint8_t, kBytes> last;
    std::memcpy(first.data(), from, kBytes);
    std::memcpy(last.data(), from + length - kBytes, kBytes);
    std::memcpy(to, first.data(), kBytes);
    std::memcpy(to + length - kBytes, last.data(), kBytes);
  };
  if (length > 32) {
    std::memcpy(to, from, length);
  } else if (length >= 16) {
    copy_ends(std::integral_constant<size_t, 16>());
  } else if (length >= 8) {
    copy_ends(std::integral_constant<size_t, 8>());
  } else if (length >= 4) {
    copy_ends(std::integral_constant<size_t, 4>());
  } else {
    for (size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

BytesOrder OrderOf(const parquet::ColumnDescriptor& descriptor) {
  const auto& logical = descriptor.logical_type();
  if (logical != nullptr && logical->is_float16()) return BytesOrder::kHalfFloat;
  if (logical != nullptr && logical->is_decimal()) return BytesOrder::kSignedBigEndian;
  if (logical != nullptr && (logical->is_string() || logical->is_JSON() || logical->is_enum())) return BytesOrder::kText;
  return BytesOrder::kUnsigned;
}

/// BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY.
class BytesEncoder final : public ChoosingEncoder {
 public:
  explicit BytesEncoder(const ValueEncoderOptions& options)
      : ChoosingEncoder(options),
        fixed_bytes_(
            options.descriptor->physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY ? options.descriptor->type_length() : 0),
        dictionary_(/*with_lengths=*/fixed_bytes_ == 0, options.pool),
        last_page_(options.pool),
        known_codes_(options.pool),
        page_bounds_(OrderOf(*options.descriptor)),
        chunk_bounds_(OrderOf(*options.descriptor)),
        // Fixed values cannot be cut, so long ones have no bounds.
        bounded_(fixed_bytes_ <= static_cast<int64_t>(kWholeBoundBytes) &&
                 options.descriptor->sort_order() != parquet::SortOrder::UNKNOWN) {}

  arrow::Status Append(LeafReader* reader, int64_t count, bool row_ends, EncodeScratch* scratch) override {
    ARROW_RETURN_NOT_OK(OpenPage());
    if (mode() != Mode::kPlain && RemembersDictionaryOf(*reader)) return AppendIndices(reader, count);
    ARROW_ASSIGN_OR_RAISE(const parquet::ByteArray* values, NextValues(reader, count, scratch));
    if (mode() != Mode::kPlain && AnyIsWide(values, count)) ARROW_RETURN_NOT_OK(TurnPlain());
    if (mode() == Mode::kPlain) return AppendPlain(values, count, row_ends);
    ARROW_RETURN_NOT_OK(codes().Reserve(count));
    ARROW_RETURN_NOT_OK(dictionary_.Encode(values, count, codes().end()));
    return NoteCodes(count);
  }

  EncodedBounds TakePageBounds() override {
    EncodedBounds encoded = page_bounds_.Encode();
    chunk_bounds_.Merge(page_bounds_);
    page_bounds_.Reset();
    ++page_number_;
    return encoded;
  }
  EncodedBounds chunk_bounds() const override { return chunk_bounds_.Encode(); }
  int64_t TakeUnencodedBytes() override { return std::exchange(unencoded_bytes_, 0); }

 protected:
  int64_t DictionaryBytes() const override { return dictionary_.entry_bytes(); }
  int64_t DictionaryEntries() const override { return dictionary_.size(); }
  DictionaryValues DictionaryPage() const override { return {dictionary_.page(), dictionary_.size()}; }
  double StoredBytes() const override {
    const double entry = static_cast<double>(DictionaryBytes()) / static_cast<double>(std::max<int64_t>(DictionaryEntries(), 1));
    return options().compressed ? kTextShare * entry : entry;
  }

  void DecodeCodes() override {
    for (int64_t i = 0; i < codes().size(); ++i) {
      const parquet::ByteArray value = dictionary_[codes()[i]];
      if (fixed_bytes_ == 0) plain().AppendUnchecked(reinterpret_cast<const uint8_t*>(&value.len), 4);
      plain().AppendUnchecked(value.ptr, value.len);
    }
  }

  void ReleaseDictionary() override {
    dictionary_.Release();
    last_page_.Release();
    ForgetArrowDictionary();
  }
  void ResetValues() override {
    dictionary_.Clear();
    last_page_.Clear();
    ForgetArrowDictionary();
    page_bounds_.Reset();
    chunk_bounds_.Reset();
    page_number_ = 1;
    unencoded_bytes_ = 0;
  }
  int64_t ValueMemoryBytes() const override {
    return dictionary_.memory_bytes() + last_page_.capacity_bytes() + known_codes_.capacity_bytes();
  }

 private:
  /// Larger Arrow dictionaries are looked up value by value: remembering the codes of all their entries would cost more than it
  /// saves.
  static constexpr int64_t kRememberedEntries = 1 << 16;
  static constexpr uint32_t kUnknownCode = 0xffffffff;

  arrow::Result<const parquet::ByteArray*> NextValues(LeafReader* reader, int64_t count, EncodeScratch* scratch) {
    if (fixed_bytes_ == 0) return reader->NextBytes(count);
    ARROW_ASSIGN_OR_RAISE(const uint8_t* fixed, reader->NextFixed(count));
    ARROW_RETURN_NOT_OK(scratch->leaf.bytes.Resize(count));
    parquet::ByteArray* out = scratch->leaf.bytes.data();
    for (int64_t i = 0; i < count; ++i) out[i] = {static_cast<uint32_t>(fixed_bytes_), fixed + i * fixed_bytes_};
    return out;
  }

  bool AnyIsWide(const parquet::ByteArray* values, int64_t count) const {
    const auto is_wide = [this](const parquet::ByteArray& value) { return value.len > options().dictionary_bytes_max; };
    return std::any_of(values, values + count, is_wide);
  }

  arrow::Status AppendPlain(const parquet::ByteArray* values, int64_t count, bool row_ends) {
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) total += values[i].len;
    unencoded_bytes_ += total;
    const bool may_lend = count == 1 && row_ends && fixed_bytes_ == 0 && page_is_empty();
    if (may_lend && total >= options().lent_bytes_min) return LendPlain(values[0]);
    const int64_t length_bytes = LengthBytes();
    // Twice as much as there is would be a whole wide value too much.
    if (total > options().dictionary_bytes_max && row_ends) {
      ARROW_RETURN_NOT_OK(plain().ReserveExactly(total + count * length_bytes));
    } else {
      ARROW_RETURN_NOT_OK(ReservePlain(total + count * length_bytes));
    }
    uint8_t* out = plain().end();
    for (int64_t i = 0; i < count; ++i) {
      if (bounded_) page_bounds_.Update(values[i]);
      std::memcpy(out, &values[i].len, static_cast<size_t>(length_bytes));
      out += length_bytes;
      CopyShort(out, values[i].ptr, values[i].len);
      out += values[i].len;
    }
    plain().Advance(out - plain().end());
    return arrow::Status::OK();
  }

  arrow::Status LendPlain(const parquet::ByteArray& value) {
    if (bounded_) page_bounds_.Update(value);
    ARROW_RETURN_NOT_OK(plain().Reserve(4));
    plain().AppendUnchecked(reinterpret_cast<const uint8_t*>(&value.len), 4);
    Lend({value.ptr, value.len});
    return arrow::Status::OK();
  }

  /// Books the `count` codes behind codes().end(): bounds see each entry once a page.
  arrow::Status NoteCodes(int64_t count) {
    const int64_t known = last_page_.size();
    ARROW_RETURN_NOT_OK(last_page_.Resize(dictionary_.size()));
    std::fill(last_page_.data() + known, last_page_.end(), 0);
    const uint32_t* new_codes = codes().end();
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t code = new_codes[i];
      const parquet::ByteArray entry = dictionary_[code];
      bytes += entry.len;
      if (last_page_[code] == page_number_) continue;
      last_page_[code] = page_number_;
      if (bounded_) page_bounds_.Update(entry);
    }
    codes().Advance(count);
    unencoded_bytes_ += bytes;
    return CountCodes(count, bytes + count * LengthBytes());
  }

  int64_t LengthBytes() const { return fixed_bytes_ == 0 ? 4 : 0; }

  /// True when codes of `reader`'s dictionary entries are kept in known_codes_. Those of a dictionary with a wide entry are not:
  /// it must not get into ours.
  bool RemembersDictionaryOf(const LeafReader& reader) {
    const arrow::Array* dictionary = reader.dictionary();
    if (dictionary == nullptr || dictionary->length() > kRememberedEntries) return false;
    if (remembered_.lock() == dictionary->data()) return !known_codes_.empty();
    known_codes_.Clear();
    remembered_ = dictionary->data();
    for (uint32_t i = 0; i < dictionary->length(); ++i) {
      if (reader.DictionaryEntry(i).len > options().dictionary_bytes_max) return false;
    }
    if (!known_codes_.Resize(dictionary->length()).ok()) return false;
    std::fill(known_codes_.data(), known_codes_.end(), kUnknownCode);
    return !known_codes_.empty();
  }

  arrow::Status AppendIndices(LeafReader* reader, int64_t count) {
    ARROW_ASSIGN_OR_RAISE(const uint32_t* indices, reader->NextIndices(count));
    ARROW_RETURN_NOT_OK(codes().Reserve(count));
    uint32_t* out = codes().end();
    for (int64_t i = 0; i < count; ++i) {
      uint32_t& code = known_codes_[indices[i]];
      if (code == kUnknownCode) {
        const parquet::ByteArray entry = reader->DictionaryEntry(indices[i]);
        ARROW_RETURN_NOT_OK(dictionary_.Encode(&entry, 1, &code));
      }
      out[i] = code;
    }
    return NoteCodes(count);
  }

  void ForgetArrowDictionary() {
    remembered_.reset();
    known_codes_.Release();
  }

  const int64_t fixed_bytes_;  // 0: BYTE_ARRAY
  BytesDictionary dictionary_;
  PoolVector<uint32_t> last_page_;              // page_number_ of the last page that used an entry
  std::weak_ptr<arrow::ArrayData> remembered_;  // the Arrow dictionary that known_codes_ belongs to; not kept alive by us
  PoolVector<uint32_t> known_codes_;            // our code of its entries
  BytesBounds page_bounds_;
  BytesBounds chunk_bounds_;
  const bool bounded_;
  uint32_t page_number_ = 1;
  int64_t unencoded_bytes_ = 0;
};

/// Bits, eight to a byte.
class BooleanEncoder final : public ValueEncoder {
 public:
  explicit BooleanEncoder(const ValueEncoderOptions& options) : values_(options.pool) {}

  arrow::Status Append(LeafReader* reader, int64_t count, bool, EncodeScratch*) override {
    ARROW_ASSIGN_OR_RAISE(const uint8_t* values, reader->NextFixed(count));
    page_bounds_.Update(values, count);
    return values_.Append(values, count);
  }
  int64_t page_bytes() const override { return values_.size() / 8 + 1; }
  bool wants_new_page() const override { return false; }

  arrow::Result<PageValues> FinishPage(EncodeScratch* scratch) override {
    const int64_t bytes = (values_.size() + 7) / 8;
    ARROW_RETURN_NOT_OK(scratch->values.Resize(kPageHeadroomBytes + bytes));
    uint8_t* page = scratch->values.data() + kPageHeadroomBytes;
    std::memset(page, 0, static_cast<size_t>(bytes));
    for (int64_t i = 0; i < values_.size(); ++i) page[i / 8] |= static_cast<uint8_t>(values_[i] << (i % 8));
    values_.Clear();
    return PageValues{parquet::Encoding::PLAIN, page, bytes};
  }
  EncodedBounds TakePageBounds() override {
    EncodedBounds encoded = page_bounds_.Encode();
    chunk_bounds_.Merge(page_bounds_);
    page_bounds_.Reset();
    return encoded;
  }
  EncodedBounds chunk_bounds() const override { return chunk_bounds_.Encode(); }
  void ResetChunk() override {
    values_.Clear();
    page_bounds_.Reset();
    chunk_bounds_.Reset();
  }
  int64_t memory_bytes() const override { return values_.capacity_bytes(); }

 private:
  PoolVector<uint8_t> values_;  // a byte each
  NumberBounds<uint8_t> page_bounds_;
  NumberBounds<uint8_t> chunk_bounds_;
};

}  // namespace

arrow::Result<std::unique_ptr<ValueEncoder>> ValueEncoder::Make(const ValueEncoderOptions& options) {
  const parquet::ColumnDescriptor& descriptor = *options.descriptor;
  const bool is_unsigned = descriptor.sort_order() == parquet::SortOrder::UNSIGNED;
  switch (descriptor.physical_type()) {
    case parquet::Type::BOOLEAN:
      return std::make_unique<BooleanEncoder>(options);
    case parquet::Type::INT32:
      if (is_unsigned) return std::make_unique<NumberEncoder<uint32_t>>(options);
      return std::make_unique<NumberEncoder<int32_t>>(options);
    case parquet::Type::INT64:
      if (is_unsigned) return std::make_unique<NumberEncoder<uint64_t>>(options);
      return std::make_unique<NumberEncoder<int64_t>>(options);
    case parquet::Type::FLOAT:
      return std::make_unique<NumberEncoder<float>>(options);
    case parquet::Type::DOUBLE:
      return std::make_unique<NumberEncoder<double>>(options);
    case parquet::Type::BYTE_ARRAY:
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return std::make_unique<BytesEncoder>(options);
    default:
      return MakeError(ErrorKind::kUnsupported, "column {}: Parquet type {} is not written", descriptor.path()->ToDotString(),
                       parquet::TypeToString(descriptor.physical_type()));
  }
}

}  // namespace icebound::io
