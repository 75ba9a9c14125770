# SPDX-License-Identifier: Apache-2.0
"""One statement in DuckDB, in a process of its own: peer_duckdb.py LIMIT_MIB|none THREADS TEMP_DIR SQL"""

import sys

import duckdb


def main():
    limit, threads, temp, sql = sys.argv[1:5]
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET threads = {int(threads)}")
    connection.execute(f"SET temp_directory = '{temp}'")
    if limit != "none":
        connection.execute(f"SET memory_limit = '{int(limit)}MiB'")
    print(connection.execute(sql).fetchall())


if __name__ == "__main__":
    main()
