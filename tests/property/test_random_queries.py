# SPDX-License-Identifier: Apache-2.0
"""Random queries over random tables against DuckDB, in memory, with a spill after every batch, and with one thread.

Each example is a script in the format of tests/sql, run by the same program; a failing one is shrunk to the smallest tables and query that
still differ, and printed as a script that can be kept in tests/sql.
"""

import pathlib
import subprocess
import sys

import duckdb
import hypothesis
import pytest
from hypothesis import strategies as st

import measure
from random_queries import scripts

sys.path.insert(0, str(measure.ROOT / "tests" / "sql"))

from answer import text_of  # noqa: E402

PROGRAM = measure.BUILD / "sql_logic_test"


def with_answers(statements, queries):
    """The script with DuckDB's answers. A query that DuckDB refuses is left out."""
    connection = duckdb.connect(":memory:")
    blocks = []
    for statement in statements:
        connection.execute(statement)
        blocks.append(f"statement ok\n{statement}\n")
    asked = 0
    for letters, sql in queries:
        try:
            rows = connection.execute(sql).fetchall()
        except duckdb.Error:
            continue
        asked += 1
        blocks.append("\n".join([f"query {letters} rowsort", sql, "----", *("\t".join(map(text_of, row)) for row in rows), ""]))
    hypothesis.assume(asked > 0)
    return "\n".join(blocks)


@pytest.mark.parametrize("mode", ["plain", "spill", "one_thread"])
@hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large, hypothesis.HealthCheck.large_base_example])
@hypothesis.given(script=scripts())
def test_random_queries_have_the_same_answer(mode, script, tmp_path_factory):
    text = with_answers(*script)
    folder = tmp_path_factory.mktemp("script")
    (folder / "random.slt").write_text(text, encoding="utf-8")
    done = subprocess.run([PROGRAM, folder, f"--mode={mode}", "--gtest_brief=1"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{text}"
