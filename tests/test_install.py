# SPDX-License-Identifier: Apache-2.0
"""The installed package serves another project: examples/embed is configured, built and run against it."""

import subprocess

import measure


def test_a_separate_project_builds_against_the_installed_package(tmp_path, lineitem):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    subprocess.run(["cmake", "--install", measure.BUILD, "--prefix", prefix], check=True, capture_output=True)
    subprocess.run(
        ["cmake", "-S", measure.ROOT / "examples" / "embed", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release"],
        check=True, capture_output=True,
    )
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    done = measure.run_command([build / "sort_file", lineitem, "l_shipdate"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("6001215 rows"), done.stdout
    csv = tmp_path / "cities.csv"
    csv.write_text("city,people\nOslo,700000\nLima,10000000\n", encoding="utf-8")
    for path, column, rows in [(lineitem, "l_shipdate", 6_001_215), (csv, "people", 2)]:
        in_c = measure.run_command([build / "sort_file_c", path, column])
        assert in_c.exit_code == 0, in_c.stderr
        assert in_c.stdout.startswith(f"{rows} rows, {{"), in_c.stdout
        assert in_c.peak_mib <= 64 + 50 + 32
    failed = measure.run_command([build / "sort_file_c", lineitem, "no_such_column"])
    assert failed.exit_code == 1 and "no_such_column" in failed.stderr, failed
    # A host program: growth over the session's start is at most the limit + 50 MiB; the libraries were there before it.
    assert done.peak_mib <= 64 + 50 + 32
    installed = subprocess.run([prefix / "bin" / "icebound", "--version"], check=True, capture_output=True, text=True)
    assert installed.stdout.startswith("icebound 0.")
