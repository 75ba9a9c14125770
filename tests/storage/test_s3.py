# SPDX-License-Identifier: Apache-2.0
"""Sorting from and to a real S3 server, inside the promise. tests/servers/s3_server.sh starts it (and builds it once)."""

import csv
import pathlib
import shutil
import subprocess

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import measure

SCRIPT = measure.ROOT / "tests" / "servers" / "s3_server.sh"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """The server's variables; `folder` is what lies behind the bucket."""
    folder = tmp_path_factory.mktemp("s3") / "server"
    started = subprocess.run([SCRIPT, "start", folder], capture_output=True, text=True)
    if started.returncode == 77:
        pytest.skip("no Go on this machine to build the S3 server with")
    assert started.returncode == 0, started.stderr
    try:
        yield dict(line.split("=", 1) for line in started.stdout.splitlines())
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=True)


def properties(s3, secret=None):
    values = {
        "s3.endpoint": s3["ICEBOUND_TEST_S3_ENDPOINT"],
        "s3.access-key-id": s3["ICEBOUND_TEST_S3_KEY"],
        "s3.secret-access-key": secret or s3["ICEBOUND_TEST_S3_SECRET"],
        "s3.region": "us-east-1",
        "s3.path-style-access": "true",
    }
    return [part for key, value in values.items() for part in ("--property", f"{key}={value}")]


def bucket(s3):
    return pathlib.Path(s3["ICEBOUND_TEST_S3_FOLDER"])


def test_sort_from_and_to_s3_in_64_mib(run, s3, lineitem):
    shutil.copy(lineitem, bucket(s3) / "lineitem.parquet")
    done = run(
        [*properties(s3), "sql",
         "COPY (SELECT * FROM 's3://bucket/lineitem.parquet' ORDER BY l_shipdate, l_orderkey, l_linenumber) TO 's3://bucket/out/sorted.parquet'"],
        limit_mib=64, threads=2)
    assert done.metrics["output_rows"] == 6_001_215
    target = bucket(s3) / "out" / "sorted.parquet"
    ours, theirs = (
        duckdb.connect().execute(f"SELECT count(*), sum(hash(l_comment)::HUGEINT), sum(hash(l_orderkey, l_linenumber)::HUGEINT) FROM '{path}'").fetchone()
        for path in (target, lineitem)
    )
    assert ours == theirs
    dates = pq.read_table(target, columns=["l_shipdate"])["l_shipdate"].combine_chunks()
    assert pc.all(pc.less_equal(dates[:-1], dates[1:])).as_py()
    print(f"peak {done.peak_mib:.1f} MiB, {done.seconds:.1f} s")


def test_missing_object(run, s3):
    done = run([*properties(s3), "sql", "SELECT * FROM 's3://bucket/absent.parquet'"], check=False)
    assert done.exit_code == 2 and "s3://bucket/absent.parquet" in done.stderr


def test_wrong_secret(run, s3):
    done = run([*properties(s3, secret="wrong"), "sql", "SELECT * FROM 's3://bucket/lineitem.parquet'"], check=False)
    assert done.exit_code == 1, done.stderr
    assert "lineitem.parquet" in done.stderr


def test_failure_leaves_no_object(run, s3, lineitem):
    shutil.copy(lineitem, bucket(s3) / "lineitem.parquet")
    done = run(
        [*properties(s3), "--spill-limit", "20MiB", "sql",
         "COPY (SELECT * FROM 's3://bucket/lineitem.parquet' ORDER BY l_comment) TO 's3://bucket/never.parquet'"],
        check=False, limit_mib=64)
    assert done.exit_code == 4, done.stderr
    assert not (bucket(s3) / "never.parquet").exists()


def test_csv_is_read_from_s3(run, s3, lineitem):
    folder = bucket(s3) / "csv"
    folder.mkdir(exist_ok=True)
    connection = duckdb.connect()
    for part in range(3):
        connection.execute(f"COPY (FROM '{lineitem}' LIMIT 100000 OFFSET {part * 100_000}) TO '{folder / f'{part}.csv'}' (HEADER)")
    columns = "count(*), sum(l_orderkey), min(l_comment), max(l_shipdate)"
    done = run([*properties(s3), "sql", "--format", "csv", f"SELECT {columns} FROM 's3://bucket/csv/*.csv'"], limit_mib=64, threads=2)
    expected = connection.execute(f"SELECT {columns} FROM read_csv('{folder}/*.csv')").fetchone()
    assert next(csv.reader(done.stdout.splitlines()[1:])) == [str(value) for value in expected]
