# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear line, the right exit code, no half-written output, no spill file left (the `run` fixture checks the last)."""

import os
import pathlib
import resource
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import measure


def write(path, rows=1000, **columns):
    table = pa.table(columns or {"a": pa.array(range(rows)), "s": pa.array([f"row {i}" for i in range(rows)])})
    pq.write_table(table, path)
    return path


def fails(run, arguments, exit_code, *words, **options):
    done = run(arguments, check=False, **options)
    assert done.exit_code == exit_code, done.stderr
    for word in words:
        assert word.lower() in done.stderr.lower(), done.stderr
    return done


@pytest.mark.parametrize("limit", ["", "12XB", "-1MB", "99999999TB", "0", "MB", "1..5MB"])
def test_memory_limit_texts(run, limit):
    fails(run, ["--memory-limit", limit, "sql", "SELECT 1"], 2, f"'{limit}'")  # the text is quoted back


def test_limit_below_the_minimum(run):
    fails(run, ["--memory-limit", "31MiB", "sql", "SELECT 1"], 3, "32 MiB")


def test_missing_spill_directory(tmp_path):
    done = measure.run_icebound(["sql", "SELECT 1"], spill_dir=tmp_path / "absent")
    assert done.exit_code == 2 and "absent does not exist" in done.stderr


def test_spill_directory_that_is_a_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("x")
    done = measure.run_icebound(["sql", "SELECT 1"], spill_dir=target)
    assert done.exit_code == 2 and f"{target} is not a directory" in done.stderr


def test_spill_limit(run, tmp_path, lineitem):
    target = tmp_path / "out.parquet"
    fails(run, ["--spill-limit", "20MiB", "sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"], 4, "spill",
          limit_mib=64)
    assert not target.exists() and list(tmp_path.glob(".*")) == []


def test_full_disk(tmp_path, lineitem):
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", mount], capture_output=True).returncode != 0:
        pytest.skip("mounting a tmpfs needs privileges that this run does not have")
    try:
        target = tmp_path / "out.parquet"
        done = measure.run_icebound(
            ["--spill-limit", "1GiB", "sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"],
            limit_mib=64, spill_dir=mount)
        assert done.exit_code == 4, done.stderr
        assert str(mount) in done.stderr
        assert not target.exists() and list(mount.iterdir()) == []
    finally:
        subprocess.run(["umount", mount], check=True)


def test_missing_file(run, tmp_path):
    fails(run, ["sql", f"SELECT * FROM '{tmp_path}/absent.parquet'"], 2, "absent.parquet", "LINE 1, COLUMN 15:")


def test_missing_glob(run, tmp_path):
    fails(run, ["sql", f"SELECT * FROM '{tmp_path}/*.parquet'"], 2, "*.parquet")


@pytest.mark.parametrize("keep", [0, 3, 8, 500, -1, -9, -200])
def test_truncated_file(run, tmp_path, keep):
    path = write(tmp_path / "cut.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:keep])
    fails(run, ["sql", f"SELECT * FROM '{path}' ORDER BY a"], 7, "cut.parquet")


def test_corrupt_pages(run, tmp_path):
    path = write(tmp_path / "bad.parquet", rows=100_000)
    data = bytearray(path.read_bytes())
    for offset in range(200, 4000):
        data[offset] ^= 0xA5
    path.write_bytes(data)
    fails(run, ["sql", f"SELECT * FROM '{path}' ORDER BY a"], 7, "bad.parquet")


def test_not_parquet(run, tmp_path):
    path = tmp_path / "text.parquet"
    path.write_text("hello, this is no Parquet file at all\n" * 20)
    fails(run, ["sql", f"SELECT * FROM '{path}'"], 7, "text.parquet")


def test_two_schemas(run, tmp_path):
    write(tmp_path / "one.parquet", a=pa.array([1, 2]), b=pa.array(["x", "y"]))
    write(tmp_path / "two.parquet", a=pa.array(["p", "q"]), b=pa.array(["x", "y"]))
    done = run(["sql", f"SELECT * FROM '{tmp_path}/*.parquet' ORDER BY a"], check=False)
    assert done.exit_code == 2, done.stderr
    assert "two.parquet" in done.stderr and ('"a"' in done.stderr or "column a" in done.stderr)


def test_a_row_wider_than_a_quarter_of_the_limit(run, tmp_path):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"s": pa.array(["x" * (100 << 20)]), "k": [1]}), path, compression="zstd")
    fails(run, ["sql", f"COPY (SELECT * FROM '{path}' ORDER BY k) TO '{tmp_path}/out.parquet'"], 3, "memory limit", limit_mib=64)
    assert not (tmp_path / "out.parquet").exists()


def test_output_is_a_directory(run, tmp_path):
    path = write(tmp_path / "in.parquet")
    (tmp_path / "out.parquet").mkdir()
    done = run(["sql", f"COPY (SELECT * FROM '{path}' ORDER BY a) TO '{tmp_path}/out.parquet'"], check=False)
    assert done.exit_code == 2 and "out.parquet" in done.stderr


def test_output_exists_read_only(run, tmp_path):
    path = write(tmp_path / "in.parquet")
    target = write(tmp_path / "out.parquet", rows=3)
    before = target.read_bytes()
    target.chmod(0o444)
    done = run(["sql", f"COPY (SELECT * FROM '{path}' ORDER BY a) TO '{target}'"], check=False)
    assert done.exit_code == 2 and "out.parquet" in done.stderr
    assert target.read_bytes() == before


def test_failure_leaves_the_old_output(run, tmp_path, lineitem):
    target = write(tmp_path / "out.parquet", rows=3)
    before = target.read_bytes()
    fails(run, ["--spill-limit", "20MiB", "sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"], 4, limit_mib=64)
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "spill"]


@pytest.mark.parametrize(
    "sql, words",
    [
        ("SELECT l_shipdat FROM '{0}'", ["l_shipdat", "l_shipdate", "LINE 1, COLUMN 8:", "^"]),
        ("SELECT 1 +", ["syntax error", "LINE 1, COLUMN 11:"]),
        ("SELEC 1", ["syntax error", "LINE 1, COLUMN 1:", "^"]),
        ("SELECT * FROM nowhere", ["nowhere", "LINE 1, COLUMN 15:", "^"]),
        ("SELECT l_comment + 1 FROM '{0}'", ["operator does not exist", "^"]),
        ("SELECT nosuch(l_comment) FROM '{0}'", ["nosuch", "does not exist", "^"]),
    ],
)
def test_sql_errors_point_at_their_place(run, lineitem, sql, words):
    fails(run, ["sql", sql.format(lineitem)], 2, *words)


def test_errors_in_a_script_show_its_lines(run, tmp_path):
    script = "-- a script\nSELECT 1;\n\n/* two */ SELECT 2; SELECT nothing FROM (VALUES (1)) t(x);\n"
    line = "LINE 4, COLUMN 28: /* two */ SELECT 2; SELECT nothing FROM (VALUES (1)) t(x);\n"
    place = line + " " * line.index("nothing") + "^"
    assert place in fails(run, ["sql", script], 2, "nothing").stderr
    path = tmp_path / "script.sql"
    path.write_text(script)
    assert place in fails(run, ["sql", "-f", path], 2, "nothing").stderr


def test_runtime_errors_exit_with_1(run):
    fails(run, ["sql", "SELECT 1 / (x - x) FROM (VALUES (1)) t(x)"], 1, "division by zero")


def test_few_file_descriptors(tmp_path, lineitem):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    target = tmp_path / "out.parquet"
    done = measure.run_icebound(
        ["sql", f"COPY (SELECT * FROM '{lineitem}' ORDER BY l_comment) TO '{target}'"], limit_mib=32, spill_dir=tmp_path, preexec_fn=limit)
    assert done.exit_code == 0, done.stderr
    assert pq.ParquetFile(target).metadata.num_rows == 6_001_215


def test_unwritable_spill_directory(tmp_path):
    if os.geteuid() == 0:
        folder = pathlib.Path("/proc")
    else:
        folder = tmp_path / "closed"
        folder.mkdir(mode=0o500)
    done = measure.run_icebound(["sql", "SELECT 1"], spill_dir=folder)
    assert done.exit_code == 2 and f"in the spill directory {folder}" in done.stderr


def test_a_pipe_is_refused_and_never_waited_for(run, tmp_path):
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    read = run(["sql", f"SELECT * FROM '{pipe}'"], check=False, timeout=20)
    assert read.exit_code == 2 and "is not a regular file" in read.stderr
    written = run(["sql", f"COPY (SELECT 1 AS a) TO '{pipe}' (FORMAT csv)"], check=False, timeout=60)
    assert written.exit_code == 2 and "nobody reads from the pipe" in written.stderr
