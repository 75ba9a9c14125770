// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_footer.h"

#include <arrow/buffer.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/properties.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "io/parquet_guard.h"
#include "io/parquet_schema.h"

namespace icebound::io {
namespace {

constexpr int64_t kTailBytes = 8;  // footer length (little endian, 4 bytes) and magic
constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";

/// Bytes of footer a page of row groups covers, about: small enough that three pages and their objects stay below a few MiB,
/// large enough that the schema, built again for each, does not dominate, and that a remote store is not asked too often.
constexpr int64_t kPageBytes = 64 << 10;

/// Bytes read at once while walking.
constexpr int64_t kWalkBlockBytes = 128 << 10;

/// Memory of built metadata, measured with Arrow 26 (malloc's own bookkeeping included): see BuiltBytes.
constexpr int64_t kBytesPerLeaf = 1200;
constexpr int64_t kBytesPerChunk = 900;

/// Field numbers of FileMetaData and RowGroup in parquet.thrift.
enum FileField : int16_t {
  kVersion = 1,
  kSchema = 2,
  kNumRows = 3,
  kRowGroups = 4,
  kKeyValues = 5,
  kCreatedBy = 6,
  kColumnOrders = 7,
  kEncryption = 8,
};
constexpr int16_t kGroupColumns = 1;
constexpr int16_t kGroupBytes = 2;
constexpr int16_t kGroupRows = 3;

constexpr char kStoredSchemaKey[] = "ARROW:schema";

uint32_t LittleEndian32(const uint8_t* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

std::span<uint8_t> Writable(std::string* text) { return {reinterpret_cast<uint8_t*>(text->data()), text->size()}; }

}  // namespace

struct ParquetFooter::Layout {
  Extent version, schema, created_by, column_orders, stored_schema;
  ThriftType version_type = ThriftType::kI32;
  bool has_row_groups = false;
};

ParquetFooter::ParquetFooter(std::shared_ptr<InputFile> file, memory::MemoryConsumer* consumer)
    : file_(std::move(file)), consumer_(consumer), reservation_(consumer) {}

arrow::Result<std::shared_ptr<ParquetFooter>> ParquetFooter::Read(std::shared_ptr<InputFile> file,
                                                                  memory::MemoryConsumer* consumer) {
  std::shared_ptr<ParquetFooter> footer(new ParquetFooter(std::move(file), consumer));
  ARROW_RETURN_NOT_OK(footer->Locate());
  ARROW_RETURN_NOT_OK(footer->Walk());
  return footer;
}

arrow::Status ParquetFooter::Corrupt(const arrow::Status& cause) const {
  return WithContext(cause, ErrorKind::kCorruptData, fmt::format("footer of {} is damaged", file_->name()));
}

arrow::Status ParquetFooter::Locate() {
  const int64_t size = file_->size_bytes();
  if (size == 0) return MakeError(ErrorKind::kCorruptData, "{} is empty: not a Parquet file", file_->name());
  uint8_t head[4] = {};
  uint8_t tail[kTailBytes] = {};
  if (size >= kTailBytes + 4) ARROW_RETURN_NOT_OK(file_->ReadAt(size - kTailBytes, tail));
  const std::string_view magic(reinterpret_cast<const char*>(tail) + 4, 4);
  // A remote file's first bytes cost a request; they only matter to say what is wrong, or when a local read is free.
  if (size >= 4 && (file_->is_local() || magic != kMagic)) ARROW_RETURN_NOT_OK(file_->ReadAt(0, head));
  const std::string_view first(reinterpret_cast<const char*>(head), 4);
  if (magic == kEncryptedMagic) return MakeError(ErrorKind::kUnsupported, "{} is an encrypted Parquet file", file_->name());
  if (magic != kMagic) {
    if (first == kMagic) {
      return MakeError(ErrorKind::kCorruptData, "{} is cut short: it begins as a Parquet file but does not end as one ({} bytes)",
                       file_->name(), size);
    }
    return MakeError(ErrorKind::kCorruptData, "{} is not a Parquet file: it has no \"PAR1\" at its end", file_->name());
  }
  if (file_->is_local() && first != kMagic) {
    return MakeError(ErrorKind::kCorruptData, "{} is damaged: it has no \"PAR1\" at its start", file_->name());
  }
  footer_bytes_ = LittleEndian32(tail);
  footer_offset_ = size - kTailBytes - footer_bytes_;
  if (footer_offset_ < 4) {
    return MakeError(ErrorKind::kCorruptData, "footer of {} is damaged: it claims {} bytes, the file has {}", file_->name(),
                     footer_bytes_, size);
  }
  return arrow::Status::OK();
}

arrow::Status ParquetFooter::Walk() {
  Layout layout;
  ARROW_RETURN_NOT_OK(WalkFields(&layout));
  if (layout.schema.size_bytes == 0 || !layout.has_row_groups)
    return Corrupt(arrow::Status::Invalid("it has no schema or no row groups"));
  return BuildHead(layout);
}

arrow::Status ParquetFooter::WalkFields(Layout* layout) {
  const int64_t block_bytes = std::min(kWalkBlockBytes, footer_bytes_);
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::Buffer> block, arrow::AllocateBuffer(block_bytes, consumer_->pool()));
  arrow::Status read_error;  // kept apart: it has its own kind
  ThriftWalker walker(
      [&](int64_t offset) -> arrow::Result<std::string_view> {
        const int64_t count = std::min(block_bytes, footer_bytes_ - offset);
        read_error = file_->ReadAt(footer_offset_ + offset, {block->mutable_data(), static_cast<size_t>(count)});
        ARROW_RETURN_NOT_OK(read_error);
        return std::string_view(reinterpret_cast<const char*>(block->data()), static_cast<size_t>(count));
      },
      footer_bytes_);
  const auto walk = [&]() -> arrow::Status {
    int16_t id = 0;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const ThriftWalker::FieldHead field, walker.ReadField(id));
      if (field.type == ThriftType::kStop) return arrow::Status::OK();
      id = field.id;
      const int64_t start = walker.offset();
      const auto skip_into = [&](Extent* extent) -> arrow::Status {
        ARROW_RETURN_NOT_OK(walker.Skip(field.type));
        *extent = {.offset = start, .size_bytes = walker.offset() - start};
        return arrow::Status::OK();
      };
      const bool is_list = field.type == ThriftType::kList;
      if (id == kVersion && field.type == ThriftType::kI32) {
        ARROW_RETURN_NOT_OK(skip_into(&layout->version));
      } else if (id == kSchema && is_list) {
        ARROW_RETURN_NOT_OK(skip_into(&layout->schema));
      } else if (id == kRowGroups && is_list) {
        layout->has_row_groups = true;
        ARROW_ASSIGN_OR_RAISE(const ThriftWalker::ListHead list, walker.ReadList());
        if (list.size > 0 && list.type != ThriftType::kStruct) return arrow::Status::Invalid("row groups of a wrong type");
        ARROW_RETURN_NOT_OK(WalkRowGroups(&walker, list.size));
      } else if (id == kKeyValues && is_list) {
        ARROW_RETURN_NOT_OK(FindStoredSchema(&walker, layout));
      } else if (id == kCreatedBy && field.type == ThriftType::kBinary) {
        ARROW_RETURN_NOT_OK(skip_into(&layout->created_by));
      } else if (id == kColumnOrders && is_list) {
        ARROW_RETURN_NOT_OK(skip_into(&layout->column_orders));
      } else if (id == kEncryption) {
        return MakeError(ErrorKind::kUnsupported, "{} is an encrypted Parquet file", file_->name());
      } else {
        ARROW_RETURN_NOT_OK(walker.Skip(field.type));
      }
    }
  };
  const arrow::Status status = walk();
  if (!read_error.ok()) return read_error;
  return GetErrorKind(status) ? status : Corrupt(status);
}

arrow::Status ParquetFooter::WalkRowGroups(ThriftWalker* walker, int64_t count) {
  if (count > std::numeric_limits<int32_t>::max() - 1) return arrow::Status::Invalid(count, " row groups");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = walker->offset();
    if (pages_.empty() || pages_.back().size_bytes >= kPageBytes) {
      if (pages_.size() == pages_.capacity()) {
        const size_t grown = std::max<size_t>(16, pages_.capacity() * 2);
        ARROW_RETURN_NOT_OK(reservation_.ResizeTo(static_cast<int64_t>(grown * sizeof(PagePlace))));
        pages_.reserve(grown);
      }
      pages_.push_back({.first_row_group = static_cast<int>(i), .offset = footer_offset_ + start});
    }
    int16_t id = 0;
    int64_t rows = -1;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const ThriftWalker::FieldHead field, walker->ReadField(id));
      if (field.type == ThriftType::kStop) break;
      id = field.id;
      if (id == kGroupRows && field.type == ThriftType::kI64) {
        ARROW_ASSIGN_OR_RAISE(rows, walker->ReadInteger());
      } else {
        ARROW_RETURN_NOT_OK(walker->Skip(field.type));
      }
    }
    if (rows < 0 || rows > std::numeric_limits<int64_t>::max() - rows_)
      return arrow::Status::Invalid("row group ", i, " has ", rows, " rows");
    rows_ += rows;
    pages_.back().rows += rows;
    pages_.back().size_bytes += walker->offset() - start;
  }
  row_groups_ = static_cast<int>(count);
  return arrow::Status::OK();
}

arrow::Status ParquetFooter::FindStoredSchema(ThriftWalker* walker, Layout* layout) {
  ARROW_ASSIGN_OR_RAISE(const ThriftWalker::ListHead list, walker->ReadList());
  if (list.size > 0 && list.type != ThriftType::kStruct) return arrow::Status::Invalid("key-value metadata of a wrong type");
  for (int64_t i = 0; i < list.size; ++i) {
    int16_t id = 0;
    bool is_stored_schema = false;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const ThriftWalker::FieldHead field, walker->ReadField(id));
      if (field.type == ThriftType::kStop) break;
      id = field.id;
      const int64_t start = walker->offset();
      ARROW_RETURN_NOT_OK(walker->Skip(field.type));
      const int64_t size = walker->offset() - start;
      // Key and value are strings: a length (one byte for this key) and the text.
      constexpr int64_t kKeyBytes = 1 + std::char_traits<char>::length(kStoredSchemaKey);
      if (id == 1 && field.type == ThriftType::kBinary && size == kKeyBytes) {
        ARROW_ASSIGN_OR_RAISE(const std::string key, ReadBytes(start + 1, size - 1));
        is_stored_schema = key == kStoredSchemaKey;
      } else if (id == 2 && field.type == ThriftType::kBinary && is_stored_schema) {
        layout->stored_schema = {.offset = start, .size_bytes = size};
      }
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::string> ParquetFooter::ReadBytes(int64_t footer_offset, int64_t size_bytes) const {
  std::string bytes(static_cast<size_t>(size_bytes), '\0');
  ARROW_RETURN_NOT_OK(file_->ReadAt(footer_offset_ + footer_offset, Writable(&bytes)));
  return bytes;
}

int64_t ParquetFooter::BuiltBytes(int64_t size_bytes, int64_t row_groups) const {
  const int64_t leaves = head_ == nullptr ? before_row_groups_.size() / 8 : head_->num_columns();
  // The serialized bytes, the strings and lists made of them, and the fixed part of every object.
  return size_bytes + 2 * size_bytes + leaves * kBytesPerLeaf + row_groups * leaves * kBytesPerChunk;
}

arrow::Result<std::shared_ptr<parquet::FileMetaData>> ParquetFooter::Build(const std::string& serialized) const {
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return fmt::format("footer of {} is damaged", file_->name()); },
      [&]() -> arrow::Result<std::shared_ptr<parquet::FileMetaData>> {
        return parquet::FileMetaData::Make(serialized.data(), static_cast<int64_t>(serialized.size()),
                                           parquet::ReaderProperties(consumer_->pool()));
      });
}

arrow::Result<std::string> ParquetFooter::StoredSchemaPair(const Layout& layout) {
  std::string key_values;
  if (layout.stored_schema.size_bytes > 0) {
    ARROW_ASSIGN_OR_RAISE(std::string stored, ReadBytes(layout.stored_schema.offset, layout.stored_schema.size_bytes));
    size_t prefix = 0;  // the length before the text
    while (prefix + 1 < stored.size() && (static_cast<uint8_t>(stored[prefix]) & 0x80) != 0) ++prefix;
    auto plain = PlainStoredSchema(std::string_view(stored).substr(prefix + 1), consumer_->pool());
    if (!plain.ok())
      return Corrupt(plain.status().WithMessage("its stored Arrow schema is unreadable: ", plain.status().message()));
    ThriftAppender pair(&key_values);
    pair.Field(1, ThriftType::kBinary);
    pair.Binary(kStoredSchemaKey);
    pair.Field(2, ThriftType::kBinary);
    pair.Binary(*plain);
    key_values.push_back('\0');
  }
  return key_values;
}

arrow::Status ParquetFooter::BuildHead(const Layout& layout) {
  const int64_t kept = layout.schema.size_bytes + layout.created_by.size_bytes + layout.column_orders.size_bytes + 256;
  const int64_t places = static_cast<int64_t>(pages_.capacity() * sizeof(PagePlace));
  // The stored schema is decoded, rewritten and encoded again: about six times its size for a moment.
  ARROW_RETURN_NOT_OK(reservation_.ResizeTo(places + 2 * kept + kept / 8 * kBytesPerLeaf + 6 * layout.stored_schema.size_bytes));

  ThriftAppender before(&before_row_groups_);
  if (layout.version.size_bytes > 0) {
    before.Field(kVersion, ThriftType::kI32);
    ARROW_ASSIGN_OR_RAISE(const std::string version, ReadBytes(layout.version.offset, layout.version.size_bytes));
    before.Raw(version);
  } else {
    before.Field(kVersion, ThriftType::kI32);
    before.Integer(1);
  }
  before.Field(kSchema, ThriftType::kList);
  ARROW_ASSIGN_OR_RAISE(const std::string schema, ReadBytes(layout.schema.offset, layout.schema.size_bytes));
  before.Raw(schema);

  ARROW_ASSIGN_OR_RAISE(const std::string key_values, StoredSchemaPair(layout));
  std::string whole = before_row_groups_;
  ThriftAppender rest(&whole);
  rest.Continue(kSchema);
  rest.Field(kNumRows, ThriftType::kI64);
  rest.Integer(rows_);
  // One empty row group: the reader only asks whether there is one, the real one is put in its place (see
  // parquet_row_group_reader.h).
  rest.Field(kRowGroups, ThriftType::kList);
  rest.List(1, ThriftType::kStruct);
  rest.BeginStruct();
  rest.Field(kGroupColumns, ThriftType::kList);
  rest.List(0, ThriftType::kStruct);
  rest.Field(kGroupBytes, ThriftType::kI64);
  rest.Integer(0);
  rest.Field(kGroupRows, ThriftType::kI64);
  rest.Integer(0);
  rest.EndStruct();
  if (!key_values.empty()) {
    rest.Field(kKeyValues, ThriftType::kList);
    rest.List(1, ThriftType::kStruct);
    rest.Raw(key_values);
  }
  // The tail is the same for the head and for every page, so its first field has its number written out.
  ThriftAppender after(&after_row_groups_);
  after.Continue(kRowGroups);
  for (const auto& [id, type, extent] : {std::tuple(kCreatedBy, ThriftType::kBinary, layout.created_by),
                                         std::tuple(kColumnOrders, ThriftType::kList, layout.column_orders)}) {
    if (extent.size_bytes == 0) continue;
    ARROW_ASSIGN_OR_RAISE(const std::string bytes, ReadBytes(extent.offset, extent.size_bytes));
    after.FieldInFull(id, type);
    after.Raw(bytes);
  }
  after_row_groups_.push_back('\0');
  whole += after_row_groups_;
  ARROW_ASSIGN_OR_RAISE(head_, Build(whole));

  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return fmt::format("schema of {}", file_->name()); },
      [&]() -> arrow::Status {
        std::shared_ptr<arrow::Schema> schema;
        ARROW_RETURN_NOT_OK(parquet::arrow::FromParquetSchema(head_->schema(), ReadProperties(consumer_->pool()),
                                                              head_->key_value_metadata(), &schema));
        schema_ = PlainSchema(*schema);
        return reservation_.ResizeTo(places + 2 * static_cast<int64_t>(whole.size()) +
                                     BuiltBytes(static_cast<int64_t>(whole.size()), 0));
      });
}

int64_t FooterPage::FirstRow(int row_group) const {
  int64_t rows = first_row_;
  for (int before = first_row_group_; before < row_group; ++before) rows += RowGroup(before)->num_rows();
  return rows;
}

arrow::Result<std::shared_ptr<const FooterPage>> ParquetFooter::LoadPage(int row_group) {
  // Held while the page is read and built: the other threads most likely want the same one.
  std::lock_guard lock(mutex_);
  for (const std::weak_ptr<const FooterPage>& recent : recent_) {
    if (std::shared_ptr<const FooterPage> page = recent.lock(); page != nullptr && page->Contains(row_group)) return page;
  }
  auto next = std::upper_bound(pages_.begin(), pages_.end(), row_group,
                               [](int group, const PagePlace& place) { return group < place.first_row_group; });
  const PagePlace& place = *std::prev(next);
  const int count = (next == pages_.end() ? row_groups_ : next->first_row_group) - place.first_row_group;

  latest_.reset();
  memory::Reservation reservation(consumer_);
  ARROW_RETURN_NOT_OK(
      reservation.ResizeTo(BuiltBytes(static_cast<int64_t>(before_row_groups_.size()) + place.size_bytes, count)));
  std::string serialized = before_row_groups_;
  ThriftAppender appender(&serialized);
  appender.Continue(kSchema);
  appender.Field(kNumRows, ThriftType::kI64);
  appender.Integer(place.rows);
  appender.Field(kRowGroups, ThriftType::kList);
  appender.List(count, ThriftType::kStruct);
  const size_t at = serialized.size();
  serialized.resize(at + static_cast<size_t>(place.size_bytes));
  ARROW_RETURN_NOT_OK(file_->ReadAt(place.offset, Writable(&serialized).subspan(at)));
  serialized += after_row_groups_;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<parquet::FileMetaData> metadata, Build(serialized));
  if (metadata->num_row_groups() != count)
    return Corrupt(arrow::Status::Invalid("row groups ", place.first_row_group, " and following"));

  int64_t first_row = 0;
  for (auto before = pages_.begin(); before != std::prev(next); ++before) first_row += before->rows;
  auto page = std::make_shared<const FooterPage>(place.first_row_group, first_row, std::move(metadata), std::move(reservation));
  latest_ = page;
  constexpr size_t kRecentPages = 8;
  recent_.push_front(page);
  if (recent_.size() > kRecentPages) recent_.pop_back();
  return page;
}

}  // namespace icebound::io
