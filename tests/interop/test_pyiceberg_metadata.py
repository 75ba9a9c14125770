# SPDX-License-Identifier: Apache-2.0
"""Metadata, manifest lists and manifests that PyIceberg wrote, read by our eyes (iceberg_probe) and compared with its own."""

import datetime
import decimal
import gzip
import json
import pathlib
import subprocess
import uuid

import pyarrow as pa
import pytest

pytest.importorskip("pyiceberg")
from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402
from pyiceberg.partitioning import PartitionField, PartitionSpec  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.table.metadata import TableMetadataUtil  # noqa: E402
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder  # noqa: E402
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
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

PROBE = pathlib.Path(__file__).resolve().parents[2] / "build/release/iceberg_probe"

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True, doc='the "key"'),
    NestedField(2, "flag", BooleanType()),
    NestedField(3, "small", IntegerType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()),
    NestedField(6, "price", DecimalType(9, 2)),
    NestedField(7, "day", DateType()),
    NestedField(8, "t", TimeType()),
    NestedField(9, "ts", TimestampType()),
    NestedField(10, "tz", TimestamptzType()),
    NestedField(11, "name", StringType()),
    NestedField(12, "u", UUIDType()),
    NestedField(13, "fx", FixedType(4)),
    NestedField(14, "bin", BinaryType()),
    NestedField(15, "loc", StructType(NestedField(16, "lat", DoubleType()), NestedField(17, "a.b", StringType()))),
    NestedField(18, "tags", ListType(19, StringType(), element_required=False)),
    NestedField(20, "m", MapType(21, StringType(), 22, LongType(), value_required=False)),
    identifier_field_ids=[1],
)

SPEC = PartitionSpec(
    PartitionField(1, 1000, BucketTransform(16), "id bucket"),
    PartitionField(9, 1001, HourTransform(), "ts_hour"),
    PartitionField(7, 1002, MonthTransform(), "day_month"),
    PartitionField(10, 1003, DayTransform(), "tz_day"),
    PartitionField(11, 1004, TruncateTransform(2), "name#cut"),
    PartitionField(6, 1005, TruncateTransform(100), "price_cut"),
    PartitionField(3, 1006, IdentityTransform(), "small"),
)


COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
MANIFEST_COUNTS = [f"{status}_{what}_count" for what in ("files", "rows") for status in ("added", "existing", "deleted")]


def rows():
    """Values around what goes wrong: times before 1970, negative decimals, characters beyond 16 bits, nulls."""
    utc = datetime.timezone.utc
    number = decimal.Decimal
    moment = datetime.datetime
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, -4], pa.int64()),
            "flag": [True, None, False, True],
            "small": pa.array([7, None, -7, 7], pa.int32()),
            "f": pa.array([1.5, float("nan"), -0.0, None], pa.float32()),
            "d": pa.array([1.5, float("nan"), -1e300, 0.0], pa.float64()),
            "price": pa.array([number("-9969.53"), number("12.50"), None, number("0.01")], pa.decimal128(9, 2)),
            "day": [datetime.date(1969, 12, 31), datetime.date(2017, 11, 16), None, datetime.date(1, 1, 1)],
            "t": pa.array([datetime.time(22, 31, 8, 123456), None, datetime.time(0), None], pa.time64("us")),
            "ts": pa.array(
                [moment(1969, 12, 31, 23, 59, 59), moment(2017, 11, 16, 22, 31, 8), None, moment(1970, 1, 1)], pa.timestamp("us")
            ),
            "tz": pa.array(
                [moment(1969, 12, 31, 23, 59, 59, 999999, utc), None, moment(1970, 1, 2, tzinfo=utc), None],
                pa.timestamp("us", "UTC"),
            ),
            "name": ["a/b c", "\U0001f4b0é=x", None, "A" * 40],
            "u": pa.array([uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, None, None, None], pa.binary(16)),
            "fx": pa.array([b"\x00\x01\x02\x03", None, None, None], pa.binary(4)),
            "bin": pa.array([b"\xff" * 20, b"", None, b"a"], pa.binary()),
            "loc": [{"lat": 1.0, "a.b": "x"}, None, {"lat": None, "a.b": None}, None],
            "tags": [["a"], [], None, ["b", None]],
            "m": pa.array([[("k", 1)], [], None, [("k", None)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    return table.cast(pa.schema([pa.field(f.name, f.type, nullable=f.name != "id") for f in table.schema]))


def probe(command, path):
    done = subprocess.run([PROBE, command, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_keeps(before, after, where="$"):
    """Everything of `before` that is not null stands in `after`."""
    if isinstance(before, dict):
        for name, value in before.items():
            if value is not None:
                assert name in after, f"{where}.{name} is lost"
                assert_keeps(value, after[name], f"{where}.{name}")
    elif isinstance(before, list):
        assert len(before) == len(after), where
        for i, value in enumerate(before):
            assert_keeps(value, after[i], f"{where}[{i}]")
    else:
        assert before == after and type(before) is type(after), where


@pytest.fixture
def catalog(tmp_path):
    found = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    found.create_namespace("db")
    return found


def local(location):
    return location.removeprefix("file://")


def history(catalog, version, spec=SPEC):
    """A table with a past: appends, a delete, changed schema and spec, tags, properties, a sort order."""
    properties = {"format-version": str(version), "p": 'a "b" \\ é'}
    order = SortOrder(SortField(11, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST), SortField(7, YearTransform()))
    table = catalog.create_table(f"db.t{version}", SCHEMA, partition_spec=spec, sort_order=order, properties=properties)
    table.append(rows())
    table.append(rows())
    table.delete("id = 2")
    snapshot = table.current_snapshot().snapshot_id
    with table.manage_snapshots() as refs:
        refs.create_tag(snapshot, "tag/1")
        refs.create_branch(snapshot, "branch", max_ref_age_ms=7, min_snapshots_to_keep=3)
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.add_column("added", StringType(), doc="later")
        update.rename_column("bin", "bytes")
        update.delete_column("f")
        update.update_column("small", LongType())
    with table.update_spec() as update:
        update.add_field("flag", IdentityTransform(), "flag")
        update.remove_field("ts_hour")
    with table.transaction() as transaction:
        transaction.set_properties({"q": "2"})
        transaction.remove_properties("p")
    renamed = rows().drop_columns(["f"])
    renamed = renamed.rename_columns(["bytes" if name == "bin" else name for name in renamed.column_names])
    place = renamed.column_names.index("small")
    renamed = renamed.set_column(place, pa.field("small", pa.int64()), renamed["small"].cast(pa.int64()))
    table.append(renamed)
    return catalog.load_table(f"db.t{version}")


@pytest.mark.parametrize("version", [1, 2])
def test_metadata_is_kept(catalog, version):
    table = history(catalog, version)
    files = [entry.metadata_file for entry in table.metadata.metadata_log] + [table.metadata_location]
    assert len(files) > 5
    for file in files:
        before = json.loads(pathlib.Path(local(file)).read_text())
        text = probe("metadata", local(file))
        after = json.loads(text)
        if version == 1:
            # PyIceberg leaves what version 1 calls the current schema and spec behind at the table's first ones.
            schemas = {schema["schema-id"]: schema for schema in before["schemas"]}
            specs = {spec["spec-id"]: spec for spec in before["partition-specs"]}
            before["schema"] = schemas[before["current-schema-id"]]
            before["partition-spec"] = specs[before["default-spec-id"]]["fields"]
        assert_keeps(before, after)
        assert TableMetadataUtil.parse_raw(text) == TableMetadataUtil.parse_obj(before), file


def test_version_3_metadata_is_kept(tmp_path):
    """PyIceberg reads version 3 and does not write it."""
    before = {
        "format-version": 3,
        "table-uuid": str(uuid.uuid4()),
        "location": "s3://b/t",
        "last-sequence-number": 0,
        "last-updated-ms": 1,
        "last-column-id": 2,
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "identifier-field-ids": [1],
                "fields": [
                    {"id": 1, "name": "id", "required": True, "type": "long", "initial-default": 3, "write-default": 4},
                    {"id": 2, "name": "ns", "required": False, "type": "timestamptz_ns"},
                ],
            }
        ],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "next-row-id": 12,
        "unknown": {"kept": [1.50, None]},
    }
    file = tmp_path / "00000-x.metadata.json"
    file.write_text(json.dumps(before))
    text = probe("metadata", file)
    assert_keeps(before, json.loads(text))
    assert TableMetadataUtil.parse_raw(text) == TableMetadataUtil.parse_obj(before)


def test_compressed_metadata_is_read(catalog, tmp_path):
    table = history(catalog, 2)
    text = pathlib.Path(local(table.metadata_location)).read_text()
    for name in ("v3.gz.metadata.json", "v3.metadata.json.gz", "v3.metadata.json"):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        assert probe("metadata", tmp_path / name) == probe("metadata", local(table.metadata_location))


def expected_entry(entry, spec, schema):
    file = entry.data_file
    counts = {name: {str(k): v for k, v in (getattr(file, name) or {}).items()} for name in COUNTS}
    bounds = {name: {str(k): v.hex() for k, v in (getattr(file, name) or {}).items()} for name in BOUNDS}
    return {
        "status": entry.status.name,
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "content": {0: "data", 1: "position deletes", 2: "equality deletes"}[int(file.content)],
        "file_path": file.file_path,
        "file_format": file.file_format.value,
        "spec_id": spec.spec_id,
        "partition_path": spec.partition_to_path(file.partition, schema),
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
        "equality_ids": file.equality_ids or [],
        "split_offsets": file.split_offsets or [],
        **counts,
        **bounds,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_manifests_and_entries(catalog, version):
    table = history(catalog, version)
    expected = []
    for manifest in table.current_snapshot().manifests(table.io):
        expected.append(
            {
                "manifest_path": manifest.manifest_path,
                "manifest_length": manifest.manifest_length,
                "partition_spec_id": manifest.partition_spec_id,
                "sequence_number": manifest.sequence_number or 0,
                "min_sequence_number": manifest.min_sequence_number or 0,
                "added_snapshot_id": manifest.added_snapshot_id,
                **{
                    name: getattr(manifest, name)
                    for name in MANIFEST_COUNTS
                    if getattr(manifest, name) is not None
                },
                "partitions": [
                    {
                        "contains_null": p.contains_null,
                        **({} if p.contains_nan is None else {"contains_nan": p.contains_nan}),
                        **({} if p.lower_bound is None else {"lower_bound": p.lower_bound.hex()}),
                        **({} if p.upper_bound is None else {"upper_bound": p.upper_bound.hex()}),
                    }
                    for p in manifest.partitions or []
                ],
            }
        )
        spec = table.metadata.specs()[manifest.partition_spec_id]
        entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        # A column that changed is in an older schema: names of partition fields and values' types are what the path needs.
        expected.extend(expected_entry(entry, spec, table.schema()) for entry in entries)
    found = [json.loads(line) for line in probe("entries", local(table.metadata_location)).splitlines()]
    assert sum("file_path" in e for e in found) > 8
    assert {e["status"] for e in found if "status" in e} >= {"ADDED"}
    assert found == expected
