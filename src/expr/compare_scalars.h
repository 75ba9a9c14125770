// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/scalar.h>

#include <optional>

#include "expr/functions.h"

namespace icebound::expr {

/// Negative, zero or positive in the order of the comparison operators (see functions_comparison.cc); nullopt when either is null
/// or the two cannot be compared. Numbers of different types compare by value, timestamps of different units as instants. Needs
/// no memory pool.
std::optional<int> CompareScalars(const arrow::Scalar& left, const arrow::Scalar& right);

/// The bytes of a text, bytea or uuid scalar; nullopt for others.
std::optional<std::string_view> BytesOfScalar(const arrow::Scalar& scalar);

}  // namespace icebound::expr
