# SPDX-License-Identifier: Apache-2.0
"""Scans of tables that PyIceberg wrote, planned by us (scan_probe) and by PyIceberg: the same files for the same filter.

Two files may differ, each for a reason that is checked:
- PyIceberg keeps a file that we leave out: no row of it satisfies the filter.
- We keep a file that PyIceberg leaves out: it lies in a unit of time up to 1970, where old writers rounded up and we look at one
  unit more (partition_range.h).
"""

import datetime
import decimal
import json
import pathlib
import random
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyiceberg")
from pyiceberg import expressions as ex  # noqa: E402
from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402
from pyiceberg.io.pyarrow import expression_to_pyarrow  # noqa: E402
from pyiceberg.partitioning import PartitionField, PartitionSpec  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.transforms import (  # noqa: E402
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (  # noqa: E402
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
)

PROBE = pathlib.Path(__file__).resolve().parents[2] / "build/release/scan_probe"

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "small", IntegerType()),
    NestedField(3, "name", StringType()),
    NestedField(4, "price", DecimalType(9, 2)),
    NestedField(5, "day", DateType()),
    NestedField(6, "ts", TimestampType()),
    NestedField(7, "flag", BooleanType()),
)
NAMES = [field.name for field in SCHEMA.fields]
ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int32()),
        ("name", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us")),
        ("flag", pa.bool_()),
    ]
)
TRANSFORMS = {
    "id": [IdentityTransform(), BucketTransform(5), TruncateTransform(10)],
    "small": [IdentityTransform(), BucketTransform(3), TruncateTransform(7)],
    "name": [IdentityTransform(), BucketTransform(4), TruncateTransform(1), TruncateTransform(3)],
    "price": [IdentityTransform(), BucketTransform(4), TruncateTransform(250)],
    "day": [IdentityTransform(), BucketTransform(4), YearTransform(), MonthTransform(), DayTransform()],
    "ts": [BucketTransform(4), YearTransform(), MonthTransform(), DayTransform(), HourTransform()],
    "flag": [IdentityTransform()],
}
EPOCH = datetime.datetime(1970, 1, 1)


class RandomTable:
    """Rows, partition specs and filters of one table. `first_day`: before 1970 or after it."""

    def __init__(self, path, seed, first_day):
        self.random = random.Random(seed)
        self.first_day = first_day
        catalog = SqlCatalog("c", uri=f"sqlite:///{path}/c.db", warehouse=f"file://{path}")
        catalog.create_namespace("ns")
        # In version 1, a partition field that goes leaves a void one behind.
        properties = {"format-version": str(1 + seed % 2)}
        self.table = catalog.create_table("ns.t", SCHEMA, partition_spec=self.spec(), properties=properties)
        for step in range(3):
            for _ in range(2):
                self.table.append(self.rows(self.random.randint(1, 8)))
            if step < 2:
                self.evolve()
        # Files that go, and files that are written again.
        self.table.delete(ex.EqualTo("small", 6))

    def spec(self):
        columns = self.random.sample(NAMES, self.random.randint(0, 2))
        fields = []
        for i, name in enumerate(columns):
            transform = self.random.choice(TRANSFORMS[name])
            fields.append(PartitionField(SCHEMA.find_field(name).field_id, 1000 + i, transform, f"p{i}"))
        return PartitionSpec(*fields)

    def evolve(self):
        """One field goes, another comes."""
        with self.table.update_spec() as update:
            for field in self.table.spec().fields[:1]:
                update.remove_field(field.name)
            name = self.random.choice(NAMES)
            kept = {(f.source_id, str(f.transform)) for f in self.table.spec().fields}
            transform = self.random.choice(TRANSFORMS[name])
            if (SCHEMA.find_field(name).field_id, str(transform)) not in kept:
                update.add_field(name, transform, f"q{len(self.table.specs())}")

    def value(self, name):
        pick = self.random
        if pick.random() < 0.15:
            return None
        if name == "id":
            return pick.randint(-30, 30)
        if name == "small":
            return pick.choice([-7, 0, 1, 6, 7, 2**31 - 1])
        if name == "name":
            return pick.choice(["", "a", "ab", "abc", "abd", "b", "é", "éa\U0001f4b0", "z" * 40])
        if name == "price":
            return (decimal.Decimal(pick.randint(-900, 900)) / 100).quantize(decimal.Decimal("0.01"))
        if name == "flag":
            return pick.random() < 0.5
        moment = EPOCH + datetime.timedelta(days=self.first_day + pick.choice([0, 1, 2, 40, 400]), seconds=pick.choice([-1, 0, 1, 5000]))
        return moment.date() if name == "day" else moment

    def rows(self, count):
        return pa.Table.from_pylist([{name: self.value(name) for name in NAMES} for _ in range(count)], schema=ARROW)

    def constant(self, name):
        value = None
        while value is None:
            value = self.value(name)
        return value

    def filter(self, depth=2):
        """A filter as PyIceberg has it, and in the probe's notation."""
        kind = self.random.randint(0, 9 if depth > 0 else 5)
        name = self.random.choice(NAMES)
        column = f"${NAMES.index(name)}"
        if kind < 3:
            op, make = self.random.choice(
                [
                    ("=", ex.EqualTo),
                    ("=", ex.EqualTo),
                    ("<>", ex.NotEqualTo),
                    ("<", ex.LessThan),
                    ("<=", ex.LessThanOrEqual),
                    (">", ex.GreaterThan),
                    (">=", ex.GreaterThanOrEqual),
                ]
            )
            if name == "flag":
                op, make = "=", ex.EqualTo
            value = self.constant(name)
            return make(name, iceberg(value)), f"({op} {column} {notation(value)})"
        if kind == 3:
            values = [self.constant(name) for _ in range(self.random.randint(1, 3))]
            return ex.In(name, [iceberg(v) for v in values]), f"(in {column} {' '.join(notation(v) for v in values)})"
        if kind == 4:
            return self.random.choice([(ex.IsNull(name), f"(is_null {column})"), (ex.NotNull(name), f"(is_not_null {column})")])
        if kind == 5:
            prefix = self.random.choice(["a", "ab", "é", "zz", "abcd"])
            return ex.StartsWith("name", prefix), f"(like ${NAMES.index('name')} '{prefix}%')"
        left, right = self.filter(depth - 1), self.filter(depth - 1)
        if kind == 6:
            return ex.Not(left[0]), f"(not {left[1]})"
        if kind == 7:
            return ex.Or(left[0], right[0]), f"(or {left[1]} {right[1]})"
        return ex.And(left[0], right[0]), f"(and {left[1]} {right[1]})"


def iceberg(value):
    """As PyIceberg takes constants."""
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def notation(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return f"timestamp'{value}'"
    if isinstance(value, datetime.date):
        return f"date'{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def probe(table, text=None):
    metadata = table.metadata_location.removeprefix("file://")
    done = subprocess.run([PROBE, metadata] + ([text] if text else []), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]


def matching_rows(path, table, row_filter):
    rows = pq.read_table(path.removeprefix("file://"), partitioning=None)
    return rows.filter(expression_to_pyarrow(ex.visitors.bind(table.schema(), row_filter, True))).num_rows, rows.num_rows


def is_up_to_1970(file, table):
    spec = table.specs()[file.spec_id]
    units = ("year", "month", "day", "hour")
    return any(
        str(field.transform) in units and file.partition[i] is not None and file.partition[i] <= 0
        for i, field in enumerate(spec.fields)
    )


def compare(random_table, counts):
    table = random_table.table
    all_files = {task.file.file_path: task.file for task in table.scan().plan_files()}
    row_filter, text = random_table.filter()
    try:
        theirs = {task.file.file_path for task in table.scan(row_filter=row_filter).plan_files()}
    except TypeError:
        return  # PyIceberg cannot compare a partition of nulls with a constant (its residuals)
    tasks, _ = probe(table, text)
    ours = {task["file"]: task for task in tasks}
    for path in theirs - ours.keys():
        assert matching_rows(path, table, row_filter)[0] == 0, f"{path} is missing for {text}"
    for path in ours.keys() - theirs:
        assert is_up_to_1970(all_files[path], table), f"{path} could be left out for {text}"
    for path, task in ours.items():
        if task["always_true"]:
            matching, rows = matching_rows(path, table, row_filter)
            assert matching == rows, f"{path} for {text}"
            counts["always"] += 1
    counts["left_out"] += len(all_files) - len(ours)
    counts["kept"] += len(ours)
    counts["more_than_theirs"] += len(ours.keys() - theirs)


@pytest.mark.parametrize("first_day", [3, -200], ids=["after 1970", "around 1970"])
def test_the_same_files_for_the_same_filter(tmp_path, first_day):
    counts = dict.fromkeys(["always", "left_out", "kept", "more_than_theirs"], 0)
    for seed in range(6):
        path = tmp_path / str(seed)
        path.mkdir()
        random_table = RandomTable(path, seed, first_day)
        tasks, _ = probe(random_table.table)
        assert sorted(t["file"] for t in tasks) == sorted(t.file.file_path for t in random_table.table.scan().plan_files())
        for _ in range(40):
            compare(random_table, counts)
    # The comparison saw something.
    assert counts["always"] > 50 and counts["left_out"] > 1000 and counts["kept"] > 1000, counts
    if first_day > 0:
        assert counts["more_than_theirs"] == 0, counts
