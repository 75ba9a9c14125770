#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TPC-H and five heavier queries against DuckDB and DataFusion: right answers, peaks and times, all engines in one run.

    query_compare.py [--scale 10] [--limits 256] [--cases q01,agg_orderkey] [--repeat 1] [--peers duckdb,datafusion]
                     [--peer-limit same|none] [--peer-python PYTHON] [--scratch DIR] [--json FILE]

Every answer is compared with DuckDB's without a limit: rows in order where the query has an order, numbers to twelve digits. Peaks
are the system's high-water marks, libraries included; a peak above the promise, a wrong answer and a file left in the spill directory
make the exit code 1. Times never do. A peer that does not finish is shown as `fails`, with the time it took to fail. Behind the
table: geometric means of the ratios over the TPC-H queries that a peer completes, the seconds of the five heavier ones, and the
cases in which a peer is faster.
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
PEERS = ROOT / "benchmarks" / "compare"
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


def select_of(sql):
    return sql.rstrip().rstrip(";")


def run_duckdb(sql, limit, folder, scratch, python=sys.executable):
    target = scratch / "duckdb.csv"
    run = run_command(
        [python, PEERS / "peer_duckdb.py", limit or "none", THREADS, scratch / "duckdb-temp",
         views(folder) + f"COPY ({select_of(sql)}) TO '{target}' (FORMAT csv, HEADER)"],
        timeout=3600,
    )
    return run, target.read_text(encoding="utf-8") if run.exit_code == 0 else None


def run_datafusion(sql, limit, folder, scratch, python=sys.executable):
    target = scratch / "datafusion.csv"
    run = run_command(
        [python, PEERS / "peer_datafusion.py", limit or "none", THREADS, scratch / "datafusion-temp", folder,
         f"COPY ({select_of(sql)}) TO '{target}' STORED AS CSV"],
        timeout=3600,
    )
    return run, None


RUNNERS = {"duckdb": run_duckdb, "datafusion": run_datafusion}
PEER_NAMES = {"duckdb": "DuckDB", "datafusion": "DataFusion"}


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
    """Runs of ours and of each peer, in turns, so that a slow minute of the machine hits all."""
    sql = CASES[name].read_text(encoding="utf-8")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="icebound-bench-", dir=arguments.scratch))
    ours, peers = [], {peer: [] for peer in arguments.peers}
    peer_limit = limit if arguments.peer_limit == "same" else None
    try:
        for _ in range(arguments.repeat):
            ours.append(run_ours(sql, limit, folder, scratch))
            for peer, runs in peers.items():
                runs.append(RUNNERS[peer](sql, peer_limit, folder, scratch, arguments.peer_python))
        answer = next((text for runs in peers.values() for _, text in runs if text is not None), None)
        if name not in arguments.answers:
            arguments.answers[name] = answer or run_duckdb(sql, None, folder, scratch)[1]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return ours, peers


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


def completed(runs):
    return all(run.exit_code == 0 for run, _ in runs)


def peer_cells(peer, runs, ratio):
    """Seconds, peak and ratio of one peer; why it failed goes to the error stream."""
    for run, _ in runs:
        if run.exit_code != 0:
            print(f"{PEER_NAMES[peer]}: {''.join(run.stderr.strip().splitlines()[-1:])}", file=sys.stderr)
    peak = max(run.peak_mib for run, _ in runs)
    fails = "" if completed(runs) else "**fails** "
    return f"{fails}{seconds_of(runs):.2f} | {peak:.0f} | {f'{ratio:.2f}' if ratio else '-'}"


def compare(name, limit, arguments, folder):
    """Measures one case, prints its row and returns it as a dictionary."""
    ours, peers = measure(name, limit, arguments, folder)
    verdicts = sorted({verdict(run, left, arguments.answers[name], limit) for run, left in ours})
    ratios = {
        peer: seconds_of(ours) / seconds_of(runs) if completed(runs) and verdicts == ["right"] else None
        for peer, runs in peers.items()
    }
    peak = max(run.peak_mib for run, _ in ours)
    spilled = max(run.metrics.get("spilled_bytes", 0) for run, _ in ours) / MIB
    cells = [name, limit, f"{seconds_of(ours):.2f}", f"{peak:.0f}", f"{promised_bytes(limit) / MIB:.0f}", f"{spilled:.0f}",
             "; ".join(verdicts), *(peer_cells(peer, runs, ratios[peer]) for peer, runs in peers.items())]
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    return {"case": name, "limit_mib": limit, "verdicts": verdicts, "peak_mib": peak, "ratios": ratios,
            "seconds": [run.seconds for run, _ in ours],
            "peer_seconds": {peer: [run.seconds for run, _ in runs] for peer, runs in peers.items()},
            "metrics": ours[-1][0].metrics}


def print_summary(rows, limit, peers):
    heavier = [row for row in rows if not row["case"].startswith("q")]
    print(f"\nAt {limit} MiB:")
    for peer in peers:
        logs = [math.log(row["ratios"][peer]) for row in rows if row["case"].startswith("q") and row["ratios"][peer]]
        if logs:
            print(f"- {PEER_NAMES[peer]}: geometric mean of {len(logs)} TPC-H ratios {math.exp(sum(logs) / len(logs)):.2f}")
        both = [row for row in heavier if row["ratios"][peer]]
        if both:
            ours, theirs = (sum(map(statistics.median, column)) for column in
                            ([row["seconds"] for row in both], [row["peer_seconds"][peer] for row in both]))
            print(f"- {PEER_NAMES[peer]}: {len(both)} heavier queries that both complete: {ours:.1f} s against {theirs:.1f} s")
        faster = [f"{row['case']} ({row['ratios'][peer]:.2f})" for row in rows if (row["ratios"][peer] or 0) > 1]
        print(f"- {PEER_NAMES[peer]} is faster in {len(faster)}: {', '.join(faster) or 'none'}")
    if heavier:
        total = sum(statistics.median(row["seconds"]) for row in heavier)
        print(f"- our {len(heavier)} heavier queries together: {total:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--limits", default="256")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--peers", default=",".join(RUNNERS), help="comma separated; empty for none")
    parser.add_argument("--peer-limit", choices=["same", "none"], default="same")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has the peers' packages")
    parser.add_argument("--scratch", default=None, help="directory for spill and answers (default: the system's)")
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    arguments.answers = {}
    arguments.peers = [peer for peer in arguments.peers.split(",") if peer]
    folder = tpch(arguments.scale, TABLES)
    rows = []
    titles = ["s", "peak MiB", "promised", "spilled MiB", "answer"]
    for peer in arguments.peers:
        titles += [f"{PEER_NAMES[peer]} s", "peak MiB", "ratio"]
    print(f"| case (SF{arguments.scale}) | limit | {' | '.join(titles)} |")
    print("|---|---|" + "---|" * len(titles), flush=True)
    limits = [int(limit) for limit in arguments.limits.split(",")]
    for limit in limits:
        rows += [compare(name, limit, arguments, folder) for name in arguments.cases.split(",")]
    for limit in limits:
        print_summary([row for row in rows if row["limit_mib"] == limit], limit, arguments.peers)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 1 if any(row["verdicts"] != ["right"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
