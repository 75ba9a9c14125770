# SPDX-License-Identifier: Apache-2.0
"""What tests, demo and benchmarks share: run the program under the system's own measurement, and the promise it must keep."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ICEBOUND_BUILD", ROOT / "build" / "release"))
PROGRAM = BUILD / "icebound"
MIB = 1 << 20


def promised_bytes(limit_mib):
    """P(limit): what the process may ever hold resident."""
    limit = limit_mib * MIB
    return min(limit + 50 * MIB, max(limit, 128 * MIB))


@dataclasses.dataclass
class Run:
    exit_code: int
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    stdout: str
    stderr: str
    metrics: dict

    @property
    def peak_mib(self):
        return self.peak_rss_bytes / MIB


def run_command(command, timeout=1800, **popen):
    """Any command, measured from outside by a launcher that is itself small."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        launcher = [sys.executable, "-S", "-E", str(ROOT / "tools" / "run_measured.py"), report]
        done = subprocess.run(
            launcher + [str(part) for part in command], capture_output=True, text=True, timeout=timeout, **popen
        )
        with open(report, encoding="utf-8") as source:
            seen = json.load(source)
    return Run(stdout=done.stdout, stderr=done.stderr, metrics={}, **seen)


def run_icebound(arguments, limit_mib=None, threads=None, spill_dir=None, timeout=1800, **popen):
    """The program with its --metrics read back into Run.metrics (empty when it failed before writing them)."""
    with tempfile.TemporaryDirectory() as scratch:
        metrics = os.path.join(scratch, "metrics.json")
        command = [PROGRAM, "--no-progress", "--metrics", metrics]
        if limit_mib is not None:
            command += ["--memory-limit", f"{limit_mib}MiB"]
        if threads is not None:
            command += ["--threads", str(threads)]
        if spill_dir is not None:
            command += ["--spill-dir", str(spill_dir)]
        run = run_command(command + list(arguments), timeout=timeout, **popen)
        if os.path.exists(metrics):
            with open(metrics, encoding="utf-8") as source:
                run.metrics = json.load(source)
    return run


def tpch(scale, tables=("lineitem",), folder=None):
    """Folder with TPC-H tables as Parquet (tpchgen-cli from PyPI), made once. Override with ICEBOUND_TPCH_DIR, which holds sf1/, sf10/."""
    base = pathlib.Path(folder or os.environ.get("ICEBOUND_TPCH_DIR", ROOT / "build" / "data"))
    target = base / f"sf{scale}"
    missing = [table for table in tables if not (target / f"{table}.parquet").exists()]
    if missing:
        target.mkdir(parents=True, exist_ok=True)
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run(
            [generator, "parquet", "-s", str(scale), "--output-dir", target, "--tables", ",".join(missing)], check=True
        )
    return target
