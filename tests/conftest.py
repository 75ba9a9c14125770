# SPDX-License-Identifier: Apache-2.0
"""Shared by all Python tests: the program under measurement, the TPC-H tables, and the promise as an assertion."""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import measure  # noqa: E402


@pytest.fixture(scope="session")
def lineitem():
    """TPC-H SF1 lineitem: 6,001,215 rows, about 1 GiB in memory."""
    return measure.tpch(1) / "lineitem.parquet"


@pytest.fixture(scope="session")
def three_gib_of_text(tmp_path_factory):
    """3000 rows (k, s) in no order of k, each s of 1 MiB: more than the offsets of one string array can tell. Small on disk."""
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    schema = pa.schema([("k", pa.int64()), ("s", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as writer:
        for first in range(0, 3000, 10):
            keys = [(first + i) * 7919 % 3001 for i in range(10)]
            writer.write_table(pa.table([keys, [f"{key:08}" * (1 << 17) for key in keys]], schema=schema))
    return path


@pytest.fixture
def run(tmp_path):
    """run(arguments, limit_mib=..., threads=...): the program; afterwards the spill directory must be empty."""
    spill_dir = tmp_path / "spill"
    spill_dir.mkdir()

    def call(arguments, check=True, **options):
        done = measure.run_icebound(arguments, spill_dir=spill_dir, **options)
        assert list(spill_dir.iterdir()) == [], "spill files were left behind"
        if options.get("limit_mib"):
            promised = measure.promised_bytes(options["limit_mib"])
            assert done.peak_rss_bytes <= promised, (
                f"peak {done.peak_mib:.1f} MiB is above the promise of {promised / measure.MIB:.0f} MiB"
            )
        if check:
            assert done.exit_code == 0, done.stderr
        return done

    return call
