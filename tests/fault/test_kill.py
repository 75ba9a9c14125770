# SPDX-License-Identifier: Apache-2.0
"""kill -9 and Ctrl-C in the middle of a spill: no output appears, and the next start (or the cancelled run itself) leaves nothing behind."""

import signal
import subprocess
import time

import pytest

import measure


def default_signals():
    """In the child: who started the tests may have ignored some (nohup, a shell's background), which a program inherits and honours."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def start(lineitem, spill_dir, target, limit="64MiB", before=()):
    return subprocess.Popen(
        [*before, measure.PROGRAM, "--memory-limit", limit, "--threads", "2", "--spill-dir", spill_dir, "sql",
         f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)


def wait_for_spill(spill_dir, process, at_least=8 << 20):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "the sort ended before it could be stopped: " + process.stderr.read()
        if sum(path.stat().st_size for path in spill_dir.rglob("*.spill")) >= at_least:
            return
        time.sleep(0.01)
    raise AssertionError("nothing was spilled within a minute")


@pytest.fixture
def spill_dir(tmp_path):
    folder = tmp_path / "spill"
    folder.mkdir()
    return folder


def test_kill_9_then_the_next_start_cleans(spill_dir, tmp_path, lineitem):
    target = tmp_path / "out.parquet"
    process = start(lineitem, spill_dir, target)
    wait_for_spill(spill_dir, process)
    process.kill()
    process.wait()
    assert list(spill_dir.iterdir()) != []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spill"]
    done = measure.run_icebound(["sql", "SELECT 1"], spill_dir=spill_dir)
    assert done.exit_code == 0, done.stderr
    assert list(spill_dir.iterdir()) == []


def test_the_next_start_leaves_a_living_one_alone(spill_dir, tmp_path, lineitem):
    target = tmp_path / "out.parquet"
    process = start(lineitem, spill_dir, target)
    wait_for_spill(spill_dir, process)
    done = measure.run_icebound(["sql", "SELECT 1"], spill_dir=spill_dir)
    assert done.exit_code == 0, done.stderr
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert target.exists()
    assert list(spill_dir.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_cancels_and_cleans(spill_dir, tmp_path, lineitem, number):
    target = tmp_path / "out.parquet"
    process = start(lineitem, spill_dir, target)
    wait_for_spill(spill_dir, process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, (process.returncode, stderr)
    assert not target.exists()
    assert list(spill_dir.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spill"]


@pytest.mark.parametrize("command", [["sql", "EXPLAIN ANALYZE {0}"], ["sql", "{0}"], ["explain", "--analyze", "{0}"]])
def test_a_signal_at_any_moment_of_the_start(spill_dir, lineitem, command):
    """Before the handler stands, the signal ends the process; from then on it cancels, whatever is about to start. Never is it lost."""
    statement = f"SELECT * FROM '{lineitem}' ORDER BY l_comment"
    arguments = [part.format(statement) for part in command]
    for milliseconds in range(0, 90, 3):
        process = subprocess.Popen([measure.PROGRAM, "--memory-limit", "32MiB", "--spill-dir", spill_dir, *arguments],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
        assert process.returncode in (130, -signal.SIGINT), (milliseconds, process.returncode, stderr)
        assert list(spill_dir.iterdir()) == []


def test_nohup_is_honoured(spill_dir, tmp_path, lineitem):
    target = tmp_path / "out.parquet"
    process = start(lineitem, spill_dir, target, before=["nohup"])
    wait_for_spill(spill_dir, process)
    process.send_signal(signal.SIGHUP)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert target.exists()
