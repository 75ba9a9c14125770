/* SPDX-License-Identifier: Apache-2.0
 *
 * The same in C: sort_file_c INPUT.parquet COLUMN, or INPUT.csv. Rows come by the Arrow C stream interface. */
#include <arrow/c/abi.h>
#include <icebound/icebound.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads all rows; an error is the stream's own. */
static int count_rows(struct ArrowArrayStream* stream, int64_t* rows) {
  struct ArrowArray batch;
  *rows = 0;
  for (;;) {
    if (stream->get_next(stream, &batch) != 0) {
      fprintf(stderr, "%s\n", stream->get_last_error(stream));
      return 1;
    }
    if (batch.release == NULL) return 0;
    *rows += batch.length;
    batch.release(&batch);
  }
}

static int fail(icebound_error* error) {
  const int kind = icebound_error_kind_of(error);
  fprintf(stderr, "%s\n", icebound_error_message(error));
  icebound_error_free(error);
  return kind;
}

int main(int argc, char** argv) {
  static const char* const options[] = {"threads=2", NULL};
  char text[512];
  icebound_session* session = NULL;
  struct ArrowArrayStream stream;
  int64_t rows;
  char* metrics;
  int failed;
  icebound_error* error;
  if (argc != 3) return fprintf(stderr, "usage: sort_file_c INPUT COLUMN\n"), 2;

  error = icebound_open("64MiB", options, &session);
  if (error == NULL) {
    const size_t length = strlen(argv[1]);
    const int is_csv = length > 4 && strcmp(argv[1] + length - 4, ".csv") == 0;
    error = is_csv ? icebound_register_csv(session, "data", argv[1], NULL)
                   : icebound_register_parquet(session, "data", argv[1], NULL);
  }
  snprintf(text, sizeof(text), "SELECT * FROM data ORDER BY %s", argv[2]);
  if (error == NULL) error = icebound_sql(session, text, &stream);
  if (error != NULL) {
    failed = fail(error);
    icebound_close(session);
    return failed;
  }
  failed = count_rows(&stream, &rows);
  stream.release(&stream);
  metrics = icebound_metrics_json(session);
  if (!failed) printf("%" PRId64 " rows, %s\n", rows, metrics);
  icebound_free(metrics);
  icebound_close(session);
  return failed;
}
