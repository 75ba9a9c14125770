# SPDX-License-Identifier: Apache-2.0
"""Every command and every statement that the documents show is run, as written, over a small lineitem."""

import os
import pathlib
import re
import shlex
import subprocess

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import measure

DOCUMENTS = [measure.ROOT / "README.md", *sorted((measure.ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language):
    """The fenced blocks of a language, as (document:line, text)."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for block in FENCE.finditer(text):
            if block.group(1) == language:
                line = text.count("\n", 0, block.start()) + 1
                yield pytest.param(block.group(2), id=f"{document.name}:{line}")


def shell_commands(block):
    """The commands of a console block: what follows `$ `, with the lines that a quote carries on."""
    command = None
    for line in block.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command
            command = line[2:]
        elif command is not None and command.count('"') % 2 == 1:
            command += "\n" + line
    if command is not None:
        yield command


def make_lake(folder):
    """The catalog and the table of docs/iceberg.md."""
    (folder / ".pyiceberg.yaml").write_text("catalog:\n  prod:\n    uri: sqlite:///catalog.db\n    warehouse: warehouse\n")
    catalog = SqlCatalog("prod", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"{folder}/warehouse")
    catalog.create_namespace("sales")
    schema = pa.schema([("id", pa.int64()), ("city", pa.string())])
    table = catalog.create_table("sales.orders", schema=schema)
    with table.update_spec() as spec:
        spec.add_identity("city")
    table.append(pa.table([[1, 2, 3], ["Oslo", "Lima", "Oslo"]], schema=schema))
    table.append(pa.table([[4], ["Oslo"]], schema=schema))
    table.manage_snapshots().create_branch(table.metadata.snapshots[0].snapshot_id, "audit").commit()


@pytest.fixture
def folder(tmp_path, lineitem):
    """A directory as the documents assume it."""
    duckdb.sql(f"COPY (FROM '{lineitem}' LIMIT 20000) TO '{tmp_path / 'lineitem.parquet'}'")
    (tmp_path / "in").mkdir()
    for part in (1, 2):
        duckdb.sql(
            f"COPY (SELECT i, TIMESTAMP '2024-01-01' + INTERVAL (i * {part} % 977) MINUTE AS ts FROM range(5000) t(i))"
            f" TO '{tmp_path / 'in' / f'{part}.parquet'}'"
        )
    (tmp_path / "sales.csv").write_text("city,amount\nOslo,10\nLima,2.5\nOslo,\n", encoding="utf-8")
    (tmp_path / "euro.csv").write_text("city;amount\nOslo;10\nLima;NA\n", encoding="utf-8")
    make_lake(tmp_path)
    (tmp_path / "report.sql").write_text("SELECT l_orderkey FROM 'lineitem.parquet' LIMIT 3;\n", encoding="utf-8")
    return tmp_path


def run_shell(command, folder):
    path = f"{measure.BUILD}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, shell=True, cwd=folder, env={**os.environ, "PATH": path, "HOME": str(folder)}, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_run_as_written(block, folder):
    commands = list(shell_commands(block))
    assert commands, "a console block without a command"
    for command in commands:
        done = run_shell(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("block", blocks("sql"))
def test_statements_run_as_written(block, folder):
    done = run_shell(f"icebound sql {shlex.quote(block)}", folder)
    assert done.returncode == 0, done.stderr


def test_links_between_the_documents_lead_somewhere():
    pages = [*DOCUMENTS, measure.ROOT / "ARCHITECTURE.md", measure.ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / pathlib.Path(target)).exists(), f"{page.name} links to {target}, which is not there"
