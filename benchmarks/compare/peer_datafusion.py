# SPDX-License-Identifier: Apache-2.0
"""One statement in DataFusion, in a process of its own: peer_datafusion.py LIMIT_MIB|none PARTITIONS TEMP_DIR TABLES_DIR SQL

Every Parquet file of TABLES_DIR is a table. With a limit: the fair spill pool of that size, and the disk manager in TEMP_DIR.
"""

import pathlib
import signal
import sys

from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext


# A peer that waits for itself has failed; the comparison goes on. (DataFusion 55 did so in TPC-H q10 at 256 MiB.)
PATIENCE_SECONDS = 900


def main():
    signal.alarm(PATIENCE_SECONDS)
    limit, partitions, temp, tables, sql = sys.argv[1:6]
    pathlib.Path(temp).mkdir(exist_ok=True)
    runtime = RuntimeEnvBuilder().with_disk_manager_specified(temp)
    if limit != "none":
        runtime = runtime.with_fair_spill_pool(int(limit) << 20)
    context = SessionContext(SessionConfig().with_target_partitions(int(partitions)), runtime)
    for path in sorted(pathlib.Path(tables).glob("*.parquet")):
        context.register_parquet(path.stem, str(path))
    context.sql(sql).collect()


if __name__ == "__main__":
    main()
