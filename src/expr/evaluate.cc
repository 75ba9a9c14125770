// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of one batch, bottom-up. Scalars stay scalars and dictionaries stay dictionaries while they can; AND, OR, COALESCE
// and CASE evaluate an operand that can fail only for the rows that reach it, on a RowSet of just those rows, and put the pieces
// together again.
#include "expr/evaluate.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/initialize.h>
#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/functions.h"
#include "expr/row_set.h"
#include "expr/shared_parts.h"
#include "expr/type_rules.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

arrow::Status InitializeExpressions() {
  static const arrow::Status status = arrow::compute::Initialize();
  return status;
}

namespace {

bool IsTrueScalar(const Datum& value) {
  return value.is_scalar() && value.scalar()->is_valid && checked_cast<const arrow::BooleanScalar&>(*value.scalar()).value;
}

bool IsNullScalar(const Datum& value) { return value.is_scalar() && !value.scalar()->is_valid; }

/// Types for which Arrow's if_else has a kernel that copies whole columns.
bool HasSelectKernel(const arrow::DataType& type) { return ClassOf(type) < TypeClass::kList && type.id() != Type::EXTENSION; }

/// Errors of Arrow's own kernels are errors of the data.
arrow::Status Classify(const arrow::Status& status) {
  if (status.ok() || status.IsOutOfMemory() || GetErrorKind(status).has_value()) return status;
  const bool missing = status.IsNotImplemented() || status.IsTypeError();
  return ErrorStatus(missing ? ErrorKind::kUnsupported : ErrorKind::kExecution, status.message());
}

/// One evaluation of one tree; a value object of the calling thread.
class Evaluator {
 public:
  explicit Evaluator(const EvalContext& context) : context_(context), exec_(context.pool) { exec_.set_use_threads(false); }

  /// An array of rows->num_rows() in the logical type (or a dictionary of it), or a scalar.
  arrow::Result<Datum> Eval(const Expr& expr, RowSet* rows) {
    Datum* kept = context_.parts != nullptr && rows->is_whole() ? context_.parts->Find(expr) : nullptr;
    if (kept != nullptr && kept->kind() != Datum::NONE) return *kept;
    arrow::Result<Datum> value = EvalNode(expr, rows);
    if (!value.ok()) return AtTextOffset(Classify(value.status()), expr.position().offset);
    if (kept != nullptr) *kept = *value;
    return value;
  }

  /// As Eval, decoded.
  arrow::Result<Datum> EvalPlain(const Expr& expr, RowSet* rows) {
    ARROW_ASSIGN_OR_RAISE(Datum value, Eval(expr, rows));
    return ToLogical(value, context_, &exec_);
  }

  arrow::compute::ExecContext* exec() { return &exec_; }

 private:
  arrow::Result<Datum> EvalNode(const Expr& expr, RowSet* rows) {
    switch (expr.kind()) {
      case ExprKind::kColumn:
        return rows->Column(checked_cast<const ColumnExpr&>(expr), context_, &exec_);
      case ExprKind::kLiteral:
        return EvalLiteral(checked_cast<const LiteralExpr&>(expr));
      case ExprKind::kCall:
        return EvalCall(checked_cast<const CallExpr&>(expr), rows);
      case ExprKind::kCast:
        return EvalCast(checked_cast<const CastExpr&>(expr), rows);
      case ExprKind::kCase:
        return EvalCase(checked_cast<const CaseExpr&>(expr), rows);
      case ExprKind::kOuterColumn:
        return MakeError(ErrorKind::kInternal, "the column {} of an outer query was left in the plan", expr.ToString());
    }
    return MakeError(ErrorKind::kInternal, "unknown expression kind");
  }

  arrow::Result<Datum> EvalLiteral(const LiteralExpr& literal) { return ToLogical(Datum(literal.value()), context_, &exec_); }

  arrow::Result<Datum> EvalCast(const CastExpr& cast, RowSet* rows) {
    ARROW_ASSIGN_OR_RAISE(const Datum value, Eval(*cast.children()[0], rows));
    return CastDatum(value, cast.type(), rows->num_rows(), context_, &exec_);
  }

  arrow::Result<Datum> EvalCall(const CallExpr& call, RowSet* rows) {
    switch (call.function().strategy) {
      case Strategy::kEager:
      case Strategy::kFirst:
        break;
      case Strategy::kAnd:
        return EvalConnective<true>(call, rows);
      case Strategy::kOr:
        return EvalConnective<false>(call, rows);
      case Strategy::kCoalesce:
        return EvalCoalesce(call, rows);
    }
    std::vector<Datum> arguments;
    const size_t evaluated = call.function().strategy == Strategy::kFirst ? 1 : call.children().size();
    arguments.reserve(evaluated);
    for (size_t i = 0; i < evaluated; ++i) {
      ARROW_ASSIGN_OR_RAISE(Datum value, Eval(*call.children()[i], rows));
      if (!IsLogical(*value.type()) && !IsTextDictionary(value)) {
        ARROW_ASSIGN_OR_RAISE(value, ToLogical(value, context_, &exec_));
      }
      if (call.function().strict && (IsNullScalar(value) || value.type()->id() == Type::NA))
        return arrow::MakeNullScalar(call.type());
      arguments.push_back(std::move(value));
    }
    return Apply(call, std::move(arguments), rows->num_rows());
  }

  arrow::Result<Datum> Apply(const CallExpr& call, std::vector<Datum> arguments, int64_t num_rows) {
    const Function& function = call.function();
    if (const int at = DictionaryArgument(call, arguments, num_rows); at >= 0)
      return ApplyToDictionary(call, std::move(arguments), at);
    bool any_array = false;
    for (Datum& argument : arguments) {
      any_array |= argument.is_array();
      if (IsTextDictionary(argument)) {
        ARROW_ASSIGN_OR_RAISE(argument, ToLogical(argument, context_, &exec_));
      }
    }
    if (any_array || arguments.empty()) return Run(call, arguments, num_rows);
    // Constants only: one row, and a scalar again. A volatile function gets all rows.
    const bool all_rows = function.volatility == Volatility::kVolatile;
    ARROW_ASSIGN_OR_RAISE(auto first, arrow::MakeArrayFromScalar(*arguments[0].scalar(), all_rows ? num_rows : 1, context_.pool));
    arguments[0] = Datum(std::move(first));
    ARROW_ASSIGN_OR_RAISE(Datum result, Run(call, arguments, all_rows ? num_rows : 1));
    if (all_rows || result.is_scalar()) return result;
    ARROW_ASSIGN_OR_RAISE(auto scalar, result.make_array()->GetScalar(0));
    return scalar;
  }

  arrow::Result<Datum> Run(const CallExpr& call, const std::vector<Datum>& arguments, int64_t num_rows) {
    const KernelInput input{arguments, call.type(), num_rows, context_, &call, &exec_};
    return call.function().kernel(input);
  }

  /// The argument over whose dictionary a function is better evaluated than over its rows; -1 for none. It must be the only one
  /// that is not constant, and the function must not fail for a value that no row has.
  int DictionaryArgument(const CallExpr& call, const std::vector<Datum>& arguments, int64_t num_rows) const {
    const Function& function = call.function();
    const bool can_fail = function.can_fail && !(function.never_fails != nullptr && function.never_fails(call));
    if (can_fail || !function.strict || function.volatility != Volatility::kImmutable) return -1;
    int found = -1;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_scalar()) continue;
      if (found >= 0 || !IsTextDictionary(arguments[i]) || arguments[i].array()->dictionary->length > num_rows) return -1;
      found = static_cast<int>(i);
    }
    return found;
  }

  arrow::Result<Datum> ApplyToDictionary(const CallExpr& call, std::vector<Datum> arguments, int at) {
    const std::shared_ptr<arrow::ArrayData> encoded = arguments[at].array();
    const int64_t dictionary_rows = encoded->dictionary->length;
    if (dictionary_rows == 0) return NullArray(call.type(), encoded->length);
    arguments[at] = Datum(encoded->dictionary);
    ARROW_ASSIGN_OR_RAISE(const Datum values, Run(call, arguments, dictionary_rows));
    const auto& dictionary_type = checked_cast<const arrow::DictionaryType&>(*encoded->type);
    if (call.function().text_result) {
      auto result = encoded->Copy();
      result->dictionary = values.array();
      result->type = arrow::dictionary(dictionary_type.index_type(), call.type());
      return result;
    }
    const Datum indices(arrow::ArrayData::Make(dictionary_type.index_type(), encoded->length,
                                               {encoded->buffers[0], encoded->buffers[1]}, encoded->null_count.load(),
                                               encoded->offset));
    return arrow::compute::Take(values, indices, arrow::compute::TakeOptions::NoBoundsCheck(), &exec_);
  }

  arrow::Result<Datum> NullArray(const TypePtr& type, int64_t num_rows) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, num_rows, context_.pool));
    return nulls;
  }

  // --- AND, OR ---------------------------------------------------------------------------------------------------------------

  /// Rows that are decided (false for AND, true for OR) are not evaluated further by an operand that can fail.
  template <bool kIsAnd>
  arrow::Result<Datum> EvalConnective(const CallExpr& call, RowSet* rows) {
    ARROW_ASSIGN_OR_RAISE(Datum result, EvalBoolean(*call.children()[0], rows));
    for (size_t i = 1; i < call.children().size(); ++i) {
      const Expr& operand = *call.children()[i];
      if (result.is_scalar() && result.scalar()->is_valid && IsTrueScalar(result) != kIsAnd) return result;
      Datum next;
      if (!result.is_array() || !CanFail(operand)) {
        ARROW_ASSIGN_OR_RAISE(next, EvalBoolean(operand, rows));
      } else {
        // Undecided: not false for AND (true or null), not true for OR.
        Datum condition = result;
        if (kIsAnd) {
          ARROW_ASSIGN_OR_RAISE(condition, arrow::compute::Invert(result, &exec_));
        }
        ARROW_ASSIGN_OR_RAISE(auto positions, PositionsWhere(condition, rows->num_rows(), /*when_true=*/false, context_.pool));
        if (positions->length() == 0) return result;
        ARROW_ASSIGN_OR_RAISE(next, EvalFor(operand, rows, positions));
      }
      ARROW_ASSIGN_OR_RAISE(result, Connect<kIsAnd>(result, next, rows->num_rows()));
    }
    return result;
  }

  arrow::Result<Datum> EvalBoolean(const Expr& expr, RowSet* rows) {
    ARROW_ASSIGN_OR_RAISE(Datum value, EvalPlain(expr, rows));
    if (value.type()->id() == Type::NA) return Datum(arrow::MakeNullScalar(arrow::boolean()));
    return value;
  }

  template <bool kIsAnd>
  arrow::Result<Datum> Connect(const Datum& left, const Datum& right, int64_t num_rows) {
    // The neutral constant leaves the other side as it is.
    const auto is_neutral = [](const Datum& value) {
      return value.is_scalar() && value.scalar()->is_valid && IsTrueScalar(value) == kIsAnd;
    };
    if (is_neutral(left)) return right;
    if (is_neutral(right)) return left;
    return kIsAnd ? arrow::compute::KleeneAnd(left, right, &exec_) : arrow::compute::KleeneOr(left, right, &exec_);
  }

  /// The value for the rows at `positions`, null elsewhere.
  arrow::Result<Datum> EvalFor(const Expr& expr, RowSet* rows, const std::shared_ptr<arrow::Array>& positions) {
    if (positions->length() == rows->num_rows()) return EvalPlain(expr, rows);
    std::vector<Piece> pieces;
    ARROW_RETURN_NOT_OK(EvalPiece(expr, rows, positions, &pieces));
    return Assemble(std::move(pieces), expr.type(), rows->num_rows());
  }

  // --- pieces ----------------------------------------------------------------------------------------------------------------

  /// Values for some rows.
  struct Piece {
    std::shared_ptr<arrow::Array> positions;
    std::shared_ptr<arrow::Array> values;
  };

  arrow::Status EvalPiece(const Expr& expr, RowSet* rows, const std::shared_ptr<arrow::Array>& positions,
                          std::vector<Piece>* pieces) {
    if (positions->length() == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(RowSet selected, rows->Select(positions, &exec_));
    ARROW_ASSIGN_OR_RAISE(const Datum value, EvalPlain(expr, &selected));
    if (IsNullScalar(value)) return arrow::Status::OK();  // Rows without a piece are null.
    std::shared_ptr<arrow::Array> array;
    if (value.is_scalar()) {
      ARROW_ASSIGN_OR_RAISE(array, arrow::MakeArrayFromScalar(*value.scalar(), positions->length(), context_.pool));
    } else {
      array = value.make_array();
    }
    pieces->push_back({positions, std::move(array)});
    return arrow::Status::OK();
  }

  arrow::Result<Datum> Assemble(std::vector<Piece> pieces, const TypePtr& expr_type, int64_t num_rows) {
    const TypePtr type = LogicalType(expr_type);
    if (pieces.empty()) return arrow::MakeNullScalar(type);
    if (pieces.size() == 1 && pieces[0].positions->length() == num_rows) return pieces[0].values;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> indices,
                          arrow::AllocateBuffer(num_rows * sizeof(int32_t), context_.pool));
    int32_t* index = reinterpret_cast<int32_t*>(indices->mutable_data());
    std::fill(index, index + num_rows, -1);
    arrow::ArrayVector values;
    int32_t base = 0;
    for (const Piece& piece : pieces) {
      const int32_t* positions = piece.positions->data()->GetValues<int32_t>(1);
      for (int64_t i = 0; i < piece.positions->length(); ++i) index[positions[i]] = base + static_cast<int32_t>(i);
      base += static_cast<int32_t>(piece.positions->length());
      values.push_back(piece.values);
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (base < num_rows) {
      ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(num_rows, context_.pool));
      for (int64_t i = 0; i < num_rows; ++i) {
        if (index[i] >= 0) arrow::bit_util::SetBit(validity->mutable_data(), i);
      }
    }
    ARROW_ASSIGN_OR_RAISE(auto all, arrow::Concatenate(values, context_.pool));
    const Datum positions(arrow::ArrayData::Make(arrow::int32(), num_rows, {std::move(validity), std::move(indices)}));
    return arrow::compute::Take(all, positions, arrow::compute::TakeOptions::NoBoundsCheck(), &exec_);
  }

  // --- CASE, COALESCE --------------------------------------------------------------------------------------------------------

  arrow::Result<Datum> EvalCase(const CaseExpr& expr, RowSet* rows) {
    const auto& children = expr.children();
    // The first condition is evaluated for every row anyhow; when nothing else can fail, whole columns are faster than pieces.
    const bool lazy = !HasSelectKernel(*expr.type()) ||
                      std::any_of(children.begin() + 1, children.end(), [](const ExprPtr& child) { return CanFail(*child); });
    return lazy ? EvalCaseByPieces(expr, rows) : EvalCaseWhole(expr, rows);
  }

  arrow::Result<Datum> EvalCaseWhole(const CaseExpr& expr, RowSet* rows) {
    const auto& children = expr.children();
    ARROW_ASSIGN_OR_RAISE(Datum result, EvalPlain(*children.back(), rows));
    for (size_t i = children.size() - 1; i >= 2; i -= 2) {
      ARROW_ASSIGN_OR_RAISE(Datum condition, EvalBoolean(*children[i - 2], rows));
      if (IsNullScalar(condition)) continue;
      ARROW_ASSIGN_OR_RAISE(const Datum value, EvalPlain(*children[i - 1], rows));
      if (condition.is_scalar()) {
        if (IsTrueScalar(condition)) result = value;
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(condition, NullIsFalse(condition, rows->num_rows()));
      ARROW_ASSIGN_OR_RAISE(result, arrow::compute::IfElse(condition, value, result, &exec_));
    }
    return result;
  }

  arrow::Result<Datum> NullIsFalse(const Datum& condition, int64_t num_rows) {
    if (condition.null_count() == 0) return condition;
    return arrow::compute::CallFunction("coalesce", {condition, Datum(std::make_shared<arrow::BooleanScalar>(false))}, &exec_);
  }

  arrow::Result<Datum> EvalCaseByPieces(const CaseExpr& expr, RowSet* rows) {
    const auto& children = expr.children();
    std::vector<Piece> pieces;
    std::shared_ptr<arrow::Array> left;  // positions of the rows no condition has taken; nullptr: all
    for (size_t i = 0; i + 1 < children.size(); i += 2) {
      if (left != nullptr && left->length() == 0) break;
      ARROW_ASSIGN_OR_RAISE(const Datum condition, EvalCondition(*children[i], rows, left));
      if (condition.is_scalar() && !IsTrueScalar(condition)) continue;
      if (condition.is_scalar() && left == nullptr) return EvalPlain(*children[i + 1], rows);
      const int64_t num_left = left == nullptr ? rows->num_rows() : left->length();
      ARROW_ASSIGN_OR_RAISE(auto taken, PositionsWhere(condition, num_left, true, context_.pool));
      if (taken->length() == 0) continue;
      ARROW_ASSIGN_OR_RAISE(auto rest, PositionsWhere(condition, num_left, false, context_.pool));
      ARROW_ASSIGN_OR_RAISE(taken, PositionsAmong(left, taken));
      ARROW_ASSIGN_OR_RAISE(left, PositionsAmong(left, rest));
      ARROW_RETURN_NOT_OK(EvalPiece(*children[i + 1], rows, taken, &pieces));
    }
    if (left == nullptr) return EvalPlain(*children.back(), rows);
    ARROW_RETURN_NOT_OK(EvalPiece(*children.back(), rows, left, &pieces));
    return Assemble(std::move(pieces), expr.type(), rows->num_rows());
  }

  arrow::Result<Datum> EvalCondition(const Expr& condition, RowSet* rows, const std::shared_ptr<arrow::Array>& positions) {
    if (positions == nullptr) return EvalBoolean(condition, rows);
    ARROW_ASSIGN_OR_RAISE(RowSet selected, rows->Select(positions, &exec_));
    return EvalBoolean(condition, &selected);
  }

  /// Positions in `among` (nullptr: all rows) as positions of the whole set.
  arrow::Result<std::shared_ptr<arrow::Array>> PositionsAmong(const std::shared_ptr<arrow::Array>& among,
                                                              const std::shared_ptr<arrow::Array>& positions) {
    if (among == nullptr) return positions;
    ARROW_ASSIGN_OR_RAISE(const Datum taken, arrow::compute::Take(Datum(among), Datum(positions),
                                                                  arrow::compute::TakeOptions::NoBoundsCheck(), &exec_));
    return taken.make_array();
  }

  arrow::Result<Datum> EvalCoalesce(const CallExpr& call, RowSet* rows) {
    const auto& children = call.children();
    ARROW_ASSIGN_OR_RAISE(Datum first, EvalPlain(*children[0], rows));
    if (first.is_scalar() && first.scalar()->is_valid) return first;
    const bool lazy = !HasSelectKernel(*call.type()) ||
                      std::any_of(children.begin() + 1, children.end(), [](const ExprPtr& child) { return CanFail(*child); });
    if (!lazy) {
      std::vector<Datum> values{first};
      for (size_t i = 1; i < children.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(Datum value, EvalPlain(*children[i], rows));
        values.push_back(std::move(value));
      }
      return CoalesceWhole(std::move(values), call.type());
    }
    std::vector<Piece> pieces;
    std::shared_ptr<arrow::Array> left;
    for (size_t i = 0; i < children.size(); ++i) {
      if (left != nullptr && left->length() == 0) break;
      RowSet* reached = rows;
      std::optional<RowSet> selected;
      if (left != nullptr) {
        ARROW_ASSIGN_OR_RAISE(selected, rows->Select(left, &exec_));
        reached = &*selected;
      }
      Datum value = first;
      if (i > 0) {
        ARROW_ASSIGN_OR_RAISE(value, EvalPlain(*children[i], reached));
      }
      ARROW_ASSIGN_OR_RAISE(left, KeepValues(value, reached->num_rows(), left, &pieces));
    }
    return Assemble(std::move(pieces), call.type(), rows->num_rows());
  }

  arrow::Result<Datum> CoalesceWhole(std::vector<Datum> values, const TypePtr& type) {
    if (std::all_of(values.begin(), values.end(), IsNullScalar)) return arrow::MakeNullScalar(type);
    std::erase_if(values, IsNullScalar);
    if (values.size() == 1 || values.front().is_scalar()) return values.front();
    return arrow::compute::CallFunction("coalesce", values, &exec_);
  }

  /// Moves the values that are not null to a piece; the positions of the others are returned.
  arrow::Result<std::shared_ptr<arrow::Array>> KeepValues(const Datum& value, int64_t num_rows,
                                                          const std::shared_ptr<arrow::Array>& among,
                                                          std::vector<Piece>* pieces) {
    Datum valid(std::make_shared<arrow::BooleanScalar>(!IsNullScalar(value)));
    if (value.is_array()) {
      ARROW_ASSIGN_OR_RAISE(valid, arrow::compute::IsValid(value, &exec_));
    }
    ARROW_ASSIGN_OR_RAISE(auto taken, PositionsWhere(valid, num_rows, true, context_.pool));
    ARROW_ASSIGN_OR_RAISE(auto rest, PositionsWhere(valid, num_rows, false, context_.pool));
    if (taken->length() > 0) {
      std::shared_ptr<arrow::Array> values;
      if (value.is_scalar()) {
        ARROW_ASSIGN_OR_RAISE(values, arrow::MakeArrayFromScalar(*value.scalar(), taken->length(), context_.pool));
      } else {
        ARROW_ASSIGN_OR_RAISE(const Datum kept,
                              arrow::compute::Take(value, Datum(taken), arrow::compute::TakeOptions::NoBoundsCheck(), &exec_));
        values = kept.make_array();
      }
      ARROW_ASSIGN_OR_RAISE(taken, PositionsAmong(among, taken));
      pieces->push_back({std::move(taken), std::move(values)});
    }
    return PositionsAmong(among, rest);
  }

  const EvalContext& context_;
  arrow::compute::ExecContext exec_;
};

arrow::Result<Datum> EvaluateAs(const Expr& expr, const arrow::RecordBatch& batch, const EvalContext& context) {
  ARROW_RETURN_NOT_OK(InitializeExpressions());
  if (expr.kind() == ExprKind::kColumn) {  // The column as it is, dictionary or view.
    const auto& column = checked_cast<const ColumnExpr&>(expr);
    if (column.index() >= 0 && column.index() < batch.num_columns() &&
        batch.column(column.index())->type()->Equals(*column.type())) {
      return batch.column(column.index());
    }
  }
  Evaluator evaluator(context);
  RowSet rows(batch);
  ARROW_ASSIGN_OR_RAISE(const Datum value, evaluator.Eval(expr, &rows));
  if (value.type()->Equals(*expr.type())) return value;
  return CastDatum(value, expr.type(), batch.num_rows(), context, evaluator.exec());
}

}  // namespace

arrow::Result<Datum> Evaluate(const Expr& expr, const arrow::RecordBatch& batch, const EvalContext& context) {
  auto result = EvaluateAs(expr, batch, context);
  if (!result.ok()) return Classify(result.status());
  return result;
}

arrow::Result<std::shared_ptr<arrow::Array>> EvaluateToArray(const Expr& expr, const arrow::RecordBatch& batch,
                                                             const EvalContext& context) {
  ARROW_ASSIGN_OR_RAISE(const Datum value, Evaluate(expr, batch, context));
  if (value.is_array()) return value.make_array();
  return arrow::MakeArrayFromScalar(*value.scalar(), batch.num_rows(), context.pool);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> EvaluateConstant(const Expr& expr, const EvalContext& context) {
  if (!IsConstant(expr)) return MakeError(ErrorKind::kInternal, "{} is not constant", expr.ToString());
  const auto batch = arrow::RecordBatch::Make(arrow::schema(arrow::FieldVector{}), 1, arrow::ArrayVector{});
  ARROW_ASSIGN_OR_RAISE(const Datum value, Evaluate(expr, *batch, context));
  if (value.is_scalar()) return value.scalar();
  return value.make_array()->GetScalar(0);
}

namespace {

/// The rows that pass every conjunct, as positions of the batch; nullptr when all do.
arrow::Result<std::shared_ptr<arrow::Array>> PassingRows(const Expr& predicate_expr, const arrow::RecordBatch& batch,
                                                         const EvalContext& context, Evaluator* evaluator) {
  // SplitConjunction wants a shared pointer; the expression outlives this call.
  const ExprPtr predicate(ExprPtr(), &predicate_expr);
  std::shared_ptr<arrow::Array> passing;
  RowSet all(batch);
  std::optional<RowSet> selected;
  for (const ExprPtr& conjunct : SplitConjunction(predicate)) {
    RowSet* rows = selected.has_value() ? &*selected : &all;
    ARROW_ASSIGN_OR_RAISE(const Datum value, evaluator->EvalPlain(*conjunct, rows));
    if (value.type()->id() == Type::NA || IsNullScalar(value)) {
      ARROW_ASSIGN_OR_RAISE(passing, arrow::MakeEmptyArray(arrow::int32(), context.pool));
      return passing;
    }
    if (IsTrueScalar(value)) continue;
    ARROW_ASSIGN_OR_RAISE(auto positions, PositionsWhere(value, rows->num_rows(), true, context.pool));
    if (positions->length() == rows->num_rows()) continue;
    if (passing != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const Datum taken,
                            arrow::compute::Take(Datum(passing), Datum(positions), arrow::compute::TakeOptions::NoBoundsCheck(),
                                                 evaluator->exec()));
      positions = taken.make_array();
    }
    passing = std::move(positions);
    if (passing->length() == 0) return passing;
    ARROW_ASSIGN_OR_RAISE(RowSet next, all.Select(passing, evaluator->exec()));
    selected.emplace(std::move(next));
  }
  return passing;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Filter(const Expr& predicate, const std::shared_ptr<arrow::RecordBatch>& batch,
                                                          const EvalContext& context) {
  ARROW_RETURN_NOT_OK(InitializeExpressions());
  if (batch->num_rows() == 0) return nullptr;
  Evaluator evaluator(context);
  auto passing = PassingRows(predicate, *batch, context, &evaluator);
  if (!passing.ok()) return Classify(passing.status());
  if (*passing == nullptr) return batch;
  const int64_t count = (*passing)->length();
  if (count == 0) return nullptr;
  const int32_t* positions = (*passing)->data()->GetValues<int32_t>(1);
  const bool is_run = positions[count - 1] - positions[0] == count - 1;
  // One run that is most of the batch: no copy.
  if (is_run && count * 2 >= batch->num_rows()) return batch->Slice(positions[0], count);
  return TakeRows(*batch, *passing, context, evaluator.exec());
}

arrow::Result<std::shared_ptr<arrow::Array>> SelectRows(const Expr& predicate, const arrow::RecordBatch& batch,
                                                        const EvalContext& context) {
  ARROW_RETURN_NOT_OK(InitializeExpressions());
  Evaluator evaluator(context);
  auto passing = PassingRows(predicate, batch, context, &evaluator);
  return passing.ok() ? passing : Classify(passing.status());
}

}  // namespace icebound::expr
