// SPDX-License-Identifier: Apache-2.0
#include "bridge/position_delete_files.h"

#include <arrow/array.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "bridge/file_scan.h"

namespace icebound::bridge {
namespace {

/// `path = 'x'`, or no path: that is found, too, to be refused.
arrow::Result<expr::ExprPtr> IsAbout(const std::string& path, const arrow::Field& column) {
  const expr::ExprPtr field = expr::MakeColumn(0, column);
  ARROW_ASSIGN_OR_RAISE(expr::ExprPtr equal,
                        expr::MakeCall("=", {field, expr::MakeLiteral(std::make_shared<arrow::StringScalar>(path))}));
  ARROW_ASSIGN_OR_RAISE(expr::ExprPtr missing, expr::MakeCall("is_null", {field}));
  return expr::MakeCall("or", {std::move(equal), std::move(missing)});
}

arrow::Status CheckBatch(const arrow::RecordBatch& batch, const std::string& delete_file) {
  const auto& positions = static_cast<const arrow::Int64Array&>(*batch.column(1));
  if (batch.column(0)->null_count() > 0) {
    return MakeError(ErrorKind::kCorruptData, "{}: a position delete without a file path", delete_file);
  }
  if (positions.null_count() > 0) {
    return MakeError(ErrorKind::kCorruptData, "{}: a position delete without a position", delete_file);
  }
  for (int64_t i = 0; i < positions.length(); ++i) {
    if (positions.Value(i) >= 0) continue;
    return MakeError(ErrorKind::kCorruptData, "{}: a position delete of row {}", delete_file, positions.Value(i));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status VisitPositionDeletes(const iceberg::DeleteFile& deletes, const std::string* only_path,
                                   std::shared_ptr<const SnapshotRead> read, runtime::QueryContext* context,
                                   const std::function<arrow::Status(std::string_view, std::span<const int64_t>)>& visit) {
  const std::string& name = deletes.file.file_path;
  const auto schema = arrow::schema(
      {ColumnWithId("file_path", arrow::utf8(), kDeletePathColumn), ColumnWithId("pos", arrow::int64(), kDeletePositionColumn)});
  const io::FieldIdByName names = [](std::span<const std::string_view> path) -> std::optional<int32_t> {
    if (path.size() != 1) return std::nullopt;
    if (path[0] == "file_path") return kDeletePathColumn;
    return path[0] == "pos" ? std::optional(kDeletePositionColumn) : std::nullopt;
  };
  FileToRead file{.location = name, .format = deletes.file.file_format};
  file.mapping.names = &names;
  file.mapping.required = {kDeletePathColumn, kDeletePositionColumn};
  std::vector<expr::ExprPtr> filters;
  if (only_path != nullptr) {
    ARROW_ASSIGN_OR_RAISE(filters.emplace_back(), IsAbout(*only_path, *schema->field(0)));
  }
  ARROW_ASSIGN_OR_RAISE(const auto rows, ReadRows(file, schema, std::move(filters), std::move(read), context));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
    if (batch == nullptr) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(CheckBatch(*batch, name));
    const auto& paths = static_cast<const arrow::StringArray&>(*batch->column(0));
    const auto& positions = static_cast<const arrow::Int64Array&>(*batch->column(1));
    for (int64_t begin = 0, end = 0; begin < batch->num_rows(); begin = end) {
      const std::string_view path = paths.GetView(begin);
      for (end = begin + 1; end < batch->num_rows() && paths.GetView(end) == path;) ++end;
      ARROW_RETURN_NOT_OK(visit(path, {positions.raw_values() + begin, static_cast<size_t>(end - begin)}));
    }
  }
}

}  // namespace icebound::bridge
