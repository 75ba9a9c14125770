#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills in the answers that a script of this folder lacks, from DuckDB: answer.py FILE.slt...

Only for writing a script: read what comes out. Where DuckDB's answer is not PostgreSQL's, write it by hand.
"""

import sys

import duckdb


def text_of(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(text_of(item) for item in value) + "]"
    return str(value) or "(empty)"


def fill(path):
    connection = duckdb.connect(":memory:")
    with open(path, encoding="utf-8") as source:
        blocks = source.read().rstrip("\n").split("\n\n")
    filled = []
    for block in blocks:
        lines = block.split("\n")
        head = next((line for line in lines if not line.startswith("#")), "")
        sql = "\n".join(line for line in lines[lines.index(head) + 1 :]) if head else ""
        if head == "statement ok":
            connection.execute(sql)
        elif head.startswith("query ") and not head.startswith("query error") and "----" not in lines:
            rows = connection.execute(sql).fetchall()
            block = "\n".join([block, "----", *("\t".join(map(text_of, row)) for row in rows)])
        filled.append(block)
    with open(path, "w", encoding="utf-8") as target:
        target.write("\n\n".join(filled) + "\n")


if __name__ == "__main__":
    for script in sys.argv[1:]:
        fill(script)
