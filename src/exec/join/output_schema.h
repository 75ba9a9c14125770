// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>

#include "expr/join_condition.h"

namespace icebound::exec::join {

/// The type of a column's values: what a dictionary holds, else the type itself.
const std::shared_ptr<arrow::DataType>& ValueTypeOf(const std::shared_ptr<arrow::DataType>& type);

/// The schema with dictionaries replaced by their value types, at any depth: what packed rows come back as.
arrow::Result<std::shared_ptr<arrow::Schema>> PlainSchema(const std::shared_ptr<arrow::Schema>& schema);

/// `output` with dictionaries replaced by their value types; kInternal when its columns are not those of the join.
arrow::Result<std::shared_ptr<arrow::Schema>> PlainOutputSchema(const std::shared_ptr<arrow::Schema>& left,
                                                                const std::shared_ptr<arrow::Schema>& right, expr::JoinType type,
                                                                const std::shared_ptr<arrow::Schema>& output);

}  // namespace icebound::exec::join
