#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command and reports what the operating system measured of it: seconds and the peak of resident memory.

    python3 -S -E tools/run_measured.py REPORT.json COMMAND [ARGUMENT ...]

The kernel keeps a process's high-water mark across exec, so a launcher must itself be small: this file imports next to nothing and is
meant to be started with -S -E (about 9 MiB). The report is {"exit_code", "seconds", "cpu_seconds", "peak_rss_bytes"}.
"""

import os
import sys
import time


def main():
    report, command = sys.argv[1], sys.argv[2:]
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    seconds = time.monotonic() - started
    code = os.waitstatus_to_exitcode(status)
    with open(report, "w", encoding="utf-8") as out:
        out.write(
            f'{{"exit_code": {code}, "seconds": {seconds:.3f}, "cpu_seconds": {usage.ru_utime + usage.ru_stime:.3f}, '
            f'"peak_rss_bytes": {usage.ru_maxrss * 1024}}}\n'
        )
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
