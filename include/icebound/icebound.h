/* SPDX-License-Identifier: Apache-2.0
 *
 * The library for programs in C, and in every language that calls C (Rust, Go, Java, ...): a session with a memory limit, tables
 * by name, SQL, and rows by the Arrow C stream interface.
 *
 *     icebound_session* session;
 *     icebound_error* error = icebound_open("512MB", NULL, &session);
 *     if (error == NULL) error = icebound_register_parquet(session, "data", "in.parquet", NULL);
 *     struct ArrowArrayStream rows;
 *     if (error == NULL) error = icebound_sql(session, "SELECT * FROM data ORDER BY ts", &rows);
 *     ... rows.get_next(&rows, &batch) until batch.release is NULL; rows.release(&rows) ...
 *     icebound_close(session);
 *
 * struct ArrowArrayStream is declared by <arrow/c/abi.h>, by nanoarrow, or by your own copy of Arrow's specification.
 *
 * Every function that can fail returns an error, or NULL when it did not; the caller frees it. Nothing is thrown. Text is UTF-8
 * and ends with a zero byte. Options are a list of "name=value" that ends with NULL, or NULL for none.
 *
 * A session runs one statement at a time: icebound_cancel and icebound_metrics_json may be called from any thread, the rest from
 * one thread at a time. A stream keeps its session alive: either may be released first. */
#ifndef ICEBOUND_ICEBOUND_H
#define ICEBOUND_ICEBOUND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowArrayStream;

typedef struct icebound_session icebound_session;
typedef struct icebound_error icebound_error;

/* What went wrong, by what the caller can do about it. icebound/error.h says more. */
typedef enum icebound_error_kind {
  ICEBOUND_OK = 0,
  ICEBOUND_INVALID_INPUT = 1,
  ICEBOUND_MEMORY_LIMIT = 2,
  ICEBOUND_DISK_LIMIT = 3,
  ICEBOUND_CORRUPT_DATA = 4,
  ICEBOUND_UNSUPPORTED = 5,
  ICEBOUND_NOT_FOUND = 6,
  ICEBOUND_IO = 7,
  ICEBOUND_EXECUTION = 8,
  ICEBOUND_COMMIT_CONFLICT = 9,
  ICEBOUND_COMMIT_UNKNOWN = 10,
  ICEBOUND_CANCELLED = 11,
  ICEBOUND_INTERNAL = 12
} icebound_error_kind;

/* ICEBOUND_OK for NULL. */
icebound_error_kind icebound_error_kind_of(const icebound_error* error);
/* As long as the error. "" for NULL. */
const char* icebound_error_message(const icebound_error* error);
/* NULL is nothing. */
void icebound_error_free(icebound_error* error);

/* "0.1.0" */
const char* icebound_version(void);

/* Opens a session. `memory_limit` is text like "512MB" or "50%". Options: threads, batch_size, spill_directory, spill_limit
 * ("10GB", "50%", "0B"), pool (fair or greedy); any name with a dot is a storage property (s3.endpoint, ...). The promise is
 * growth of the process over this moment: at most the limit + 50 MiB. */
icebound_error* icebound_open(const char* memory_limit, const char* const* options, icebound_session** session);
/* Frees the session. Streams that are open go on. NULL is nothing. */
void icebound_close(icebound_session* session);

/* A Parquet file, directory or pattern as a table. Options: check_all_files. */
icebound_error* icebound_register_parquet(icebound_session* session, const char* name, const char* path,
                                          const char* const* options);
/* A CSV file, directory or pattern as a table. Options: delimiter, quote, escape, header, columns ("a,b"), null_string (may be
 * repeated), types ("price=double, id=text"), sample_bytes: docs/guide.md. */
icebound_error* icebound_register_csv(icebound_session* session, const char* name, const char* path, const char* const* options);
/* A stream of batches as a table that can be read once. The stream is taken over, also when this fails. */
icebound_error* icebound_register_stream(icebound_session* session, const char* name, struct ArrowArrayStream* stream);

/* An Iceberg catalog, whose tables are name.namespace.table. `options` are its properties by PyIceberg's names (uri, type,
 * warehouse, s3.endpoint, ...); they go before those that .pyiceberg.yaml and PYICEBERG_* have for it: docs/iceberg.md. */
icebound_error* icebound_attach_catalog(icebound_session* session, const char* name, const char* const* options);

/* Plans one statement. Its rows are computed as `rows` is read; COPY runs when its only row, the count, is. An error while
 * reading is in the stream's own get_last_error, and icebound_stream_error_kind has its kind. */
icebound_error* icebound_sql(icebound_session* session, const char* text, struct ArrowArrayStream* rows);
/* Runs one statement and drops its rows: for COPY, CREATE VIEW and the like. `rows` (may be NULL) is their number; of COPY, the
 * number of rows that it wrote. */
icebound_error* icebound_execute(icebound_session* session, const char* text, int64_t* rows);
/* The kind of the last error of any stream of this session; ICEBOUND_OK when there was none. */
icebound_error_kind icebound_stream_error_kind(const icebound_session* session);

/* Stops the running statement at its next batch. Callable from a signal handler. */
void icebound_cancel(icebound_session* session);

/* Counters since the session was opened as one JSON object, the fields of --metrics (docs/guide.md); free it with icebound_free.
 * NULL only when the system has no memory left. */
char* icebound_metrics_json(const icebound_session* session);
void icebound_free(char* text);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ICEBOUND_ICEBOUND_H */
