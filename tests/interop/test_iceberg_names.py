# SPDX-License-Identifier: Apache-2.0
"""How Iceberg tables are named and looked at, beside PyIceberg: its catalogs and configuration, table.inspect.*, time travel."""

import base64
import datetime
import decimal
import gzip
import json
import os
import pathlib
import shutil
import uuid

import pyarrow as pa
import pytest

pytest.importorskip("pyiceberg")
import iceberg_files  # noqa: E402
from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat  # noqa: E402
from pyiceberg.partitioning import PartitionField, PartitionSpec  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform, YearTransform  # noqa: E402
from pyiceberg.typedef import Record  # noqa: E402
from pyiceberg.types import (  # noqa: E402
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    UUIDType,
)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.timestamp("us")), ("price", pa.decimal128(9, 2))])


def rows_of(first, count, city="Oslo"):
    return pa.table(
        [
            list(range(first, first + count)),
            [None if i % 5 == 4 else city for i in range(count)],
            [datetime.datetime(1969, 12, 30) + datetime.timedelta(hours=7 * i) for i in range(count)],
            [decimal.Decimal(i) / 4 for i in range(count)],
        ],
        schema=SCHEMA,
    )


class Lake:
    """A SQL catalog of PyIceberg's, and our program beside it."""

    def __init__(self, folder, run):
        self.folder = folder
        self.uri = f"sqlite:///{folder}/catalog.db"
        self.warehouse = f"file://{folder}/warehouse"
        self.catalog = SqlCatalog("prod", uri=self.uri, warehouse=self.warehouse)
        self.run = run
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("PYICEBERG_")},
            "HOME": str(folder),
            "PYICEBERG_CATALOG__PROD__URI": self.uri,
            "PYICEBERG_CATALOG__PROD__WAREHOUSE": self.warehouse,
        }

    def program(self, *arguments, catalog="prod", **options):
        chosen = ["--catalog", catalog] if catalog else []
        return self.run([*chosen, *arguments], limit_mib=64, **{"env": self.environment, "cwd": self.folder, **options})

    def sql(self, text, **options):
        return json.loads(self.program("sql", "--format", "json", text, **options).stdout)

    def fails(self, text, exit_code=2, **options):
        done = self.program("sql", text, check=False, **options)
        assert done.exit_code == exit_code, (done.exit_code, done.stderr)
        return done.stderr

    def table(self, json_output=True, name="sales.orders", **options):
        done = self.program(*(["--json"] if json_output else []), "table", name, **options)
        return json.loads(done.stdout) if json_output else done.stdout


@pytest.fixture
def lake(tmp_path, run):
    folder = tmp_path / "lake"
    folder.mkdir()
    lake = Lake(folder, run)
    lake.catalog.create_namespace("sales")
    return lake


@pytest.fixture
def orders(lake):
    """Three specs, several snapshots, a tag, a branch, deleted and rewritten files."""
    table = lake.catalog.create_table("sales.orders", schema=SCHEMA)
    table.append(rows_of(0, 7))
    with table.update_spec() as spec:
        spec.add_identity("city")
        spec.add_field("ts", DayTransform(), "ts_day")
    table.append(rows_of(10, 9))
    table.append(rows_of(20, 6, city="Lima"))
    with table.update_spec() as spec:
        spec.remove_field("ts_day")
        spec.add_field("id", BucketTransform(4), "id_bucket")
        spec.add_field("price", TruncateTransform(100), "price_cut")
    table.append(rows_of(30, 8, city="Bogotá"))
    table.delete("city = 'Lima'")
    table.delete("id = 2")
    snapshots = table.metadata.snapshots
    (
        table.manage_snapshots()
        .create_tag(snapshots[0].snapshot_id, "first", max_ref_age_ms=10**12)
        .create_branch(snapshots[1].snapshot_id, "audit", max_snapshot_age_ms=10**11, min_snapshots_to_keep=3)
        .commit()
    )
    return lake.catalog.load_table("sales.orders")


def plain(value):
    """A value of PyIceberg's as our JSON has it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):  # a map
        return [{"key": plain(key), "value": plain(item)} for key, item in value]
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def moment(text):
    """Ours have a zone, PyIceberg's have none."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None)


def compare(ours, theirs, key, times=(), ours_only=(), no_difference_between_none_and=()):
    theirs = [plain(row) for row in theirs.to_pylist()]
    assert len(ours) == len(theirs) and ours
    for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key)):
        other.pop("readable_metrics", None)
        if other.get("partition") == {}:
            other.pop("partition")
        assert set(mine) - set(ours_only) == set(other)
        for name in other:
            if name in times:
                assert moment(mine[name]) == moment(other[name])
            elif name in no_difference_between_none_and:
                assert (mine[name] or []) == (other[name] or []), name
            else:
                assert mine[name] == other[name], name


EMPTY_OR_NONE = (
    "column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds", "split_offsets",
    "equality_ids",
)  # fmt: skip
V3_COLUMNS = ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes")


def test_snapshots(lake, orders):
    compare(lake.sql("SELECT * FROM sales.orders.snapshots"), orders.inspect.snapshots(), lambda row: row["snapshot_id"], ["committed_at"])


def test_history(lake, orders):
    compare(lake.sql("SELECT * FROM sales.orders.history"), orders.inspect.history(), lambda row: row["snapshot_id"], ["made_current_at"])


def test_history_of_a_table_that_was_rolled_back(lake, orders):
    orders.manage_snapshots().set_current_snapshot(snapshot_id=orders.metadata.snapshots[1].snapshot_id).commit()
    orders.append(rows_of(100, 3))
    ours = lake.sql("SELECT * FROM sales.orders.history")
    assert {row["is_current_ancestor"] for row in ours} == {True, False}
    compare(ours, orders.inspect.history(), lambda row: (moment(row["made_current_at"]), row["snapshot_id"]), ["made_current_at"])


def test_refs(lake, orders):
    compare(lake.sql("SELECT * FROM sales.orders.refs"), orders.inspect.refs(), lambda row: row["name"])


def test_metadata_log_entries(lake, orders):
    compare(lake.sql("SELECT * FROM sales.orders.metadata_log_entries"), orders.inspect.metadata_log_entries(), lambda row: row["file"], ["timestamp"])


def test_manifests(lake, orders):
    # The value of a dropped column's bound is read by the type that it had.
    ours = lake.sql("SELECT * FROM sales.orders.manifests")
    compare(ours, orders.inspect.manifests(), lambda row: row["path"])
    assert any(row["partition_summaries"] for row in ours)


@pytest.mark.parametrize("name", ["files", "data_files"])
def test_files(lake, orders, name):
    compare(
        lake.sql(f"SELECT * FROM sales.orders.{name}"),
        getattr(orders.inspect, name)(),
        lambda row: row["file_path"],
        ours_only=V3_COLUMNS,
        no_difference_between_none_and=EMPTY_OR_NONE,
    )
    assert lake.sql("SELECT count(*) AS n FROM sales.orders.delete_files") == [{"n": 0}]


def test_files_of_an_old_snapshot(lake, orders):
    for snapshot in orders.metadata.snapshots:
        ours = lake.sql(f"SELECT * FROM iceberg('sales.orders', metadata_table => 'files', snapshot_id => {snapshot.snapshot_id})")
        compare(
            ours,
            orders.inspect.files(snapshot.snapshot_id),
            lambda row: row["file_path"],
            ours_only=V3_COLUMNS,
            no_difference_between_none_and=EMPTY_OR_NONE,
        )


def test_entries(lake, orders):
    ours = lake.sql("SELECT * FROM sales.orders.entries")
    theirs = [plain(row) for row in orders.inspect.entries().to_pylist()]
    assert {row["status"] for row in ours} == {0, 1, 2} or {row["status"] for row in ours} == {0, 2}

    def key(row):
        return row["data_file"]["file_path"], row["status"]

    assert len(ours) == len(theirs)
    for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key)):
        assert [mine[name] for name in ("status", "snapshot_id", "sequence_number", "file_sequence_number")] == [
            other[name] for name in ("status", "snapshot_id", "sequence_number", "file_sequence_number")
        ]
        for name, value in other["data_file"].items():
            same = (mine["data_file"][name] or []) == (value or []) if name in EMPTY_OR_NONE else mine["data_file"][name] == value
            assert same, name


def test_partitions(lake, orders):
    ours = lake.sql("SELECT * FROM sales.orders.partitions")
    compare(ours, orders.inspect.partitions(), lambda row: (row["spec_id"], str(row["partition"])), ["last_updated_at"])


def test_partitions_of_a_table_without_any(lake):
    table = lake.catalog.create_table("sales.flat", schema=SCHEMA)
    table.append(rows_of(0, 3))
    table.append(rows_of(3, 3))
    compare(lake.sql("SELECT * FROM sales.flat.partitions"), table.inspect.partitions(), lambda row: 0, ["last_updated_at"])
    assert "partition" not in lake.sql("SELECT * FROM sales.flat.files")[0]


def entry(path, partition, **more):
    """A data file that nobody wrote: only what manifests say of it is looked at."""
    fields = {
        "content": DataFileContent.DATA, "file_path": path, "file_format": FileFormat.PARQUET, "partition": Record(*partition),
        "record_count": 10, "file_size_in_bytes": 1000, "column_sizes": {}, "value_counts": {}, "null_value_counts": {},
        "nan_value_counts": {}, "lower_bounds": {}, "upper_bounds": {}, "split_offsets": None,
    }  # fmt: skip
    file = DataFile.from_args(**{**fields, **more})
    file.spec_id = 0
    return file


def append_entries(table, entries):
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in entries:
            append.append_data_file(file)


def test_partitions_spill(lake, run):
    """Partitions whose values are 60 MB, in 32 MiB."""
    table = lake.catalog.create_table(
        "sales.many",
        schema=Schema(NestedField(1, "k", StringType())),
        partition_spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "k")),
    )
    append_entries(table, (entry(f"file:///f{i}", [f"{i % 20000:06}" + "x" * 3000]) for i in range(21000)))
    query = "SELECT count(*) AS n, sum(file_count) AS files, max(file_count) AS most FROM sales.many.partitions"
    done = run(["--catalog", "prod", "sql", "--format", "json", query], limit_mib=32, env=lake.environment)
    assert json.loads(done.stdout) == [{"n": 20000, "files": 21000, "most": 2}]
    assert done.metrics["spilled_bytes"] > 0


def test_one_wide_entry_after_another(lake, run):
    """Bounds of half a megabyte in each of 200 entries: batches are cut by bytes, not by rows."""
    table = lake.catalog.create_table("sales.wide", schema=Schema(NestedField(1, "k", StringType())))
    bounds = {"lower_bounds": {1: b"a" * (1 << 18)}, "upper_bounds": {1: b"z" * (1 << 18)}}
    append_entries(table, (entry(f"file:///f{i}", [], **bounds) for i in range(200)))
    query = "SELECT count(*) AS n, count(lower_bounds) AS bounds, min(file_path) AS f FROM sales.wide.files WHERE lower_bounds IS NOT NULL"
    done = run(["--catalog", "prod", "sql", "--format", "json", query], limit_mib=32, env=lake.environment)
    assert json.loads(done.stdout) == [{"n": 200, "bounds": 200, "f": "file:///f0"}]
    out = lake.folder / "bounds.parquet"
    run(["--catalog", "prod", "sql", "-o", str(out), "SELECT lower_bounds, upper_bounds FROM sales.wide.files"], limit_mib=64, env=lake.environment)
    assert out.stat().st_size > 0


def test_partition_values_of_every_type(lake):
    schema = Schema(
        NestedField(1, "b", BooleanType()),
        NestedField(2, "l", LongType()),
        NestedField(3, "d", DoubleType()),
        NestedField(4, "day", DateType()),
        NestedField(5, "ts", TimestampType()),
        NestedField(6, "s", StringType()),
        NestedField(7, "u", UUIDType()),
        NestedField(8, "bin", BinaryType()),
        NestedField(9, "price", DecimalType(9, 2)),
    )
    fields = [PartitionField(i, 999 + i, IdentityTransform(), f"p{i}") for i in range(1, 10)]
    fields.append(PartitionField(5, 1010, YearTransform(), "year"))
    table = lake.catalog.create_table("sales.types", schema=schema, partition_spec=PartitionSpec(*fields))
    just_before = -1
    values = [True, -(1 << 40), 1.5, -1, just_before, "a/b ü", uuid.UUID(int=77), b"\x00\xff", decimal.Decimal("-12.50"), -1]
    append_entries(table, [entry("file:///one", values), entry("file:///none", [None] * 10)])
    ours = {row["file_path"]: row["partition"] for row in lake.sql("SELECT file_path, partition FROM sales.types.files")}
    assert ours["file:///one"] == {
        "p1": True, "p2": -(1 << 40), "p3": 1.5, "p4": "1969-12-31", "p5": "1969-12-31T23:59:59.999999", "p6": "a/b ü",
        "p7": str(uuid.UUID(int=77)), "p8": base64.b64encode(b"\x00\xff").decode(), "p9": "-12.50", "year": -1,
    }  # fmt: skip
    assert set(ours["file:///none"].values()) == {None}
    assert lake.sql("SELECT count(*) AS n FROM sales.types.partitions") == [{"n": 2}]


def test_version_by_all_three_ways(lake, orders):
    def files(argument):
        return lake.sql(f"SELECT count(*) AS n FROM iceberg('sales.orders', metadata_table => 'files', {argument})")[0]["n"]

    snapshots = orders.metadata.snapshots
    counts = {s.snapshot_id: orders.inspect.files(s.snapshot_id).num_rows for s in snapshots}
    assert len(set(counts.values())) > 2
    for snapshot in snapshots:
        assert files(f"snapshot_id => {snapshot.snapshot_id}") == counts[snapshot.snapshot_id]
    for entry in orders.metadata.snapshot_log:
        at = datetime.datetime.fromtimestamp(entry.timestamp_ms / 1000, tz=datetime.timezone.utc).isoformat()
        seen = orders.snapshot_as_of_timestamp(entry.timestamp_ms)
        assert files(f"as_of => '{at}'") == counts[seen.snapshot_id]
        before = orders.snapshot_as_of_timestamp(entry.timestamp_ms - 1)
        if before is not None:
            assert files(f"as_of => TIMESTAMPTZ '{at}' - INTERVAL '1 millisecond'") == counts[before.snapshot_id]
    assert files("ref => 'first'") == counts[snapshots[0].snapshot_id]
    assert files("ref => 'audit'") == counts[snapshots[1].snapshot_id]
    assert files("ref => 'main'") == counts[orders.current_snapshot().snapshot_id]


def test_namespaces_of_several_levels(lake):
    lake.catalog.create_namespace("sales.eu")
    table = lake.catalog.create_table("sales.eu.orders", schema=SCHEMA)
    table.append(rows_of(0, 4))
    for name in ("sales.eu.orders.files", "prod.sales.eu.orders.files"):
        assert lake.sql(f"SELECT f.record_count FROM {name} f") == [{"record_count": 4}]
    assert lake.sql("SELECT count(*) AS n FROM iceberg('prod.sales.eu.orders', metadata_table => 'snapshots')") == [{"n": 1}]


def test_a_table_may_be_called_as_a_metadata_table(lake):
    lake.catalog.create_table("sales.files", schema=SCHEMA).append(rows_of(0, 2))
    assert lake.sql("SELECT count(*) AS n FROM sales.files.snapshots") == [{"n": 1}]
    assert lake.sql("SELECT count(*) AS n FROM sales.files.files") == [{"n": 1}]


def test_directories_and_metadata_files(lake, orders):
    # A catalog's directory has one newest metadata file as long as nobody lost a race for it.
    count = lake.sql("SELECT count(*) AS n FROM sales.orders.files")
    directory = orders.location().removeprefix("file://")
    for name in (directory, orders.location(), orders.metadata_location, orders.metadata_location.removeprefix("file://")):
        assert lake.sql(f"SELECT count(*) AS n FROM iceberg('{name}', metadata_table => 'files')", catalog=None) == count
    packed = lake.folder / "old.metadata.json.gz"
    packed.write_bytes(gzip.compress(pathlib.Path(orders.metadata_location.removeprefix("file://")).read_bytes()))
    assert lake.sql("SELECT count(*) AS n FROM iceberg('old.metadata.json.gz', metadata_table => 'files')", catalog=None) == count
    shutil.copytree(directory, lake.folder / "copy")
    assert lake.sql("SELECT count(*) AS n FROM iceberg('copy', metadata_table => 'files')", catalog=None) == count
    assert lake.sql("SELECT count(*) AS n FROM iceberg('./copy', metadata_table => 'files')") == count


def test_configuration_file(lake, orders):
    clean = {key: value for key, value in lake.environment.items() if not key.startswith("PYICEBERG_")}
    home = lake.folder / "home"
    home.mkdir()
    (home / ".pyiceberg.yaml").write_text(
        f"default-catalog: prod\ncatalog:\n  prod:\n    uri: {lake.uri}\n    warehouse: {lake.warehouse}\n  other:\n    type: hive\n"
    )
    options = {"env": {**clean, "HOME": str(home)}}
    expected = [{"n": len(orders.metadata.snapshots)}]
    query = "SELECT count(*) AS n FROM sales.orders.snapshots"
    assert lake.sql(query, **options) == expected
    # Without --catalog: the default one, and any by its name.
    assert lake.sql(query, catalog=None, **options) == expected
    assert lake.sql("SELECT count(*) AS n FROM prod.sales.orders.snapshots", catalog=None, **options) == expected
    assert "of type hive" in lake.fails("SELECT * FROM other.sales.orders", catalog=None, **options)
    done = lake.program("--catalog", "prd", "sql", "SELECT 1", catalog=None, check=False, **options)
    assert done.exit_code == 2 and 'did you mean "prod"?' in done.stderr
    (home / ".pyiceberg.yaml").write_text("catalog: [1]\n")
    assert ".pyiceberg.yaml, line 1" in lake.fails(query, catalog=None, **options)


def test_properties_go_before_the_environment(lake, orders):
    wrong = {**lake.environment, "PYICEBERG_CATALOG__PROD__URI": "sqlite:////nowhere/at.db"}
    query = "SELECT count(*) AS n FROM sales.orders.snapshots"
    right = ["--property", f"uri={lake.uri}"]
    done = lake.program(*right, "sql", "--format", "json", query, env=wrong)
    assert json.loads(done.stdout) == [{"n": len(orders.metadata.snapshots)}]
    # A catalog that is nowhere configured is made of properties alone.
    bare = {key: value for key, value in lake.environment.items() if not key.startswith("PYICEBERG_")}
    done = lake.program(*right, "sql", "--format", "json", query, env=bare)
    assert json.loads(done.stdout) == [{"n": len(orders.metadata.snapshots)}]


def test_without_a_default_catalog_the_others_are_named(lake, orders):
    error = lake.fails("SELECT * FROM sales.orders.files", catalog=None)
    assert 'there is no default catalog, and "sales" is none of prod' in error
    error = lake.fails("SELECT * FROM prd.sales.orders", catalog=None)
    assert 'did you mean "prod"?' in error
    bare = {key: value for key, value in lake.environment.items() if not key.startswith("PYICEBERG_")}
    error = lake.fails("SELECT * FROM sales.orders", catalog=None, env=bare)
    assert error.startswith('icebound: relation "sales.orders" does not exist\n')


def caret(error):
    """What the caret of an error points at."""
    text, pointer = error.splitlines()[-2:]
    return text[pointer.index("^") :]


@pytest.mark.parametrize(
    "name, message, at",
    [
        ("sales.order", 'no table "order" in namespace "sales" of catalog prod; did you mean "orders"?', "sales.order"),
        ("sale.orders", 'no namespace "sale" in catalog prod; did you mean "sales"?', "sale.orders"),
        ("pord.sales.orders", 'no namespace "pord" in catalog prod; did you mean "prod"?', "pord.sales.orders"),
        ("prod.sales.a.b.c", 'no namespace "sales.a" in catalog prod', "prod.sales.a.b.c"),
        ("sales.orders.snapshot", 'has no metadata table "snapshot"; did you mean "snapshots"?', "sales.orders.snapshot"),
        ("sales.oders.snapshots", 'no table "oders" in namespace "sales" of catalog prod; did you mean "orders"?', "sales.oders"),
        ("iceberg('sales.order')", 'no table "order" in namespace "sales" of catalog prod; did you mean "orders"?', "'sales.order'"),
        ("iceberg('no/such/directory')", "there is no table in no/such/directory", "'no/such"),
        ("iceberg('none.metadata.json')", "none.metadata.json", "'none"),
        ("iceberg('sales.orders', ref => 'frist')", 'no branch or tag "frist"; did you mean "first"?', "ref"),
        ("iceberg('sales.orders', snapshot_id => 5)", "the table has no snapshot 5", "snapshot_id"),
        ("iceberg('sales.orders', as_of => '1999-01-01')", "the table has no snapshot of 1999-01-01", "as_of"),
        ("iceberg('sales.orders', metadata_table => 'refs', ref => 'first')", "has no versions", "ref"),
        ("iceberg('sales.orders', metadata_table => 'fils')", 'did you mean "files"?', "metadata_table"),
        ("iceberg('sales.orders.files', metadata_table => 'refs')", "is a metadata table already", "metadata_table"),
    ],
)
def test_unknown_names_point_at_their_place(lake, orders, name, message, at):
    error = lake.fails(f"SELECT *\nFROM {name}")
    assert message in error
    assert "LINE 2, COLUMN" in error
    assert caret(error).startswith(at), error


def test_damaged_tables(lake, orders):
    directory = pathlib.Path(orders.location().removeprefix("file://")) / "metadata"
    metadata = pathlib.Path(orders.metadata_location.removeprefix("file://"))
    text = metadata.read_text()

    def metadata_is(content):
        metadata.write_text(content)
        return lake.fails("SELECT * FROM sales.orders.files", exit_code=7)

    assert metadata.name in metadata_is(text[:200])
    assert metadata.name in metadata_is("")
    assert metadata.name in metadata_is(text.replace('"current-schema-id":0', '"current-schema-id":77'))
    document = json.loads(text)
    metadata.write_text(json.dumps({**document, "format-version": 4}))
    error = lake.fails("SELECT * FROM sales.orders.files")
    assert metadata.name in error and "version 4" in error
    metadata.write_text(text)

    manifest_list = pathlib.Path(orders.current_snapshot().manifest_list.removeprefix("file://"))
    content = manifest_list.read_bytes()
    manifest_list.write_bytes(content[: len(content) // 2])
    assert manifest_list.name in lake.fails("SELECT * FROM sales.orders.manifests", exit_code=7)
    manifest_list.unlink()
    assert manifest_list.name in lake.fails("SELECT * FROM sales.orders.manifests", exit_code=7)
    manifest_list.write_bytes(content)

    manifest = directory / pathlib.Path(lake.sql("SELECT path FROM sales.orders.manifests")[0]["path"]).name
    content = manifest.read_bytes()
    manifest.write_bytes(content[:-20])
    for query in ("files", "entries", "partitions"):
        assert manifest.name in lake.fails(f"SELECT * FROM sales.orders.{query}", exit_code=7)
    manifest.unlink()
    assert manifest.name in lake.fails("SELECT * FROM sales.orders.files", exit_code=7)
    done = lake.program("table", "sales.orders", check=False)
    assert done.exit_code == 7 and manifest.name in done.stderr
    metadata.unlink()
    assert metadata.name in lake.fails("SELECT * FROM sales.orders.snapshots", exit_code=7)


def test_one_version_a_statement(lake, orders):
    """Both sides of a join read one load of the table: the catalog is asked once."""
    ours = lake.sql("SELECT count(*) AS n FROM sales.orders.files a JOIN prod.sales.orders.files b ON a.file_path = b.file_path")
    assert ours == [{"n": orders.inspect.files().num_rows}]


def test_table_command(lake, orders):
    seen = lake.table()
    assert seen["uuid"] == str(orders.metadata.table_uuid)
    assert seen["metadata_location"] == orders.metadata_location
    assert [column["name"] for column in seen["schema"]["columns"]] == SCHEMA.names
    assert seen["schema"]["columns"][3]["type"] == "decimal(9, 2)"
    assert [(field["name"], field["transform"], field["column"]) for field in seen["partition_spec"]["fields"]] == [
        ("city", "identity", "city"), ("id_bucket", "bucket[4]", "id"), ("price_cut", "truncate[100]", "price"),
    ]  # fmt: skip
    assert seen["current_snapshot_id"] == orders.current_snapshot().snapshot_id
    files = orders.inspect.files().to_pylist()
    expected = {"files": len(files), "rows": sum(f["record_count"] for f in files), "bytes": sum(f["file_size_in_bytes"] for f in files)}
    assert seen["data_files"] == expected
    assert seen["data_file_sizes"][0] == {"from_bytes": 0, "to_bytes": 1 << 20, "files": expected["files"], "bytes": expected["bytes"]}
    assert sum(bucket["files"] for bucket in seen["data_file_sizes"]) == expected["files"]
    assert len(seen["snapshots"]) == len(orders.metadata.snapshots)
    assert {ref["name"]: ref["type"] for ref in seen["refs"]} == {"main": "BRANCH", "first": "TAG", "audit": "BRANCH"}
    assert seen["manifests"]["files"] == len(orders.inspect.manifests())
    text = lake.table(json_output=False)
    for part in ("price_cut: truncate[100](price)", "first", "audit", str(seen["current_snapshot_id"]), "position deletes", "0 B to 1.0 MiB"):
        assert part in text


def test_table_command_of_a_table_without_snapshots(lake):
    lake.catalog.create_table("sales.empty", schema=SCHEMA, properties={"owner": "it's me"})
    seen = lake.table(name="sales.empty")
    assert seen["current_snapshot_id"] is None and seen["snapshots"] == [] and seen["maintenance"] == []
    assert seen["properties"]["owner"] == "it's me"
    assert "maintenance: nothing to do" in lake.table(json_output=False, name="prod.sales.empty")


def small_files(lake, name, count, city="Oslo", properties=None):
    table = lake.catalog.create_table(name, schema=SCHEMA, properties=properties or {})
    for i in range(count):
        table.append(rows_of(10 * i, 4, city=city))
    return table


def needs(seen):
    return {need["action"]: need for need in seen["maintenance"]}


def test_small_files_need_compaction_by_the_rules_of_rewrite_data_files(lake):
    small_files(lake, "sales.four", 4)
    assert "compact" not in needs(lake.table(name="sales.four"))
    five = small_files(lake, "sales.five", 5)
    need = needs(lake.table(name="sales.five"))["compact"]
    assert need["count"] == 5 and need["bytes"] == sum(f["file_size_in_bytes"] for f in five.inspect.files().to_pylist())
    assert need["command"] == "icebound --catalog prod compact sales.five"
    # Two files that are more than a target file together are content enough; one that is larger than 180 % alone.
    size = five.inspect.files().to_pylist()[0]["file_size_in_bytes"]
    small_files(lake, "sales.two", 2, properties={"write.target-file-size-bytes": str(int(size * 1.5))})
    assert needs(lake.table(name="sales.two"))["compact"]["count"] == 2
    small_files(lake, "sales.fits", 5, properties={"write.target-file-size-bytes": str(size)})
    assert "compact" not in needs(lake.table(name="sales.fits"))
    small_files(lake, "sales.large", 1, properties={"write.target-file-size-bytes": str(size // 2)})
    assert needs(lake.table(name="sales.large"))["compact"]["count"] == 1


def test_files_are_counted_by_partition(lake):
    table = lake.catalog.create_table(
        "sales.parts",
        schema=Schema(NestedField(1, "k", LongType()), NestedField(2, "p", LongType())),
        partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p")),
    )
    schema = pa.schema([("k", pa.int64()), ("p", pa.int64())])
    for i in range(6):
        # Partition 0 gets a file each time, the others one altogether.
        table.append(pa.table([[i, i], [0, i + 1]], schema=schema))
    assert needs(lake.table(name="sales.parts"))["compact"]["count"] == 6


def test_old_snapshots_are_to_be_expired(lake):
    table = small_files(lake, "sales.old", 4)
    assert "expire-snapshots" not in needs(lake.table(name="sales.old"))
    with table.transaction() as change:
        change.set_properties({"history.expire.max-snapshot-age-ms": "1"})
    assert needs(lake.table(name="sales.old"))["expire-snapshots"]["count"] == 3
    table.manage_snapshots().create_tag(table.metadata.snapshots[0].snapshot_id, "kept").commit()
    assert needs(lake.table(name="sales.old"))["expire-snapshots"]["count"] == 2
    with table.transaction() as change:
        change.set_properties({"history.expire.min-snapshots-to-keep": "2"})
    assert needs(lake.table(name="sales.old"))["expire-snapshots"]["count"] == 1


def test_many_small_manifests_are_to_be_rewritten(lake):
    small_files(lake, "sales.m", 3)
    assert "rewrite-manifests" not in needs(lake.table(name="sales.m"))
    small_files(lake, "sales.n", 3, properties={"commit.manifest.min-count-to-merge": "3"})
    assert needs(lake.table(name="sales.n"))["rewrite-manifests"]["count"] == 3


def test_table_command_names_what_there_is_not(lake, orders):
    done = lake.program("table", "sales.order", check=False)
    assert done.exit_code == 2 and 'did you mean "orders"?' in done.stderr
    done = lake.program("table", check=False)
    assert done.exit_code == 2


def test_views_keep_the_version_they_were_made_of(lake, orders):
    script = "CREATE VIEW v AS SELECT * FROM sales.orders.files; SELECT count(*) AS n FROM v"
    done = lake.program("sql", "--format", "json", script)
    assert json.loads(done.stdout) == [{"n": orders.inspect.files().num_rows}]


@pytest.mark.parametrize("format_version", [2, 3])
def test_deletes_of_every_kind_are_counted(tmp_path, run, format_version):
    """PyIceberg writes no deletes: its manifest writers make them, and its inspect tables read them."""
    catalog = iceberg_files.catalog_in(tmp_path)
    table = catalog.create_table("n.t", schema=pa.schema([("id", pa.int64()), ("s", pa.string())]))
    fields = iceberg_files.with_ids([(1, "id", pa.int64()), (2, "s", pa.string())])
    commit = iceberg_files.Commit(table, format_version)
    paths = [commit.data(pa.table([list(range(100)), ["x"] * 100], schema=fields)) for _ in range(3)]
    keys = iceberg_files.with_ids([(1, "id", pa.int64())])
    commit.equality_deletes(pa.table([[1, 2, 3]], schema=keys), [1])
    if format_version == 2:
        commit.position_deletes([(paths[0], i) for i in range(40)])  # of one file, by its bounds: 40 % of the rows
        commit.position_deletes([(paths[1], 0), (paths[2], 0)])
    else:
        commit.deletion_vector(paths[0], list(range(40)))
        commit.deletion_vector(paths[1], [5])
    table = commit.commit()
    name = iceberg_files.path_of(table)
    if format_version == 3:  # which PyIceberg does not make, but its manifests are the same
        metadata = json.loads(pathlib.Path(name).read_text())
        metadata |= {"format-version": 3, "next-row-id": 0}
        for snapshot in metadata["snapshots"]:
            snapshot |= {"first-row-id": 0, "added-rows": 0}
        name = str(tmp_path / "v3.metadata.json")
        pathlib.Path(name).write_text(json.dumps(metadata))
    seen = json.loads(run(["--json", "table", name], limit_mib=64).stdout)
    sizes = {row["file_path"]: row["file_size_in_bytes"] for row in table.inspect.delete_files().to_pylist()}
    assert seen["data_files"]["files"] == 3 and seen["data_files"]["rows"] == 300
    assert (seen["equality_delete_files"]["files"], seen["equality_delete_files"]["rows"]) == (1, 3)
    need = needs(seen)
    assert need["resolve-deletes"]["count"] == 1
    # Small files, three of them, which is one group; it is rewritten for the file with 40 % of its rows deleted.
    assert need["compact"]["count"] == 3
    if format_version == 2:
        positions = seen["position_delete_files"]
        assert (positions["files"], positions["rows"]) == (2, 42)
        assert positions["bytes"] + seen["equality_delete_files"]["bytes"] == sum(sizes.values())
        assert seen["deletion_vectors"] == {"files": 0, "rows": 0, "bytes": 0}
    else:
        assert (seen["deletion_vectors"]["files"], seen["deletion_vectors"]["rows"]) == (2, 41)
        assert 0 < seen["deletion_vectors"]["bytes"] < sum(sizes.values())
        assert seen["position_delete_files"]["files"] == 0
    done = run(["sql", "--format", "json", f"SELECT * FROM iceberg('{name}', metadata_table => 'delete_files')"], limit_mib=64)
    compare(
        json.loads(done.stdout),
        table.inspect.delete_files(),
        lambda row: row["file_path"],
        ours_only=V3_COLUMNS,
        no_difference_between_none_and=EMPTY_OR_NONE,
    )


def test_rows_of_a_version(lake, orders):
    """Whatever names a table and its version: the rows that PyIceberg reads."""

    def ids(name):
        return [row["id"] for row in lake.sql(f"SELECT id FROM {name} ORDER BY id")]

    def theirs(snapshot_id=None):
        return sorted(orders.scan(snapshot_id=snapshot_id).to_arrow()["id"].to_pylist())

    snapshots = orders.metadata.snapshots
    assert ids("sales.orders") == ids("prod.sales.orders") == ids("iceberg('sales.orders')") == theirs()
    assert ids(f"iceberg('{orders.metadata_location}')") == theirs()
    for snapshot in snapshots:
        assert ids(f"iceberg('sales.orders', snapshot_id => {snapshot.snapshot_id})") == theirs(snapshot.snapshot_id)
        at = datetime.datetime.fromtimestamp(snapshot.timestamp_ms / 1000, tz=datetime.timezone.utc).isoformat()
        assert ids(f"iceberg('sales.orders', as_of => '{at}')") == theirs(snapshot.snapshot_id)
    assert ids("iceberg('sales.orders', ref => 'first')") == theirs(snapshots[0].snapshot_id)
    assert ids("iceberg('sales.orders', ref => 'audit')") == theirs(snapshots[1].snapshot_id)
