#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make demo`: a table many times larger than the limit, sorted in 64 MiB, with the peak that the operating system measured."""

import pathlib
import sys
import tempfile

from measure import MIB, ROOT, promised_bytes, run_icebound, tpch

LIMIT_MIB = 64


def main():
    table = tpch(1) / "lineitem.parquet"
    print(f"table    {table.relative_to(ROOT) if table.is_relative_to(ROOT) else table}: "
          f"{table.stat().st_size / MIB:.0f} MiB of Parquet, about 1 GiB in memory")
    with tempfile.TemporaryDirectory(prefix="icebound-demo-") as scratch:
        output = pathlib.Path(scratch) / "sorted.parquet"
        sql = f"COPY (SELECT * FROM '{table}' ORDER BY l_shipdate, l_orderkey, l_linenumber) TO '{output}'"
        print(f"running  icebound --memory-limit {LIMIT_MIB}MiB sql \"COPY (SELECT * FROM 'lineitem.parquet' "
              "ORDER BY l_shipdate, l_orderkey, l_linenumber) TO 'sorted.parquet'\"")
        run = run_icebound(["--quiet", "sql", sql], limit_mib=LIMIT_MIB, spill_dir=scratch)
        if run.exit_code != 0:
            print(run.stderr, file=sys.stderr)
            return 1
        rows = run.metrics["output_rows"]
        check = run_icebound(["sql", "--format", "csv", f"SELECT l_shipdate, l_orderkey FROM '{output}' LIMIT 3"])
        print(f"rows     {rows:,}")
        print(f"time     {run.seconds:.1f} s")
        print(f"spilled  {run.metrics['spilled_bytes'] / MIB:.0f} MiB")
        print(f"peak     {run.peak_mib:.1f} MiB resident, libraries included, as the operating system measured it")
        print(f"         (limit {LIMIT_MIB} MiB; promised: at most {promised_bytes(LIMIT_MIB) / MIB:.0f} MiB for the whole process)")
        print("first rows:", check.stdout.strip().replace("\n", " | "))
        return 0 if run.peak_rss_bytes <= promised_bytes(LIMIT_MIB) else 1


if __name__ == "__main__":
    sys.exit(main())
