// SPDX-License-Identifier: Apache-2.0
#include "spill/batch_compaction.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/builder_base.h>
#include <arrow/type.h>
#include <arrow/util/binary_view_util.h>
#include <arrow/util/byte_size.h>

#include <algorithm>

namespace icebound::spill {
namespace {

/// A column is rebuilt when it holds this much more (in bytes behind views, or items below lists) than its rows refer to: copying
/// has its price too.
constexpr double kWaste = 1.25;
constexpr int64_t kWasteMin = 1024;

bool IsView(arrow::Type::type id) { return id == arrow::Type::STRING_VIEW || id == arrow::Type::BINARY_VIEW; }

int64_t HeldViewBytes(const arrow::ArrayData& data) {
  int64_t bytes = 0;
  for (size_t i = 2; i < data.buffers.size(); ++i) bytes += data.buffers[i] == nullptr ? 0 : data.buffers[i]->size();
  return bytes;
}

int64_t ReferredViewBytes(const arrow::ArrayData& data) {
  const auto* views = data.GetValues<arrow::BinaryViewType::c_type>(1);
  int64_t bytes = 0;
  for (int64_t i = 0; i < data.length; ++i) {
    if (data.IsValid(i) && !views[i].is_inline()) bytes += views[i].size();
  }
  return bytes;
}

bool IsWasteful(int64_t held, int64_t used) { return static_cast<double>(held) > kWaste * static_cast<double>(used) + kWasteMin; }

bool IsLargeDictionary(const arrow::ArrayData& data, int64_t rows, int64_t small_dictionary_bytes) {
  return data.dictionary != nullptr && data.dictionary->length > rows &&
         arrow::util::TotalBufferSize(*data.dictionary) > small_dictionary_bytes;
}

bool IsListView(arrow::Type::type id) { return id == arrow::Type::LIST_VIEW || id == arrow::Type::LARGE_LIST_VIEW; }

template <typename Size>
int64_t ReferredListViewItems(const arrow::ArrayData& data) {
  const auto* sizes = data.GetValues<Size>(2);
  int64_t items = 0;
  for (int64_t i = 0; i < data.length; ++i) items += data.IsValid(i) ? sizes[i] : 0;
  return items;
}

/// IPC writes the whole child of a list view, and of a dense union that begins at its parent's first row.
int64_t ReferredItems(const arrow::ArrayData& data) {
  if (data.type->id() == arrow::Type::LIST_VIEW) return ReferredListViewItems<int32_t>(data);
  if (data.type->id() == arrow::Type::LARGE_LIST_VIEW) return ReferredListViewItems<int64_t>(data);
  return data.length;
}

int64_t HeldItems(const arrow::ArrayData& data) {
  int64_t items = 0;
  for (const auto& child : data.child_data) items += child->length;
  return items;
}

/// Whether something below a nested column is worth a rebuild. Which rows of a child are in use is not known here, so this
/// guesses from the rows of the column, and any view with buffers counts.
bool DragsBelow(const arrow::ArrayData& data, int64_t rows, int64_t small_dictionary_bytes) {
  return std::any_of(data.child_data.begin(), data.child_data.end(), [&](const std::shared_ptr<arrow::ArrayData>& child) {
    const arrow::Type::type id = child->type->id();
    if (IsView(id) && HeldViewBytes(*child) > kWasteMin) return true;
    if ((IsListView(id) || id == arrow::Type::DENSE_UNION) && IsWasteful(HeldItems(*child), rows)) return true;
    return IsLargeDictionary(*child, rows, small_dictionary_bytes) || DragsBelow(*child, rows, small_dictionary_bytes);
  });
}

arrow::Result<std::shared_ptr<arrow::Array>> Rebuild(const std::shared_ptr<arrow::Array>& column, arrow::MemoryPool* pool) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  arrow::Status status = arrow::MakeBuilderExactIndex(pool, column->type(), &builder);
  if (status.ok()) status = builder->AppendArraySlice(arrow::ArraySpan(*column->data()), 0, column->length());
  if (status.IsNotImplemented()) return column;
  ARROW_RETURN_NOT_OK(status);
  return builder->Finish();
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> CompactColumn(const std::shared_ptr<arrow::Array>& column,
                                                           int64_t small_dictionary_bytes, arrow::MemoryPool* pool) {
  const arrow::ArrayData& data = *column->data();
  if (IsView(data.type->id())) {
    return IsWasteful(HeldViewBytes(data), ReferredViewBytes(data)) ? Rebuild(column, pool) : column;
  }
  if (IsListView(data.type->id()) || data.type->id() == arrow::Type::DENSE_UNION) {
    if (IsWasteful(HeldItems(data), ReferredItems(data))) return Rebuild(column, pool);
  }
  if (data.type->id() == arrow::Type::DICTIONARY) {
    if (!IsLargeDictionary(data, data.length, small_dictionary_bytes)) return column;
    auto compact = static_cast<const arrow::DictionaryArray&>(*column).Compact(pool);
    return compact.status().IsNotImplemented() ? column : compact;
  }
  return DragsBelow(data, data.length, small_dictionary_bytes) ? Rebuild(column, pool) : column;
}

}  // namespace icebound::spill
