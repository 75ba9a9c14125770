# SPDX-License-Identifier: Apache-2.0
"""Iceberg tables that PyIceberg makes, and what it cannot make: commits of any data and delete files, by its own manifest writers."""

import json
import pathlib
import struct
import time
import zlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pyroaring
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestListWriterV2,
    ManifestWriterV2,
)
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.typedef import Record

DELETE_PATH_ID = 2147483546
DELETE_POSITION_ID = 2147483545


def catalog_in(folder):
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("n")
    return catalog


def path_of(table):
    return table.metadata_location.removeprefix("file://")


def rows(run, table, query="SELECT * FROM t", **options):
    """The rows of a query over the table `t`, as lists of JSON values."""
    text = f"WITH t AS (SELECT * FROM iceberg('{path_of(table)}')) {query}"
    done = run(["sql", text, "--format", "json"], **options)
    return [tuple(row.values()) for row in json.loads(done.stdout)]


def error(run, table, query="SELECT * FROM t"):
    """The exit code and message of a query that must fail."""
    text = f"WITH t AS (SELECT * FROM iceberg('{path_of(table)}')) {query}"
    done = run(["sql", text, "--format", "json"], check=False)
    assert done.exit_code != 0, done.stdout
    return done.exit_code, done.stderr


def with_ids(fields):
    """pa.schema from (field id, name, type[, nullable])."""
    return pa.schema(
        [pa.field(f[1], f[2], nullable=f[3] if len(f) > 3 else True, metadata={"PARQUET:field_id": str(f[0])}) for f in fields]
    )


class Writer(ManifestWriterV2):
    """A manifest of data or deletes, of format 2 or 3."""

    def __init__(self, *arguments, content, format_version=2):
        super().__init__(*arguments)
        self._content = content
        self._format_version = format_version

    def content(self):
        return self._content

    @property
    def version(self):
        return self._format_version

    @property
    def _meta(self):
        return {**super()._meta, "content": "data" if self._content == ManifestContent.DATA else "deletes"}

    def new_writer(self):
        schema = self._with_partition(self.version)
        return AvroOutputFile(
            output_file=self._output_file,
            file_schema=schema,
            record_schema=schema,
            schema_name="manifest_entry",
            metadata=self._meta,
        )

    def add_file(self, file, snapshot_id, sequence_number=None):
        self.add_entry(
            ManifestEntry.from_args(
                _table_format_version=self.version,
                status=ManifestEntryStatus.ADDED,
                snapshot_id=snapshot_id,
                sequence_number=sequence_number,
                file_sequence_number=sequence_number,
                data_file=file,
            )
        )


class Commit:
    """Files of one snapshot of a PyIceberg table."""

    def __init__(self, table, format_version=2):
        self.table = table
        self.format_version = format_version
        self.files = {ManifestContent.DATA: {}, ManifestContent.DELETES: {}}
        self.made = 0

    def _path(self, name):
        folder = pathlib.Path(self.table.location().removeprefix("file://")) / "data"
        folder.mkdir(parents=True, exist_ok=True)
        self.made += 1
        return folder / f"{self.table.metadata.last_sequence_number + 1}-{self.made}-{name}"

    def _add(self, content, kind, path, count, spec_id, partition, **more):
        spec = self.table.specs()[spec_id]
        absent = {
            name: None
            for name in (
                "column_sizes value_counts null_value_counts nan_value_counts lower_bounds upper_bounds key_metadata "
                "split_offsets equality_ids sort_order_id"
            ).split()
        }
        known = {field.name for field in DATA_FILE_TYPE[self.format_version].fields}
        arguments = {
            **absent,
            "content": kind,
            "file_path": str(path) if "://" in str(path) else f"file://{path}",
            "file_format": FileFormat.PARQUET,
            "partition": Record(*partition),
            "record_count": count,
            "file_size_in_bytes": pathlib.Path(str(path).removeprefix("file://")).stat().st_size,
            **more,
        }
        file = DataFile.from_args(
            _table_format_version=self.format_version, **{k: v for k, v in arguments.items() if k in known}
        )
        self.files[content].setdefault(spec_id, []).append(file)
        return arguments["file_path"]

    def data(self, table, partition=(), spec_id=0, name="data.parquet", **parquet):
        """A data file of a pyarrow table whose fields have ids (or not). Returns its path."""
        path = self._path(name)
        pq.write_table(table, path, **parquet)
        return self._add(ManifestContent.DATA, DataFileContent.DATA, path, table.num_rows, spec_id, partition)

    def avro(self, kind, fields, records, partition=(), spec_id=0, **more):
        """An Avro file of data or deletes; `fields`: (field id, name, Avro type)."""
        path = self._path("rows.avro")
        schema = {
            "type": "record",
            "name": "table",
            "fields": [{"name": name, "type": ["null", kind_], "default": None, "field-id": i} for i, name, kind_ in fields],
        }
        with open(path, "wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), records, codec="deflate", sync_interval=200)
        content = ManifestContent.DATA if kind == DataFileContent.DATA else ManifestContent.DELETES
        return self._add(content, kind, path, len(records), spec_id, partition, file_format=FileFormat.AVRO, **more)

    def existing_file(self, path, count, partition=(), spec_id=0, **more):
        return self._add(ManifestContent.DATA, DataFileContent.DATA, path, count, spec_id, partition, **more)

    def equality_deletes(self, table, ids, partition=(), spec_id=0):
        path = self._path("equality.parquet")
        pq.write_table(table, path)
        return self._add(
            ManifestContent.DELETES,
            DataFileContent.EQUALITY_DELETES,
            path,
            table.num_rows,
            spec_id,
            partition,
            equality_ids=list(ids),
        )

    def position_deletes(self, positions, partition=(), spec_id=0, nullable=False, bounds=True):
        """`positions`: (path, position) in order."""
        path = self._path("positions.parquet")
        schema = with_ids([(DELETE_PATH_ID, "file_path", pa.string()), (DELETE_POSITION_ID, "pos", pa.int64())])
        table = pa.table([[p[0] for p in positions], [p[1] for p in positions]], schema=schema)
        pq.write_table(table, path)
        paths = sorted(p[0] for p in positions if p[0] is not None)
        more = {}
        if bounds and paths:
            more = {"lower_bounds": {DELETE_PATH_ID: paths[0].encode()}, "upper_bounds": {DELETE_PATH_ID: paths[-1].encode()}}
        return self._add(
            ManifestContent.DELETES, DataFileContent.POSITION_DELETES, path, len(positions), spec_id, partition, **more
        )

    def deletion_vector(self, data_path, positions, partition=(), spec_id=0, damage=None):
        """A Puffin file with one blob."""
        bitmap = pyroaring.BitMap64(positions).serialize()
        vector = struct.pack(">I", 0xD1D33964) + bitmap
        blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
        if damage:
            blob = damage(blob)
        footer = json.dumps(
            {
                "blobs": [
                    {
                        "type": "deletion-vector-v1",
                        "fields": [DELETE_POSITION_ID],
                        "snapshot-id": -1,
                        "sequence-number": -1,
                        "offset": 4,
                        "length": len(blob),
                        "properties": {"referenced-data-file": data_path, "cardinality": str(len(positions))},
                    }
                ]
            }
        ).encode()
        path = self._path("vector.puffin")
        path.write_bytes(b"PFA1" + blob + b"PFA1" + footer + struct.pack("<I", len(footer)) + b"\0\0\0\0PFA1")
        return self._add(
            ManifestContent.DELETES,
            DataFileContent.POSITION_DELETES,
            path,
            len(positions),
            spec_id,
            partition,
            file_format=FileFormat.PUFFIN,
            referenced_data_file=data_path,
            content_offset=4,
            content_size_in_bytes=len(blob),
        )

    def commit(self):
        """Commits all files as one snapshot. Returns the refreshed table."""
        table = self.table
        snapshot = table.current_snapshot()
        snapshot_id = table.metadata.new_snapshot_id()
        sequence_number = table.metadata.last_sequence_number + 1
        folder = table.location() + "/metadata"
        manifests = list(snapshot.manifests(table.io)) if snapshot else []
        for content, by_spec in self.files.items():
            for spec_id, files in by_spec.items():
                output = table.io.new_output(f"{folder}/{snapshot_id}-{int(content)}-{spec_id}.avro")
                writer = Writer(
                    table.specs()[spec_id],
                    table.schema(),
                    output,
                    snapshot_id,
                    "deflate",
                    content=content,
                    format_version=self.format_version,
                )
                with writer:
                    for file in files:
                        writer.add_file(file, snapshot_id)
                manifests.append(writer.to_manifest_file())
        manifest_list = f"{folder}/snap-{snapshot_id}.avro"
        parent = snapshot.snapshot_id if snapshot else None
        lists = ManifestListWriterV2(table.io.new_output(manifest_list), snapshot_id, parent, sequence_number, "deflate")
        with lists:
            lists.add_manifests(manifests)
        added = Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence_number,
            timestamp_ms=max(int(time.time() * 1000), table.metadata.last_updated_ms),
            manifest_list=manifest_list,
            summary=Summary(Operation.OVERWRITE),
            schema_id=table.schema().schema_id,
        )
        table.catalog.commit_table(
            table,
            (AssertRefSnapshotId(ref="main", snapshot_id=parent),),
            (
                AddSnapshotUpdate(snapshot=added),
                SetSnapshotRefUpdate(
                    ref_name="main",
                    type=SnapshotRefType.BRANCH,
                    snapshot_id=snapshot_id,
                    max_ref_age_ms=None,
                    max_snapshot_age_ms=None,
                    min_snapshots_to_keep=None,
                ),
            ),
        )
        return table.refresh()
