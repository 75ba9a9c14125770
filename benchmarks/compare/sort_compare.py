#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: whole-row sorts of TPC-H lineitem against DuckDB, pairs in one run, medians.

    sort_compare.py [--scales 1,10] [--limits 256] [--sorts sort_keys] [--repeat 3] [--scratch DIR] [--json FILE]

Each line is one case: our time and peak at the limit, the peer's at its own (its limit stands beside it), and the ratio of the medians.
Runs of a pair alternate, so that a slow minute of the machine hits both. Peaks are the system's high-water marks, libraries included.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from measure import MIB, promised_bytes, run_command, run_icebound, tpch  # noqa: E402

KEYS = {"sort_keys": "l_shipdate, l_orderkey, l_linenumber", "sort_string": "l_comment"}
THREADS = 2

# (scale, sort, our limit in MiB, DuckDB's limit in MiB or None for no limit)
CASES = [
    (1, "sort_keys", 128, 128),
    (1, "sort_string", 128, 128),
    (1, "sort_keys", 64, None),
    (10, "sort_keys", 256, None),
    (10, "sort_string", 256, None),
    (10, "sort_keys", 128, None),
    (10, "sort_keys", 64, None),
    (10, "sort_string", 128, None),
    (10, "sort_string", 64, None),
]


def statement(table, sort, target):
    return f"COPY (SELECT * FROM '{table}' ORDER BY {KEYS[sort]}) TO '{target}' (FORMAT parquet)"


def run_ours(table, sort, limit, scratch):
    target = scratch / "ours.parquet"
    run = run_icebound(["--quiet", "sql", statement(table, sort, target)], limit_mib=limit, threads=THREADS, spill_dir=scratch)
    return run, target


def run_duckdb(table, sort, limit, scratch):
    target = scratch / "peer.parquet"
    script = ROOT / "benchmarks" / "compare" / "peer_duckdb.py"
    run = run_command(
        [sys.executable, script, limit or "none", THREADS, scratch / "duckdb-temp", statement(table, sort, target)]
    )
    return run, target


def measure(case, repeat, scratch_root):
    scale, sort, our_limit, peer_limit = case
    table = tpch(scale) / "lineitem.parquet"
    ours, peers = [], []
    for _ in range(repeat):
        for runner, limit, runs in ((run_ours, our_limit, ours), (run_duckdb, peer_limit, peers)):
            scratch = pathlib.Path(tempfile.mkdtemp(prefix="icebound-bench-", dir=scratch_root))
            try:
                runs.append(runner(table, sort, limit, scratch)[0])
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return ours, peers


def median(runs):
    return statistics.median(run.seconds for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", default="1,10")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sorts", default="sort_keys,sort_string")
    parser.add_argument("--limits", default=None, help="only the cases with these limits of ours, in MiB")
    parser.add_argument("--scratch", default=None, help="directory for outputs and spill (default: the system's)")
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    scales = {int(scale) for scale in arguments.scales.split(",")}
    limits = {int(limit) for limit in arguments.limits.split(",")} if arguments.limits else None
    rows = []
    print("| case | scale | icebound limit | s | peak MiB | promised | spilled MiB | DuckDB limit | s | peak MiB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        scale, sort, our_limit, peer_limit = case
        if scale not in scales or sort not in arguments.sorts or (limits and our_limit not in limits):
            continue
        ours, peers = measure(case, arguments.repeat, arguments.scratch)
        ours_ok = all(run.exit_code == 0 for run in ours)
        peer_ok = all(run.exit_code == 0 for run in peers)
        ratio = f"{median(ours) / median(peers):.2f}" if ours_ok and peer_ok else "-"
        peak = max(run.peak_mib for run in ours)
        promised = promised_bytes(our_limit) / MIB
        spilled = max(run.metrics.get("spilled_bytes", 0) for run in ours) / MIB
        print(
            f"| {sort} | SF{scale} | {our_limit} | {median(ours):.1f}{'' if ours_ok else ' **fails**'} | {peak:.0f} | "
            f"{promised:.0f}{'' if peak <= promised else ' **broken**'} | {spilled:.0f} | {peer_limit or 'none'} | "
            f"{median(peers):.1f}{'' if peer_ok else ' **fails**'} | {max(run.peak_mib for run in peers):.0f} | {ratio} |",
            flush=True,
        )
        rows.append(
            {
                "case": sort, "scale": scale, "limit_mib": our_limit, "peer_limit_mib": peer_limit,
                "seconds": [run.seconds for run in ours], "peer_seconds": [run.seconds for run in peers],
                "peak_mib": peak, "metrics": ours[-1].metrics,
            }
        )
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
