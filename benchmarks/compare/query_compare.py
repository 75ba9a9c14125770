#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TPC-H and five heavier queries against DuckDB: right answers, peaks and times, pairs in one run.

    query_compare.py [--scale 10] [--limits 256] [--cases q01,agg_orderkey] [--repeat 1] [--peer-limit same|none|skip] [--json FILE]

Every answer is compared with DuckDB's without a limit: rows in order where the query has an order, numbers to twelve digits. Peaks
are the system's high-water marks, libraries included; a peak above the promise, a wrong answer and a file left in the spill directory
make the exit code 1. Times never do.
"""

import argparse
import csv
import decimal
import io
import json
import math
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from measure import MIB, promised_bytes, run_command, run_icebound, tpch  # noqa: E402

THREADS = 2
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES = ROOT / "benchmarks" / "queries"
CASES = {path.stem: path for folder in ("tpch", "bounded") for path in sorted((QUERIES / folder).glob("*.sql"))}


def views(folder):
    return "".join(f"CREATE VIEW {table} AS SELECT * FROM '{folder / table}.parquet';\n" for table in TABLES)


def run_ours(sql, limit, folder, scratch):
    script = scratch / "ours.sql"
    script.write_text(views(folder) + sql, encoding="utf-8")
    spill = scratch / "spill"
    spill.mkdir(exist_ok=True)
    run = run_icebound(
        ["--quiet", "sql", "--format", "csv", "-f", script], limit_mib=limit, threads=THREADS, spill_dir=spill, timeout=3600
    )
    return run, [path.name for path in spill.iterdir()]


def run_duckdb(sql, limit, folder, scratch):
    script = ROOT / "benchmarks" / "compare" / "peer_duckdb.py"
    target = scratch / "peer.csv"
    run = run_command(
        [sys.executable, script, limit or "none", THREADS, scratch / "duckdb-temp",
         views(folder) + f"COPY ({sql.rstrip().rstrip(';')}) TO '{target}' (FORMAT csv, HEADER)"],
        timeout=3600,
    )
    return run, target.read_text(encoding="utf-8") if run.exit_code == 0 else None


def parse(text):
    rows = list(csv.reader(io.StringIO(text)))
    return [[number(cell) for cell in row] for row in rows[1:]]


def number(cell):
    try:
        return decimal.Decimal(cell)
    except decimal.InvalidOperation:
        return cell


def same(left, right):
    """Equal, numbers to twelve digits."""
    if isinstance(left, decimal.Decimal) and isinstance(right, decimal.Decimal):
        return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-9) or left == right
    return left == right


def same_rows(ours, theirs):
    if len(ours) != len(theirs):
        return False
    return all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(ours, theirs))


def measure(name, limit, arguments, folder):
    sql = CASES[name].read_text(encoding="utf-8")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="icebound-bench-", dir=arguments.scratch))
    ours, peers = [], []
    try:
        for _ in range(arguments.repeat):
            ours.append(run_ours(sql, limit, folder, scratch))
            if arguments.peer_limit != "skip":
                peers.append(run_duckdb(sql, limit if arguments.peer_limit == "same" else None, folder, scratch))
        answer = arguments.answers.get(name)
        if answer is None:
            answer = next((text for _, text in peers if text is not None), None) or run_duckdb(sql, None, folder, scratch)[1]
            arguments.answers[name] = answer
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return ours, peers, answer


def verdict(run, left, answer, limit):
    if run.exit_code != 0:
        return f"**fails** {run.stderr.strip().splitlines()[:1]}"
    if not same_rows(parse(run.stdout), parse(answer)):
        return "**wrong**"
    if run.peak_rss_bytes > promised_bytes(limit):
        return "**above the promise**"
    if left:
        return f"**left {left}**"
    return "right"


def seconds_of(runs):
    return statistics.median(run.seconds for run, _ in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--limits", default="256")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--peer-limit", choices=["same", "none", "skip"], default="same")
    parser.add_argument("--scratch", default=None, help="directory for spill and answers (default: the system's)")
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    arguments.answers = {}
    folder = tpch(arguments.scale, TABLES)
    faults, rows = 0, []
    print(f"| case (SF{arguments.scale}) | limit | s | peak MiB | promised | spilled MiB | answer | DuckDB s | peak MiB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for limit in (int(limit) for limit in arguments.limits.split(",")):
        logs = []
        for name in arguments.cases.split(","):
            ours, peers, answer = measure(name, limit, arguments, folder)
            verdicts = {verdict(run, left, answer, limit) for run, left in ours}
            faults += verdicts != {"right"}
            peer_ok = peers and all(run.exit_code == 0 for run, _ in peers)
            ratio = seconds_of(ours) / seconds_of(peers) if peer_ok and verdicts == {"right"} else None
            if ratio is not None and name.startswith("q"):
                logs.append(math.log(ratio))
            peak = max(run.peak_mib for run, _ in ours)
            spilled = max(run.metrics.get("spilled_bytes", 0) for run, _ in ours) / MIB
            peer_text = "- | -" if not peers else (
                f"{seconds_of(peers):.1f}{'' if peer_ok else ' **fails**'} | {max(run.peak_mib for run, _ in peers):.0f}"
            )
            print(
                f"| {name} | {limit} | {seconds_of(ours):.1f} | {peak:.0f} | {promised_bytes(limit) / MIB:.0f} | {spilled:.0f} | "
                f"{'; '.join(sorted(verdicts))} | {peer_text} | {f'{ratio:.2f}' if ratio is not None else '-'} |",
                flush=True,
            )
            rows.append({"case": name, "limit_mib": limit, "verdicts": sorted(verdicts), "peak_mib": peak, "ratio": ratio,
                         "seconds": [run.seconds for run, _ in ours], "peer_seconds": [run.seconds for run, _ in peers],
                         "metrics": ours[-1][0].metrics})
        if logs:
            print(f"geometric mean over {len(logs)} TPC-H queries at {limit} MiB: {math.exp(sum(logs) / len(logs)):.2f}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
