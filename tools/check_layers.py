#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style guide as a test: dependency direction, file and function sizes, names, licence lines.

Run without arguments from anywhere; prints one line a fault and exits 1 when there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder below src/ -> folders its files may include beside their own. "include" is the public face; Arrow is allowed everywhere.
LAYERS = {
    "base": {"include"},
    "memory": {"include", "base"},
    "spill": {"include", "base", "memory"},
    "runtime": {"include", "base", "memory", "spill"},
    "row": {"include", "base", "memory"},
    "expr": {"include", "base", "memory"},
    "plan": {"include", "base", "expr"},
    "sql": {"include", "base", "expr", "plan"},
    "optimizer": {"include", "base", "expr", "plan"},
    "io": {"include", "base", "memory", "spill", "runtime", "expr"},
    "exec": {"include", "base", "memory", "spill", "runtime", "row", "expr"},
    "planner": {"include", "base", "memory", "plan", "expr", "runtime", "io", "exec"},
    "iceberg/spec": {"include", "base"},
    "iceberg/avro": {"include", "base", "memory", "iceberg/spec"},
    "iceberg/manifest": {"include", "base", "memory", "iceberg/spec", "iceberg/avro"},
    "iceberg/puffin": {"include", "base", "memory", "iceberg/spec"},
    "iceberg/deletes": {"include", "base", "memory", "iceberg/spec", "iceberg/manifest"},
    "iceberg/scan": {"include", "base", "memory", "expr", "iceberg/spec", "iceberg/manifest", "iceberg/deletes"},
    "iceberg/catalog": {"include", "base", "iceberg/spec"},
    "bridge": {"include", "base", "memory", "spill", "runtime", "expr", "plan", "sql", "io", "iceberg/spec", "iceberg/avro", "iceberg/puffin", "iceberg/manifest", "iceberg/deletes", "iceberg/scan", "iceberg/catalog"},
    "session": {"include", "base", "memory", "spill", "runtime", "row", "expr", "plan", "sql", "optimizer", "io", "exec", "planner", "iceberg/spec", "iceberg/catalog", "bridge"},
}
# What only one folder may touch.
ONLY = {"parquet/": {"io"}, "pg_query": {"sql"}, "lz4": {"spill"}, "nlohmann/": {"sql", "io", "session", "iceberg/spec", "iceberg/avro"}, "roaring": {"iceberg/puffin"}, "sqlite3.h": {"iceberg/catalog"}, "curl/": {"iceberg/catalog"}, "openssl/": {"iceberg/catalog"}, "yaml-cpp/": {"iceberg/catalog"}}

MAX_SOURCE_LINES = 800
MAX_HEADER_LINES = 400
MAX_FUNCTION_LINES = 70
MAX_LINE_LENGTH = 130
BANNED_NAMES = re.compile(r"(^|_)(util|utils|common|helper|helpers|misc)(_|\.|$)")
TEST_SUFFIXES = ("_test", "_testing", "_benchmark", "_fuzz")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def layer_of(parts):
    """The layer of a path below src/, given its parts: "exec" for exec/sort/x.h; folders of iceberg/ are layers of their own."""
    return "/".join(parts[:2]) if parts[0] == "iceberg" else parts[0]


def is_test(path):
    """Tests and what they share may reach anywhere and be longer."""
    return path.stem.endswith(TEST_SUFFIXES) or path.stem.startswith("test_")


def sources():
    for folder in ("src", "include", "cli", "tests", "examples", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path


def check_includes(path, lines):
    relative = path.relative_to(ROOT)
    top = relative.parts[0]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if top == "src":
            layer = layer_of(relative.parts[1:])
            first = layer_of(target.split("/")) if "/" in target else ""
            if first == "icebound":
                first = "include"
            if first in LAYERS and first != layer and first not in LAYERS[layer] and not is_test(path):
                yield f"{relative}:{number}: src/{layer} may not include src/{first} ({target})"
            for prefix, owners in ONLY.items():
                if target.startswith(prefix) and layer not in owners and not is_test(path):
                    yield f"{relative}:{number}: only {sorted(owners)} may include {target}"
        elif top in ("include", "cli", "examples"):
            if "/" in target and layer_of(target.split("/")) in LAYERS:
                yield f"{relative}:{number}: {top}/ may include the public face only ({target})"


def function_lengths(lines):
    """Yields (first line, length) of brace blocks that look like function bodies: a good enough reading of our own format."""
    start, depth, base, data_lines = None, 0, 0, 0
    for number, line in enumerate(lines, 1):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
        if start is None and re.search(r"\)\s*(const|noexcept|override|final|mutable|->\s*[\w:<>,&* ]+|\s)*(:[^{;]*)?\{\s*$", code):
            if not re.match(r"\s*(if|for|while|switch|else|namespace|struct|class|enum|do|try|catch|TEST|\})", code):
                start, base, data_lines = number, depth, 0
        depth += code.count("{") - code.count("}")
        # Labels of a switch and rows of a table are data: they make a function longer, not harder to read.
        if re.match(r"\s*(case .*:|default:|\{.*\},)\s*$", line):
            data_lines += 1
        if start is not None and depth <= base and number > start:
            yield start, number - start + 1 - data_lines
            start = None


def check_file(path):
    relative = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
        yield f"{relative}:1: the first line must be the SPDX licence line"
    limit = MAX_HEADER_LINES if path.suffix == ".h" else MAX_SOURCE_LINES
    if len(lines) > limit and not is_test(path):
        yield f"{relative}: {len(lines)} lines, at most {limit}"
    for part in relative.parts:
        if BANNED_NAMES.search(part):
            yield f"{relative}: the name says nothing ({part})"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_LENGTH:
            yield f"{relative}:{number}: {len(line)} characters, at most {MAX_LINE_LENGTH}"
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
            yield f"{relative}:{number}: unfinished by its own words"
        if "default_memory_pool" in line and relative.parts[0] == "src" and not is_test(path):
            yield f"{relative}:{number}: default_memory_pool() goes around the ledger"
    if not is_test(path):
        for start, length in function_lengths(lines):
            if length > MAX_FUNCTION_LINES:
                yield f"{relative}:{start}: function of {length} lines, at most {MAX_FUNCTION_LINES}"
    yield from check_includes(path, lines)


def main():
    faults = [fault for path in sources() for fault in check_file(path)]
    for fault in faults:
        print(fault)
    print(f"check_layers: {len(faults)} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
