#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks (or with --fix applies) clang-format on every C++ file of ours."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    if shutil.which("clang-format") is None:
        print("check_format: clang-format is not installed (tools/bootstrap.sh installs it)")
        return 1
    files = [
        str(path)
        for folder in ("src", "include", "cli", "tests", "examples", "cmake")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".h", ".cc")
    ]
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror"]
    result = subprocess.run(["clang-format", *mode, *files], capture_output=True, text=True)
    faults = [line for line in result.stderr.splitlines() if "error:" in line]
    for fault in faults[:50]:
        print(fault.replace(str(ROOT) + "/", ""))
    print(f"check_format: {len(files)} files, {len(faults)} fault(s)")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
