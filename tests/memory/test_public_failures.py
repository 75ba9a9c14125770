# SPDX-License-Identifier: Apache-2.0
"""Public failures of other bounded engines, restated (the row numbers are those of the project's list of cases): the sorting and Parquet part.

Rows 11 and 18 have unit tests of the sorter as well; rows 12 and 13 are test_monotone.py. The `run` fixture asserts the promise and the empty
spill directory on every call.
"""

import resource

import duckdb
import numpy
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import measure


def query(sql):
    return duckdb.connect().execute(sql).fetchall()


def test_row_18_many_runs_with_few_descriptors(run, tmp_path, lineitem):
    """The smallest limit gives the most runs; 64 descriptors must do."""
    target = tmp_path / "out.parquet"

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    run(["sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"], limit_mib=32, preexec_fn=few)
    assert pq.ParquetFile(target).metadata.num_rows == 6_001_215


@pytest.fixture(scope="module")
def big_row_groups(tmp_path_factory):
    """40 row groups of about 26 MiB each, which no codec shrinks: about 1 GiB."""
    path = tmp_path_factory.mktemp("big") / "forty.parquet"
    random = numpy.random.default_rng(7)
    schema = pa.schema([("id", pa.int64()), ("noise", pa.binary(200))])
    rows = 128 * 1024
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for group in range(40):
            noise = pa.FixedSizeBinaryArray.from_buffers(pa.binary(200), rows, [None, pa.py_buffer(random.bytes(200 * rows))])
            ids = pa.array(random.integers(0, 1 << 40, rows))
            writer.write_table(pa.table([ids, noise], schema=schema), row_group_size=rows)
    return path


def test_row_22_a_scan_does_not_keep_row_groups(run, tmp_path, big_row_groups):
    """The whole file passes through 64 MiB: scanned, and sorted."""
    done = run(["sql", f"COPY (SELECT id FROM '{big_row_groups}' WHERE noise IS NOT NULL) TO '{tmp_path}/ids.parquet'"], limit_mib=64)
    assert done.metrics["output_rows"] == 40 * 128 * 1024
    done = run(["sql", f"COPY (SELECT * FROM '{big_row_groups}' ORDER BY id) TO '{tmp_path}/sorted.parquet'"], limit_mib=64)
    ids = pq.read_table(tmp_path / "sorted.parquet", columns=["id"])["id"].combine_chunks()
    assert pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py()
    assert len(ids) == 40 * 128 * 1024


def test_row_23_two_thousand_columns(run, tmp_path):
    source, target = tmp_path / "wide.parquet", tmp_path / "out.parquet"
    rows = 3000
    columns = {f"c{i:04}": pa.array(numpy.arange(rows) * (i + 1) % 1009) for i in range(2000)}
    pq.write_table(pa.table(columns), source)
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY c0007 DESC, c0000) TO '{target}'"], limit_mib=128)
    ours, theirs = (query(f"SELECT count(*), sum(c0000), sum(c1999), sum(c1000 * c0003) FROM '{path}'") for path in (target, source))
    assert ours == theirs


def test_row_23_a_hundred_thousand_tiny_row_groups(run, tmp_path):
    source, target = tmp_path / "tiny.parquet", tmp_path / "out.parquet"
    schema = pa.schema([("a", pa.int64()), ("s", pa.string())])
    with pq.ParquetWriter(source, schema) as writer:
        for group in range(100_000):
            writer.write_batch(pa.record_batch([[group * 7919 % 100_003], [f"row {group}"]], schema=schema))
    done = run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY a) TO '{target}'"], limit_mib=128)
    assert done.metrics["output_rows"] == 100_000
    values = pq.read_table(target)["a"].combine_chunks()
    assert pc.all(pc.less_equal(values[:-1], values[1:])).as_py()


@pytest.mark.parametrize("limit_mib", [32, 64])
def test_row_27_a_key_without_payload(run, tmp_path, lineitem, limit_mib):
    target = tmp_path / "out.parquet"
    run(["sql", f"COPY (SELECT l_partkey FROM '{lineitem}' ORDER BY l_partkey) TO '{target}'"], limit_mib=limit_mib)
    values = pq.read_table(target)["l_partkey"].combine_chunks()
    assert len(values) == 6_001_215 and pc.all(pc.less_equal(values[:-1], values[1:])).as_py()


def test_row_27_copy_from_parquet_to_parquet_larger_than_the_limit(run, tmp_path, lineitem):
    target = tmp_path / "out.parquet"
    run(["sql", f"COPY (SELECT * FROM '{lineitem}') TO '{target}' (FORMAT parquet, COMPRESSION zstd)"], limit_mib=32)
    assert query(f"SELECT count(*), sum(l_extendedprice) FROM '{target}'") == query(f"SELECT count(*), sum(l_extendedprice) FROM '{lineitem}'")


def test_row_37_more_than_2_gib_of_text(run, tmp_path, three_gib_of_text):
    """No concatenation may reach the 2 GiB offsets of a string array."""
    source, target = three_gib_of_text, tmp_path / "out.parquet"
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"], limit_mib=64)
    assert query(f"SELECT count(*), min(length(s)), max(length(s)), sum(k) FROM '{target}'") == [
        (3000, 1 << 20, 1 << 20, query(f"SELECT sum(k) FROM '{source}'")[0][0])]
    keys = pq.read_table(target, columns=["k"])["k"].combine_chunks()
    assert pc.all(pc.less_equal(keys[:-1], keys[1:])).as_py()


@pytest.mark.parametrize("limit_mib", [32, 64, 256])
def test_row_39_one_row_that_cannot_fit(run, tmp_path, limit_mib):
    """One string of 100 MiB: an error that names the size needed, at once."""
    source, target = tmp_path / "one.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"k": [1, 2], "s": ["y" * (100 << 20), "z"]}), source, compression="zstd")
    done = run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=limit_mib, check=False, timeout=60)
    assert done.exit_code == 3, done.stderr
    assert "memory limit" in done.stderr and "MiB" in done.stderr
    assert not target.exists()


def write_wide_rows(path, rows, width, rows_per_page=1, compression="none"):
    """Rows (k, s) in random order of k; s begins with k and is `width` bytes that no codec shrinks. Returns the digest of every row by key."""
    random = numpy.random.default_rng(rows + width)
    noise = random.bytes(width)
    schema = pa.schema([("k", pa.int64()), ("s", pa.binary())])
    keys = random.permutation(rows)
    with pq.ParquetWriter(path, schema, compression=compression, use_dictionary=False, write_statistics=False) as writer:
        for first in range(0, rows, rows_per_page):
            some = keys[first : first + rows_per_page]
            texts = [f"{key:08}".encode() + noise[8 + key :] + noise[:key] for key in some]
            writer.write_table(pa.table([some, texts], schema=schema), row_group_size=rows_per_page)
    return lambda key: f"{key:08}".encode() + noise[8 + key :] + noise[:key]


def check_wide_rows(path, rows, text_of):
    file = pq.ParquetFile(path)
    key = 0
    for batch in file.iter_batches(batch_size=8):
        for k, s in zip(batch["k"], batch["s"]):
            assert k.as_py() == key and s.as_buffer().equals(pa.py_buffer(text_of(key)))
            key += 1
    assert key == rows


@pytest.fixture(scope="module")
def wide_rows(tmp_path_factory):
    """wide_rows(rows, width): such a file, made once."""
    made = {}

    def make(rows, width):
        if (rows, width) not in made:
            path = tmp_path_factory.mktemp("wide") / "rows.parquet"
            made[rows, width] = path, write_wide_rows(path, rows, width)
        return made[rows, width]

    return make


# Rows of a quarter of the limit (128 MiB gives the fewest grants for it), and narrower ones that many threads would hold many of.
WIDE = [(20, 8, 32), (54, 4, 36), (100, 2, 32), (12, 16, 64), (8, 32, 128), (8, 36, 144)]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("rows, width_mib, limit_mib", WIDE)
def test_rows_of_the_documented_width_pass(run, tmp_path, wide_rows, rows, width_mib, limit_mib, threads):
    """Rows up to a quarter of the limit are sorted and written, however many they are and whatever order they come in."""
    source, text_of = wide_rows(rows, width_mib * measure.MIB - 64)
    target = tmp_path / "out.parquet"
    codec = {1: "none", 2: "snappy", 4: "zstd"}[threads]
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}' (COMPRESSION {codec})"], limit_mib=limit_mib, threads=threads)
    check_wide_rows(target, rows, text_of)
    target.unlink()


@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("limit_mib", [32, 64, 128])
def test_a_page_of_several_rows_counts_as_a_row(run, tmp_path, limit_mib, compression):
    """Pages of eight rows, a quarter of the limit in all."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    text_of = write_wide_rows(source, 48, limit_mib * measure.MIB // 32 - 64, rows_per_page=8, compression=compression)
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=limit_mib, threads=2)
    check_wide_rows(target, 48, text_of)


def test_wide_pages_of_one_row_group_are_not_held_together(run, tmp_path):
    """A row group of pages that are each a quarter of the limit: with an offset index, as we write it, and without one."""
    limit_mib, rows, width = 64, 10, 16 * measure.MIB - 64
    source, sorted_once, sorted_twice = tmp_path / "in.parquet", tmp_path / "once.parquet", tmp_path / "twice.parquet"
    text_of = write_wide_rows(tmp_path / "rows.parquet", rows, width)
    pq.write_table(pq.read_table(tmp_path / "rows.parquet"), source, compression="snappy", use_dictionary=False, write_statistics=False,
                   write_batch_size=1, data_page_size=1)
    assert pq.ParquetFile(source).metadata.num_row_groups == 1
    for threads in (1, 4):
        run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k DESC) TO '{sorted_once}' (COMPRESSION zstd)"], limit_mib=limit_mib, threads=threads)
        run(["sql", f"COPY (SELECT * FROM '{sorted_once}' ORDER BY k) TO '{sorted_twice}'"], limit_mib=limit_mib, threads=threads)
        check_wide_rows(sorted_twice, rows, text_of)


def test_wide_rows_sort_by_themselves(run, tmp_path, wide_rows):
    """The key is the wide column: rows are compared whole."""
    source, text_of = wide_rows(54, 4 * measure.MIB - 64)
    target = tmp_path / "out.parquet"
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY s) TO '{target}'"], limit_mib=32, threads=2)
    check_wide_rows(target, 54, text_of)


@pytest.mark.parametrize("limit_mib", [32, 64])
def test_a_row_that_is_too_wide_says_what_it_needs(run, tmp_path, limit_mib):
    source, target = tmp_path / "one.parquet", tmp_path / "out.parquet"
    write_wide_rows(source, 2, 40 * measure.MIB)
    done = run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=limit_mib, check=False)
    assert done.exit_code == 3 and "memory limit too small" in done.stderr and "at least 161 MiB" in done.stderr, done.stderr
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY k) TO '{target}'"], limit_mib=161)


def test_every_promise_holds_for_an_empty_table(run, tmp_path):
    source, target = tmp_path / "none.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), source)
    run(["sql", f"COPY (SELECT * FROM '{source}' ORDER BY a) TO '{target}'"], limit_mib=32)
    assert pq.read_table(target).num_rows == 0
    assert measure.promised_bytes(32) == 82 * measure.MIB
