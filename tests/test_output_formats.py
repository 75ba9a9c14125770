# SPDX-License-Identifier: Apache-2.0
"""Rows as text, JSON and Arrow IPC: read back by other programs, and by the letter where the format is fixed."""

import csv
import datetime
import decimal
import io
import json

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def every_kind(tmp_path):
    moment = datetime.datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
    table = pa.table({
        "i": pa.array([1, None, -3], pa.int64()),
        "u": pa.array([1, 2, 2**64 - 1], pa.uint64()),
        "f": pa.array([float("nan"), float("-inf"), 1.5]),
        "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-0.01")], pa.decimal128(9, 2)),
        "t": pa.array([moment] * 3, pa.timestamp("us", "UTC")),
        "y": pa.array([datetime.date(1999, 12, 31), None, datetime.date(1, 1, 1)]),
        "s": pa.array(['say "hi"', "", None]),
        "b": pa.array([b"\x00\xff", None, b""]),
        "o": pa.array([True, False, None]),
        "l": pa.array([[1, None], None, []], pa.list_(pa.int64())),
        "r": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "é\n"}]),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    })
    path = tmp_path / "kinds.parquet"
    pq.write_table(table, path)
    return path


def test_json_by_the_letter(run, every_kind):
    rows = json.loads(run(["--json", "sql", f"SELECT * FROM '{every_kind}'"]).stdout)
    assert rows[0] == {
        "i": 1, "u": 1, "f": "NaN", "d": "1.50", "t": "2024-01-01T01:02:03.000004Z", "y": "1999-12-31", "s": 'say "hi"', "b": "AP8=",
        "o": True, "l": [1, None], "r": {"a": 1, "b": "x"}, "m": [{"key": "k", "value": 1}]}
    assert rows[1] | {} == {
        "i": None, "u": 2, "f": "-Infinity", "d": None, "t": "2024-01-01T01:02:03.000004Z", "y": None, "s": "", "b": None,
        "o": False, "l": None, "r": None, "m": None}
    assert rows[2]["u"] == 2**64 - 1 and rows[2]["r"] == {"a": None, "b": "é\n"} and rows[2]["l"] == [] and rows[2]["y"] == "0001-01-01"


def test_jsonl_is_an_object_a_line(run, every_kind, tmp_path):
    target = tmp_path / "out.jsonl"
    run(["sql", "-o", target, f"SELECT i, s FROM '{every_kind}'"])
    assert [json.loads(line) for line in target.read_text().splitlines()] == [
        {"i": 1, "s": 'say "hi"'}, {"i": None, "s": ""}, {"i": -3, "s": None}]


def test_an_empty_answer_is_valid_json(run, every_kind):
    assert json.loads(run(["--json", "sql", f"SELECT * FROM '{every_kind}' WHERE i > 100"]).stdout) == []


def test_csv_quotes_and_nulls(run, every_kind, tmp_path):
    target = tmp_path / "out.csv"
    run(["sql", f"COPY (SELECT i, s, d FROM '{every_kind}') TO '{target}' (FORMAT csv)"])
    assert target.read_text() == 'i,s,d\n1,"say ""hi""",1.50\n,"",\n-3,,-0.01\n'
    run(["sql", f"COPY (SELECT i, s FROM '{every_kind}') TO '{target}' (FORMAT csv, DELIMITER ';', HEADER false, NULL 'null')"])
    assert list(csv.reader(io.StringIO(target.read_text()), delimiter=";")) == [["1", 'say "hi"'], ["null", ""], ["-3", "null"]]


def test_arrow_file_round_trips_every_type(run, every_kind, tmp_path):
    target = tmp_path / "out.arrow"
    run(["sql", "-o", target, f"SELECT * FROM '{every_kind}'"])
    ours, theirs = ipc.open_file(target).read_all(), pq.read_table(every_kind)
    assert ours.schema.equals(theirs.schema)
    # NaN equals nothing, itself included: that column is compared as text.
    assert ours.drop(["f"]).equals(theirs.drop(["f"])) and str(ours["f"]) == str(theirs["f"])


def test_table_for_people(run, every_kind):
    lines = run(["sql", f"SELECT i, s FROM '{every_kind}'"]).stdout.splitlines()
    assert lines[0].split("|")[0].strip() == "i" and set(lines[1]) <= set("-+")
    assert lines[-1] == "(3 rows)" and "NULL" in lines[3]


def test_unknown_formats_and_options(run, every_kind, tmp_path):
    done = run(["sql", f"COPY (SELECT i FROM '{every_kind}') TO '{tmp_path}/x.orc'"], check=False)
    assert done.exit_code == 2 and "orc" in done.stderr
    done = run(["sql", f"COPY (SELECT i FROM '{every_kind}') TO '{tmp_path}/x.csv' (DELIMITR ';')"], check=False)
    assert done.exit_code == 2 and "delimiter" in done.stderr
    assert not (tmp_path / "x.csv").exists()
