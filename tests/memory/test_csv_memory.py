# SPDX-License-Identifier: Apache-2.0
"""CSV larger than the limit keeps the promise: sorted, scanned, with wide rows, and when a quote swallows the file. `run` asserts the peak."""

import random

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import measure


def query(sql):
    return duckdb.connect().execute(sql).fetchall()


@pytest.fixture(scope="module")
def large_csv(tmp_path_factory, lineitem):
    """2.5 million rows of lineitem, about 300 MB."""
    path = tmp_path_factory.mktemp("csv") / "lineitem.csv"
    duckdb.sql(f"COPY (FROM '{lineitem}' LIMIT 2500000) TO '{path}' (HEADER)")
    assert path.stat().st_size > 250_000_000
    return path


@pytest.mark.parametrize("limit_mib, threads", [(32, 1), (32, 4), (64, 2)])
def test_a_file_many_times_the_limit_is_sorted(run, tmp_path, large_csv, limit_mib, threads):
    target = tmp_path / "sorted.parquet"
    done = run(
        ["sql", f"COPY (SELECT * FROM '{large_csv}' ORDER BY l_comment, l_orderkey, l_linenumber) TO '{target}'"],
        limit_mib=limit_mib, threads=threads,
    )
    assert done.metrics["output_rows"] == 2_500_000 and done.metrics["spilled_bytes"] > 0
    comments = pq.read_table(target, columns=["l_comment"])["l_comment"].combine_chunks()
    assert pc.all(pc.less_equal(comments[:-1], comments[1:])).as_py()
    digest = "SELECT count(*), sum(hash(t)::HUGEINT) FROM {} t"
    assert query(digest.format(f"'{target}'")) == query(digest.format(f"read_csv('{large_csv}')"))


def test_only_wanted_columns_are_read(run, large_csv):
    done = run(["sql", "--format", "csv", f"SELECT sum(l_quantity), count(*) FROM '{large_csv}'"], limit_mib=32)
    expected = query(f"SELECT sum(l_quantity), count(*) FROM read_csv('{large_csv}')")[0]
    quantity, count = done.stdout.splitlines()[1].split(",")
    assert (float(quantity), int(count)) == expected


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("width_mib, limit_mib", [(8, 32), (16, 64), (32, 128)])
def test_rows_of_a_quarter_of_the_limit_pass(run, tmp_path, width_mib, limit_mib, threads):
    source, target = tmp_path / "wide.csv", tmp_path / "out.parquet"
    keys = random.Random(1).sample(range(12), 12)
    with open(source, "w", encoding="utf-8") as out:
        out.write("k,s\n")
        for key in keys:
            out.write(f'{key},"{key:08}' + "x,\n" * ((width_mib * measure.MIB - 64) // 3) + '"\n')
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=limit_mib, threads=threads)
    table = pq.ParquetFile(target)
    seen = [
        (k, len(s), s[:8]) for batch in table.iter_batches(batch_size=4)
        for k, s in zip(batch["k"].to_pylist(), batch["s"].to_pylist())
    ]
    assert seen == [(key, 8 + (width_mib * measure.MIB - 64) // 3 * 3, f"{key:08}") for key in range(12)]


@pytest.mark.parametrize("format", ["csv", "jsonl", "arrow"])
def test_wide_bytes_become_text_piece_by_piece(run, tmp_path, format):
    """The text of bytes is twice as long as they are; it is never held."""
    source, target = tmp_path / "wide.parquet", tmp_path / f"out.{format}"
    values = [random.Random(key).randbytes(16 * measure.MIB - 64) for key in range(4)]
    with pq.ParquetWriter(source, pa.schema([("k", pa.int64()), ("s", pa.binary())]), compression="none", use_dictionary=False) as writer:
        for key, value in enumerate(values):
            writer.write_table(pa.table([[key], [value]], schema=writer.schema))
    run(["sql", f"COPY (SELECT k, s FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=64)
    if format == "csv":
        lines = target.read_text(encoding="ascii").splitlines()[1:]
        assert [line.split(",")[1].strip('"') for line in lines] == ["\\x" + value.hex() for value in values]
    assert target.stat().st_size > sum(map(len, values))


def test_a_quote_left_open_is_a_row_too_wide(run, tmp_path):
    source = tmp_path / "open.csv"
    with open(source, "w", encoding="utf-8") as out:
        out.write("a,b\n1,2\n3,\"4\n")
        for _ in range(100):
            out.write("5,6\n" * 500_000)
    done = run(["sql", f"SELECT count(*) FROM '{source}'"], limit_mib=32, check=False)
    assert done.exit_code == 3, done.stderr
    assert f"{source}, line 3" in done.stderr and "a quote is left open" in done.stderr


def test_a_header_of_many_megabytes_is_refused(run, tmp_path):
    source = tmp_path / "header.csv"
    source.write_text("a" * 30_000_000 + "\n1\n", encoding="utf-8")
    done = run(["sql", f"SELECT * FROM '{source}'"], limit_mib=32, check=False)
    assert done.exit_code == 2 and "the names of the columns have more than 1048576 bytes together" in done.stderr


def test_a_wide_value_beside_the_wanted_column(run, tmp_path):
    """What a text is not (a number) must be found out without holding the text again."""
    source = tmp_path / "wide.csv"
    source.write_text("a,b\n1," + "x" * 50_000_000 + "\n2,y\n", encoding="utf-8")
    done = run(["sql", "--format", "csv", f"SELECT a FROM '{source}'"], limit_mib=64)
    assert done.stdout.split() == ["a", "1", "2"]
