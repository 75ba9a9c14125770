# SPDX-License-Identifier: Apache-2.0
"""Public failures of other bounded engines, restated (the row numbers are those of the project's list of cases): joins and aggregation.

Each case asks for the answer that arithmetic gives, or DuckDB's without a limit. The `run` fixture asserts the promise and the empty spill
directory on every call.
"""

import csv
import io
import pathlib
import resource
import subprocess
import time

import duckdb
import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import measure


def rows(done):
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


@pytest.fixture
def ask(run):
    """ask(sql, limit_mib=..., ...): the rows of the answer as text, and the run."""

    def call(sql, spills=None, **options):
        done = run(["sql", "--format", "csv", sql], **options)
        if spills is not None:
            assert (done.metrics["spilled_bytes"] > 0) == spills, done.metrics["spilled_bytes"]
        return rows(done)

    return call


@pytest.mark.parametrize("limit_mib", [32, 60])
@pytest.mark.parametrize("join", ["a IN (SELECT b FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.b = t.a)"])
def test_row_1_a_filter_of_the_build_side_loses_no_row(ask, join, limit_mib):
    """Both sides cycle through the same 25 values; a filter of the first build round alone would lose most rows."""
    answer = ask(
        "WITH t AS (SELECT i % 25 AS a FROM generate_series(1, 3000000) g(i)), u AS (SELECT i % 25 AS b FROM generate_series(1, 3000000) g(i)) "
        f"SELECT count(*) FROM t WHERE {join}", limit_mib=limit_mib, threads=1)
    assert answer == [["3000000"]]


def test_row_1_a_build_of_few_keys_and_a_wider_probe(ask):
    answer = ask(
        "WITH build AS (SELECT i % 2000 AS k FROM generate_series(0, 999999) g(i)), probe AS (SELECT i % 4000 AS k FROM generate_series(0, 1999999) g(i)) "
        "SELECT count(*) FROM probe WHERE k IN (SELECT k FROM build)", limit_mib=32, threads=1)
    assert answer == [["1000000"]]


def test_row_1_wide_keys_that_spill(ask):
    """The build side is many times the limit, so that whole partitions wait on disk when the filter is published."""
    answer = ask(
        "WITH u AS (SELECT 'a key long enough to make the build side large: ' || (i % 1500000)::text AS b FROM generate_series(0, 1499999) g(i)), "
        "t AS (SELECT 'a key long enough to make the build side large: ' || (i % 3000000)::text AS a FROM generate_series(0, 2999999) g(i)) "
        "SELECT count(*) FROM t WHERE a IN (SELECT b FROM u)", limit_mib=32, threads=2, spills=True)
    assert answer == [["1500000"]]


@pytest.fixture(scope="module")
def one_hot_group(tmp_path_factory):
    """inner.parquet: one key, a million rows of about 100 bytes, n = 0 in the very first only; outer.parquet: that key a few times, and others."""
    folder = tmp_path_factory.mktemp("hot")
    n = numpy.arange(1_000_000)
    text = pa.array([f"{i:0100d}" for i in range(1000)]).take(pa.array(n % 1000))
    pq.write_table(pa.table({"k": pa.array(numpy.full(len(n), 7)), "n": pa.array(n), "s": text}), folder / "inner.parquet", row_group_size=50_000)
    pq.write_table(pa.table({"k": [7, 7, 8, None], "n": [0, 5_000_000, 0, 0]}), folder / "outer.parquet")
    return folder


@pytest.mark.parametrize("test, expected", [("NOT EXISTS", ["5000000", "0", "0"]), ("EXISTS", ["0"])])
def test_row_2_a_residual_that_only_the_first_row_of_a_group_meets(ask, one_hot_group, test, expected):
    answer = ask(
        f"SELECT o.n FROM '{one_hot_group}/outer.parquet' o WHERE {test} (SELECT 1 FROM '{one_hot_group}/inner.parquet' i "
        "WHERE i.k = o.k AND i.n + 0 = o.n AND i.n < 1 AND i.s >= '0') ORDER BY 1 DESC, o.k", limit_mib=32, threads=2)
    assert [row[0] for row in answer] == expected


@pytest.fixture(scope="module")
def five_million_groups(tmp_path_factory):
    """(i int, s string, t struct): five million distinct keys, each twice, in two orders."""
    path = tmp_path_factory.mktemp("groups") / "groups.parquet"
    count, rows_a_group = 5_000_000, 500_000
    with pq.ParquetWriter(path, pa.schema([("i", pa.int64()), ("s", pa.string()), ("t", pa.struct([("x", pa.int32()), ("y", pa.string())]))])) as writer:
        for step in (1, 1_000_003):
            for first in range(0, count, rows_a_group):
                key = numpy.arange(first, first + rows_a_group) * step % count
                texts = pa.array(key // 7).cast(pa.string())
                struct = pa.StructArray.from_arrays([pa.array((key % 1000).astype("int32")), pa.array(key % 13).cast(pa.string())], ["x", "y"])
                writer.write_table(pa.table([pa.array(key), texts, struct], schema=writer.schema))
    return path


def test_row_3_no_key_comes_twice_after_a_spill(ask, five_million_groups):
    answer = ask(
        f"SELECT count(*), sum(n), min(n), max(n), count(DISTINCT i), sum(i) FROM (SELECT i, s, t, count(*) AS n FROM '{five_million_groups}' GROUP BY i, s, t) q",
        limit_mib=32, threads=2, spills=True)
    assert answer == [["5000000", "10000000", "2", "2", "5000000", str(4_999_999 * 5_000_000 // 2)]]


def test_row_5_the_build_side_of_an_inequality_join_is_read_once(ask):
    """Two hundred thousand pairs x > y over a build side of about twice the limit."""
    answer = ask(
        "SELECT count(*), sum(a.x), min(length(b.s)) FROM (SELECT i AS x FROM generate_series(1, 2000) g(i)) a "
        "JOIN (SELECT i * 10 AS y, repeat('x', 300) || i::text AS s FROM generate_series(1, 200000) g(i)) b ON a.x > b.y", limit_mib=32, threads=2)
    expected = [(x, (x - 1) // 10) for x in range(1, 2001)]
    assert answer == [[str(sum(n for _, n in expected)), str(sum(x * n for x, n in expected)), "301"]]


def test_row_7_a_nested_loop_holds_no_side_whole(ask):
    answer = ask(
        "SELECT count(big.s) FROM (SELECT v1, repeat('x', 32) s FROM generate_series(1, 20000000) g(v1)) big "
        "JOIN (SELECT 2147483647 v2) s ON big.v1 > s.v2", limit_mib=32, threads=2)
    assert answer == [["0"]]
    answer = ask(
        "SELECT count(big.s) FROM (SELECT v1, repeat('x', 32) s FROM generate_series(1, 20000000) g(v1)) big "
        "JOIN (SELECT 19000000 v2) s ON big.v1 > s.v2", limit_mib=32, threads=2)
    assert answer == [["1000000"]]


@pytest.mark.parametrize("limit_mib", [32, 64])
def test_row_9_spilling_wide_states_needs_no_memory_of_its_own(ask, limit_mib):
    """A million groups of max(string) of 200 bytes. The system's high-water mark covers the moments of the spill as well."""
    answer = ask(
        "SELECT count(*), sum(length(m)), max(m) = repeat('z', 190) || '0001999999' FROM (SELECT i % 1000000 AS k, "
        "max(repeat('z', 190) || right('000000000' || i::text, 10)) AS m FROM generate_series(0, 1999999) g(i) GROUP BY 1) q",
        limit_mib=limit_mib, threads=2, spills=True)
    assert answer == [["1000000", "200000000", "true"]]


@pytest.fixture(scope="module")
def ten_million_equal_keys(tmp_path_factory):
    """Ten million rows of one key with a number and a short text: about 400 MB of build rows."""
    path = tmp_path_factory.mktemp("equal") / "equal.parquet"
    with pq.ParquetWriter(path, pa.schema([("k", pa.int64()), ("n", pa.int64()), ("s", pa.string())])) as writer:
        texts = pa.array([f"text {i:020d}" for i in range(1000)])
        for first in range(0, 10_000_000, 500_000):
            n = numpy.arange(first, first + 500_000)
            writer.write_table(pa.table([pa.array(numpy.full(len(n), 42)), pa.array(n), texts.take(pa.array(n % 1000))], schema=writer.schema))
    return path


def test_row_15_one_key_owns_the_build_side(ask, ten_million_equal_keys):
    """A thousand probe rows, a hundred of them with the hot key, against a build side of about eight times the limit: a billion pairs."""
    answer = ask(
        f"SELECT count(*), sum(b.n % 1000) FROM (SELECT CASE WHEN i % 10 = 0 THEN 42 ELSE -i END AS k, i FROM generate_series(1, 1000) g(i)) p "
        f"JOIN (SELECT k, n, s FROM '{ten_million_equal_keys}') b ON p.k = b.k WHERE p.i + b.n % 2 >= 0 AND length(b.s) > 0", limit_mib=50, threads=2)
    assert answer == [["1000000000", str(100 * 10_000 * 499_500)]]


def test_row_15_the_hot_key_builds_when_it_must(ask, ten_million_equal_keys):
    """Every row of the hot side is kept by an outer join, so that it cannot be the streamed side of a cheap inner join."""
    answer = ask(
        f"SELECT count(*), count(p.i), min(length(b.s)) FROM '{ten_million_equal_keys}' b FULL JOIN "
        "(SELECT CASE WHEN i % 500 = 0 THEN 42 ELSE -i END AS k, i FROM generate_series(1, 1000) g(i)) p ON p.k = b.k", limit_mib=50, threads=2)
    assert answer == [["20000998", "20000998", "25"]]


def test_row_15_hot_on_both_sides_under_an_aggregate(ask):
    """A thousand rows of one key against five thousand rows of 16 KB, 76 MiB: five million pairs that only pass through."""
    answer = ask(
        "SELECT count(*), sum(a.n), max(b.n), count(b.s) FROM (SELECT 1 AS k, i AS n, repeat('a', 16000) AS s FROM generate_series(1, 1000) g(i)) a "
        "FULL JOIN (SELECT 1 AS k, i AS n, repeat('b', 16000) AS s FROM generate_series(1, 5000) g(i)) b ON a.k = b.k WHERE a.s <> b.s",
        limit_mib=32, threads=2)
    assert answer == [["5000000", str(5_000 * 1_000 * 1_001 // 2), "5000", "5000000"]]


def test_row_19_max_of_wide_strings_spills(ask, tmp_path):
    """A million rows of ten thousand bytes in a hundred thousand groups: 1 GB of states at an eighth of it."""
    answer = ask(
        "SELECT count(*), sum(length(m)), count(DISTINCT right(m, 6)) FROM (SELECT i % 100000 AS a, max(repeat('#', 9994) || right('00000' || (i % 100000)::text, 6)) AS m "
        "FROM generate_series(0, 999999) g(i) GROUP BY 1) q", limit_mib=128, threads=2, spills=True)
    assert answer == [["100000", "1000000000", "100000"]]


@pytest.mark.parametrize("shape", ["key", "state"])
def test_row_19_eight_hundred_bytes_as_key_or_as_state(ask, shape):
    """Four million groups of 800 bytes: 3.2 GB."""
    text = "repeat('k', 793) || right('000000' || i::text, 7)"
    inner = {"key": f"SELECT {text} AS s, count(*) AS n FROM generate_series(0, 3999999) g(i) GROUP BY 1",
             "state": f"SELECT max({text}) AS s, count(*) AS n FROM generate_series(0, 3999999) g(i) GROUP BY i"}[shape]
    answer = ask(f"SELECT count(*), sum(n), sum(length(s)), max(s) = repeat('k', 793) || '3999999' FROM ({inner}) q", limit_mib=128, threads=2, spills=True)
    assert answer == [["4000000", "4000000", "3200000000", "true"]]


@pytest.mark.parametrize("sql", [
    "SELECT count(*) FROM (SELECT repeat('x', 300000) || i::text AS s, count(*) FROM generate_series(1, 2000) g(i) GROUP BY 1) q",
    "SELECT count(*) FROM (SELECT repeat('x', 3000) || i::text AS s FROM generate_series(1, 200000) g(i)) a "
    "JOIN (SELECT repeat('x', 3000) || i::text AS s FROM generate_series(1, 200000) g(i)) b USING (s)",
], ids=["aggregate", "join"])
def test_row_24_a_spill_limit_ends_in_one_error_and_nothing_left(run, sql):
    done = run(["--spill-limit", "1MB", "sql", sql], limit_mib=32, threads=2, check=False)
    assert done.exit_code == 4, done.stderr
    assert "spill" in done.stderr
    run(["sql", sql], limit_mib=32, threads=2)


def test_row_33_ten_of_many_wide_groups(ask):
    """Top ten over GROUP BY of two million texts of 200 bytes; the heap may not pin the batches its rows came from."""
    answer = ask(
        "SELECT url, n FROM (SELECT repeat('u', 190) || right('000000000' || (i % 2000000)::text, 10) AS url, count(*) AS n, sum(CASE WHEN i % 2000000 < 10 THEN 1 ELSE 0 END) AS c "
        "FROM generate_series(0, 4999999) g(i) GROUP BY 1) q ORDER BY n DESC, url LIMIT 10", limit_mib=64, threads=2, spills=True)
    assert [(url[-10:], n) for url, n in answer] == [(f"{i:010d}", "3") for i in range(10)]


def test_row_37_more_than_2_gib_of_text_through_a_join_and_an_aggregate(ask, three_gib_of_text):
    """Neither the pairs nor the states may be one string array."""
    source = three_gib_of_text
    expected = duckdb.connect().execute(f"SELECT count(*), sum(k)::BIGINT FROM '{source}'").fetchone()
    answer = ask(
        f"SELECT count(*), sum(k), sum(length(m)) FROM (SELECT a.k, max(b.s) AS m FROM '{source}' a JOIN '{source}' b ON a.k = b.k WHERE length(a.s) > 0 GROUP BY a.k) q",
        limit_mib=128, threads=2, spills=True)
    assert answer == [[str(expected[0]), str(expected[1]), str(3000 << 20)]]


def test_row_9_no_sample_taken_while_it_spills_is_above_the_promise(tmp_path):
    """Sampled from outside every millisecond, so that the mark is not only the system's own memory of it."""
    spill = tmp_path / "spill"
    spill.mkdir()
    sql = (
        "SELECT count(*), sum(length(m)) FROM (SELECT i % 1000000 AS k, max(repeat('z', 190) || right('000000000' || i::text, 10)) AS m "
        "FROM generate_series(0, 1999999) g(i) GROUP BY 1) q")
    command = [measure.PROGRAM, "--no-progress", "--quiet", "--memory-limit", "32MiB", "--spill-dir", spill, "sql", "--format", "csv", sql]
    samples, spilling = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            try:
                resident = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
            except (FileNotFoundError, ProcessLookupError, IndexError):
                break
            samples.append(resident)
            spilling.append(any(file.stat().st_size for file in spill.glob("*/*")))
            time.sleep(0.001)
        out = process.communicate(timeout=600)[0]
    assert out.splitlines()[1] == "1000000,200000000"
    assert sum(spilling) >= 20, f"{len(samples)} samples, {sum(spilling)} while files were there"
    assert max(samples) <= measure.promised_bytes(32)
