# SPDX-License-Identifier: Apache-2.0
"""One statement in DuckDB, in a process of its own: peer_duckdb.py LIMIT_MIB|none THREADS TEMP_DIR SQL"""

import signal
import sys

import duckdb


# A peer that waits for itself has failed; the comparison goes on.
PATIENCE_SECONDS = 900


def main():
    signal.alarm(PATIENCE_SECONDS)
    limit, threads, temp, sql = sys.argv[1:5]
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET threads = {int(threads)}")
    connection.execute(f"SET temp_directory = '{temp}'")
    if limit != "none":
        connection.execute(f"SET memory_limit = '{int(limit)}MiB'")
    print(connection.execute(sql).fetchall())


if __name__ == "__main__":
    main()
