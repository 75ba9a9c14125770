// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a table from the footers of a few files, a few row groups each, spread evenly with the first and the last among
// them. A footer is read in pages (parquet_footer.h), so that memory is bounded however many row groups there are.
//
// The number of distinct values is nowhere in most files. Two things tell it: a chunk that is indexes into a dictionary to its
// end has no more values than fit into it beside the indexes; one whose writer gave the dictionary up has about as many as
// rows. What a row group repeats often is taken to be the same in all row groups; else each row group is taken to have its own.
#include "io/parquet_statistics.h"

#include <parquet/schema.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cmath>

#include "expr/compare_scalars.h"
#include "io/parquet_footer.h"
#include "io/parquet_guard.h"
#include "io/parquet_pruning.h"
#include "io/parquet_schema.h"
#include "io/parquet_table.h"

namespace icebound::io {
namespace {

constexpr int64_t kSampledFiles = 8;
constexpr int kSampledRowGroups = 16;        // of all files together, at least one of each
constexpr double kRepeatsShare = 0.25;       // of a row group's rows: fewer values than this are those of all row groups
constexpr double kRoundingAllowance = 1.02;  // page headers
constexpr int kTextOffsetBytes = 4;

/// Sums over the sampled chunks of one column.
struct Sample {
  ParquetColumnStatistics statistics;
  double rows = 0;
  double nulls = 0;
  double distinct_sum = 0;
  double distinct_most = 0;
  double text_bytes = 0;
  int chunks = 0;
};

bool IsDictionary(const parquet::ColumnChunkMetaData& chunk) {
  const std::vector<parquet::PageEncodingStats>& pages = chunk.encoding_stats();
  return chunk.has_dictionary_page() && !pages.empty() &&
         std::all_of(pages.begin(), pages.end(), [](const parquet::PageEncodingStats& page) {
           return page.page_type == parquet::PageType::DICTIONARY_PAGE || page.encoding == parquet::Encoding::RLE_DICTIONARY ||
                  page.encoding == parquet::Encoding::PLAIN_DICTIONARY;
         });
}

/// What a value takes in a dictionary.
double DictionaryValueBytes(const parquet::ColumnDescriptor& descriptor, const parquet::EncodedStatistics* statistics) {
  switch (descriptor.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return std::max(1, descriptor.type_length());
    case parquet::Type::BYTE_ARRAY:
      if (statistics == nullptr || !statistics->has_min || !statistics->has_max) return 16;
      return 4 + static_cast<double>(statistics->min().size() + statistics->max().size()) / 2;
    default:
      return 8;
  }
}

/// The most values d with which a dictionary of d values and an index of log2(d) bits for each row are no larger than the chunk.
double DistinctOf(const parquet::ColumnDescriptor& descriptor, const parquet::ColumnChunkMetaData& chunk,
                  const parquet::EncodedStatistics* statistics, double rows) {
  if (statistics != nullptr && statistics->has_distinct_count && statistics->distinct_count > 0) {
    return static_cast<double>(statistics->distinct_count);
  }
  if (!IsDictionary(chunk)) return rows;
  const double value_bytes = DictionaryValueBytes(descriptor, statistics);
  const double chunk_bytes = static_cast<double>(chunk.total_uncompressed_size()) * kRoundingAllowance;
  double low = 1, high = std::max(1.0, rows);
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const double bytes = rows * std::ceil(std::log2(middle)) / 8 + middle * value_bytes;
    (bytes <= chunk_bytes ? low : high) = middle;
  }
  return low;
}

void Widen(std::shared_ptr<arrow::Scalar> value, bool is_minimum, std::shared_ptr<arrow::Scalar>* bound) {
  if (value == nullptr) return;
  if (*bound == nullptr) {
    *bound = std::move(value);
    return;
  }
  const std::optional<int> order = expr::CompareScalars(*value, **bound);
  if (order && (is_minimum ? *order < 0 : *order > 0)) *bound = std::move(value);
}

void AddChunk(const parquet::ColumnDescriptor& descriptor, const std::shared_ptr<arrow::DataType>& type,
              const parquet::RowGroupMetaData& row_group, int leaf, Sample* sample) {
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group.ColumnChunk(leaf);
  const std::shared_ptr<parquet::EncodedStatistics> statistics = chunk->encoded_statistics();
  const auto rows = static_cast<double>(row_group.num_rows());
  sample->rows += rows;
  ++sample->chunks;
  const double distinct = DistinctOf(descriptor, *chunk, statistics.get(), rows);
  sample->distinct_sum += distinct;
  sample->distinct_most = std::max(sample->distinct_most, distinct);
  const std::shared_ptr<parquet::SizeStatistics> sizes = chunk->size_statistics();
  if (sizes != nullptr && sizes->unencoded_byte_array_data_bytes) {
    sample->text_bytes += static_cast<double>(*sizes->unencoded_byte_array_data_bytes);
  } else {
    sample->text_bytes += static_cast<double>(chunk->total_uncompressed_size());
  }
  if (statistics == nullptr) return;
  if (statistics->has_null_count) sample->nulls += static_cast<double>(statistics->null_count);
  if (!descriptor.can_use_min_max()) return;
  if (statistics->has_min)
    Widen(DecodeBound(descriptor, type, statistics->min(), /*is_minimum=*/true), true, &sample->statistics.min);
  if (statistics->has_max)
    Widen(DecodeBound(descriptor, type, statistics->max(), /*is_minimum=*/false), false, &sample->statistics.max);
}

ParquetColumnStatistics Finish(const Sample& sample, const arrow::DataType& type, int64_t rows, int64_t row_groups) {
  ParquetColumnStatistics statistics = sample.statistics;
  if (sample.chunks == 0 || sample.rows <= 0) return statistics;
  const double scale = static_cast<double>(rows) / sample.rows;
  statistics.null_count = static_cast<int64_t>(sample.nulls * scale);
  const double rows_of_group = sample.rows / sample.chunks;
  const bool repeats = sample.distinct_most < kRepeatsShare * rows_of_group;
  const double own = sample.distinct_sum / sample.chunks * static_cast<double>(std::max<int64_t>(1, row_groups));
  statistics.distinct_count = std::clamp(repeats ? sample.distinct_most : own, 1.0, std::max(1.0, static_cast<double>(rows)));
  if (arrow::is_base_binary_like(type.id())) statistics.value_bytes = sample.text_bytes / sample.rows + kTextOffsetBytes;
  return statistics;
}

}  // namespace

arrow::Result<std::vector<ParquetColumnStatistics>> ParquetTable::ReadStatistics() const {
  std::vector<Sample> samples(static_cast<size_t>(schema_->num_fields()));
  const int64_t files = std::min(listing_->size(), kSampledFiles);
  for (int64_t i = 0; i < files; ++i) {
    const int64_t index = files == 1 ? 0 : i * (listing_->size() - 1) / (files - 1);
    const FileVersion version = listing_->version(index);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<InputFile> file, InputFile::Open(location_, listing_->path(index), &version, nullptr));
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<ParquetFooter> footer, ParquetFooter::Read(std::move(file), consumer_.get()));
    ARROW_ASSIGN_OR_RAISE(const std::vector<ColumnSource> sources,
                          MatchColumns(*schema_, first_file_, *footer->schema(), footer->file().name()));
    const int sampled = std::min(footer->row_groups(), std::max(1, kSampledRowGroups / static_cast<int>(files)));
    for (int k = 0; k < sampled; ++k) {
      const int row_group = sampled == 1 ? 0 : static_cast<int>(int64_t{k} * (footer->row_groups() - 1) / (sampled - 1));
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const FooterPage> page, footer->LoadPage(row_group));
      ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kCorruptData, "footer of " + footer->file().name(), [&]() -> arrow::Status {
        const std::unique_ptr<parquet::RowGroupMetaData> metadata = page->RowGroup(row_group);
        const parquet::SchemaDescriptor& descriptor = *footer->head()->schema();
        for (size_t column = 0; column < samples.size(); ++column) {
          // A column that this file has in a narrower type is another reading: its bounds do not compare.
          const ColumnSource& source = sources[column];
          const parquet::schema::NodePtr& node = descriptor.group_node()->field(source.field_index);
          if (source.needs_cast || !node->is_primitive() || node->is_repeated()) continue;
          const int leaf = descriptor.ColumnIndex(*node);
          AddChunk(*descriptor.Column(leaf), footer->schema()->field(source.field_index)->type(), *metadata, leaf,
                   &samples[column]);
        }
        return arrow::Status::OK();
      }));
    }
  }
  std::vector<ParquetColumnStatistics> statistics;
  for (int i = 0; i < schema_->num_fields(); ++i) {
    const std::shared_ptr<arrow::DataType>& type = schema_->field(i)->type();
    const arrow::DataType& values =
        type->id() == arrow::Type::DICTIONARY ? *static_cast<const arrow::DictionaryType&>(*type).value_type() : *type;
    statistics.push_back(Finish(samples[static_cast<size_t>(i)], values, rows_, row_groups_));
  }
  return statistics;
}

}  // namespace icebound::io
