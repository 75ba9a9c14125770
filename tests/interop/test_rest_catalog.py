# SPDX-License-Identifier: Apache-2.0
"""A REST catalog of Iceberg's own Java code, opened by PyIceberg and by icebound. tests/servers/rest_server.sh starts it."""

import contextlib
import http.server
import json
import os
import shutil
import ssl
import subprocess
import threading
import time

import measure
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import BucketTransform

PROBE = measure.BUILD / "catalog_probe"
SCRIPT = measure.ROOT / "tests" / "servers" / "rest_server.sh"
ROWS = pa.table({"x": [1, 2, 3], "y": ["a", "b", None]})


class Server:
    """The server, as both see it."""

    def __init__(self, variables):
        self.uri = variables["ICEBOUND_TEST_REST_URI"]
        self.credential = variables["ICEBOUND_TEST_REST_CREDENTIAL"]
        self.warehouse = variables["ICEBOUND_TEST_REST_WAREHOUSE"]

    def theirs(self):
        return RestCatalog("rest", uri=self.uri, credential=self.credential, warehouse=self.warehouse)

    def command(self, *arguments, credential=None, properties=()):
        command = [str(PROBE), "rest", self.uri, self.warehouse, *map(str, arguments)]
        for setting in [f"credential={self.credential if credential is None else credential}", *properties]:
            command += ["--property", setting]
        return command

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, timeout=60)

    def ours(self, *arguments, **options):
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rest") / "server"
    started = subprocess.run([SCRIPT, "start", folder], capture_output=True, text=True)
    if started.returncode == 77:
        pytest.skip("no Java or Maven on this machine to run the REST catalog with")
    assert started.returncode == 0, started.stderr
    try:
        yield Server(dict(line.split("=", 1) for line in started.stdout.splitlines() if "=" in line))
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=True)


@pytest.fixture
def name(request, server):
    """A namespace of the test's own, made by PyIceberg."""
    name = request.node.name.replace("[", "_").replace("]", "").removeprefix("test_")
    server.theirs().create_namespace(name)
    return name


@pytest.fixture
def table(server, name):
    table = server.theirs().create_table(f"{name}.t", schema=ROWS.schema)
    table.append(ROWS)
    return table


def test_tables_of_pyiceberg_are_listed_and_loaded(server, name, table):
    catalog = server.theirs()
    catalog.create_namespace((name, "deep é"))
    catalog.create_table((name, "deep é", "a b/c"), schema=ROWS.schema)
    for i in range(5):
        catalog.create_table(f"{name}.p{i}", schema=ROWS.schema)
    assert name in server.ours("namespaces")
    assert server.ours("namespaces", name) == [f"{name}.deep é"]
    assert server.ours("tables", f"{name}.deep é") == [f"{name}.deep é.a b/c"]
    expected = sorted([f"{name}.t"] + [f"{name}.p{i}" for i in range(5)])
    assert server.ours("tables", name) == expected
    assert server.ours("tables", name, properties=["rest-page-size=2"]) == expected
    loaded = server.ours("load", f"{name}.t")
    assert loaded["location"] == table.metadata_location
    assert loaded["uuid"] == str(table.metadata.table_uuid)
    assert loaded["snapshots"] == 1
    assert server.ours("load", f"{name}.deep é.a b/c")["snapshots"] == 0
    missing = server.run("load", f"{name}.none")
    assert missing.returncode == 2 and f"GET /v1/namespaces/{name}/tables/none" in missing.stderr


def test_pyiceberg_sees_what_we_create(server, name):
    assert server.run("create-namespace", name).returncode == 2, "it exists"
    server.ours("create-namespace", f"{name}.m")
    created = server.ours("create", f"{name}.m.t")
    table = server.theirs().load_table((name, "m", "t"))
    assert str(table.metadata.table_uuid) == created["uuid"]
    assert table.metadata_location == created["location"]
    assert [field.name for field in table.schema().fields] == ["x"]
    table.append(pa.table({"x": [1, 2]}))
    assert table.scan().to_arrow()["x"].to_pylist() == [1, 2]
    again = server.run("create", f"{name}.m.t")
    assert again.returncode == 2 and "already exists" in again.stderr.lower()
    assert server.run("drop-namespace", f"{name}.m").returncode == 2, "it is not empty"
    server.ours("rename", f"{name}.m.t", f"{name}.u")
    assert server.theirs().list_tables(name) == [(name, "u")]
    server.ours("drop", f"{name}.u")
    with pytest.raises(NoSuchTableError):
        server.theirs().load_table(f"{name}.u")
    server.ours("drop-namespace", f"{name}.m")
    assert server.theirs().list_namespaces(name) == []


def test_a_table_with_rows_is_created_whole(server, name, table):
    table.append(ROWS)
    created = server.ours("copy", f"{name}.copy", f"{name}.t")
    copied = server.theirs().load_table(f"{name}.copy")
    assert str(copied.metadata.table_uuid) == created["uuid"] != str(table.metadata.table_uuid)
    assert copied.scan().to_arrow().num_rows == 6
    assert [s.snapshot_id for s in copied.snapshots()] == [s.snapshot_id for s in table.snapshots()]
    assert copied.schema() == table.schema()
    assert copied.location() != table.location()
    taken = server.run("copy", f"{name}.copy", f"{name}.t")
    assert taken.returncode == 2 and "already exists" in taken.stderr.lower()


def test_pyiceberg_sees_our_commits_and_goes_on_from_them(server, name, table):
    catalog = server.theirs()
    committed = server.ours("set", f"{name}.t", "by", "us")
    seen = catalog.load_table(f"{name}.t")
    assert seen.metadata_location == committed["location"] != table.metadata_location
    assert seen.properties["by"] == "us"
    server.ours("replace", f"{name}.t")
    seen = catalog.load_table(f"{name}.t")
    assert seen.current_snapshot().parent_snapshot_id == table.current_snapshot().snapshot_id
    assert seen.scan().to_arrow().num_rows == 3
    seen.append(ROWS)
    assert server.ours("load", f"{name}.t")["location"] == seen.metadata_location
    assert server.ours("load", f"{name}.t")["snapshots"] == 3


def test_schemas_specs_orders_and_references_arrive(server, name, table):
    table.append(ROWS)
    first, current = [s.snapshot_id for s in table.snapshots()]
    server.ours("evolve", f"{name}.t")
    seen = server.theirs().load_table(f"{name}.t")
    assert [(f.field_id, f.name) for f in seen.schema().fields] == [(1, "x"), (2, "y"), (3, "z")]
    assert seen.metadata.last_column_id == 3
    assert seen.spec() == PartitionSpec(
        PartitionField(source_id=1, field_id=1000, transform=BucketTransform(4), name="x_bucket"), spec_id=1
    )
    order = seen.sort_order()
    assert [(f.source_id, str(f.direction), str(f.null_order)) for f in order.fields] == [(1, "DESC", "NULLS LAST")]
    refs = seen.refs()
    assert refs["tagged"].snapshot_id == current and refs["tagged"].max_ref_age_ms == 86_400_000
    assert refs["audit"].snapshot_id == first and refs["audit"].min_snapshots_to_keep == 3
    assert seen.scan().to_arrow().num_rows == 6
    seen.append(pa.table({"x": [9], "y": ["q"], "z": ["new"]}))
    assert seen.scan().to_arrow().num_rows == 7


def test_expiry_arrives(server, name, table):
    for _ in range(3):
        table.append(ROWS)
    server.ours("expire", f"{name}.t")
    seen = server.theirs().load_table(f"{name}.t")
    assert [s.snapshot_id for s in seen.snapshots()] == [table.current_snapshot().snapshot_id]
    assert seen.scan().to_arrow().num_rows == 12


def wait_for_racers(folder, gate, count):
    deadline = time.monotonic() + 30
    while len(list(folder.glob(f"{gate.name}.*"))) < count and time.monotonic() < deadline:
        time.sleep(0.005)


def start(server, *arguments):
    return subprocess.Popen(server.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_who_is_late_changes_nothing(server, name, table, tmp_path):
    gate = tmp_path / "gate"
    late = start(server, "replace", f"{name}.t", "--wait-for", gate)
    wait_for_racers(tmp_path, gate, 1)
    table.append(ROWS)
    gate.touch()
    _, errors = late.communicate(timeout=60)
    assert late.returncode == 5, errors
    assert f"POST /v1/namespaces/{name}/tables/t" in errors
    seen = server.theirs().load_table(f"{name}.t")
    assert seen.metadata_location == table.metadata_location
    assert seen.scan().to_arrow().num_rows == 6


def test_of_racing_processes_one_wins(server, name, table, tmp_path):
    for round_number in range(3):
        gate = tmp_path / f"gate{round_number}"
        racers = [start(server, "replace", f"{name}.t", "--wait-for", gate) for _ in range(2)]
        wait_for_racers(tmp_path, gate, 2)
        gate.touch()
        outputs = [racer.communicate(timeout=60) for racer in racers]
        assert sorted(racer.returncode for racer in racers) == [0, 5], outputs
    assert server.ours("load", f"{name}.t")["snapshots"] == 4


def test_wrong_credentials_are_refused_and_not_repeated(server):
    refused = server.run("namespaces", credential="icebound:wr0ng-secret")
    assert refused.returncode == 2, refused
    assert "/v1/oauth/tokens" in refused.stderr and "invalid_client" in refused.stderr
    assert "wr0ng" not in refused.stderr
    token = server.run("namespaces", credential="", properties=["token=wr0ng-token"])
    assert token.returncode == 2, token
    assert "401" in token.stderr and "wr0ng" not in token.stderr


def test_tables_are_names_in_sql(server, name, table, run):
    """Within the promise, libcurl and all."""
    options = ["--catalog", "rest", "--property", f"uri={server.uri}", "--property", f"credential={server.credential}"]
    done = run([*options, "sql", "--format", "json", f"SELECT sum(x) AS s, count(y) AS c FROM {name}.t"], limit_mib=32)
    assert json.loads(done.stdout) == [{"s": "6", "c": 2}]
    missing = run([*options, "sql", f"SELECT * FROM {name}.none"], check=False)
    assert missing.exit_code == 2 and '"none"' in missing.stderr


class EmptyCatalog(http.server.BaseHTTPRequestHandler):
    """A catalog without namespaces."""

    def do_GET(self):  # noqa: N802
        self.server.targets.append(self.path)
        body = b'{"defaults": {}, "overrides": {}, "namespaces": []}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def empty_catalog(context=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), EmptyCatalog) as listening:
        listening.targets = []
        if context:
            listening.socket = context.wrap_socket(listening.socket, server_side=True)
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        try:
            yield listening
        finally:
            listening.shutdown()


def namespaces(uri, *properties, **variables):
    command = [str(PROBE), "rest", uri, "w", "namespaces"]
    for setting in properties:
        command += ["--property", setting]
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")} | variables
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


def test_certificates_are_checked(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with empty_catalog(context) as listening:
        uri = f"https://localhost:{listening.server_port}"
        stranger = namespaces(uri)
        assert stranger.returncode == 1 and "certificate" in stranger.stderr, stranger
        assert listening.targets == []
        for known in (namespaces(uri, f"ssl.cabundle={certificate}"), namespaces(uri, REQUESTS_CA_BUNDLE=str(certificate))):
            assert known.returncode == 0 and known.stdout == "[]\n", known
        other_name = namespaces(f"https://127.0.0.1:{listening.server_port}", f"ssl.cabundle={certificate}")
        assert other_name.returncode == 1 and "certificate" in other_name.stderr, other_name


def test_proxies_of_the_environment_are_used():
    with empty_catalog() as proxy:
        done = namespaces("http://catalog.invalid/base", http_proxy=f"http://127.0.0.1:{proxy.server_port}")
        assert done.returncode == 0, done
        assert proxy.targets == ["http://catalog.invalid/base/v1/config?warehouse=w", "http://catalog.invalid/base/v1/namespaces"]
