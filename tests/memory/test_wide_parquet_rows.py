# SPDX-License-Identifier: Apache-2.0
"""Rows of up to a quarter of the limit go into Parquet files at every limit, whatever they are made of."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.mark.parametrize("limit_mib", [32, 64, 128])
def test_repeated_wide_text(run, tmp_path, limit_mib):
    target = tmp_path / "o.parquet"
    text = "SELECT j, repeat('q', 100000) || (j % 37)::text AS k FROM generate_series(1, 2000) g(j)"
    run(["sql", f"COPY ({text} ORDER BY k, j DESC) TO '{target}'"], limit_mib=limit_mib)
    order = pq.read_table(target, columns=["j"])["j"].to_pylist()
    assert order == sorted(range(1, 2001), key=lambda j: (str(j % 37), -j))
    faults = f"SELECT count(*) FROM '{target}' WHERE k <> repeat('q', 100000) || (j % 37)::text"
    assert duckdb.connect().execute(faults).fetchone() == (0,)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name, values", [
    ("numbers", list(range(1_000_000))),
    ("numbers and nulls", [i if i % 7 else None for i in range(1_000_000)]),
    ("few numbers", [i % 100 for i in range(1_000_000)]),
    ("texts", [f"{i:0100}" for i in range(75_000)]),
    ("structs", [{"a": i, "b": -i} for i in range(490_000)]),
])
def test_list_rows_just_below_a_quarter(run, tmp_path, name, values, threads):
    source, target = tmp_path / "in.parquet", tmp_path / "o.parquet"
    table = pa.table({"k": [1, 2, 3], "l": [values] * 3})
    pq.write_table(table, source, row_group_size=1)
    run(["sql", f"COPY (SELECT * FROM '{source}') TO '{target}'"], limit_mib=32, threads=threads)
    written = pq.read_table(target)
    assert written["k"].to_pylist() == [1, 2, 3]
    assert written["l"].cast(table["l"].type).equals(table["l"])


@pytest.mark.parametrize("columns, limit_mib", [(2000, 32), (5000, 64)])
def test_thousands_of_columns(run, tmp_path, columns, limit_mib):
    target = tmp_path / "o.parquet"
    items = ", ".join(f"i * {c} AS c{c}" for c in range(columns))
    run(["sql", f"COPY (SELECT {items} FROM generate_series(1, 300) g(i)) TO '{target}'"], limit_mib=limit_mib)
    written = pq.read_table(target)
    assert written.num_columns == columns
    assert written.column(columns - 1).to_pylist() == [i * (columns - 1) for i in range(1, 301)]
