# SPDX-License-Identifier: Apache-2.0
"""TPC-H and five heavier queries at SF1: right answers (DuckDB's), within the promise, nothing left behind.

All limits of the monotone series: benchmarks/compare/query_compare.py --scale 1 --limits 32,40,48,64,96,128,192,256,512,1024.
"""

import sys

import pytest

import measure

sys.path.insert(0, str(measure.ROOT / "benchmarks" / "compare"))

import query_compare  # noqa: E402


@pytest.fixture(scope="module")
def folder():
    return measure.tpch(1, query_compare.TABLES)


@pytest.fixture(scope="module")
def answers(folder, tmp_path_factory):
    """DuckDB's answers, each asked once."""
    known = {}

    def answer(name):
        if name not in known:
            sql = query_compare.CASES[name].read_text(encoding="utf-8")
            known[name] = query_compare.run_duckdb(sql, None, folder, tmp_path_factory.mktemp("peer"))[1]
        return known[name]

    return answer


@pytest.mark.parametrize("limit_mib", [32, 64, 256])
@pytest.mark.parametrize("name", sorted(query_compare.CASES))
def test_the_answer_is_right_at_every_limit(name, limit_mib, folder, answers, tmp_path):
    sql = query_compare.CASES[name].read_text(encoding="utf-8")
    run, left = query_compare.run_ours(sql, limit_mib, folder, tmp_path)
    assert query_compare.verdict(run, left, answers(name), limit_mib) == "right", run.stderr
