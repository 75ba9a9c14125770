// SPDX-License-Identifier: Apache-2.0
//
// The C face over the C++ one: options from text, errors as objects, nothing thrown.
#include <arrow/c/bridge.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "icebound/icebound.h"
#include "icebound/session.h"
#include "icebound/version.h"
#include "io/copy_options.h"
#include "io/csv/csv_options.h"

struct icebound_error {
  icebound_error_kind kind;
  std::string message;
};

/// The kind of the last error of a stream lives as long as the streams do.
struct icebound_session {
  std::shared_ptr<icebound::Session> session;
  std::shared_ptr<std::atomic<int>> stream_error = std::make_shared<std::atomic<int>>(ICEBOUND_OK);
};

namespace icebound {
namespace {

using OptionList = std::vector<std::pair<std::string, std::string>>;

constexpr icebound_error_kind KindOf(ErrorKind kind) { return static_cast<icebound_error_kind>(static_cast<int>(kind) + 1); }
static_assert(KindOf(ErrorKind::kInvalidInput) == ICEBOUND_INVALID_INPUT &&
              KindOf(ErrorKind::kMemoryLimit) == ICEBOUND_MEMORY_LIMIT && KindOf(ErrorKind::kDiskLimit) == ICEBOUND_DISK_LIMIT &&
              KindOf(ErrorKind::kCorruptData) == ICEBOUND_CORRUPT_DATA &&
              KindOf(ErrorKind::kUnsupported) == ICEBOUND_UNSUPPORTED && KindOf(ErrorKind::kNotFound) == ICEBOUND_NOT_FOUND &&
              KindOf(ErrorKind::kIo) == ICEBOUND_IO && KindOf(ErrorKind::kExecution) == ICEBOUND_EXECUTION &&
              KindOf(ErrorKind::kCommitConflict) == ICEBOUND_COMMIT_CONFLICT &&
              KindOf(ErrorKind::kCommitUnknown) == ICEBOUND_COMMIT_UNKNOWN &&
              KindOf(ErrorKind::kCancelled) == ICEBOUND_CANCELLED && KindOf(ErrorKind::kInternal) == ICEBOUND_INTERNAL);

icebound_error_kind KindOf(const arrow::Status& status) {
  if (status.ok()) return ICEBOUND_OK;
  if (status.IsCancelled()) return ICEBOUND_CANCELLED;
  return KindOf(GetErrorKind(status).value_or(ErrorKind::kInternal));
}

/// What is returned when there is no memory for an error: made when the library is loaded.
icebound_error no_memory_error{ICEBOUND_MEMORY_LIMIT, "the system has no memory left"};

/// Runs `body`, which returns arrow::Status, and gives what it says or throws to a caller in C.
template <typename Body>
icebound_error* Guard(Body&& body) noexcept {
  try {
    arrow::Status status;
    try {
      status = body();
    } catch (const std::bad_alloc&) {
      return &no_memory_error;
    } catch (const std::exception& e) {
      status = MakeError(ErrorKind::kInternal, "an exception: {}", e.what());
    }
    return status.ok() ? nullptr : new icebound_error{KindOf(status), status.message()};
  } catch (...) {
    return &no_memory_error;
  }
}

arrow::Result<OptionList> ReadOptions(const char* const* options) {
  OptionList list;
  for (; options != nullptr && *options != nullptr; ++options) {
    const char* const equals = std::strchr(*options, '=');
    if (equals == nullptr || equals == *options) {
      return MakeError(ErrorKind::kInvalidInput, "an option must be name=value: \"{}\"", *options);
    }
    list.emplace_back(std::string(*options, equals), equals + 1);
  }
  return list;
}

arrow::Status CheckText(const char* text, std::string_view what) {
  return text != nullptr ? arrow::Status::OK() : MakeError(ErrorKind::kInvalidInput, "the {} is NULL", what);
}

arrow::Status CheckSession(const icebound_session* session) {
  return session != nullptr ? arrow::Status::OK() : MakeError(ErrorKind::kInvalidInput, "the session is NULL");
}

arrow::Status ApplyOption(const std::string& name, const std::string& value, BoundedSessionConfig* config) {
  const io::CopyOptions single = {{name, value}};
  constexpr int64_t kThreadsMax = 1024, kBatchRowsMax = int64_t{1} << 20;
  if (name == "threads") {
    ARROW_ASSIGN_OR_RAISE(const auto threads, io::IntegerOption(single, name, 1, kThreadsMax));
    config->target_partitions = static_cast<int>(*threads);
  } else if (name == "batch_size") {
    ARROW_ASSIGN_OR_RAISE(config->batch_size, io::IntegerOption(single, name, 1, kBatchRowsMax));
  } else if (name == "spill_directory") {
    config->spill_directory = value;
  } else if (name == "pool" && (value == "fair" || value == "greedy")) {
    config->pool = value == "fair" ? PoolPolicy::kFair : PoolPolicy::kGreedy;
  } else if (name != "spill_limit" && name.find('.') == std::string::npos) {
    return MakeError(ErrorKind::kInvalidInput, "no option of a session: \"{}={}\"", name, value);
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<Session>> Open(const char* memory_limit, const OptionList& options) {
  ARROW_ASSIGN_OR_RAISE(const int64_t limit_bytes, ParseMemoryLimit(memory_limit));
  BoundedSessionConfig config(limit_bytes);
  for (const auto& [name, value] : options) ARROW_RETURN_NOT_OK(ApplyOption(name, value, &config));
  for (const auto& [name, value] : options) {
    if (name != "spill_limit") continue;
    ARROW_ASSIGN_OR_RAISE(config.spill_limit_bytes, ParseSpillLimit(value, config.spill_directory.value_or("")));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Session> session, CreateBoundedSession(config));
  for (const auto& [name, value] : options) {
    if (name.find('.') != std::string::npos) ARROW_RETURN_NOT_OK(session->SetProperty(name, value));
  }
  return session;
}

/// Remembers the kind of an error on its way to a consumer that only sees text.
class WatchedReader final : public arrow::RecordBatchReader {
 public:
  WatchedReader(std::shared_ptr<arrow::RecordBatchReader> reader, std::shared_ptr<std::atomic<int>> error)
      : reader_(std::move(reader)), error_(std::move(error)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    arrow::Status status;
    try {
      status = reader_->ReadNext(batch);
    } catch (const std::exception& e) {
      status = MakeError(ErrorKind::kInternal, "an exception: {}", e.what());
    }
    if (!status.ok()) error_->store(KindOf(status));
    return status;
  }

 private:
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
  const std::shared_ptr<std::atomic<int>> error_;
};

/// The rows of a statement, or of COPY the rows that it wrote.
arrow::Result<int64_t> CountRows(Result* result) {
  ARROW_ASSIGN_OR_RAISE(const auto reader, result->ToReader());
  int64_t rows = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return rows;
    if (result->kind() == ResultKind::kCount && batch->num_rows() == 1) {
      return static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(0);
    }
    rows += batch->num_rows();
  }
}

std::string MetricsText(const QueryMetrics& metrics) {
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const OperatorMetrics& row : metrics.operators) {
    operators.push_back({{"name", row.name},
                         {"rows", row.rows},
                         {"seconds", row.seconds},
                         {"peak_bytes", row.peak_bytes},
                         {"spilled_bytes", row.spilled_bytes},
                         {"spill_levels", row.spill_levels}});
  }
  const nlohmann::ordered_json document = {{"peak_rss_bytes", metrics.peak_rss_bytes},
                                           {"memory_limit_bytes", metrics.memory_limit_bytes},
                                           {"peak_ledger_bytes", metrics.peak_ledger_bytes},
                                           {"spilled_bytes", metrics.spilled_bytes},
                                           {"spilled_raw_bytes", metrics.spilled_raw_bytes},
                                           {"spill_peak_bytes", metrics.spill_peak_bytes},
                                           {"spill_files", metrics.spill_files},
                                           {"input_rows", metrics.input_rows},
                                           {"output_rows", metrics.output_rows},
                                           {"input_bytes", metrics.input_bytes},
                                           {"wall_seconds", metrics.wall_seconds},
                                           {"cpu_seconds", metrics.cpu_seconds},
                                           {"operators", std::move(operators)}};
  return document.dump();
}

}  // namespace
}  // namespace icebound

using icebound::Guard;

extern "C" {

icebound_error_kind icebound_error_kind_of(const icebound_error* error) { return error == nullptr ? ICEBOUND_OK : error->kind; }

const char* icebound_error_message(const icebound_error* error) { return error == nullptr ? "" : error->message.c_str(); }

void icebound_error_free(icebound_error* error) {
  if (error != &icebound::no_memory_error) delete error;
}

const char* icebound_version(void) { return icebound::kVersion; }

icebound_error* icebound_open(const char* memory_limit, const char* const* options, icebound_session** session) {
  return Guard([&]() -> arrow::Status {
    if (session == nullptr) return icebound::CheckSession(nullptr);
    *session = nullptr;
    ARROW_RETURN_NOT_OK(icebound::CheckText(memory_limit, "memory limit"));
    ARROW_ASSIGN_OR_RAISE(const auto list, icebound::ReadOptions(options));
    ARROW_ASSIGN_OR_RAISE(auto opened, icebound::Open(memory_limit, list));
    *session = new icebound_session{std::move(opened)};
    return arrow::Status::OK();
  });
}

void icebound_close(icebound_session* session) { delete session; }

icebound_error* icebound_register_parquet(icebound_session* session, const char* name, const char* path,
                                          const char* const* options) {
  return Guard([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(name, "table's name"));
    ARROW_RETURN_NOT_OK(icebound::CheckText(path, "path"));
    ARROW_ASSIGN_OR_RAISE(const auto list, icebound::ReadOptions(options));
    icebound::ParquetReadOptions parsed;
    for (const auto& [option, value] : list) {
      constexpr std::array<std::string_view, 1> kNames = {"check_all_files"};
      const icebound::io::CopyOptions single = {{option, value}};
      ARROW_RETURN_NOT_OK(icebound::io::CheckOptionNames(single, kNames, "parquet"));
      ARROW_ASSIGN_OR_RAISE(const auto check_all_files, icebound::io::BooleanOption(single, option));
      parsed.check_all_files = *check_all_files;
    }
    return session->session->RegisterParquet(name, path, parsed);
  });
}

icebound_error* icebound_register_csv(icebound_session* session, const char* name, const char* path, const char* const* options) {
  return Guard([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(name, "table's name"));
    ARROW_RETURN_NOT_OK(icebound::CheckText(path, "path"));
    ARROW_ASSIGN_OR_RAISE(const auto list, icebound::ReadOptions(options));
    ARROW_ASSIGN_OR_RAISE(const auto parsed, icebound::io::ParseCsvOptions(list));
    return session->session->RegisterCsv(name, path, parsed);
  });
}

icebound_error* icebound_register_stream(icebound_session* session, const char* name, struct ArrowArrayStream* stream) {
  return Guard([&]() -> arrow::Status {
    if (stream == nullptr) return icebound::MakeError(icebound::ErrorKind::kInvalidInput, "the stream is NULL");
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ImportRecordBatchReader(stream));
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(name, "table's name"));
    return session->session->RegisterArrow(name, std::move(reader));
  });
}

icebound_error* icebound_attach_catalog(icebound_session* session, const char* name, const char* const* options) {
  return Guard([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(name, "catalog's name"));
    ARROW_ASSIGN_OR_RAISE(const auto list, icebound::ReadOptions(options));
    return session->session->AttachCatalog(name, {list.begin(), list.end()});
  });
}

icebound_error* icebound_sql(icebound_session* session, const char* text, struct ArrowArrayStream* rows) {
  return Guard([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(text, "statement"));
    if (rows == nullptr) return icebound::MakeError(icebound::ErrorKind::kInvalidInput, "the stream is NULL");
    ARROW_ASSIGN_OR_RAISE(auto result, session->session->Sql(text));
    ARROW_ASSIGN_OR_RAISE(auto reader, result->ToReader());
    return arrow::ExportRecordBatchReader(std::make_shared<icebound::WatchedReader>(std::move(reader), session->stream_error),
                                          rows);
  });
}

icebound_error* icebound_execute(icebound_session* session, const char* text, int64_t* rows) {
  return Guard([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(icebound::CheckSession(session));
    ARROW_RETURN_NOT_OK(icebound::CheckText(text, "statement"));
    ARROW_ASSIGN_OR_RAISE(const auto result, session->session->Sql(text));
    ARROW_ASSIGN_OR_RAISE(const int64_t count, icebound::CountRows(result.get()));
    if (rows != nullptr) *rows = count;
    return arrow::Status::OK();
  });
}

icebound_error_kind icebound_stream_error_kind(const icebound_session* session) {
  return session == nullptr ? ICEBOUND_OK : static_cast<icebound_error_kind>(session->stream_error->load());
}

void icebound_cancel(icebound_session* session) {
  if (session != nullptr) session->session->Cancel();
}

char* icebound_metrics_json(const icebound_session* session) {
  try {
    return session == nullptr ? nullptr : strdup(icebound::MetricsText(session->session->metrics()).c_str());
  } catch (...) {
    return nullptr;
  }
}

void icebound_free(char* text) { std::free(text); }

}  // extern "C"
