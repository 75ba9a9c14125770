# SPDX-License-Identifier: Apache-2.0
"""CSV files as tables: what DuckDB, pyarrow and Python's own csv module read in a file, we read in it."""

import csv
import random
import string

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest


def to_parquet(run, sql, target, **options):
    return run(["sql", f"COPY ({sql}) TO '{target}'"], **options)


def query(sql):
    return duckdb.connect().execute(sql).fetchall()


def differences(left, right):
    """Rows that one of two queries has and the other has not."""
    return query(
        f"SELECT (SELECT count(*) FROM (FROM {left} EXCEPT ALL FROM {right})) + (SELECT count(*) FROM (FROM {right} EXCEPT ALL FROM {left}))"
    )[0][0]


@pytest.fixture(scope="module")
def lineitem_csv(tmp_path_factory, lineitem):
    path = tmp_path_factory.mktemp("csv") / "lineitem.csv"
    duckdb.sql(f"COPY (FROM '{lineitem}' LIMIT 200000) TO '{path}' (HEADER)")
    return path


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("batch_size", [7, 8192])
def test_rows_are_those_that_duckdb_reads(run, tmp_path, lineitem_csv, threads, batch_size):
    target = tmp_path / "out.parquet"
    done = run(["--batch-size", str(batch_size), "sql", f"COPY (SELECT * FROM '{lineitem_csv}') TO '{target}'"], threads=threads)
    assert done.metrics["input_rows"] == 200_000
    assert done.metrics["input_bytes"] >= lineitem_csv.stat().st_size
    assert differences(f"'{target}'", f"read_csv('{lineitem_csv}')") == 0


def test_types_are_those_that_duckdb_finds(run, tmp_path, lineitem_csv):
    target = tmp_path / "out.parquet"
    to_parquet(run, f"SELECT * FROM '{lineitem_csv}'", target)
    describe = "SELECT column_name, column_type FROM (DESCRIBE FROM {})"
    assert query(describe.format(f"'{target}'")) == query(describe.format(f"read_csv('{lineitem_csv}')"))


def test_what_we_write_we_read(run, tmp_path, lineitem):
    """Values, NULLs and empty strings survive the way through a CSV file of ours."""
    source, middle, target = tmp_path / "in.parquet", tmp_path / "middle.csv", tmp_path / "out.parquet"
    pq.write_table(pa.table({
        "s": ["", None, 'a "b", c', "two\nlines", "é\u2028", "plain", "\r", ","],
        "i": [1, None, -(1 << 63), (1 << 63) - 1, 0, 5, 6, 7],
        "d": [0.1, None, 1e300, -0.0, float("inf"), 5e-324, 2.0, float("nan")],
        "b": [True, None, False, True, False, True, False, True],
        "t": pa.array([0, None, 1, -1, 10**15, 5, 6, 7], pa.timestamp("us")),
        "z": pa.array([0, None, 1, -1, 10**15, 5, 6, 7], pa.timestamp("us", "UTC")),
        "day": pa.array([0, None, 1, -1, 20000, 5, 6, 7], pa.date32()),
        "time": pa.array([0, None, 1, 86399999999, 4, 5, 6, 7], pa.time64("us")),
    }), source)
    to_parquet(run, f"SELECT * FROM '{source}'", middle)
    to_parquet(run, f"SELECT * FROM '{middle}'", target)
    ours, theirs = pq.read_table(target), pq.read_table(source)
    assert ours.schema.types == theirs.schema.types
    for ours_column, theirs_column in zip(ours.columns, theirs.columns):
        assert list(map(str, ours_column.to_pylist())) == list(map(str, theirs_column.to_pylist()))


@pytest.mark.parametrize("seed", range(6))
def test_dangerous_text_is_read_as_python_wrote_it(run, tmp_path, seed):
    """Random records of delimiters, quotes and line ends, written by Python's csv module in one of its dialects."""
    random_ = random.Random(seed)
    source, target = tmp_path / "text.csv", tmp_path / "out.parquet"
    line_end = ["\n", "\r\n"][seed // 2 % 2]
    alphabet = string.ascii_letters + f',,,"""\n{line_end};|\t éß漢🙂'  # a bare CR, which ends a line, is not always quoted there
    rows = [
        [str(index)] + ["".join(random_.choices(alphabet, k=random_.choice([0, 1, 3, 40, 2000]))) for _ in range(3)] for index in range(3000)
    ]
    quoting = [csv.QUOTE_ALL, csv.QUOTE_MINIMAL][seed % 2]
    with open(source, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, quoting=quoting, lineterminator=line_end)
        writer.writerow(["id", "a", "b", "c"])
        writer.writerows(rows)
    to_parquet(run, f"SELECT * FROM '{source}' ORDER BY id", target, threads=3)
    table = pq.read_table(target)
    assert table["id"].to_pylist() == list(range(3000))
    missing = None if quoting == csv.QUOTE_MINIMAL else ""  # nothing, unquoted, is NULL
    for at, name in enumerate("abc", start=1):
        assert table[name].to_pylist() == [row[at] or missing for row in rows]


def test_nulls_and_numbers_are_those_that_pyarrow_reads(run, tmp_path):
    random_ = random.Random(5)
    source, target = tmp_path / "numbers.csv", tmp_path / "out.parquet"
    with open(source, "w", encoding="utf-8") as out:
        out.write("i,x\n")
        for _ in range(50_000):
            i = "" if random_.random() < 0.1 else random_.randrange(-(10**18), 10**18)
            x = "" if random_.random() < 0.1 else random_.choice([repr(random_.gauss(0, 1e6)), f"{random_.gauss(0, 1):.3e}", "0.5"])
            out.write(f"{i},{x}\n")
    to_parquet(run, f"SELECT * FROM '{source}'", target, threads=1)
    assert pq.read_table(target).equals(pyarrow.csv.read_csv(source))


def test_directories_patterns_and_tabs(run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for part in range(5):
        duckdb.sql(f"COPY (SELECT i, 'p{part}' AS part FROM range({part * 1000}, {part * 1000 + 1000}) t(i)) TO '{folder / f'{part}.csv'}'")
    duckdb.sql(f"COPY (SELECT 5 AS i, 'tab' AS part) TO '{folder / 'x.tsv'}' (DELIMITER '\t')")
    done = run(["sql", "--format", "csv", f"SELECT count(*), sum(i), count(DISTINCT part) FROM '{folder}/*.csv'"])
    assert done.stdout.splitlines()[1] == f"5000,{sum(range(5000))},5"
    done = run(["sql", "--format", "csv", f"SELECT * FROM '{folder}/x.tsv'"])
    assert done.stdout.splitlines() == ["i,part", "5,tab"]


@pytest.mark.parametrize(
    "text, code, message",
    [
        ("a,b\n1,2\n3\n", 7, "line 3: 1 value where the table has 2 columns"),
        ("a,b\n1,\"2\n", 7, "line 2: the file ends inside a quoted value"),
        ("", 2, "is empty"),
        ("a\n" + "1\n" * 3_000_000 + "x\n", 1, 'line 3000002, column "a": cannot read "x" as bigint'),
    ],
    ids=["ragged", "open quote", "empty", "late value"],
)
def test_errors_name_file_line_and_column(run, tmp_path, text, code, message):
    source = tmp_path / "bad.csv"
    source.write_text(text, encoding="utf-8")
    done = run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY a) TO '{tmp_path}/out.parquet'"], check=False)
    assert done.exit_code == code, done.stderr
    assert f"{source}" in done.stderr and message in done.stderr, done.stderr
    assert not (tmp_path / "out.parquet").exists()


def test_two_schemas_under_one_pattern_are_an_error(run, tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n", encoding="utf-8")
    done = run(["sql", f"SELECT * FROM '{tmp_path}/*.csv'"], check=False)
    assert done.exit_code == 2 and "2.csv has column \"c\"" in done.stderr, done.stderr
