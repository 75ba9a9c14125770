# SPDX-License-Identifier: Apache-2.0
"""What the options promise: one JSON document, metrics of the whole script, where -o writes, what the help says."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pyarrow.parquet as pq
import pytest

import measure

VIEW = "CREATE VIEW v AS SELECT 7 AS seven"


def test_one_statement_is_an_array_of_rows(run):
    assert json.loads(run(["--json", "sql", "SELECT 1 AS a"]).stdout) == [{"a": 1}]
    assert json.loads(run(["--json", "sql", VIEW]).stdout) == []


def test_several_statements_are_an_array_of_results(run):
    script = f"SELECT 1 AS a; {VIEW}; SELECT * FROM v WHERE seven < 0; SELECT * FROM v"
    assert json.loads(run(["--json", "sql", script]).stdout) == [[{"a": 1}], [], [], [{"seven": 7}]]
    assert json.loads(run(["--json", "sql", "-- nothing to do"]).stdout) == []


def test_a_written_file_answers_as_copy_does(run, tmp_path):
    query = "SELECT * FROM generate_series(1, 3) AS t(a)"
    copied = run(["--json", "sql", f"COPY ({query}) TO '{tmp_path}/copied.csv'"])
    written = run(["--json", "sql", "-o", tmp_path / "written.csv", query])
    assert json.loads(copied.stdout) == json.loads(written.stdout) == [{"count": 3}]
    assert (tmp_path / "copied.csv").read_bytes() == (tmp_path / "written.csv").read_bytes() == b"a\n1\n2\n3\n"
    assert written.stderr == f"3 rows written to {tmp_path}/written.csv\n"


def test_explain_is_one_document(run):
    query = "SELECT * FROM generate_series(1, 1000) AS t(a) ORDER BY a DESC LIMIT 5"
    shown = json.loads(run(["--json", "explain", query]).stdout)
    assert list(shown) == ["plan"] and shown["plan"].startswith("Limit: 5\n  Sort: a DESC")
    analyzed = json.loads(run(["--json", "explain", "--analyze", query]).stdout)
    assert analyzed["plan"] == shown["plan"]
    assert analyzed["metrics"]["input_rows"] == 1000 and analyzed["metrics"]["output_rows"] == 5
    assert {"name", "rows", "seconds", "peak_bytes"} < set(analyzed["metrics"]["operators"][0])


@pytest.mark.parametrize("format", ["csv", "table", "arrow", "jsonl"])
def test_json_and_another_format_contradict(run, format):
    done = run(["--json", "sql", "--format", format, "SELECT 1"], check=False)
    assert done.exit_code == 2 and format in done.stderr and done.stdout == ""


def test_metrics_are_those_of_the_whole_script(run, lineitem):
    done = run(["sql", f"SELECT count(*) AS n FROM '{lineitem}' WHERE l_quantity > 49; SELECT 1 AS a; SELECT 2 AS a"])
    assert done.metrics["input_rows"] >= 6_001_215 and done.metrics["output_rows"] == 3
    operators = done.metrics["operators"]
    assert {row["statement"] for row in operators} == {1, 2, 3}
    scan = next(row for row in operators if row["name"].startswith("scan"))
    assert scan["statement"] == 1 and scan["peak_bytes"] > 100_000


def test_a_scan_shows_its_peak(run, lineitem):
    table = run(["explain", "--analyze", f"SELECT l_comment FROM '{lineitem}' LIMIT 100000"]).stdout
    scan = next(line for line in table.splitlines() if line.startswith("scan"))
    assert re.search(r" \d+ +[\d.]+ +[\d.]+ [KM]iB +0 B +0$", scan), table  # rows, seconds, peak, spilled, levels


def test_metrics_of_a_script_that_fails(run):
    done = run(["sql", "SELECT 1; SELECT 1 / (x - x) FROM (VALUES (1)) t(x)"], check=False)
    assert done.exit_code == 1
    assert done.metrics["output_rows"] == 1


def test_metrics_are_opened_before_the_job_runs(run, tmp_path):
    target = tmp_path / "out.csv"
    arguments = ["--metrics", tmp_path / "absent" / "m.json", "sql", f"COPY (SELECT 1) TO '{target}'"]
    done = measure.run_command([measure.PROGRAM, *arguments])
    assert done.exit_code == 2
    assert done.stderr == f"icebound: cannot write metrics to {tmp_path}/absent/m.json: No such file or directory\n"
    assert not target.exists()
    done = measure.run_command([measure.PROGRAM, "--metrics", "/dev/full", "sql", "SELECT 1"])
    assert done.exit_code == 4 and done.stderr == "icebound: cannot write metrics to /dev/full: No space left on device\n"


@pytest.mark.parametrize("statement, word", [("COPY (SELECT 1) TO '{0}/copy.csv'", "COPY"), (VIEW, "definition")])
def test_o_wants_rows(run, tmp_path, statement, word):
    done = run(["sql", "-o", tmp_path / "out.parquet", statement.format(tmp_path)], check=False)
    assert done.exit_code == 2 and "-o" in done.stderr and word in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spill"]


def test_o_takes_a_plan(run, tmp_path):
    run(["sql", "-o", tmp_path / "plan.csv", "EXPLAIN SELECT 1"])
    assert (tmp_path / "plan.csv").read_text().startswith("QUERY PLAN\n")


def test_o_dash_prints(run):
    assert run(["sql", "-o", "-", "--format", "csv", "SELECT 1 AS a"]).stdout == "a\n1\n"


def test_format_decides_over_the_extension(run, tmp_path):
    run(["sql", "-o", tmp_path / "data.txt", "--format", "parquet", "SELECT 1 AS a"])
    assert pq.read_table(tmp_path / "data.txt").to_pylist() == [{"a": 1}]
    assert run(["sql", "--format", "parquet", "SELECT 1"], check=False).exit_code == 2
    assert run(["sql", "-o", tmp_path / "x", "--format", "table", "SELECT 1"], check=False).exit_code == 2


def test_property_takes_one_value_an_occurrence(run):
    done = run(["sql", "--property", "s3.region=eu", "--property", "s3.endpoint=http://h", "--format", "csv", "SELECT 1 AS a"])
    assert done.stdout == "a\n1\n"
    done = run(["sql", "--property", "region", "SELECT 1"], check=False)
    assert done.exit_code == 2 and "KEY=VALUE" in done.stderr


def test_help_of_a_command_shows_the_options_of_every_command(run):
    for command in ("sql", "explain"):
        text = run([command, "--help"]).stdout
        assert "--file" in text and "--memory-limit" in text and "--spill-dir" in text
        assert text.count("--help") == 1 and "--version" not in text
    text = run(["--help"]).stdout
    assert "Examples:" in text and "Exit codes:" in text and "141" in text


def test_spill_limits(run, lineitem):
    assert run(["--spill-limit", "0B", "sql", "--format", "csv", "SELECT 1 AS a"]).stdout == "a\n1\n"
    done = run(["--spill-limit", "0B", "sql", f"SELECT * FROM '{lineitem}' ORDER BY l_comment"], limit_mib=64, check=False)
    assert done.exit_code == 4 and "--spill-limit" in done.stderr
    assert run(["--spill-limit", "50%", "sql", "SELECT 1"]).exit_code == 0
    assert run(["--spill-limit", "101%", "sql", "SELECT 1"], check=False).exit_code == 2


SIZE = r"[\d.]+ [KMGT]?i?B"
PROGRESS = re.compile(
    r"(reading|working|writing)( \[=* *\])?( +\d+%)?( [\d.]+[kM]? rows/s(, (\d+ min )?\d+ s left)?)?"
    rf"(,? memory {SIZE}/{SIZE})?(,? spilled {SIZE})?(,? [\d.]+[kM]? rows)?(,? read {SIZE})?"
)


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_progress_line_drops_whole_fields(tmp_path, lineitem, columns):
    """On a terminal: what is shown is whole and fits, and the rate and the time left come first, in both phases."""
    reading, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [measure.PROGRAM, "--memory-limit", "64MiB", "--threads", "1", "--spill-dir", tmp_path, "sql",
         f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{tmp_path}/out.parquet'"],
        stderr=terminal, stdout=subprocess.DEVNULL)
    os.close(terminal)
    drawn = b""
    try:
        while piece := os.read(reading, 65536):
            drawn += piece
    except OSError:  # the other end has gone
        pass
    os.close(reading)
    assert process.wait() == 0
    lines = [line for line in drawn.decode().split("\r\x1b[K") if line]
    assert len(lines) > 10
    for line in lines:
        assert len(line) < columns and PROGRESS.fullmatch(line), line
    for phase in ("reading", "writing"):
        assert any(re.match(rf"{phase}.*%.* rows/s, .* left", line) for line in lines), (phase, lines)


def test_parameters_take_their_types_from_where_they_stand(run):
    done = run(["sql", "--format", "csv", "--param", "3", "--param", "it's; --", "--param", "2024-05-05",
                "SELECT $1::int + 1 AS a, $2 AS b, DATE '2024-01-01' < $3 AS c; SELECT count(*) FROM generate_series(1, 10) g(i) WHERE i > $1"])
    assert done.stdout.splitlines() == ["a,b,c", "4,it's; --,true", "count", "7"]
    refused = run(["sql", "--param", "3", "SELECT $2"], check=False)
    assert refused.exit_code == 2 and "there is no parameter $2" in refused.stderr
    refused = run(["sql", "--param", "three", "SELECT $1::int"], check=False)
    assert refused.exit_code == 2 and 'invalid input syntax for type integer: "three"' in refused.stderr


@pytest.mark.parametrize("query", [
    "SELECT count(*), sum(s), max(m) FROM (SELECT l_orderkey, sum(l_extendedprice) s, max(l_comment) m FROM lineitem GROUP BY l_orderkey) t",
    "SELECT count(*), max(b.l_comment) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber",
    "SELECT count(*) FROM (SELECT l_comment FROM lineitem INTERSECT ALL SELECT l_comment FROM lineitem) t",
    "SELECT l_comment FROM lineitem ORDER BY l_comment LIMIT 1 OFFSET 3000000",
], ids=["aggregate", "join", "set", "sort"])
def test_what_operators_spilled_adds_up(run, tmp_path, lineitem, query):
    """Two threads spill at the same time, and each byte is counted once."""
    sql = query.replace("lineitem", f"'{lineitem}'")
    done = run(["explain", "--analyze", sql], limit_mib=32, threads=2)
    operators = done.metrics["operators"]
    assert done.metrics["spilled_bytes"] > 0
    assert sum(operator["spilled_bytes"] for operator in operators) == done.metrics["spilled_bytes"]
    for operator in operators:
        assert operator["peak_bytes"] <= done.metrics["peak_ledger_bytes"]
    assert max(operator["seconds"] for operator in operators) <= 2 * done.metrics["wall_seconds"]
    assert f"{operators[0]['rows']}" in done.stdout
