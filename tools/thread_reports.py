#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the reports of the thread sanitizer: thread_reports.py FILE_OR_FOLDER... prints those that are ours; exit code 1 when there are any.

libarrow and libparquet come compiled without the sanitizer. It sees what they copy, free, lock and wait for, as those calls go through it, but not
the atomics that put them in order: counts of shared pointers, states of futures, types' fingerprints. A report is left out when the access of either
side was made by one of these libraries itself, that is, when the first frame outside the sanitizer is theirs. Everything else is ours, accesses
made by the C++ library on somebody's behalf included.
"""

import pathlib
import re
import sys

UNSEEN = ("libarrow", "libparquet")
FRAME = re.compile(r"^\s+#\d+ .*\((?P<module>[^()+]+)\+0x[0-9a-f]+\)")
ACCESS = re.compile(r"^  (Previous |As if synchronized via |)?(atomic )?(read|write|Read|Write|Atomic)\b.* (by|of size)", re.IGNORECASE)


def reports(text):
    """Each report, from its heading to the summary."""
    return re.findall(r"WARNING: ThreadSanitizer:.*?SUMMARY: ThreadSanitizer:[^\n]*", text, re.DOTALL)


def accessing_modules(report):
    """For each access of a report, the module of the first frame outside the sanitizer."""
    modules = []
    inside = False
    for line in report.splitlines():
        if ACCESS.match(line):
            inside = True
            continue
        frame = FRAME.match(line)
        if not frame:
            inside = False
        elif inside and "libtsan" not in frame["module"]:
            modules.append(frame["module"])
            inside = False
    return modules


def is_ours(report):
    return not any(module.startswith(UNSEEN) for module in accessing_modules(report))


def main(paths):
    files = [file for path in map(pathlib.Path, paths) for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    found = [(file, report) for file in files for report in reports(file.read_text(encoding="utf-8", errors="replace"))]
    ours = [(file, report) for file, report in found if is_ours(report)]
    for file, report in ours:
        print(f"{file.name}:\n{report}\n")
    print(f"thread_reports: {len(found)} report(s), {len(ours)} ours")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
