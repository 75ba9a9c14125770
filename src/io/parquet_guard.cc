// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_guard.h"

#include <parquet/exception.h>

#include <exception>
#include <new>

namespace icebound::io {
namespace {

/// ParquetException::NYI prefixes its messages so; the Arrow side of the library turns them into IOError, losing the meaning.
constexpr std::string_view kNotImplementedPrefix = "Not yet implemented";

}  // namespace

arrow::Status ParquetError(const arrow::Status& status, ErrorKind kind_if_none, std::string_view context) {
  ErrorKind kind = kind_if_none;
  if (status.IsOutOfMemory()) {
    kind = ErrorKind::kMemoryLimit;
  } else if (status.IsNotImplemented() || status.message().starts_with(kNotImplementedPrefix)) {
    kind = ErrorKind::kUnsupported;
  }
  return WithContext(status, kind, context);
}

arrow::Status CurrentParquetException(ErrorKind kind_if_none, std::string_view context) {
  try {
    throw;
  } catch (const parquet::ParquetStatusException& e) {
    return ParquetError(e.status(), kind_if_none, context);
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorKind::kMemoryLimit, "{}: the system has no memory left", context);
  } catch (const std::exception& e) {  // ParquetException, and what the standard library throws on absurd sizes
    return ParquetError(arrow::Status::IOError(e.what()), kind_if_none, context);
  } catch (...) {
    return MakeError(ErrorKind::kInternal, "{}: an exception of unknown type", context);
  }
}

}  // namespace icebound::io
