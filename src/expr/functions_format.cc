// SPDX-License-Identifier: Apache-2.0
//
// to_char of dates, intervals and numbers; to_date and to_timestamp with a template.
#include "base/error.h"
#include "expr/cast.h"
#include "expr/date_time_math.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/format_template.h"
#include "expr/pattern_length.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"

namespace icebound::expr {

using arrow::Datum;

namespace {

using enum TypeClass;

/// The template of a row: the last one is kept, so that a constant is parsed once.
template <typename Template>
class TemplateCache {
 public:
  template <typename MakeOne>
  arrow::Result<const Template*> Get(std::string_view text, MakeOne make) {
    if (!current_.has_value() || text_ != text) {
      ARROW_ASSIGN_OR_RAISE(current_, make(text));
      text_ = text;
    }
    return &*current_;
  }

 private:
  std::string text_;
  std::optional<Template> current_;
};

arrow::Result<DateTemplate> MakeDateTemplate(std::string_view text) {
  ARROW_RETURN_NOT_OK(CheckPatternLength(text, "template of dates"));
  return DateTemplate(text);
}

/// PostgreSQL's to_char of a date is NULL for an empty template; an empty text here.
arrow::Result<Datum> TimestampToChar(const KernelInput& input) {
  const ValueReader<int64_t> values(input.arguments[0]);
  const BytesReader templates(input.arguments[1]);
  const arrow::DataType& type = *input.arguments[0].type();
  const int64_t divisor = IsNanosecondType(type) ? kNanosPerMicro : 1;
  const bool zoned = ClassOf(type) == kTimestampTz;
  TemplateCache<DateTemplate> cache;
  return MapToText(input, [&](int64_t row, std::string* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const DateTemplate* format, cache.Get(templates[row], MakeDateTemplate));
    format->Format(FloorDivide(values[row], divisor), zoned, out);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> IntervalToChar(const KernelInput& input) {
  const ValueReader<Interval> values(input.arguments[0]);
  const BytesReader templates(input.arguments[1]);
  TemplateCache<DateTemplate> cache;
  return MapToText(input, [&](int64_t row, std::string* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const DateTemplate* format, cache.Get(templates[row], MakeDateTemplate));
    format->Format(values[row], out);
    return arrow::Status::OK();
  });
}

/// Integers and decimals.
arrow::Result<Datum> DecimalToChar(const KernelInput& input) {
  const DecimalReader values(input.arguments[0]);
  const BytesReader templates(input.arguments[1]);
  const int scale = DecimalScale(*input.arguments[0].type());
  TemplateCache<NumberTemplate> cache;
  return MapToText(input, [&](int64_t row, std::string* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const NumberTemplate* format, cache.Get(templates[row], NumberTemplate::Make));
    format->Format(values[row], scale, out);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> DoubleToChar(const KernelInput& input) {
  const ValueReader<double> values(input.arguments[0]);
  const BytesReader templates(input.arguments[1]);
  TemplateCache<NumberTemplate> cache;
  return MapToText(input, [&](int64_t row, std::string* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const NumberTemplate* format, cache.Get(templates[row], NumberTemplate::Make));
    format->Format(values[row], out);
    return arrow::Status::OK();
  });
}

template <bool kDateOnly>
arrow::Result<Datum> FromText(const KernelInput& input) {
  using Out = std::conditional_t<kDateOnly, int32_t, int64_t>;
  const BytesReader texts(input.arguments[0]), templates(input.arguments[1]);
  TemplateCache<DateTemplate> cache;
  return MapRows<Out>(input, [&](int64_t row, Out* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const DateTemplate* format, cache.Get(templates[row], MakeDateTemplate));
    ARROW_ASSIGN_OR_RAISE(const int64_t micros, format->Parse(texts[row]));
    *out = static_cast<Out>(kDateOnly ? FloorDivide(micros, kMicrosPerDay) : micros);
    return arrow::Status::OK();
  });
}

arrow::Result<TypePtr> TimestampTzResult(const std::vector<ExprPtr>&) { return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"); }

}  // namespace

void RegisterFormat(FunctionRegistry* registry) {
  const auto add = [&](std::string_view name, TypeClass value, ResultType result, Kernel kernel) {
    registry->Add({.name = name, .parameters = {value, kText}, .result_type = result, .kernel = kernel});
  };
  add("to_char", kTimestamp, TextResult, TimestampToChar);
  add("to_char", kTimestampTz, TextResult, TimestampToChar);
  add("to_char", TypeClass::kInterval, TextResult, IntervalToChar);
  add("to_char", kInt32, TextResult, DecimalToChar);
  add("to_char", kInt64, TextResult, DecimalToChar);
  add("to_char", kDecimal, TextResult, DecimalToChar);
  add("to_char", kDouble, TextResult, DoubleToChar);
  add("to_date", kText, DateResult, FromText<true>);
  add("to_timestamp", kText, TimestampTzResult, FromText<false>);
}

}  // namespace icebound::expr
