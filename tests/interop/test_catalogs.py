# SPDX-License-Identifier: Apache-2.0
"""Catalogs and their configuration beside PyIceberg: both open the same SQLite file, and read the same .pyiceberg.yaml."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import measure
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

PROBE = measure.BUILD / "catalog_probe"


class Files:
    """One catalog, opened by both."""

    def __init__(self, folder):
        self.uri = f"sqlite:///{folder}/catalog.db"
        self.warehouse = f"file://{folder}/warehouse"
        self.folder = folder

    def theirs(self, name="shared"):
        return SqlCatalog(name, uri=self.uri, warehouse=self.warehouse)

    def command(self, *arguments, name="shared"):
        return [str(PROBE), name, self.uri, self.warehouse, *map(str, arguments)]

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, timeout=60)

    def ours(self, *arguments, **options):
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def metadata_files(self):
        return sorted(path.name for path in pathlib.Path(self.folder).rglob("*.metadata.json"))


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


@pytest.fixture
def table(files):
    catalog = files.theirs()
    catalog.create_namespace("n")
    return catalog.create_table("n.t", schema=pa.schema([("x", pa.int64()), ("y", pa.string())]))


def test_tables_of_pyiceberg_are_listed_and_loaded(files, table):
    catalog = files.theirs()
    catalog.create_namespace("n.m", {"owner": "me"})
    catalog.create_namespace("k")
    catalog.create_table("n.m.u", schema=pa.schema([("x", pa.int64())]))
    files.theirs("other").create_namespace("hidden")
    table.append(pa.table({"x": [1, 2], "y": ["a", "b"]}))
    assert files.ours("namespaces") == ["k", "n"]
    assert files.ours("tables", "n") == ["n.t"]
    assert files.ours("tables", "n.m") == ["n.m.u"]
    loaded = files.ours("load", "n.t")
    assert loaded["location"] == table.metadata_location
    assert loaded["uuid"] == str(table.metadata.table_uuid)
    assert loaded["snapshots"] == 1
    missing = files.run("load", "n.none")
    assert missing.returncode == 2 and "n.none" in missing.stderr


def test_pyiceberg_sees_our_swap_and_goes_on_from_it(files, table):
    table.append(pa.table({"x": [1, 2], "y": ["a", "b"]}))
    before = table.metadata_location
    committed = files.ours("set", "n.t", "by", "us")
    seen = files.theirs().load_table("n.t")
    assert seen.metadata_location == committed["location"] != before
    assert seen.properties["by"] == "us"
    assert seen.metadata.metadata_log[-1].metadata_file == before
    assert seen.scan().to_arrow().num_rows == 2
    seen = files.theirs().load_table("n.t")
    seen.append(pa.table({"x": [4], "y": ["d"]}))
    assert files.ours("load", "n.t")["location"] == seen.metadata_location
    assert files.ours("load", "n.t")["properties"]["by"] == "us"


def test_compressed_metadata_is_read_by_pyiceberg(files, table):
    committed = files.ours("set", "n.t", "write.metadata.compression-codec", "gzip")
    assert committed["location"].endswith(".gz.metadata.json")
    seen = files.theirs().load_table("n.t")
    assert seen.metadata_location == committed["location"]
    assert seen.properties["write.metadata.compression-codec"] == "gzip"


def test_who_is_late_changes_nothing(files, table):
    first = table.metadata_location
    with table.transaction() as transaction:
        transaction.set_properties({"by": "pyiceberg"})
    late = files.run("set", "n.t", "by", "us", "--from", first)
    assert late.returncode == 5, late.stderr
    assert first in late.stderr and table.metadata_location in late.stderr
    assert files.theirs().load_table("n.t").properties["by"] == "pyiceberg"
    assert len(files.metadata_files()) == 2


@pytest.mark.parametrize("kind", ["sql", "directory"])
def test_of_racing_processes_one_wins(files, table, kind):
    if kind == "directory":
        as_directory(files, table)
    winners = 0
    for round_number in range(5):
        gate = files.folder / f"gate{round_number}"
        racers = [
            subprocess.Popen(
                files_command(files, kind) + ["set", "n.t", "winner", f"{round_number}.{racer}", "--wait-for", str(gate)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for racer in range(2)
        ]
        deadline = time.monotonic() + 30
        while len(list(files.folder.glob(f"gate{round_number}.*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        gate.touch()
        outputs = [racer.communicate(timeout=60) for racer in racers]
        codes = [racer.returncode for racer in racers]
        assert sorted(codes) == [0, 5], outputs
        winners += 1
        loaded = json.loads(subprocess.run(files_command(files, kind) + ["load", "n.t"], capture_output=True, check=True).stdout)
        assert loaded["properties"]["winner"] == f"{round_number}.{codes.index(0)}"
        assert loaded["log"] == winners
    if kind == "sql":
        assert len(files.metadata_files()) == 6, "losers delete what they wrote"


def as_directory(files, table):
    """The same metadata as a table that is its directory, as Java's HadoopTables lays it out."""
    metadata = files.folder / "directories" / "n" / "t" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "v1.metadata.json").write_text(pathlib.Path(table.metadata_location.removeprefix("file://")).read_text())
    (metadata / "version-hint.text").write_text("1")
    return metadata


def files_command(files, kind):
    if kind == "sql":
        return files.command()
    return [str(PROBE), "shared", "hadoop", str(files.folder / "directories")]


@pytest.mark.parametrize("kind", ["sql", "directory"])
@pytest.mark.parametrize("point", ["catalog.write", "catalog.swap"])
def test_a_kill_before_the_swap_leaves_the_old_table(files, table, kind, point):
    if kind == "directory":
        as_directory(files, table)
    before = json.loads(subprocess.run(files_command(files, kind) + ["load", "n.t"], capture_output=True, check=True).stdout)
    killed = subprocess.run(files_command(files, kind) + ["set", "n.t", "by", "us", "--kill-at", point], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    after = json.loads(subprocess.run(files_command(files, kind) + ["load", "n.t"], capture_output=True, check=True).stdout)
    assert after == before
    committed = subprocess.run(files_command(files, kind) + ["set", "n.t", "by", "us"], capture_output=True, text=True)
    assert committed.returncode == 0, committed.stderr
    if kind == "sql":
        assert files.theirs().load_table("n.t").properties["by"] == "us"


@pytest.mark.parametrize("point", ["catalog.sql_commit", "catalog.sql_committed"])
def test_a_kill_around_commit_leaves_the_old_or_the_new_table(files, table, point):
    killed = files.run("set", "n.t", "by", "us", "--kill-at", point)
    assert killed.returncode == -signal.SIGKILL
    seen = files.theirs().load_table("n.t")
    assert seen.properties.get("by") == (None if point == "catalog.sql_commit" else "us")
    assert files.ours("load", "n.t")["location"] == seen.metadata_location


def test_pyiceberg_reads_a_table_directory_of_ours(files, table):
    from pyiceberg.table import StaticTable

    metadata = as_directory(files, table)
    done = subprocess.run(files_command(files, "directory") + ["set", "n.t", "by", "us"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = StaticTable.from_metadata(str(metadata.parent))
    assert seen.metadata_location.endswith("/v2.metadata.json")
    assert seen.properties["by"] == "us"


CONFIGURATIONS = {
    "plain": ({"home": "catalog:\n  default:\n    uri: sqlite:////x.db\n    s3.endpoint: http://localhost:9000\n"}, {}),
    "scalars": ({"home": "catalog:\n  p:\n    a: true\n    b: 010\n    c: ~\n    d: null\n    e: 1.50\n    f: 'q'\n    g: \"h: i\"\n"}, {}),
    "cases": ({"home": "Default-Catalog: P\nCATALOG:\n  Prod:\n    Uri: A\n"}, {}),
    "first file": ({"home": "default-catalog: a\n", "here": "default-catalog: b\n"}, {}),
    "home set": ({"home": "default-catalog: a\n", "set": "default-catalog: c\n"}, {"PYICEBERG_HOME": "set"}),
    "working directory": ({"here": "default-catalog: b\n"}, {}),
    "home set in vain": ({"home": "default-catalog: a\n"}, {"PYICEBERG_HOME": "set"}),
    "variables": (
        {"home": "catalog:\n  prod:\n    uri: a\n    warehouse: w\n"},
        {
            "PYICEBERG_CATALOG__PROD__URI": "b",
            "PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID": "k",
            "pyiceberg_catalog__lower__uri": "l",
            "PYICEBERG_CATALOG__A_B__C__D__E_F": "x",
            "PYICEBERG_CATALOG__A_B__G___H": "y",
            "PYICEBERG_DEFAULT_CATALOG": "prod",
        },
    ),
    "nothing": ({}, {}),
    "fault: twice": ({"home": "catalog:\n  p:\n    a: 1\n    a: 2\n"}, {}),
    "fault: syntax": ({"home": "catalog:\n  p: [\n"}, {}),
    "fault: value and more": ({"home": "catalog:\n  p: x\n"}, {"PYICEBERG_CATALOG__P__URI": "b"}),
}

THEIR_CONFIG = """
import json
from pyiceberg.utils.config import Config
config = Config()
names = config.get_known_catalogs()
print(json.dumps({"default": config.get_default_catalog_name(), "catalogs": {n: config.get_catalog_config(n) for n in names}}))
"""


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_configuration_is_read_as_pyiceberg_reads_it(tmp_path, case):
    texts, variables = CONFIGURATIONS[case]
    for folder in ("home", "here", "set"):
        (tmp_path / folder).mkdir()
    for folder, text in texts.items():
        (tmp_path / folder / ".pyiceberg.yaml").write_text(text)
    environment = {key: value for key, value in os.environ.items() if not key.upper().startswith("PYICEBERG_")}
    environment |= variables | {"HOME": str(tmp_path / "home")}
    if "PYICEBERG_HOME" in environment:
        environment["PYICEBERG_HOME"] = str(tmp_path / environment["PYICEBERG_HOME"])
    options = {"capture_output": True, "text": True, "env": environment, "cwd": tmp_path / "here", "timeout": 60}
    theirs = subprocess.run([sys.executable, "-c", THEIR_CONFIG], **options)
    ours = subprocess.run([str(PROBE), "CONFIG"], **options)
    if case.startswith("fault"):
        assert theirs.returncode != 0
        assert ours.returncode == 2 and ours.stderr, ours
    else:
        assert theirs.returncode == 0, theirs.stderr
        assert ours.returncode == 0, ours.stderr
        assert json.loads(ours.stdout) == json.loads(theirs.stdout)
