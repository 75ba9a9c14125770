// SPDX-License-Identifier: Apache-2.0
//
// A Parquet footer in bounded memory.
//
// Built as objects, a footer takes about ten times its size on disk: 8 MiB for the 524 row groups of TPC-H lineitem at scale 10,
// more than a gigabyte for 100,000 row groups of ten columns. So the footer is never built whole:
//
//   1. Read() walks its bytes once, a block at a time, and keeps: the schema, what is needed to read it (writer, column orders,
//      the stored Arrow schema in plain types), the row counts, and where in the file each *page* of row groups lies:
//      consecutive row groups of about 64 KiB of footer.
//   2. LoadPage() reads the bytes of one page, puts the schema before them, and lets the Parquet library build that small
//      footer. Threads share the pages in use; a page's memory is reserved before it is built and goes with its last user, the
//      latest page's when there is a later one.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>
#include <parquet/metadata.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/input_file.h"
#include "io/thrift_compact.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

/// Row groups [first_row_group, first_row_group + row_group_count) of a file as the Parquet library's objects. Immutable.
class FooterPage {
 public:
  FooterPage(int first_row_group, int64_t first_row, std::shared_ptr<parquet::FileMetaData> metadata,
             memory::Reservation reservation)
      : first_row_group_(first_row_group),
        first_row_(first_row),
        reservation_(std::move(reservation)),
        metadata_(std::move(metadata)) {}

  int first_row_group() const { return first_row_group_; }
  int row_group_count() const { return metadata_->num_row_groups(); }
  bool Contains(int row_group) const { return row_group >= first_row_group_ && row_group < first_row_group_ + row_group_count(); }
  /// The row group's metadata; lives as long as the page. May throw: call inside GuardParquet.
  std::unique_ptr<parquet::RowGroupMetaData> RowGroup(int row_group) const {
    return metadata_->RowGroup(row_group - first_row_group_);
  }
  /// How many rows of the file come before this row group. May throw.
  int64_t FirstRow(int row_group) const;
  /// A footer of this row group alone, which stands on its own. May throw.
  std::shared_ptr<parquet::FileMetaData> Subset(int row_group) const { return metadata_->Subset({row_group - first_row_group_}); }

 private:
  const int first_row_group_;
  const int64_t first_row_;
  memory::Reservation reservation_;
  const std::shared_ptr<parquet::FileMetaData> metadata_;
};

/// Thread safe. The consumer outlives it.
class ParquetFooter {
 public:
  /// Errors name the file: kCorruptData for what is no Parquet file, cut short or damaged; kUnsupported for an encrypted one.
  static arrow::Result<std::shared_ptr<ParquetFooter>> Read(std::shared_ptr<InputFile> file, memory::MemoryConsumer* consumer);

  const InputFile& file() const { return *file_; }
  const std::shared_ptr<InputFile>& shared_file() const { return file_; }
  /// Schema, writer version and column orders, with one empty row group in place of the real ones.
  const std::shared_ptr<parquet::FileMetaData>& head() const { return head_; }
  /// The file's columns in plain types (see parquet_schema.h).
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t rows() const { return rows_; }
  int row_groups() const { return row_groups_; }

  /// What the metadata of a row group alone takes in memory, about.
  int64_t row_group_bytes() const { return BuiltBytes(0, 1); }

  /// The page that holds `row_group`.
  arrow::Result<std::shared_ptr<const FooterPage>> LoadPage(int row_group);

 private:
  struct PagePlace {
    int first_row_group = 0;
    int64_t offset = 0;  // in the file
    int64_t size_bytes = 0;
    int64_t rows = 0;
  };
  struct Extent {
    int64_t offset = 0;  // in the footer
    int64_t size_bytes = 0;
  };
  struct Layout;  // what the walk finds

  ParquetFooter(std::shared_ptr<InputFile> file, memory::MemoryConsumer* consumer);

  arrow::Status Locate();
  arrow::Status Walk();
  arrow::Status WalkFields(Layout* layout);
  arrow::Status WalkRowGroups(class ThriftWalker* walker, int64_t count);
  arrow::Status FindStoredSchema(class ThriftWalker* walker, Layout* layout);
  /// The key-value pair of the stored Arrow schema in plain types, as Thrift; empty when the file has none.
  arrow::Result<std::string> StoredSchemaPair(const Layout& layout);
  arrow::Status BuildHead(const Layout& layout);
  arrow::Result<std::string> ReadBytes(int64_t footer_offset, int64_t size_bytes) const;
  arrow::Result<std::shared_ptr<parquet::FileMetaData>> Build(const std::string& serialized) const;
  /// The largest memory that building `size_bytes` of footer can take.
  int64_t BuiltBytes(int64_t size_bytes, int64_t row_groups) const;
  arrow::Status Corrupt(const arrow::Status& cause) const;

  const std::shared_ptr<InputFile> file_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation reservation_;

  // Constant after Read.
  int64_t footer_offset_ = 0;
  int64_t footer_bytes_ = 0;
  std::string before_row_groups_;  // serialized version and schema
  std::string after_row_groups_;   // serialized created_by and column orders
  std::vector<PagePlace> pages_;
  int64_t rows_ = 0;
  int row_groups_ = 0;
  std::shared_ptr<parquet::FileMetaData> head_;
  std::shared_ptr<arrow::Schema> schema_;

  std::mutex mutex_;
  // guarded by mutex_; row groups are read in order, so the next one is likely here
  std::shared_ptr<const FooterPage> latest_;
  std::deque<std::weak_ptr<const FooterPage>> recent_;  // guarded by mutex_; a few older ones, newest first
};

}  // namespace icebound::io
