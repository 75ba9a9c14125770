// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/file_builder.h"

#include <limits>

#include "base/error.h"

namespace icebound::io {
namespace {

constexpr std::string_view kMagic = "PAR1";

/// Page indexes kept in memory, for each of the two kinds.
constexpr int64_t kIndexMemoryBytes = int64_t{256} << 10;

}  // namespace

FileBuilder::FileBuilder(OutputFile* file, const WrittenSchema* schema, std::shared_ptr<parquet::WriterProperties> properties,
                         spill::DiskManager* disk, arrow::MemoryPool* pool)
    : file_(file),
      footer_(schema, std::move(properties), disk, pool),
      column_indexes_(disk, pool, kIndexMemoryBytes),
      offset_indexes_(disk, pool, kIndexMemoryBytes) {}

arrow::Status FileBuilder::Start() { return file_->Write(kMagic.data(), static_cast<int64_t>(kMagic.size())); }

arrow::Status FileBuilder::WriteRowGroup(std::span<FinishedChunk> chunks,
                                         std::span<const std::unique_ptr<ColumnEncoder>> encoders, StagedPages* staged) {
  ARROW_RETURN_NOT_OK(staged->Finish());
  for (size_t column = 0; column < chunks.size(); ++column) {
    ARROW_RETURN_NOT_OK(WriteChunk(static_cast<int>(column), &chunks[column], encoders[column].get(), staged));
  }
  return footer_.EndRowGroup(chunks.front().rows);
}

arrow::Status FileBuilder::WriteChunk(int column, FinishedChunk* chunk, ColumnEncoder* encoder, StagedPages* staged) {
  ChunkPlace place;
  place.start = file_->bytes_written();
  ARROW_RETURN_NOT_OK(file_->Write(chunk->dictionary_page.data(), chunk->dictionary_page.size()));
  place.data_start = file_->bytes_written();
  ARROW_RETURN_NOT_OK(staged->CopyColumn(column, file_));
  for (const PoolVector<uint8_t>& page : encoder->pages()) ARROW_RETURN_NOT_OK(file_->Write(page.data(), page.size()));
  encoder->ForgetPages();
  place.end = file_->bytes_written();
  if (place.end - place.data_start != chunk->data_bytes) {
    return MakeError(ErrorKind::kInternal, "column {}: {} bytes of pages were made but {} written", column, chunk->data_bytes,
                     place.end - place.data_start);
  }
  const int64_t column_index_start = column_indexes_.bytes();
  chunk->column_index->WriteTo(&column_indexes_);
  place.column_index_bytes = column_indexes_.bytes() - column_index_start;
  const int64_t offset_index_start = offset_indexes_.bytes();
  chunk->offset_index->Finish(place.data_start);
  chunk->offset_index->WriteTo(&offset_indexes_);
  place.offset_index_bytes = offset_indexes_.bytes() - offset_index_start;
  ARROW_RETURN_NOT_OK(footer_.AddChunk(column, *chunk, place));
  chunk->column_index.reset();
  chunk->offset_index.reset();
  chunk->dictionary_page.Release();
  return arrow::Status::OK();
}

arrow::Status FileBuilder::Finish() {
  const int64_t column_indexes_offset = file_->bytes_written();
  ARROW_RETURN_NOT_OK(column_indexes_.CopyTo(file_));
  const int64_t offset_indexes_offset = file_->bytes_written();
  ARROW_RETURN_NOT_OK(offset_indexes_.CopyTo(file_));
  const int64_t footer_offset = file_->bytes_written();
  ARROW_RETURN_NOT_OK(footer_.WriteTo(file_, column_indexes_offset, offset_indexes_offset));
  const int64_t footer_bytes = file_->bytes_written() - footer_offset;
  if (footer_bytes > std::numeric_limits<int32_t>::max()) {
    return MakeError(ErrorKind::kUnsupported,
                     "the footer of {} would have {} bytes, more than Parquet allows; use larger row groups", file_->name(),
                     footer_bytes);
  }
  const auto length = static_cast<uint32_t>(footer_bytes);
  ARROW_RETURN_NOT_OK(file_->Write(&length, sizeof length));
  return file_->Write(kMagic.data(), static_cast<int64_t>(kMagic.size()));
}

}  // namespace icebound::io
