#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Equality deletes of Iceberg tables, against the same anti-join over plain Parquet in DuckDB.

    delete_compare.py [--rows 6,60] [--limit 64] [--peer-limit 256] [--repeat 3] [--scratch DIR] [--json FILE]

One table for each number of million rows: keys in random order in files of 2M rows, half of them deleted by one commit of equality deletes.
A last table has 500 commits of one data file and one equality delete file each, beside the same rows without deletes: what the deletes cost
is a ratio there. All are counted and summed, and every answer is compared with what the generator knows.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "interop")]

from iceberg_files import Commit, catalog_in, path_of, with_ids  # noqa: E402
from measure import MIB, promised_bytes, run_command, run_icebound  # noqa: E402

THREADS = 2
FILE_ROWS = 2_000_000
COMMITS = 500
COMMIT_ROWS = 20_000
SCHEMA = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", LongType()))
DATA = with_ids([(1, "k", pa.int64()), (2, "v", pa.int64())])
KEYS = with_ids([(1, "k", pa.int64())])
QUERY = "SELECT count(*) AS n, sum(k) AS s, sum(v) AS t FROM"


def folder_of(path):
    path.mkdir(parents=True)
    return path


def half_deleted(rows, folder):
    """A table, and the answer: count and sum of k; v is 3 * k."""
    table = catalog_in(folder).create_table("n.t", schema=SCHEMA)
    random = np.random.default_rng(rows)
    keys = random.permutation(rows)
    commit = Commit(table)
    for first in range(0, rows, FILE_ROWS):
        part = keys[first : first + FILE_ROWS]
        commit.data(pa.table([part, part * 3], schema=DATA))
    table = commit.commit()
    gone = random.permutation(rows)[: rows // 2]
    commit = Commit(table)
    commit.equality_deletes(pa.table([gone], schema=KEYS), [1])
    left = rows * (rows - 1) // 2 - int(gone.sum())
    return commit.commit(), (rows - len(gone), left)


def many_commits(folder, with_deletes):
    """Each commit deletes a tenth of the rows of the one before it; or the data files alone."""
    table = catalog_in(folder).create_table("n.t", schema=SCHEMA)
    count, total = 0, 0
    for number in range(COMMITS):
        commit = Commit(table)
        first = number * COMMIT_ROWS
        keys = np.arange(first, first + COMMIT_ROWS)
        commit.data(pa.table([keys, keys * 3], schema=DATA))
        count, total = count + len(keys), total + int(keys.sum())
        if with_deletes:
            gone = np.arange(first - COMMIT_ROWS, first, 10) if number else np.array([-1])
            commit.equality_deletes(pa.table([gone], schema=KEYS), [1])
            count, total = (count - len(gone), total - int(gone.sum())) if number else (count, total)
        table = commit.commit()
    return table, (count, total)


def run_ours(table, limit, scratch):
    query = f"{QUERY} iceberg('{path_of(table)}')"
    return run_icebound(["--quiet", "sql", query, "--format", "json"], limit_mib=limit, threads=THREADS, spill_dir=scratch)


def run_duckdb(folder, limit, scratch):
    data, deletes = sorted((folder / "warehouse").rglob("*-data.parquet")), sorted((folder / "warehouse").rglob("*-equality.parquet"))
    files = lambda paths: "[" + ", ".join(f"'{path}'" for path in paths) + "]"  # noqa: E731
    query = (
        f"{QUERY} read_parquet({files(data)}) d WHERE NOT EXISTS"
        f" (SELECT 1 FROM read_parquet({files(deletes)}) e WHERE e.k IS NOT DISTINCT FROM d.k)"
    )
    script = ROOT / "benchmarks" / "compare" / "peer_duckdb.py"
    return run_command([sys.executable, script, limit, THREADS, scratch / "duckdb-temp", query])


def answer_of(run):
    row = json.loads(run.stdout)[0]
    return int(row["n"]), int(row["s"])


def median(runs):
    return statistics.median(run.seconds for run in runs)


def report(name, limit, ours, expected, peer_text):
    answers = {answer_of(run) for run in ours if run.exit_code == 0}
    right = "right" if answers == {expected} and all(run.exit_code == 0 for run in ours) else "**wrong**"
    peak, promised = max(run.peak_mib for run in ours), promised_bytes(limit) / MIB
    spilled = max(run.metrics.get("spilled_bytes", 0) for run in ours) / MIB
    print(
        f"| {name} | {limit} | {median(ours):.1f} | {peak:.0f} | {promised:.0f}{'' if peak <= promised else ' **broken**'} | "
        f"{spilled:.0f} | {right} | {peer_text} |",
        flush=True,
    )
    return {"case": name, "seconds": [run.seconds for run in ours], "peak_mib": peak, "answer": right}


def compare_half_deleted(million, arguments, scratch):
    folder = folder_of(scratch / f"rows-{million}")
    table, expected = half_deleted(million * 1_000_000, folder)
    ours, peers = [], []
    for _ in range(arguments.repeat):
        ours.append(run_ours(table, arguments.limit, scratch))
        peers.append(run_duckdb(folder, arguments.peer_limit, scratch))
    peer = f"{median(peers):.1f} s, {max(run.peak_mib for run in peers):.0f} MiB: {median(ours) / median(peers):.2f}x"
    if any(run.exit_code != 0 for run in peers):
        peer = "fails"
    name = f"{million}M rows, {million / 2:g}M deleted keys"
    return report(name, arguments.limit, ours, expected, f"DuckDB at {arguments.peer_limit}: {peer}")


def compare_many_commits(arguments, scratch):
    plain, plain_answer = many_commits(folder_of(scratch / "plain"), with_deletes=False)
    table, expected = many_commits(folder_of(scratch / "commits"), with_deletes=True)
    ours, others = [], []
    for _ in range(arguments.repeat):
        ours.append(run_ours(table, arguments.limit, scratch))
        others.append(run_ours(plain, arguments.limit, scratch))
    if {answer_of(run) for run in others} != {plain_answer}:
        raise SystemExit("the table without deletes is read wrong")
    text = f"without deletes: {median(others):.2f} s: {median(ours) / median(others):.1f}x"
    return report(f"{COMMITS} commits of data and equality deletes", arguments.limit, ours, expected, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="6,60", help="millions, comma separated")
    parser.add_argument("--limit", type=int, default=64, help="ours, in MiB")
    parser.add_argument("--peer-limit", type=int, default=256, help="DuckDB's, in MiB")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scratch", default=None, help="directory for tables and spill (default: the system's)")
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    print("| table | icebound limit | s | peak MiB | promised | spilled MiB | answer | beside it |")
    print("|---|---|---|---|---|---|---|---|")
    results = []
    with tempfile.TemporaryDirectory(prefix="icebound-bench-", dir=arguments.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        results.append(compare_many_commits(arguments, scratch))
        results.extend(compare_half_deleted(int(million), arguments, scratch) for million in arguments.rows.split(","))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=2), encoding="utf-8")
    return 0 if all(result["answer"] == "right" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
