# SPDX-License-Identifier: Apache-2.0
"""Iceberg tables whose deletes are larger than memory."""

import pathlib
import sys

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "interop"))

from iceberg_files import Commit, catalog_in, rows, with_ids  # noqa: E402


def test_more_equality_delete_keys_than_memory(run, tmp_path):
    """2M rows, 1M keys (8 MB as they stand, several times that in a hash table) at the least limit there is."""
    total, keys, part = 2_000_000, 1_000_000, 500_000
    schema = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", DoubleType()), NestedField(3, "s", StringType()))
    table = catalog_in(tmp_path).create_table("n.t", schema=schema)
    random = np.random.default_rng(7)
    order, gone = random.permutation(total), random.permutation(total)[:keys]
    commit = Commit(table)
    fields = with_ids([(1, "k", pa.int64()), (2, "v", pa.float64()), (3, "s", pa.string())])
    for first in range(0, total, part):
        k = order[first : first + part]
        commit.data(pa.table([k, k * 0.5, [f"name {x % 997}" for x in k]], schema=fields))
    table = commit.commit()
    # In two commits, with half of the keys in both: the later one counts.
    for half in (gone[: 3 * keys // 4], gone[keys // 4 :]):
        commit = Commit(table)
        commit.equality_deletes(pa.table([half], schema=with_ids([(1, "k", pa.int64())])), [1])
        table = commit.commit()
    expected = total * (total - 1) // 2 - int(gone.sum())
    query = "SELECT count(*), sum(k), count(s) AS texts FROM t"
    for limit_mib in (32, 64):
        assert rows(run, table, query, limit_mib=limit_mib) == [(total - keys, str(expected), total - keys)]


def test_wide_values_of_a_dictionary(run, tmp_path):
    """20,000 rows of a few texts of 100 kB each: 2 GB as plain strings, 2 MB as they are stored."""
    table = catalog_in(tmp_path).create_table("n.t", schema=Schema(NestedField(1, "k", LongType()), NestedField(2, "j", StringType())))
    texts = [f"{i}".zfill(8) * 12_500 for i in range(20)]
    fields = with_ids([(1, "k", pa.int64()), (2, "j", pa.string())])
    commit = Commit(table)
    column = pa.DictionaryArray.from_arrays(pa.array([i % 20 for i in range(20_000)], pa.int32()), texts)
    commit.data(pa.table([range(20_000), column], names=["k", "j"]).cast(
        pa.schema([fields.field(0), fields.field(1).with_type(pa.dictionary(pa.int32(), pa.string()))])))
    table = commit.commit()
    assert rows(run, table, "SELECT count(*), sum(length(j)), count(DISTINCT j) AS texts FROM t", limit_mib=64) == [
        (20_000, 20_000 * 100_000, 20)
    ]
