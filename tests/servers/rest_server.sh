#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A real REST catalog for tests: Iceberg's own Java handlers (rest/RestServer.java) over its JDBC catalog in a SQLite file.
#
#   rest_server.sh start DIR    starts one that keeps catalog and tables in DIR; prints the variables as shell assignments
#   rest_server.sh stop DIR     stops it and removes DIR
#
# Variables: ICEBOUND_TEST_REST_URI, ICEBOUND_TEST_REST_CREDENTIAL, ICEBOUND_TEST_REST_WAREHOUSE.
# Exit code 77 ("skipped" to ctest): the server cannot be installed here because there is no Java or no Maven.
set -euo pipefail

version=1.12.0
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
server=$root/build/tools/rest-server-$version
sources=$here/rest

install_server() {
  local tool
  for tool in java javac mvn; do
    if ! command -v "$tool" >/dev/null; then
      echo "rest_server: there is no $tool here to run Iceberg's Java code with" >&2
      exit 77
    fi
  done
  mkdir -p "$root/build/tools"
  # One at a time: tests may start side by side.
  exec 9>"$root/build/tools/rest-server.lock"
  flock 9
  if ! cmp -s "$sources/pom.xml" "$server/pom.xml" || ! cmp -s "$sources/RestServer.java" "$server/RestServer.java"; then
    echo "rest_server: fetching Iceberg $version and compiling the server (once)" >&2
    rm -rf "$server"
    local staging
    staging=$(mktemp -d "$root/build/tools/staging.XXXXXX")
    cp "$sources/pom.xml" "$sources/RestServer.java" "$staging"
    (cd "$staging" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && javac -nowarn -cp "lib/*" -d classes RestServer.java) >&2
    mv "$staging" "$server"
  fi
  flock -u 9
  exec 9>&-
}

# A port nobody has now: the server fails to start when somebody takes it in between, and another one is tried.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_server() {
  local dir=$1 port
  mkdir -p "$dir/warehouse"
  for _ in 1 2 3 4 5; do
    port=$(free_port)
    java -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$server/classes:$server/lib/*" RestServer \
      "$port" "$dir/catalog.db" "file://$dir/warehouse" icebound icebound-secret >"$dir/log" 2>&1 9>&- &
    echo $! >"$dir/pid"
    for _ in $(seq 300); do
      kill -0 "$(cat "$dir/pid")" 2>/dev/null || break
      if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        cat <<VARIABLES
ICEBOUND_TEST_REST_URI=http://127.0.0.1:$port
ICEBOUND_TEST_REST_CREDENTIAL=icebound:icebound-secret
ICEBOUND_TEST_REST_WAREHOUSE=file://$dir/warehouse
VARIABLES
        return
      fi
      sleep 0.1
    done
    kill "$(cat "$dir/pid")" 2>/dev/null || true
  done
  echo "rest_server: it did not start:" >&2
  cat "$dir/log" >&2
  return 1
}

stop_server() {
  local dir=$1 pid
  if [ -f "$dir/pid" ]; then
    pid=$(cat "$dir/pid")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  fi
  rm -rf "$dir"
}

case "${1:-}" in
  start)
    install_server
    start_server "$2"
    ;;
  stop)
    stop_server "$2"
    ;;
  *)
    sed -n '3,11p' "$0" >&2
    exit 2
    ;;
esac
