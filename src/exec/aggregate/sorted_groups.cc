// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/sorted_groups.h"

#include <arrow/array/builder_binary.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::aggregate {
namespace {

/// Rows given to the sorter at a time.
constexpr int64_t kBatchBytes = int64_t{256} << 10;

std::shared_ptr<arrow::Schema> SortedSchema() {
  return arrow::schema({arrow::field("key", arrow::large_binary(), false), arrow::field("rest", arrow::large_binary(), false)});
}

std::string_view ValueAt(const arrow::RecordBatch& batch, int column, int64_t row) {
  return static_cast<const arrow::LargeBinaryArray&>(*batch.column(column)).GetView(row);
}

}  // namespace

SortedGroups::SortedGroups(runtime::QueryContext* context, const GroupLayout* layout, sort::SortBudget* budget,
                           int64_t chunk_bytes, arrow::MemoryPool* pool)
    : context_(context),
      layout_(*layout),
      budget_(budget),
      pool_(pool),
      metrics_("sorted groups"),
      chunk_bytes_(chunk_bytes),
      scratch_(budget) {}

arrow::Result<std::unique_ptr<SortedGroups>> SortedGroups::Make(runtime::QueryContext* context, const GroupLayout* layout,
                                                                sort::SortBudget* budget, int64_t chunk_bytes,
                                                                arrow::MemoryPool* pool) {
  std::unique_ptr<SortedGroups> groups(new SortedGroups(context, layout, budget, chunk_bytes, pool));
  sort::SorterOptions options;
  options.keys = {{0}};
  options.output_columns = 2;
  ARROW_ASSIGN_OR_RAISE(groups->sorter_,
                        sort::ExternalSorter::Make(context, SortedSchema(), std::move(options), &groups->metrics_));
  ARROW_RETURN_NOT_OK(groups->sorter_->StartInput(1));
  return groups;
}

/// Splits stored rows in the key and what is around it.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> SortedGroups::ToBatch(const uint8_t* rows, int64_t count) const {
  arrow::LargeBinaryBuilder keys(pool_);
  arrow::LargeBinaryBuilder rest(pool_);
  ARROW_RETURN_NOT_OK(keys.Reserve(count));
  ARROW_RETURN_NOT_OK(rest.Reserve(count));
  int64_t key_bytes = 0;
  int64_t all_bytes = 0;
  const uint8_t* row = rows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = layout_.StoredBytes(row);
    key_bytes += layout_.KeyBytes(row);
    all_bytes += bytes;
    row += bytes;
  }
  ARROW_RETURN_NOT_OK(keys.ReserveData(key_bytes));
  ARROW_RETURN_NOT_OK(rest.ReserveData(all_bytes - key_bytes));
  row = rows;
  const auto head_bytes = static_cast<int64_t>(layout_.key_offset());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = layout_.StoredBytes(row);
    const auto own_key_bytes = static_cast<int64_t>(layout_.KeyBytes(row));
    keys.UnsafeAppend(row + head_bytes, own_key_bytes);
    rest.UnsafeAppend(row, head_bytes);
    rest.UnsafeExtendCurrent(row + head_bytes + own_key_bytes, bytes - head_bytes - own_key_bytes);
    row += bytes;
  }
  ARROW_ASSIGN_OR_RAISE(auto key_array, keys.Finish());
  ARROW_ASSIGN_OR_RAISE(auto rest_array, rest.Finish());
  return arrow::RecordBatch::Make(SortedSchema(), count, {std::move(key_array), std::move(rest_array)});
}

arrow::Status SortedGroups::Append(const uint8_t* rows, int64_t count) {
  while (count > 0) {
    const uint8_t* end = rows;
    int64_t taken = 0;
    while (taken < count && (taken == 0 || end - rows < kBatchBytes)) {
      end += layout_.StoredBytes(end);
      ++taken;
    }
    ARROW_ASSIGN_OR_RAISE(const auto batch, ToBatch(rows, taken));
    ARROW_RETURN_NOT_OK(sorter_->Append(0, *batch));
    rows = end;
    count -= taken;
  }
  return arrow::Status::OK();
}

arrow::Status SortedGroups::Finish() {
  ARROW_RETURN_NOT_OK(sorter_->FinishWorker(0));
  ARROW_RETURN_NOT_OK(sorter_->FinishInput());
  ARROW_ASSIGN_OR_RAISE(stream_, sorter_->OpenStream());
  no_files_ = std::make_unique<PartitionFiles>(context_, "none", 0, 1);
  GroupStoreOptions options;
  options.layout = &layout_;
  options.budget = budget_;
  options.files = no_files_.get();
  options.bits = 0;
  options.mode = StoreMode::kExact;
  options.chunk_bytes = chunk_bytes_;
  store_ = std::make_unique<GroupStore>(options);
  ARROW_RETURN_NOT_OK(store_->Start());
  ARROW_ASSIGN_OR_RAISE(has_next_, NextSortedRow(&key_, &rest_));
  return arrow::Status::OK();
}

arrow::Result<bool> SortedGroups::NextSortedRow(std::string_view* key, std::string_view* rest) {
  while (batch_ == nullptr || batch_row_ == batch_->num_rows()) {
    ARROW_RETURN_NOT_OK(context_->cancellation.Check());
    batch_.reset();
    ARROW_ASSIGN_OR_RAISE(batch_, stream_->Next());
    batch_row_ = 0;
    if (batch_ == nullptr) return false;
  }
  *key = ValueAt(*batch_, 0, batch_row_);
  *rest = ValueAt(*batch_, 1, batch_row_);
  ++batch_row_;
  return true;
}

/// Begins the group of this row, and gives it the row's states.
arrow::Status SortedGroups::Begin(std::string_view key, std::string_view rest) {
  const auto hash = row::LoadAs<uint64_t>(rest.data());
  const auto* key_data = reinterpret_cast<const uint8_t*>(key.data());
  const auto key_bytes = static_cast<uint32_t>(key.size());
  ARROW_RETURN_NOT_OK(store_->Insert(hash, key_data, key_bytes, &current_));
  return MergeCurrent(rest);
}

arrow::Status SortedGroups::MergeCurrent(std::string_view rest) {
  // The row without its key, so that its states can be pointed to their bytes.
  const auto head_bytes = static_cast<size_t>(layout_.key_offset());
  if (scratch_.bytes() == 0) ARROW_RETURN_NOT_OK(scratch_.Resize(static_cast<int64_t>(head_bytes)));
  uint8_t* row = scratch_.data();
  std::memcpy(row, rest.data(), head_bytes);
  layout_.AttachTo(row, reinterpret_cast<const uint8_t*>(rest.data()) + head_bytes);
  const int64_t string_bytes = layout_.StringSpaceBytes(row);
  if (string_bytes > 0) ARROW_RETURN_NOT_OK(store_->MakeRoom(string_bytes, /*must=*/true).status());
  for (const StatePlace& place : layout_.states()) {
    MergeStates(place.kind, place.offset, &current_, &row, 1, store_->space());
  }
  return arrow::Status::OK();
}

arrow::Status SortedGroups::Next(std::vector<const uint8_t*>* rows, int64_t rows_max, int64_t bytes_max) {
  store_->Clear();
  int64_t bytes = 0;
  while (has_next_ && static_cast<int64_t>(rows->size()) < rows_max && bytes < bytes_max) {
    ARROW_RETURN_NOT_OK(Begin(key_, rest_));
    while (true) {
      ARROW_ASSIGN_OR_RAISE(has_next_, NextSortedRow(&key_, &rest_));
      if (!has_next_ ||
          std::string_view(reinterpret_cast<const char*>(layout_.Key(current_)), layout_.KeyBytes(current_)) != key_)
        break;
      ARROW_RETURN_NOT_OK(MergeCurrent(rest_));
    }
    rows->push_back(current_);
    bytes += layout_.StoredBytes(current_);
  }
  return arrow::Status::OK();
}

}  // namespace icebound::exec::aggregate
