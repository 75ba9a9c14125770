# SPDX-License-Identifier: Apache-2.0
"""Output that nobody receives is a failure; a reader that goes is none; nothing is left behind either way."""

import os
import subprocess

import pytest

import measure


@pytest.fixture
def shell(tmp_path):
    """shell(command, **paths): a bash command in which $ICEBOUND is the program; afterwards its spill directory must be empty."""
    spill_dir = tmp_path / "spill"
    spill_dir.mkdir()

    def call(command, **paths):
        names = {name: str(value) for name, value in paths.items()}
        program = f"{measure.PROGRAM} --memory-limit 64MiB --spill-dir {spill_dir} --no-progress"
        done = subprocess.run(
            ["bash", "-c", command], env={**os.environ, "ICEBOUND": program, **names}, capture_output=True, text=True, timeout=300
        )
        assert list(spill_dir.iterdir()) == [], "spill files were left behind"
        return done

    return call


@pytest.mark.parametrize("command", ['sql --format csv "SELECT 1"', 'sql "SELECT 1"', '--json sql "SELECT 1"', 'explain "SELECT 1"',
                                     "--help", "--version", "sql --help"])
def test_a_full_disk_behind_standard_output(shell, command):
    done = shell(f"$ICEBOUND {command} > /dev/full")
    assert done.returncode == 4, done.stderr
    assert done.stderr == "icebound: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("format", ["table", "csv", "json", "jsonl", "arrow"])
def test_a_disk_that_becomes_full(shell, tmp_path, lineitem, format):
    done = shell(f"ulimit -f 100; trap '' XFSZ; $ICEBOUND sql --format {format} \"SELECT * FROM '$TABLE'\" > $OUT",
                 TABLE=lineitem, OUT=tmp_path / "out")
    assert done.returncode == 4, done.stderr
    assert done.stderr == "icebound: cannot write to standard output: File too large\n"


def test_standard_output_that_is_closed(shell):
    done = shell('$ICEBOUND sql "SELECT 1" >&-')
    assert done.returncode == 1, done.stderr
    assert done.stderr == "icebound: cannot write to standard output: Bad file descriptor\n"


def test_nothing_is_printed_so_nothing_is_lost(shell, tmp_path):
    done = shell('$ICEBOUND sql -o $OUT "SELECT 1 AS a" <&- >&-', OUT=tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_closed_standard_input_cannot_be_read(shell):
    done = shell("$ICEBOUND sql - <&-")
    assert done.returncode == 2 and "standard input" in done.stderr, done.stderr


def test_standard_error_that_is_full_or_closed_changes_no_exit_code(shell):
    assert shell('$ICEBOUND sql "SELECT 1" 2>/dev/full').returncode == 0
    assert shell('$ICEBOUND sql "SELEC" 2>/dev/full').returncode == 2
    assert shell('$ICEBOUND sql "SELEC" 2>&-').returncode == 2


def test_a_reader_that_goes(shell, lineitem):
    done = shell("$ICEBOUND sql --format csv \"SELECT * FROM '$TABLE' ORDER BY l_comment\" | head -1; echo ${PIPESTATUS[0]}", TABLE=lineitem)
    header, code = done.stdout.splitlines()
    assert header.startswith("l_orderkey,") and code == "141"
    assert done.stderr == ""


def test_a_reader_that_goes_before_the_plan_is_shown(shell):
    done = shell('(sleep 0.5; exec $ICEBOUND explain "SELECT 1") | true; echo ${PIPESTATUS[0]}')
    assert done.stdout == "141\n" and done.stderr == ""


def test_output_that_does_not_block_is_waited_for(lineitem):
    """A pipe that some parent made non-blocking: full means later, not lost."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen(
        [measure.PROGRAM, "--no-progress", "sql", "--format", "csv", f"SELECT l_comment FROM '{lineitem}' LIMIT 100000"], stdout=writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        assert sum(1 for _ in lines) == 100_001
    assert process.wait() == 0


def test_a_script_that_is_no_file(run, tmp_path):
    done = run(["sql", "-f", tmp_path], check=False)
    assert done.exit_code == 2 and done.stderr == f"icebound: cannot read the SQL file {tmp_path}: Is a directory\n"
    done = run(["sql", "-f", tmp_path / "absent.sql"], check=False)
    assert done.exit_code == 2 and done.stderr == f"icebound: cannot read the SQL file {tmp_path}/absent.sql: No such file or directory\n"
