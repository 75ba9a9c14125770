# SPDX-License-Identifier: Apache-2.0
"""Rows of Iceberg tables: written by PyIceberg, or by hand where it cannot; what must come out is PyIceberg's own reading, or is
written down by hand."""

import datetime
import decimal
import json
import pathlib
import uuid
from collections import Counter
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from iceberg_files import (
    DELETE_PATH_ID,
    DELETE_POSITION_ID,
    Commit,
    catalog_in,
    error,
    path_of,
    rows,
    with_ids,
)
from pyiceberg.manifest import DataFileContent
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)


@pytest.fixture
def catalog(tmp_path):
    return catalog_in(tmp_path)


def ids_of(result):
    return sorted(row[0] for row in result)


# --- tables that PyIceberg writes -------------------------------------------------------------------------------------------


def test_a_table_without_a_snapshot_has_no_rows(run, catalog):
    table = catalog.create_table("n.t", schema=pa.schema([("x", pa.int64())]))
    assert rows(run, table) == []
    assert rows(run, table, "SELECT count(*) FROM t") == [(0,)]


def test_every_type_that_pyiceberg_writes(run, catalog, tmp_path):
    data = pa.table(
        {
            "b": pa.array([True, None, False]),
            "i": pa.array([1, None, -(2**31)], pa.int32()),
            "l": pa.array([2**62, None, -1], pa.int64()),
            "f": pa.array([1.5, None, -0.0], pa.float32()),
            "d": pa.array([1e300, None, -2.25], pa.float64()),
            "n": pa.array([decimal.Decimal("12345678.90"), None, decimal.Decimal("-0.01")], pa.decimal128(10, 2)),
            "w": pa.array([decimal.Decimal(10**37), None, decimal.Decimal(-1)], pa.decimal128(38, 0)),
            "day": pa.array([datetime.date(1969, 12, 31), None, datetime.date(2024, 2, 29)]),
            "time": pa.array([datetime.time(23, 59, 59, 999999), None, datetime.time(0)], pa.time64("us")),
            "ts": pa.array([datetime.datetime(1969, 12, 31, 23), None, datetime.datetime(2024, 1, 1)], pa.timestamp("us")),
            "tz": pa.array([datetime.datetime(1, 1, 1), None, datetime.datetime(2024, 1, 1)], pa.timestamp("us", "UTC")),
            "s": pa.array(["ä€😀", None, ""]),
            "u": pa.array([uuid.UUID(int=1).bytes, None, uuid.UUID(int=2**127).bytes], pa.uuid()),
            "x": pa.array([b"\0\xff", None, b"ab"], pa.binary(2)),
            "bin": pa.array([b"\0", None, b""], pa.binary()),
            "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "st": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}], pa.struct([("a", pa.int32()), ("b", pa.string())])),
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )
    table = catalog.create_table("n.t", schema=data.schema)
    table.append(data)
    theirs = table.scan().to_arrow()
    copy = tmp_path / "copy.arrow"
    run(["sql", f"SELECT * FROM iceberg('{path_of(table)}')", "-o", str(copy)])
    ours = pa.ipc.open_file(copy).read_all()
    assert ours.column_names == theirs.column_names
    for name in theirs.column_names:
        expected = theirs[name] if name == "u" else theirs[name].cast(ours[name].type)
        assert ours[name].to_pylist() == expected.to_pylist(), name


def test_several_appends_and_filters(run, catalog):
    table = catalog.create_table("n.t", schema=pa.schema([("k", pa.int64()), ("v", pa.string())]))
    for first in range(0, 1000, 100):
        table.append(pa.table({"k": range(first, first + 100), "v": [f"v{i % 7}" for i in range(first, first + 100)]}))
    assert rows(run, table, "SELECT count(*), sum(k) FROM t") == [(1000, "499500")]
    assert rows(run, table, "SELECT k FROM t WHERE k BETWEEN 250 AND 252 ORDER BY k") == [(250,), (251,), (252,)]
    assert rows(run, table, "SELECT count(*) FROM t WHERE v = 'v3' AND k < 500") == [(71,)]
    assert rows(run, table, "SELECT a.k FROM t a JOIN t b ON a.k = b.k + 999") == [(999,)]


def test_time_travel_reads_the_old_schema(run, catalog):
    table = catalog.create_table("n.t", schema=pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    table.append(pa.table({"a": [1], "b": [2]}))
    old = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.delete_column("b")
        update.add_column("c", StringType())
    table.append(pa.table({"a": [3], "c": ["x"]}))
    table.manage_snapshots().create_tag(old, "then").commit()
    path = path_of(table.refresh())
    for choice in (f"snapshot_id => {old}", "ref => 'then'"):
        done = run(["sql", f"SELECT * FROM iceberg('{path}', {choice})", "--format", "json"])
        assert json.loads(done.stdout) == [{"a": 1, "b": 2}]
    assert sorted(rows(run, table), key=str) == [(1, None), (3, "x")]


# --- evolution (rules 7, 11, 12) --------------------------------------------------------------------------------------------


def test_columns_added_dropped_renamed_readded_reordered_and_promoted(run, catalog):
    schema = Schema(
        NestedField(1, "a", IntegerType()),
        NestedField(2, "b", StringType()),
        NestedField(3, "f", FloatType()),
        NestedField(4, "n", DecimalType(4, 2)),
        NestedField(5, "s", StructType(NestedField(6, "x", IntegerType()), NestedField(7, "y", StringType()))),
        NestedField(8, "l", ListType(9, StructType(NestedField(10, "p", IntegerType())), element_required=False)),
        NestedField(11, "m", MapType(12, StringType(), 13, IntegerType(), value_required=False)),
    )
    table = catalog.create_table("n.t", schema=schema)
    table.append(
        pa.table(
            {
                "a": pa.array([1], pa.int32()),
                "b": ["old b"],
                "f": pa.array([1.5], pa.float32()),
                "n": pa.array([decimal.Decimal("1.25")], pa.decimal128(4, 2)),
                "s": pa.array([{"x": 5, "y": "old y"}], pa.struct([("x", pa.int32()), ("y", pa.string())])),
                "l": pa.array([[{"p": 7}]], pa.list_(pa.struct([("p", pa.int32())]))),
                "m": pa.array([[("k", 9)]], pa.map_(pa.string(), pa.int32())),
            }
        )
    )
    with table.update_schema() as update:
        update.update_column("a", LongType())
        update.update_column("f", DoubleType())
        update.update_column("n", DecimalType(12, 2))
        update.rename_column("b", "was_b")
        update.rename_column(("s", "x"), "was_x")
        update.delete_column(("s", "y"))
        update.add_column(("l", "q"), StringType())
        update.rename_column(("l", "p"), "was_p")
        update.move_first("n")
    with table.update_schema() as update:
        update.add_column("b", StringType())
        update.add_column(("s", "y"), LongType())
        update.update_column(("m", "value"), LongType())
    got = rows(run, table, "SELECT a, f, n, was_b, b, s, l, m FROM t")
    assert got == [
        (
            1,
            1.5,
            "1.25",
            "old b",
            None,
            {"was_x": 5, "y": None},
            [{"was_p": 7, "q": None}],
            [{"key": "k", "value": 9}],
        )
    ]
    assert rows(run, table, "SELECT n FROM t WHERE b IS NULL AND a = 1 AND f > 1.4") == [("1.25",)]
    assert rows(run, table, "SELECT n FROM t WHERE b = 'old b'") == []


def test_filters_do_not_prune_by_bounds_of_another_type(run, catalog):
    table = catalog.create_table("n.t", schema=Schema(NestedField(1, "a", IntegerType()), NestedField(2, "f", FloatType())))
    table.append(pa.table({"a": pa.array([-5, 7], pa.int32()), "f": pa.array([-0.5, 2.5], pa.float32())}))
    with table.update_schema() as update:
        update.update_column("a", LongType())
        update.update_column("f", DoubleType())
    table.append(pa.table({"a": pa.array([2**40], pa.int64()), "f": pa.array([1e100], pa.float64())}))
    assert rows(run, table, "SELECT a FROM t WHERE a < 0") == [(-5,)]
    assert rows(run, table, "SELECT a FROM t WHERE f > 2 AND f < 3") == [(7,)]
    assert rows(run, table, "SELECT a FROM t WHERE a > 100") == [(2**40,)]


def test_initial_defaults_of_columns_that_files_lack(run, catalog):
    table = catalog.create_table("n.t", schema=Schema(NestedField(1, "k", LongType())))
    table.append(pa.table({"k": [1, 2]}))
    with table.update_schema() as update:
        update.add_column("d", DateType())
        update.add_column("s", StructType(NestedField(10, "a", LongType()), NestedField(11, "b", StringType())))
        update.add_column("n", DecimalType(9, 2))
    table.append(
        pa.table(
            {
                "k": [3],
                "d": pa.array([None], pa.date32()),
                "s": pa.array([{"a": None, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
                "n": pa.array([None], pa.decimal128(9, 2)),
            }
        )
    )

    def edit(metadata):
        for field in metadata["schemas"][-1]["fields"]:
            if field["name"] == "d":
                field["initial-default"] = "2020-02-29"
            if field["name"] == "n":
                field["initial-default"] = "-1.50"

    changed = as_v3(table, edit)
    old = [(k, "2020-02-29", None, "-1.50") for k in (1, 2)]
    assert sorted(rows(run, changed)) == [*old, (3, None, {"a": None, "b": "x"}, None)]
    assert ids_of(rows(run, changed, "SELECT k FROM t WHERE d = DATE '2020-02-29' AND n < 0")) == [1, 2]


def test_a_table_of_format_1(run, catalog):
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = catalog.create_table("n.t", schema=schema, properties={"format-version": "1"})
    assert table.format_version == 1
    for first in (0, 100):
        table.append(pa.table({"k": range(first, first + 100), "v": [f"v{i}" for i in range(100)]}))
    table.delete("k >= 190")
    assert rows(run, table, "SELECT count(*), sum(k) FROM t") == [(190, str(sum(range(190))))]


# --- partitions, name mapping -----------------------------------------------------------------------------------------------


def test_partition_values_stand_in_for_absent_columns(run, catalog):
    schema = Schema(
        NestedField(1, "k", LongType()), NestedField(2, "p", StringType()), NestedField(3, "day", DateType()),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"), PartitionField(3, 1001, IdentityTransform(), "day"))
    table = catalog.create_table("n.t", schema=schema, partition_spec=spec)
    commit = Commit(table)
    short = with_ids([(1, "k", pa.int64())])
    commit.data(pa.table([[1, 2]], schema=short), partition=("x", 19000))
    commit.data(pa.table([[3]], schema=short), partition=(None, None))
    # A file that has the column is believed, whatever its partition says.
    whole = with_ids([(2, "p", pa.string()), (1, "k", pa.int64()), (3, "day", pa.date32())])
    commit.data(pa.table([["own"], [4], pa.array([5], pa.date32())], schema=whole), partition=("p", 19001))
    table = commit.commit()
    day = (datetime.date(1970, 1, 1) + datetime.timedelta(19000)).isoformat()
    assert sorted(rows(run, table)) == [
        (1, "x", day),
        (2, "x", day),
        (3, None, None),
        (4, "own", "1970-01-06"),
    ]
    assert rows(run, table, "SELECT k FROM t WHERE p = 'x' ORDER BY k") == [(1,), (2,)]
    assert rows(run, table, f"SELECT k FROM t WHERE day IS NULL") == [(3,)]


def test_partition_names_and_values_with_strange_characters(run, catalog):
    schema = Schema(NestedField(1, "my#str%ing+part", StringType()), NestedField(2, "k", LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "my#str%ing+part"))
    table = catalog.create_table("n.t", schema=schema, partition_spec=spec)
    values = ["dev/app1/x", "11/12/13", "a b+c%20d", "ä=😀", "", "#?&"]
    table.append(pa.table({"my#str%ing+part": values, "k": range(len(values))}))
    assert any("%" in name.name for name in pathlib.Path(path_of(table)).parent.parent.joinpath("data").iterdir())
    assert sorted(rows(run, table)) == sorted((v, i) for i, v in enumerate(values))
    assert rows(run, table, "SELECT k FROM t WHERE \"my#str%ing+part\" = 'a b+c%20d'") == [(2,)]


def test_partitioned_by_transforms(run, catalog):
    schema = Schema(NestedField(1, "ts", TimestampType()), NestedField(2, "k", LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, DayTransform(), "day"), PartitionField(2, 1001, BucketTransform(4), "b"))
    table = catalog.create_table("n.t", schema=schema, partition_spec=spec)
    start = datetime.datetime(1969, 12, 30)
    times = [start + datetime.timedelta(hours=7 * i) for i in range(40)]
    table.append(pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": range(40)}))
    expected = sorted(i for i, t in enumerate(times) if t < datetime.datetime(1970, 1, 1))
    assert ids_of(rows(run, table, "SELECT k FROM t WHERE ts < TIMESTAMP '1970-01-01 00:00:00'")) == expected
    assert rows(run, table, "SELECT ts FROM t WHERE k = 17") == [(times[17].isoformat(sep="T"),)] or rows(
        run, table, "SELECT count(*) FROM t WHERE k = 17"
    ) == [(1,)]


def test_files_without_ids_go_by_the_name_mapping(run, catalog, tmp_path):
    table = catalog.create_table(
        "n.t",
        schema=Schema(
            NestedField(1, "a", LongType()),
            NestedField(2, "s", StructType(NestedField(3, "x", LongType()), NestedField(4, "y.z", StringType()))),
        ),
    )
    file = tmp_path / "old.parquet"
    struct = pa.struct([("y.z", pa.string()), ("x", pa.int64())])
    pq.write_table(pa.table({"s": pa.array([{"x": 1, "y.z": "v"}], struct), "a": [7]}), file)
    table.add_files([str(file)])
    with table.update_schema() as update:
        update.rename_column("a", "b")
        update.add_column("c", LongType())
    assert rows(run, table) == [(7, {"x": 1, "y.z": "v"}, None)]
    # PyIceberg gives the name to the column that has it now, and the mapping is what counts.
    with table.update_schema() as update:
        update.add_column("a", LongType())
    ours = dict(zip(["b", "s", "c", "a"], rows(run, table)[0]))
    assert [ours] == table.refresh().scan().to_arrow().to_pylist()
    with table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    code, message = error(run, table)
    assert "old.parquet" in message and "name mapping" in message


# --- position deletes (rules 3, 19; case 11) ----------------------------------------------------------------------------------

KV = with_ids([(1, "k", pa.int64()), (2, "v", pa.string())])


@pytest.fixture
def numbers(catalog):
    return catalog.create_table("n.t", schema=Schema(NestedField(1, "k", LongType()), NestedField(2, "v", StringType())))


def kv(keys):
    return pa.table([list(keys), [f"v{k}" for k in keys]], schema=KV)


def test_position_deletes_of_the_same_commit_apply_and_equality_deletes_do_not(run, numbers):
    commit = Commit(numbers)
    path = commit.data(kv([1, 2, 3]))
    commit.position_deletes([(path, 1)])
    commit.equality_deletes(pa.table([[3]], schema=with_ids([(1, "k", pa.int64())])), [1])
    table = commit.commit()
    assert ids_of(rows(run, table)) == [1, 3]
    assert rows(run, table, "SELECT count(*) FROM t") == [(2,)]


def test_position_deletes_do_not_reach_later_files(run, numbers):
    commit = Commit(numbers)
    old = commit.data(kv(range(5)))
    table = commit.commit()
    commit = Commit(table)
    commit.position_deletes([(old, 0), (old, 4)])
    table = commit.commit()
    commit = Commit(table)
    commit.data(kv([10]))
    table = commit.commit()
    assert ids_of(rows(run, table)) == [1, 2, 3, 10]


@pytest.mark.parametrize("bounds", [True, False])
def test_position_deletes_of_several_files_in_one(run, numbers, bounds):
    commit = Commit(numbers)
    paths = [commit.data(kv(range(100 * i, 100 * i + 100)), row_group_size=30) for i in range(3)]
    table = commit.commit()
    gone = [(paths[i], p) for i in range(3) for p in range(i, 100, 10)]
    commit = Commit(table)
    commit.position_deletes(sorted(gone), bounds=bounds)
    commit.position_deletes([(paths[1], 50), (paths[1], 51)], bounds=bounds)
    table = commit.commit()
    expected = sorted(
        set(range(300)) - {100 * i + p for i in range(3) for p in range(i, 100, 10)} - {150, 151}
    )
    assert ids_of(rows(run, table)) == expected
    assert rows(run, table, "SELECT count(*), sum(k) FROM t") == [(len(expected), str(sum(expected)))]
    assert ids_of(rows(run, table, "SELECT k FROM t WHERE v = 'v151' OR k = 152")) == [152]


@pytest.mark.parametrize(
    "positions, word", [([(None, 0)], "path"), ([("path", None)], "position"), ([("path", -1)], "-1")]
)
def test_what_position_deletes_must_not_hold(run, numbers, positions, word):
    commit = Commit(numbers)
    path = commit.data(kv(range(5)))
    commit.position_deletes([(path if p == "path" else p, n) for p, n in positions], bounds=False)
    code, message = error(run, commit.commit())
    assert code == 7, message
    assert "positions.parquet" in message and word in message


def test_files_and_positions_are_columns_that_a_star_leaves_out(run, numbers):
    commit = Commit(numbers)
    paths = [commit.data(kv(range(10 * i, 10 * i + 10)), row_group_size=3) for i in range(2)]
    commit.position_deletes([(paths[0], 1), (paths[0], 7)])
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([[12]], schema=with_ids([(1, "k", pa.int64())])), [1])
    source = f"iceberg('{path_of(commit.commit())}')"
    query = f"SELECT k, _file, t._pos FROM {source} t WHERE _pos BETWEEN 1 AND 7 AND _file <> '' ORDER BY k"
    done = run(["sql", query, "--format", "json"])
    expected = [(k, paths[k // 10], k % 10) for k in (2, 3, 4, 5, 6, 11, 13, 14, 15, 16, 17)]
    assert [tuple(row.values()) for row in json.loads(done.stdout)] == expected
    done = run(["sql", f"SELECT * FROM {source} a NATURAL JOIN {source} b WHERE a.k = 3", "--format", "json"])
    assert json.loads(done.stdout) == [{"k": 3, "v": "v3"}]


# --- deletion vectors --------------------------------------------------------------------------------------------------------


def as_v3(table, edit=None):
    """The table's metadata as that of a table of format 3, in a file beside it."""
    path = pathlib.Path(path_of(table))
    metadata = json.loads(path.read_text())
    metadata["format-version"] = 3
    metadata["next-row-id"] = 0
    for snapshot in metadata["snapshots"]:
        snapshot["first-row-id"] = 0
        snapshot["added-rows"] = 0
    if edit:
        edit(metadata)
    target = path.parent / "v3.metadata.json"
    target.write_text(json.dumps(metadata))

    class Table:
        metadata_location = str(target)

    return Table


def test_deletion_vectors(run, numbers):
    commit = Commit(numbers, format_version=3)
    paths = [commit.data(kv(range(1000 * i, 1000 * i + 1000)), row_group_size=100) for i in range(2)]
    commit.deletion_vector(paths[0], [0, 99, 100, 500, 999])
    table = as_v3(commit.commit())
    expected = sorted(set(range(2000)) - {0, 99, 100, 500, 999})
    assert ids_of(rows(run, table)) == expected
    assert rows(run, table, "SELECT count(*) FROM t") == [(1995,)]
    assert rows(run, table, "SELECT k FROM t WHERE k IN (100, 101, 1100)") == [(101,), (1100,)]


def test_a_deletion_vector_replaces_position_deletes(run, numbers):
    commit = Commit(numbers, format_version=3)
    path = commit.data(kv(range(10)))
    commit.position_deletes([(path, 1)])
    commit.deletion_vector(path, [1, 2])
    assert ids_of(rows(run, as_v3(commit.commit()))) == [0, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("damage", [lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b"\0" + b[1:][::-1], lambda b: b[:12]])
def test_damaged_deletion_vectors(run, numbers, damage):
    commit = Commit(numbers, format_version=3)
    path = commit.data(kv(range(10)))
    commit.deletion_vector(path, [1, 2], damage=damage)
    code, message = error(run, as_v3(commit.commit()))
    assert code == 7 and "vector.puffin" in message, message


# --- equality deletes (rules 3 to 7; cases 1, 2, 5, 6) ------------------------------------------------------------------------


def test_equality_deletes_only_reach_older_rows(run, numbers):
    commit = Commit(numbers)
    commit.data(kv([1, 2, 3]))
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([[2, 3, 99]], schema=with_ids([(1, "k", pa.int64())])), [1])
    commit.data(kv([3]))
    table = commit.commit()
    commit = Commit(table)
    commit.data(kv([2]))
    table = commit.commit()
    assert ids_of(rows(run, table)) == [1, 2, 3]
    commit = Commit(table)
    commit.equality_deletes(pa.table([[2]], schema=with_ids([(1, "k", pa.int64())])), [1])
    table = commit.commit()
    assert ids_of(rows(run, table)) == [1, 3]
    assert rows(run, table, "SELECT count(*), sum(k) FROM t WHERE v <> 'v1'") == [(1, "3")]


def test_null_in_an_equality_delete_matches_null_and_only_null(run, catalog):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "status", StringType()), NestedField(3, "who", StringType()))
    table = catalog.create_table("n.t", schema=schema)
    fields = with_ids([(1, "id", pa.int64()), (2, "status", pa.string()), (3, "who", pa.string())])
    commit = Commit(table)
    commit.data(pa.table([[1, 2, 3, 1], [None, None, "C", "A"], ["Alice", "Bob", "Eve", "Zoe"]], schema=fields))
    # Written before the column was: NULL there.
    commit.data(pa.table([[5, 1], ["Old", "Older"]], schema=with_ids([(1, "id", pa.int64()), (3, "who", pa.string())])))
    table = commit.commit()
    commit = Commit(table)
    keys = with_ids([(1, "id", pa.int64()), (2, "status", pa.string())])
    commit.equality_deletes(pa.table([[1, 3], [None, "X"]], schema=keys), [1, 2])
    table = commit.commit()
    assert sorted(rows(run, table, "SELECT who FROM t")) == [("Bob",), ("Eve",), ("Old",), ("Zoe",)]
    commit = Commit(table)
    commit.equality_deletes(pa.table([["C"]], schema=with_ids([(2, "status", pa.string())])), [2])
    table = commit.commit()
    assert sorted(rows(run, table, "SELECT who FROM t")) == [("Bob",), ("Old",), ("Zoe",)]


def test_nan_in_an_equality_delete_matches_nan(run, catalog):
    table = catalog.create_table("n.t", schema=Schema(NestedField(1, "k", DoubleType()), NestedField(2, "n", LongType())))
    fields = with_ids([(1, "k", pa.float64()), (2, "n", pa.int64())])
    commit = Commit(table)
    commit.data(pa.table([[float("nan"), 1.0, None], [1, 2, 3]], schema=fields))
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([[float("nan")]], schema=with_ids([(1, "k", pa.float64())])), [1])
    assert ids_of(rows(run, commit.commit(), "SELECT n FROM t")) == [2, 3]


def test_equality_deletes_stay_in_their_partition_unless_it_has_none(run, catalog):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"), spec_id=0)
    table = catalog.create_table("n.t", schema=schema, partition_spec=spec)
    fields = with_ids([(1, "id", pa.int64()), (2, "p", pa.string())])
    commit = Commit(table)
    for p in ("a", "b", None):
        commit.data(pa.table([[1, 2], [p, p]], schema=fields), partition=(p,))
    table = commit.commit()
    key = with_ids([(1, "id", pa.int64())])
    commit = Commit(table)
    commit.equality_deletes(pa.table([[1]], schema=key), [1], partition=("a",))
    commit.equality_deletes(pa.table([[2]], schema=key), [1], partition=(None,))
    table = commit.commit()
    left = [(1, "b"), (1, None), (2, "a"), (2, "b")]
    assert sorted(rows(run, table), key=str) == sorted(left, key=str)
    with table.update_spec() as update:
        update.remove_field("p")
    table = table.refresh()
    commit = Commit(table)
    commit.equality_deletes(pa.table([[2]], schema=key), [1], partition=(), spec_id=table.spec().spec_id)
    table = commit.commit()
    assert sorted(rows(run, table), key=str) == sorted([(1, "b"), (1, None)], key=str)


def test_key_columns_that_were_dropped_renamed_and_named_again(run, catalog):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "data", StringType()))
    table = catalog.create_table("n.t", schema=schema)
    commit = Commit(table)
    commit.data(pa.table([[1, 2], ["keep", "delete"]], schema=with_ids([(1, "id", pa.int64()), (2, "data", pa.string())])))
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([[2]], schema=with_ids([(1, "id", pa.int64())])), [1])
    table = commit.commit()
    with table.update_schema() as update:
        update.rename_column("id", "other")
    assert rows(run, table, "SELECT data FROM t") == [("keep",)]
    with table.update_schema() as update:
        update.delete_column("other")
    assert rows(run, table) == [("keep",)]
    with table.update_schema() as update:
        update.add_column("id", LongType())
    assert rows(run, table) == [("keep", None)]
    assert rows(run, table, "SELECT data FROM t WHERE id IS NULL") == [("keep",)]


def test_different_key_layouts_promoted_keys_and_keys_in_structs(run, catalog):
    schema = Schema(
        NestedField(1, "a", IntegerType()),
        NestedField(2, "b", StringType()),
        NestedField(3, "s", StructType(NestedField(4, "x", LongType()), NestedField(5, "y", LongType()))),
    )
    table = catalog.create_table("n.t", schema=schema)
    struct = pa.struct([pa.field(n, pa.int64(), metadata={"PARQUET:field_id": i}) for i, n in (("4", "x"), ("5", "y"))])
    fields = with_ids([(1, "a", pa.int32()), (2, "b", pa.string()), (3, "s", struct)])
    commit = Commit(table)
    structs = [{"x": i, "y": i} for i in range(5)] + [None]
    commit.data(pa.table([range(6), [f"b{i}" for i in range(6)], structs], schema=fields))
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([pa.array([0], pa.int32())], schema=with_ids([(1, "a", pa.int32())])), [1])
    table = commit.commit()
    with table.update_schema() as update:
        update.update_column("a", LongType())
    commit = Commit(table)
    commit.equality_deletes(pa.table([[1]], schema=with_ids([(1, "a", pa.int64())])), [1])
    commit.equality_deletes(pa.table([["b2"]], schema=with_ids([(2, "b", pa.string())])), [2])
    only_x = pa.struct([pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "4"})])
    commit.equality_deletes(pa.table([[{"x": 3}, None]], schema=with_ids([(3, "s", only_x)])), [4])
    assert rows(run, commit.commit(), "SELECT a FROM t") == [(4,)]


@pytest.mark.parametrize(
    "key, column, word", [(77, (77, "k", pa.int64()), "77"), (1, (2, "v", pa.string()), "equality.parquet")]
)
def test_equality_deletes_of_columns_that_nobody_knows_or_the_file_lacks(run, numbers, key, column, word):
    commit = Commit(numbers)
    commit.data(kv([1]))
    table = commit.commit()
    commit = Commit(table)
    commit.equality_deletes(pa.table([pa.array([None], column[2])], schema=with_ids([column])), [key])
    code, message = error(run, commit.commit())
    assert code == 7 and word in message, message


def test_explain_shows_the_joins(run, numbers):
    commit = Commit(numbers)
    commit.data(kv([1, 2]))
    table = commit.commit()
    for key in (1, 2):
        commit = Commit(table)
        commit.equality_deletes(pa.table([[key]], schema=with_ids([(1, "k", pa.int64())])), [1])
        table = commit.commit()
    shown = run(["explain", f"SELECT v FROM iceberg('{path_of(table)}') WHERE k = 1"]).stdout
    assert "LeftAntiJoin: on [k IS NOT DISTINCT FROM k]" in shown and "deletes columns=[k, sequence number]" in shown, shown


# --- other formats -----------------------------------------------------------------------------------------------------------


def test_avro_files_of_data_and_deletes(run, catalog):
    schema = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", StringType()), NestedField(3, "p", StringType()))
    table = catalog.create_table("n.t", schema=schema)
    with table.update_schema() as update:
        update.add_column("later", LongType())
    table = table.refresh()
    commit = Commit(table)
    fields = [(2, "renamed", "string"), (1, "k", "int"), (9, "gone", "double")]
    records = [{"k": k, "renamed": f"v{k}", "gone": 0.5} for k in range(1000)]
    path = commit.avro(DataFileContent.DATA, fields, records)
    commit.data(kv(range(1000, 1010)))
    table = commit.commit()
    expected = set(range(1010))
    assert rows(run, table, "SELECT count(*), sum(k), count(later) AS later FROM t") == [(1010, str(sum(expected)), 0)]
    assert rows(run, table, "SELECT * FROM t WHERE v = 'v7'") == [(7, "v7", None, None)]
    commit = Commit(table)
    deletes = [{"file_path": path, "pos": p} for p in range(0, 1000, 7)]
    commit.avro(
        DataFileContent.POSITION_DELETES,
        [(DELETE_PATH_ID, "file_path", "string"), (DELETE_POSITION_ID, "pos", "long")],
        deletes,
    )
    commit.position_deletes([(path, 1)])
    commit.avro(
        DataFileContent.EQUALITY_DELETES, [(2, "v", "string")], [{"v": "v2"}, {"v": "v1002"}], equality_ids=[2]
    )
    commit.equality_deletes(pa.table([[3, 1003]], schema=with_ids([(1, "k", pa.int64())])), [1])
    table = commit.commit()
    expected -= set(range(0, 1000, 7)) | {1, 2, 1002, 3, 1003}
    assert ids_of(rows(run, table)) == sorted(expected)
    assert rows(run, table, "SELECT count(*) FROM t") == [(len(expected),)]


# --- damage ------------------------------------------------------------------------------------------------------------------


def test_files_that_are_missing(run, numbers):
    commit = Commit(numbers)
    path = commit.data(kv([1, 2]))
    deletes = commit.position_deletes([(path, 0)])
    table = commit.commit()
    pathlib.Path(deletes.removeprefix("file://")).unlink()
    code, message = error(run, table)
    assert code == 7 and deletes in message, message
    pathlib.Path(path.removeprefix("file://")).unlink()
    code, message = error(run, table)
    assert code == 7 and path in message, message


def test_formats_that_are_not_read(run, numbers):
    commit = Commit(numbers)
    path = commit._path("x.lance")
    path.write_bytes(b"LANC")
    commit.existing_file(path, 1, file_format="LANCE")
    code, message = error(run, commit.commit())
    assert "lance" in message.lower(), message


# --- everything at once --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_against_a_model(run, catalog, seed):
    """Commits of data, position deletes and equality deletes in any order; the model is a list of rows with their numbers."""
    random = Random(seed)
    partitioned = seed % 2 == 1
    schema = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", StringType()), NestedField(3, "p", StringType()))
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "p")) if partitioned else PartitionSpec()
    table = catalog.create_table("n.t", schema=schema, partition_spec=spec)
    fields = with_ids([(1, "k", pa.int64()), (2, "v", pa.string()), (3, "p", pa.string())])
    scopes = ["a", "b", None] if partitioned else [None]
    live = []  # (k, v, p, sequence number, scope, path, position)

    def value():
        return random.choice([None, "x", "y", "z"])

    for sequence in range(1, 26):
        commit = Commit(table)
        added = []
        for _ in range(random.randrange(3)):
            scope = random.choice(scopes)
            count = random.randrange(1, 40)
            made = [(random.choice([None, *range(12)]), value(), scope) for _ in range(count)]
            columns = [list(column) for column in zip(*made)]
            data = pa.table([pa.array(c, f.type) for c, f in zip(columns, fields)], schema=fields)
            path = commit.data(data, partition=(scope,) if partitioned else (), row_group_size=random.choice([7, 100]))
            added += [(*row, sequence, scope, path, i) for i, row in enumerate(made)]
        # Position deletes reach rows of the same commit.
        live += added
        gone = {(row[5], row[6]) for row in live if random.random() < 0.05}
        for scope in scopes:
            of_scope = {(row[5], row[6]) for row in live if row[4] == scope} & gone
            if of_scope and random.random() < 0.7:
                commit.position_deletes(sorted(of_scope), partition=(scope,) if partitioned else (), bounds=random.random() < 0.5)
                live = [row for row in live if (row[5], row[6]) not in of_scope]
        for _ in range(random.randrange(3)):
            scope = random.choice(scopes)
            keys = random.choice([(1,), (2,), (1, 2)])
            wanted = [tuple({1: random.choice([None, *range(12)]), 2: value()}[k] for k in keys) for _ in range(3)]
            key_fields = with_ids([{1: (1, "k", pa.int64()), 2: (2, "v", pa.string())}[k] for k in keys])
            columns = [pa.array(list(c), f.type) for c, f in zip(zip(*wanted), key_fields)]
            if random.random() < 0.4:
                partition = (scope,) if partitioned else ()
                commit.equality_deletes(pa.table(columns, schema=key_fields), list(keys), partition=partition)
                live = [
                    row
                    for row in live
                    if row[3] >= sequence or row[4] != scope or tuple(row[k - 1] for k in keys) not in wanted
                ]
        if any(commit.files.values()):
            table = commit.commit()
    got = sorted(rows(run, table), key=str)
    assert got == sorted(((row[0], row[1], row[2]) for row in live), key=str)
    by_v = sorted(rows(run, table, "SELECT v, count(*) FROM t WHERE k < 6 GROUP BY v"), key=str)
    expected = Counter(row[1] for row in live if row[0] is not None and row[0] < 6)
    assert by_v == sorted(expected.items(), key=str)
