# SPDX-License-Identifier: Apache-2.0
"""What a copy of a table keeps besides its values: field ids, metadata, extension types at any depth; and types that only some engines sort."""

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

IDS = [uuid.UUID(int=n * 0x0123456789ABCDEF0123456789 % (1 << 128)).bytes for n in range(3)]


def field_ids(schema):
    return [field.metadata.get(b"PARQUET:field_id") if field.metadata else None for field in schema]


@pytest.mark.parametrize("query", ["SELECT * FROM '{}'", "SELECT * FROM '{}' ORDER BY a", "SELECT * FROM '{}' WHERE a > 0 ORDER BY b DESC"])
def test_a_copy_keeps_field_ids_and_metadata(run, tmp_path, query):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    inner = pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "12", "unit": "m"})
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "7", "comment": "the key"}),
            pa.field("b", pa.string(), metadata={"PARQUET:field_id": "9"}),
            pa.field("c", pa.struct([inner]), metadata={"PARQUET:field_id": "11"}),
        ],
        metadata={"owner": "somebody", "pandas": "{}"},
    )
    table = pa.table([[3, 1, 2], ["x", "y", "z"], [{"x": 1}, {"x": 2}, None]], schema=schema)
    pq.write_table(table, source)
    run(["sql", f"COPY ({query.format(source)}) TO '{target}'"])
    copied = pq.read_schema(target)
    assert field_ids(copied) == [b"7", b"9", b"11"]
    assert copied.field("a").metadata[b"comment"] == b"the key"
    assert copied.field("c").type.field("x").metadata == {b"PARQUET:field_id": b"12", b"unit": b"m"}
    assert copied.metadata[b"owner"] == b"somebody"
    assert pq.read_table(target).sort_by("a").equals(table.sort_by("a"))


def test_columns_chosen_from_a_table_keep_theirs(run, tmp_path):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    fields = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": id}) for name, id in (("a", "7"), ("b", "9"))]
    pq.write_table(pa.table([[1], [2]], schema=pa.schema(fields, metadata={"owner": "somebody"})), source)
    run(["sql", f"COPY (SELECT b AS renamed, a + 1 AS computed FROM '{source}') TO '{target}'"])
    copied = pq.read_schema(target)
    assert copied.names == ["renamed", "computed"] and copied.field(0).metadata[b"PARQUET:field_id"] == b"9"
    assert copied.field(1).metadata is None
    assert copied.metadata is None or b"owner" not in copied.metadata


@pytest.mark.parametrize("order", ["", " ORDER BY k"])
def test_extension_types_survive_at_any_depth(run, tmp_path, order):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(IDS, pa.binary(16)))
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), ids)
    table = pa.table({"k": [2, 1, 0], "id": ids, "ids": lists, "s": pa.StructArray.from_arrays([ids], ["id"])})
    pq.write_table(table, source)
    run(["sql", f"COPY (SELECT * FROM '{source}'{order}) TO '{target}'"])
    copied = pq.read_table(target)
    assert copied.schema.equals(table.schema), copied.schema
    assert copied.sort_by("k").equals(table.sort_by("k"))
    stored = pq.ParquetFile(target).schema
    assert [stored.column(i).logical_type.type for i in (1, 2, 3)] == ["UUID"] * 3


@pytest.mark.parametrize("direction", ["", " DESC"])
def test_rows_sort_by_a_map(run, tmp_path, direction):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    maps = [[("b", 1)], [("a", 2)], [], None, [("a", 1), ("z", 9)], [("a", 1)]]
    pq.write_table(pa.table({"i": range(6), "m": pa.array(maps, pa.map_(pa.string(), pa.int64()))}), source)
    run(["sql", f"COPY (SELECT i FROM '{source}' ORDER BY m{direction}) TO '{target}'"])
    expected = [2, 5, 4, 1, 0, 3]  # as lists of entries, nulls last
    assert pq.read_table(target)["i"].to_pylist() == (expected if not direction else expected[::-1])


def test_a_uuid_constant(run):
    text = "550e8400-e29b-41d4-a716-446655440000"
    done = run(["sql", "--format", "csv", f"SELECT '{text}'::uuid AS a, NULL::uuid AS b"])
    assert done.stdout.splitlines() == ["a,b", f"{text},"]
    done = run(["sql", "--format", "csv", f"SELECT * FROM (VALUES ('{text}'::uuid), (NULL)) t(a) ORDER BY 1"])
    assert done.stdout.splitlines() == ["a", text, ""]
