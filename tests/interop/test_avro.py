# SPDX-License-Identifier: Apache-2.0
"""Avro files, Puffin files and deletion vectors against fastavro, PyIceberg, cramjam, zlib and pyroaring, both ways. (A program of the build reads and writes for us.)"""

import datetime
import decimal
import io
import json
import pathlib
import random
import struct
import subprocess
import uuid
import zlib

import cramjam
import fastavro
import pyarrow as pa
import pytest
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

PROBE = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "avro_probe"
CODECS = ["null", "deflate", "snappy", "zstandard"]


def probe(*words):
    done = subprocess.run([PROBE, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*words):
    done = subprocess.run([PROBE, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    return done.stderr


# Everything that Iceberg stores, in one record.
SCHEMA = {
    "type": "record", "name": "row", "fields": [
        {"name": "b", "field-id": 1, "type": ["null", "boolean"]},
        {"name": "i", "field-id": 2, "type": "int"},
        {"name": "l", "field-id": 3, "type": ["long", "null"]},
        {"name": "f", "field-id": 4, "type": "float"},
        {"name": "d", "field-id": 5, "type": ["null", "double"]},
        {"name": "s", "field-id": 6, "type": ["null", "string"]},
        {"name": "y", "field-id": 7, "type": "bytes"},
        {"name": "x", "field-id": 8, "type": {"type": "fixed", "name": "fixed_3", "size": 3}},
        {"name": "dec", "field-id": 9, "type": ["null", {"type": "fixed", "name": "dec", "size": 5, "logicalType": "decimal", "precision": 11, "scale": 3}]},
        {"name": "day", "field-id": 10, "type": {"type": "int", "logicalType": "date"}},
        {"name": "tod", "field-id": 11, "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "ts", "field-id": 12, "type": ["null", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}]},
        {"name": "u", "field-id": 13, "type": {"type": "fixed", "name": "uuid_fixed", "size": 16}},
        {"name": "r", "field-id": 14, "type": ["null", {"type": "record", "name": "r14", "fields": [
            {"name": "p", "field-id": 15, "type": "int"}, {"name": "q", "field-id": 16, "type": ["null", "string"]}]}]},
        {"name": "a", "field-id": 17, "type": {"type": "array", "element-id": 18, "items": ["null", "long"]}},
        {"name": "m", "field-id": 19, "type": {"type": "map", "key-id": 20, "value-id": 21, "values": "double"}},
        {"name": "k", "field-id": 22, "type": ["null", {"type": "array", "logicalType": "map", "items": {"type": "record", "name": "k23_v24", "fields": [
            {"name": "key", "field-id": 23, "type": "int"}, {"name": "value", "field-id": 24, "type": ["null", "string"]}]}}]},
        {"name": "e", "field-id": 25, "type": {"type": "enum", "name": "e", "symbols": ["A", "B", "C"]}},
    ],
}


def row(rng):
    def maybe(value):
        return None if rng.random() < 0.3 else value

    def text():
        return "".join(rng.choice("aé漢😀\n\0") for _ in range(rng.randrange(20)))

    return {
        "b": maybe(rng.random() < 0.5),
        "i": rng.choice([0, 1, -1, 2**31 - 1, -(2**31), rng.randrange(-1000, 1000)]),
        "l": maybe(rng.choice([0, 2**63 - 1, -(2**63), rng.randrange(-(10**12), 10**12)])),
        "f": struct.unpack("<f", struct.pack("<f", rng.uniform(-1e6, 1e6)))[0],
        "d": maybe(rng.choice([rng.uniform(-1e9, 1e9), float("inf"), -0.0])),
        "s": maybe(text()),
        "y": rng.randbytes(rng.randrange(50)),
        "x": rng.randbytes(3),
        "dec": maybe(decimal.Decimal(rng.randrange(-(10**11) + 1, 10**11)).scaleb(-3)),
        "day": datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randrange(80000)),
        "tod": datetime.time(rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.randrange(1000000)),
        "ts": maybe(datetime.datetime(1900, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=rng.randrange(10**16))),
        "u": uuid.UUID(int=rng.getrandbits(128)).bytes,
        "r": maybe({"p": rng.randrange(100), "q": maybe(text())}),
        "a": [maybe(rng.randrange(10**6)) for _ in range(rng.randrange(5))],
        "m": {text(): rng.uniform(0, 1) for _ in range(rng.randrange(4))},
        "k": maybe([{"key": i, "value": maybe(text())} for i in range(rng.randrange(4))]),
        "e": rng.choice("ABC"),
    }


def rows(count, seed):
    rng = random.Random(seed)
    return [row(rng) for _ in range(count)]


def write(path, records, codec, schema=SCHEMA, **options):
    with path.open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(schema), records, codec=codec, **options)


@pytest.mark.parametrize("codec", CODECS)
def test_copy(tmp_path, codec):
    expected = rows(3000, seed=len(codec))
    write(tmp_path / "in.avro", expected, codec)
    for target in CODECS:
        probe("copy", tmp_path / "in.avro", tmp_path / "out.avro", target)
        with (tmp_path / "out.avro").open("rb") as file:
            reader = fastavro.reader(file)
            assert reader.codec == target
            assert list(reader) == expected
            stored = json.loads(reader.metadata["avro.schema"])
        assert stored == json.loads(json.dumps(SCHEMA))


def with_id(name, field_id, kind, nullable=True):
    return pa.field(name, kind, nullable=nullable, metadata={"PARQUET:field_id": str(field_id)})


WANTED = pa.schema([
    with_id("enum", 25, pa.string()), with_id("b", 1, pa.bool_()), with_id("i", 2, pa.int64()), with_id("l", 3, pa.int64()),
    with_id("f", 4, pa.float64()), with_id("d", 5, pa.float64()), with_id("renamed", 6, pa.large_string()), with_id("y", 7, pa.binary()),
    with_id("x", 8, pa.binary(3)), with_id("dec", 9, pa.decimal128(20, 3)), with_id("day", 10, pa.date32()),
    with_id("tod", 11, pa.time64("us")), with_id("ts", 12, pa.timestamp("us", "UTC")), with_id("u", 13, pa.binary(16)),
    with_id("r", 14, pa.struct([with_id("q", 16, pa.string()), with_id("new", 99, pa.int32()), with_id("p", 15, pa.int32())])),
    with_id("a", 17, pa.list_(with_id("element", 18, pa.int64()))),
    with_id("m", 19, pa.map_(pa.string(), with_id("value", 21, pa.float64()))),
    with_id("k", 22, pa.map_(pa.int64(), with_id("value", 24, pa.string()))),
    with_id("s", 98, pa.string()),
])


def as_arrow(record):
    names = {"enum": "e", "renamed": "s"}
    out = {field.name: record.get(names.get(field.name, field.name)) for field in WANTED}
    out["s"] = None  # another column than the one that once had this name
    if record["r"] is not None:
        out["r"] = {"q": record["r"]["q"], "new": None, "p": record["r"]["p"]}
    out["m"] = list(record["m"].items())
    if record["k"] is not None:
        out["k"] = [(entry["key"], entry["value"]) for entry in record["k"]]
    return out


@pytest.mark.parametrize("codec", CODECS)
def test_batches(tmp_path, codec):
    expected = rows(1500, seed=40 + len(codec))
    write(tmp_path / "in.avro", expected, codec, sync_interval=5000)
    with pa.OSFile(str(tmp_path / "schema.arrow"), "wb") as out, pa.ipc.new_file(out, WANTED):
        pass
    probe("batches", tmp_path / "in.avro", tmp_path / "schema.arrow", tmp_path / "out.arrow")
    table = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert table.schema == WANTED
    assert max(len(batch) for batch in table.to_batches()) == 100
    assert table.to_pylist() == [as_arrow(record) for record in expected]


def test_every_cut_and_flipped_byte(tmp_path):
    """Never a crash, never a record that was not there; with a checksum (snappy), never a wrong one."""
    expected = rows(20, seed=1)
    write(tmp_path / "in.avro", expected, "snappy", sync_interval=600)
    good = (tmp_path / "in.avro").read_bytes()
    header = good.index(good[-16:]) + 16  # behind its sync marker
    rng = random.Random(2)
    for _ in range(150):
        bad = bytearray(good)
        if rng.random() < 0.5:
            del bad[rng.randrange(header, len(bad)):]
        else:
            bad[rng.randrange(header, len(bad))] ^= 1 << rng.randrange(8)
        (tmp_path / "bad.avro").write_bytes(bad)
        done = subprocess.run([PROBE, "copy", tmp_path / "bad.avro", tmp_path / "out.avro", "null"], capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            with (tmp_path / "out.avro").open("rb") as file:
                copied = list(fastavro.reader(file))
            assert copied == expected[:len(copied)]
        else:
            assert done.returncode == 1 and "bad.avro" in done.stderr, done.stderr


def test_bombs_are_refused(tmp_path):
    """Small files that would become large ones, in 32 MiB."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "s", "field-id": 1, "type": "bytes"}]}
    for codec in ("deflate", "snappy", "zstandard"):
        write(tmp_path / "bomb.avro", [{"s": bytes(400 << 20)}], codec, schema)
        assert (tmp_path / "bomb.avro").stat().st_size < 40 << 20
        assert "memory" in refusal("copy", tmp_path / "bomb.avro", tmp_path / "out.avro", "null")


def vector_blob(bitmap):
    body = bytes.fromhex("d1d33964") + bitmap.serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


@pytest.mark.parametrize("positions", [
    [], [0], [5, 1, 3], list(range(1000)), list(range(0, 30000, 3)), [2**32, 2**32 + 1, 2**40, 7], [2**62, 2**63 - 1],
])
def test_deletion_vectors(tmp_path, positions):
    bitmap = BitMap64(positions)
    (tmp_path / "in").write_bytes(b"PFA1" + vector_blob(bitmap) + b"more")
    out = probe("positions", tmp_path / "in", 4, len(vector_blob(bitmap)))
    assert [int(line) for line in out.split()] == sorted(positions)
    if len(positions) < 2000:
        probe("vector", tmp_path / "out", *positions)
        ours = (tmp_path / "out").read_bytes()
        length, body, crc = struct.unpack(">I", ours[:4])[0], ours[4:-4], struct.unpack(">I", ours[-4:])[0]
        assert length == len(body) and body[:4].hex() == "d1d33964" and crc == zlib.crc32(body)
        assert BitMap64.deserialize(body[4:]) == bitmap


def test_puffin_footer(tmp_path):
    blob = vector_blob(BitMap64([1, 2, 3]))
    footer = json.dumps({"blobs": [{"type": "deletion-vector-v1", "fields": [2147483546], "snapshot-id": -1, "sequence-number": -1, "offset": 4,
                                    "length": len(blob), "properties": {"cardinality": "3", "referenced-data-file": "x"}}]}).encode()
    out = io.BytesIO()
    out.write(b"PFA1" + blob + b"PFA1" + footer + struct.pack("<II", len(footer), 0) + b"PFA1")
    (tmp_path / "f.puffin").write_bytes(out.getvalue())
    assert probe("puffin", tmp_path / "f.puffin").split() == ["deletion-vector-v1", "4", str(len(blob)), blob.hex().upper()]


def test_pyiceberg_reads_our_vectors(tmp_path):
    positions = [0, 3, 4, 5, 70000, 2**33]
    probe("vectors", tmp_path / "d.puffin", "s3://bucket/a b.parquet", *positions)
    puffin = PuffinFile((tmp_path / "d.puffin").read_bytes())
    (blob,) = puffin.footer.blobs
    assert (blob.type, blob.fields, blob.snapshot_id, blob.sequence_number, blob.compression_codec) == (
        "deletion-vector-v1", [2147483645], -1, -1, None)
    assert blob.properties == {"referenced-data-file": "s3://bucket/a b.parquet", "cardinality": str(len(positions))}
    payload = puffin.get_blob_payload(blob)
    assert list(BitMap64.deserialize(payload[8:-4])) == positions
    assert probe("positions", tmp_path / "d.puffin", blob.offset, blob.length).split() == [str(p) for p in positions]


@pytest.mark.parametrize("size", [0, 1, 100, 300_000])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_blobs_of_every_codec(tmp_path, codec, size):
    plain = bytes(i * i // 7 % 50 for i in range(size))
    (tmp_path / "in").write_bytes(plain)
    probe("wrap", tmp_path / "in", tmp_path / "out.puffin", codec)
    puffin = PuffinFile((tmp_path / "out.puffin").read_bytes())
    (blob,) = puffin.footer.blobs
    if codec == "lz4":
        raw = (tmp_path / "out.puffin").read_bytes()[blob.offset:blob.offset + blob.length]
        assert raw[4] & 8 and struct.unpack("<Q", raw[6:14])[0] == size, "the frame does not say its size"
        assert bytes(cramjam.lz4.decompress(raw)) == plain
    else:
        assert puffin.get_blob_payload(blob) == plain
    assert probe("puffin", tmp_path / "out.puffin").split()[3:] == ([plain.hex().upper()] if plain else [])
