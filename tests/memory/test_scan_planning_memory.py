# SPDX-License-Identifier: Apache-2.0
"""Scans of large tables are planned in a session of 64 MiB: the peak of the whole process, as the kernel saw it. The manifests are
fastavro's, in PyIceberg's schemas; files of data and deletes are names only, for a plan does not open them."""

import json

import pytest

fastavro = pytest.importorskip("fastavro")
pytest.importorskip("pyiceberg")
import measure  # noqa: E402
from pyiceberg.manifest import (  # noqa: E402
    MANIFEST_LIST_FILE_SCHEMAS,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.types import StructType  # noqa: E402
from pyiceberg.utils.schema_conversion import AvroSchemaConversion  # noqa: E402

PATH_ID = 2147483546  # of position deletes
FILES_IN_A_MANIFEST = 5000


def avro_schema(schema, name):
    return fastavro.parse_schema(AvroSchemaConversion().iceberg_to_avro(schema, schema_name=name))


def data_path(number):
    return f"s3://warehouse/db/table/data/{number % 100000:05}-{number // 100000}-9b2f4c1e-3a57-4e0b-8d6a-{number:012x}-00001.parquet"


def data_file(number):
    return {"content": 0, "file_path": data_path(number)}


def deletes_of_one(number):
    """Position deletes of one data file, as writers say it in bounds."""
    path = data_path(number).encode()
    bounds = [{"key": PATH_ID, "value": path}]
    name = f"s3://warehouse/db/table/data/{number:012x}-deletes.parquet"
    return {"content": 1, "file_path": name, "lower_bounds": bounds, "upper_bounds": bounds}


def deletes_of_two(number):
    made = deletes_of_one(number)
    made["upper_bounds"] = [{"key": PATH_ID, "value": data_path(number + 1).encode()}]
    return made


class LargeTable:
    def __init__(self, path):
        self.path = path
        self.manifests = []
        entry = manifest_entry_schema_with_data_file(2, data_file_with_partition(StructType(), 2))
        self.entry_schema = avro_schema(entry, "manifest_entry")

    def add(self, content, make, count):
        for first in range(0, count, FILES_IN_A_MANIFEST):
            numbers = range(first, min(first + FILES_IN_A_MANIFEST, count))
            path = self.path / f"m{len(self.manifests)}.avro"
            rest = {"file_format": "PARQUET", "partition": {}, "record_count": 10, "file_size_in_bytes": 1000}
            records = ({"status": 1, "snapshot_id": 1, "data_file": rest | make(number)} for number in numbers)
            header = {"format-version": "2", "partition-spec-id": "0", "content": ["data", "deletes"][content]}
            with open(path, "wb") as out:
                fastavro.writer(out, self.entry_schema, records, codec="deflate", metadata=header)
            counts = {"added_files_count": len(numbers), "added_rows_count": 10 * len(numbers)}
            rest = dict.fromkeys(["existing_files_count", "deleted_files_count", "existing_rows_count", "deleted_rows_count"], 0)
            self.manifests.append(
                counts
                | rest
                | {"manifest_path": str(path), "manifest_length": path.stat().st_size, "partition_spec_id": 0, "content": content}
                | {"sequence_number": 1 + content, "min_sequence_number": 1 + content, "added_snapshot_id": 1}
            )

    def metadata(self):
        manifest_list = self.path / "list.avro"
        with open(manifest_list, "wb") as out:
            fastavro.writer(out, avro_schema(MANIFEST_LIST_FILE_SCHEMAS[2], "manifest_file"), self.manifests)
        snapshot = {"snapshot-id": 1, "sequence-number": 2, "timestamp-ms": 1, "manifest-list": str(manifest_list)}
        metadata = {
            "format-version": 2,
            "table-uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
            "location": "s3://warehouse/db/table",
            "last-sequence-number": 2,
            "last-updated-ms": 1,
            "last-column-id": 1,
            "schemas": [
                {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
            ],
            "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "default-spec-id": 0,
            "last-partition-id": 999,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "current-snapshot-id": 1,
            "snapshots": [snapshot | {"summary": {"operation": "append"}}],
        }
        path = self.path / "v1.metadata.json"
        path.write_text(json.dumps(metadata))
        return path


def plan(table):
    done = measure.run_command([measure.BUILD / "scan_probe", "--counts", table.metadata()])
    assert done.exit_code == 0, done.stderr
    counts = json.loads(done.stdout)
    print(counts, f"{done.peak_mib:.1f} MiB", f"{done.seconds} s")
    assert done.peak_rss_bytes <= measure.promised_bytes(64), f"{done.peak_mib:.1f} MiB"
    return counts


def test_many_data_files(tmp_path):
    table = LargeTable(tmp_path)
    table.add(0, data_file, 100_000)
    counts = plan(table)
    assert counts["tasks"] == 100_000
    assert counts["peak_bytes"] < 4 * measure.MIB


@pytest.mark.parametrize("make, matched", [(deletes_of_one, 10_000), (deletes_of_two, 19_999)])
def test_ten_thousand_data_and_delete_files(tmp_path, make, matched):
    table = LargeTable(tmp_path)
    table.add(0, data_file, 10_000)
    table.add(1, make, 10_000)
    counts = plan(table)
    assert counts["tasks"] == counts["delete_files"] == 10_000
    assert counts["matched_deletes"] == matched
