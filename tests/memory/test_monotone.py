# SPDX-License-Identifier: Apache-2.0
"""More memory never fails where less sufficed, and the rows are the same at every limit (cases 12 and 13 of the engine's list)."""

import duckdb
import pytest

LIMITS_MIB = [32, 40, 48, 64, 96, 128, 192, 256, 512, 1024]
KEYS = {"sort_keys": ["l_shipdate", "l_orderkey", "l_linenumber"], "sort_string": ["l_comment"]}


def digest(path):
    """Row count and an order-independent digest of every column, by DuckDB."""
    connection = duckdb.connect()
    columns = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    sums = ", ".join(f"sum(hash({column})::HUGEINT)" for column in columns)
    return connection.execute(f"SELECT count(*), {sums} FROM '{path}'").fetchone()


def first_disorder(path, keys):
    """Number of neighbours in file order that are out of order: none, when the sort is right. The rows are read in slices of the file's own order."""
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    row = ", ".join(keys)
    return connection.execute(
        f"SELECT count(*) FROM (SELECT ({row}) AS k, lag(({row})) OVER (ORDER BY file_row_number) AS p "
        f"FROM read_parquet('{path}', file_row_number = true)) WHERE p > k"
    ).fetchone()[0]


@pytest.fixture(scope="module")
def expected(lineitem):
    return digest(lineitem)


@pytest.mark.parametrize("sort", KEYS)
@pytest.mark.parametrize("limit_mib", LIMITS_MIB)
def test_every_limit_sorts_the_same_rows(run, tmp_path, lineitem, expected, sort, limit_mib):
    target = tmp_path / "sorted.parquet"
    keys = KEYS[sort]
    done = run(
        ["sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY {', '.join(keys)}) TO '{target}'"], limit_mib=limit_mib, threads=2
    )
    assert done.metrics["output_rows"] == expected[0]
    if limit_mib <= 256:
        assert done.metrics["spilled_bytes"] > 0
    assert digest(target) == expected
    assert first_disorder(target, keys) == 0


@pytest.mark.parametrize("limit_mib", [32, 33, 64])
def test_a_tiny_sort_runs_at_the_minimum(run, lineitem, limit_mib):
    done = run(
        ["sql", "--format", "csv", f"SELECT l_comment FROM (SELECT * FROM '{lineitem}' LIMIT 300) t ORDER BY 1"],
        limit_mib=limit_mib,
    )
    rows = done.stdout.splitlines()[1:]
    assert len(rows) == 300


@pytest.mark.parametrize("limit", ["31MiB", "1MiB", "9MB"])
def test_below_the_minimum_is_one_clear_error(run, limit):
    done = run(["--memory-limit", limit, "sql", "SELECT 1"], check=False)
    assert done.exit_code == 3
    assert "32" in done.stderr and len(done.stderr.strip().splitlines()) == 1


def chain_of_joins(count, rows):
    sums = ", ".join(f"sum(v{k})" for k in range(count))
    joins = " ".join(
        f"JOIN (SELECT i, i * {k} AS v{k} FROM generate_series(1, {rows}) g(i)) t{k} USING (i)" for k in range(count)
    )
    return f"SELECT count(*), {sums} FROM generate_series(1, {rows}) g(i) {joins}"


def test_a_chain_of_joins_runs_at_every_limit(run):
    """All joins stream at once, so what each of them keeps and needs adds up, and so do the batches between them."""
    count, rows = 16, 150_000
    total = rows * (rows + 1) // 2
    expected = ",".join(str(value) for value in [rows] + [total * k for k in range(count)])
    for limit_mib in [32, 48, 64, 128]:
        done = run(["sql", "--format", "csv", chain_of_joins(count, rows)], limit_mib=limit_mib, threads=2)
        assert done.stdout.splitlines()[1:] == [expected], f"at {limit_mib} MiB"
        if limit_mib <= 64:
            assert done.metrics["spilled_bytes"] > 0


def test_many_distinct_arguments_run_at_every_limit(run, lineitem):
    """Every DISTINCT has its own groups from the start; a second worker would double what they need."""
    columns = (
        "l_orderkey l_partkey l_suppkey l_linenumber l_quantity l_extendedprice l_discount l_returnflag l_linestatus l_shipdate "
        "l_commitdate l_receiptdate l_shipinstruct l_comment l_tax"
    ).split()
    counts = ", ".join(f"count(DISTINCT {name}) FILTER (WHERE l_tax > 0.0{i})" for name in columns for i in range(4))
    query = f"SELECT l_shipmode, {counts} FROM '{lineitem}' WHERE l_orderkey < 20000 GROUP BY 1 ORDER BY 1"
    rows = duckdb.connect().execute(query).fetchall()
    expected = [",".join(str(value) for value in row) for row in rows]
    for limit_mib in [32, 40, 48, 64]:
        done = run(["sql", "--format", "csv", query], limit_mib=limit_mib, threads=2)
        assert done.stdout.splitlines()[1:] == expected, f"at {limit_mib} MiB"
