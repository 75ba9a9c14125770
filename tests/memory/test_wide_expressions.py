# SPDX-License-Identifier: Apache-2.0
"""Expressions whose values are far wider than what they read are evaluated in slices, wherever they stand."""

import pytest

SERIES = "generate_series(1, 3000) g(i)"
WIDE = "repeat('x', 100000) || i::text"
DIGITS = sum(len(str(i)) for i in range(1, 3001))

CASES = {
    "projection": (f"SELECT count(*), sum(length(s)) FROM (SELECT {WIDE} AS s FROM {SERIES}) q", f"3000,{3000 * 100000 + DIGITS}"),
    "aggregate argument": (f"SELECT count(*), sum(length({WIDE})) FROM {SERIES}", f"3000,{3000 * 100000 + DIGITS}"),
    "aggregate of a wide value": (f"SELECT length(max({WIDE})) FROM {SERIES}", "100003"),
    "group key": (f"SELECT count(*) FROM (SELECT {WIDE} AS s FROM generate_series(1, 1000) g(i) GROUP BY {WIDE}) q", "1000"),
    "aggregate filter": (f"SELECT count(*) FILTER (WHERE length({WIDE}) > 100003) FROM {SERIES}", "2001"),
    "aggregate order": (f"SELECT first(i ORDER BY {WIDE} DESC) FROM generate_series(1, 1000) g(i)", "999"),
    "filter": (f"SELECT count(*) FROM {SERIES} WHERE length({WIDE}) = 100003", "900"),
    "one row of 7 MB at a time": ("SELECT max(length(repeat('x', 7000000) || i::text)) FROM generate_series(1, 40) g(i)", "7000002"),
    "now and then wide": ("SELECT sum(length(repeat('x', CASE WHEN i % 500 = 0 THEN 3000000 ELSE 1 END))) FROM generate_series(1, 2000) g(i)", "12001996"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_values_wider_than_their_batch(run, name, threads):
    sql, expected = CASES[name]
    done = run(["sql", "--format", "csv", sql], limit_mib=32, threads=threads)
    assert done.stdout.splitlines()[1] == expected


@pytest.mark.parametrize("sql, code, says", [
    ("SELECT length(regexp_replace(repeat('a', 4000000), 'a', repeat('b', 100), 'g'))", 3, "memory limit too small"),
    ("SELECT 'x' LIKE repeat('%a_', 2600000)", 1, "a LIKE pattern may have at most 65536 bytes"),
    ("SELECT 'x' ~ repeat('(a|b)*', 1000000)", 1, "a regular expression may have at most 65536 bytes"),
    ("SELECT x, length(to_char(x, repeat('9', 5000000))) FROM generate_series(1, 2) t(x)", 1, "a template of numbers may have at most 65536 bytes"),
    ("SELECT length(to_char(timestamp '2024-01-01', repeat('YYYY', 2000000)))", 1, "a template of dates may have at most 65536 bytes"),
    ("SELECT cast(repeat('x', 7000000) AS int)", 1, "(7000000 bytes)"),
    ("SELECT cast(repeat('x', 7000000) AS date)", 1, "(7000000 bytes)"),
])
def test_what_is_built_outside_the_pools_is_bounded(run, sql, code, says):
    """Libraries and messages work on plain heap: what they are given is bounded. The promise is asserted by `run`."""
    done = run(["sql", sql], limit_mib=32, check=False)
    assert done.exit_code == code and says in done.stderr
    assert len(done.stderr) < 1000
