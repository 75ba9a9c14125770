// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_morsel_shape.h"

#include <parquet/schema.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

/// No writer in use makes larger pages on purpose; larger chunks are read a page at a time.
constexpr int64_t kTypicalPageBytes = int64_t{1} << 20;

void AddLeaves(const parquet::schema::Node& node, const parquet::SchemaDescriptor& descriptor, std::vector<int>* leaves) {
  if (node.is_primitive()) {
    leaves->push_back(descriptor.ColumnIndex(node));
    return;
  }
  const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
  for (int i = 0; i < group.field_count(); ++i) AddLeaves(*group.field(i), descriptor, leaves);
}

/// A page and its dictionary (which together are no more than the chunk), and buffers. Where one value is wider than a page ought
/// to be, it is held as page (two, for a moment), as value and in the batch.
int64_t LeafBytes(const parquet::ColumnChunkMetaData& chunk) {
  const int64_t pages = chunk.has_dictionary_page() ? 2 : 1;
  const int64_t page_bytes = std::clamp<int64_t>(chunk.total_uncompressed_size(), 0, pages * kTypicalPageBytes);
  const int64_t value_bytes = chunk.total_uncompressed_size() / std::max<int64_t>(1, chunk.num_values());
  return std::max(page_bytes, 4 * value_bytes) + (int64_t{64} << 10);
}

ParquetMorselShape ShapeOf(const ParquetFooter& footer, const parquet::RowGroupMetaData& row_group) {
  ParquetMorselShape shape{.rows = row_group.num_rows()};
  const parquet::SchemaDescriptor& descriptor = *footer.head()->schema();
  for (int i = 0; i < descriptor.group_node()->field_count(); ++i) {
    std::vector<int> leaves;
    AddLeaves(*descriptor.group_node()->field(i), descriptor, &leaves);
    int64_t bytes = 0, compressed_bytes = 0;
    bool splits = leaves.size() == 1;
    for (const int leaf : leaves) {
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group.ColumnChunk(leaf);
      bytes += LeafBytes(*chunk);
      compressed_bytes += std::clamp<int64_t>(chunk->total_compressed_size(), 0, kTypicalPageBytes);
      splits = splits && chunk->GetOffsetIndexLocation().has_value();
    }
    shape.column_bytes.push_back(bytes);
    shape.compressed_bytes.push_back(compressed_bytes);
    shape.column_splits.push_back(splits);
  }
  return shape;
}

}  // namespace

arrow::Result<ParquetMorselShape> FirstMorselShape(ParquetFooter* footer) {
  const auto columns = static_cast<size_t>(footer->schema()->num_fields());
  ParquetMorselShape shape{.column_bytes = std::vector<int64_t>(columns, 0),
                           .compressed_bytes = std::vector<int64_t>(columns, 0),
                           .column_splits = std::vector<bool>(columns, false)};
  if (footer->row_groups() == 0) return shape;
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const FooterPage> page, footer->LoadPage(0));
  return GuardParquet(ErrorKind::kCorruptData, "footer of " + footer->file().name(),
                      [&]() -> arrow::Result<ParquetMorselShape> { return ShapeOf(*footer, *page->RowGroup(0)); });
}

}  // namespace icebound::io
