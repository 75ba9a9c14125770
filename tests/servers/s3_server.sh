#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A real S3 server for tests: versitygw (Go, Apache-2.0) over a folder. It checks signatures, does ranges, multipart uploads and conditional puts.
#
#   s3_server.sh run COMMAND...   starts a server, runs the command with the variables below set, stops the server; exits as the command did
#   s3_server.sh start DIR        starts one that keeps its data and state in DIR; prints the variables as shell assignments
#   s3_server.sh stop DIR         stops it and removes DIR
#
# Variables: ICEBOUND_TEST_S3_ENDPOINT, ICEBOUND_TEST_S3_BUCKET (empty at the start), ICEBOUND_TEST_S3_KEY, ICEBOUND_TEST_S3_SECRET,
# ICEBOUND_TEST_S3_FOLDER (what lies behind the bucket), and AWS_REGION.
# Exit code 77 ("skipped" to ctest): the server cannot be installed here because there is no Go.
set -euo pipefail

version=v1.8.0
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/build/tools
server=$tools/versitygw-$version

install_server() {
  [ -x "$server" ] && return
  if ! command -v go >/dev/null; then
    echo "s3_server: there is no Go here to build versitygw with" >&2
    exit 77
  fi
  mkdir -p "$tools"
  # One at a time: tests may start side by side.
  exec 9>"$tools/versitygw.lock"
  flock 9
  if [ ! -x "$server" ]; then
    echo "s3_server: building versitygw $version (once)" >&2
    local staging
    staging=$(mktemp -d "$tools/staging.XXXXXX")
    GOBIN=$staging GOFLAGS=-p=2 go install -trimpath -ldflags "-s -w" "github.com/versity/versitygw/cmd/versitygw@$version" >&2
    mv "$staging/versitygw" "$server"
    rmdir "$staging"
  fi
  flock -u 9
  exec 9>&-
}

# A port nobody has now: the server fails to start when somebody takes it in between, and another one is tried.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_server() {
  local dir=$1 port attempt
  mkdir -p "$dir/data/bucket" "$dir/home"
  for attempt in 1 2 3 4 5; do
    port=$(free_port)
    HOME=$dir/home ROOT_ACCESS_KEY=icebound ROOT_SECRET_KEY=icebound-secret \
      "$server" --quiet --port "127.0.0.1:$port" posix "$dir/data" >"$dir/log" 2>&1 9>&- &
    echo $! >"$dir/pid"
    for _ in $(seq 100); do
      kill -0 "$(cat "$dir/pid")" 2>/dev/null || break
      if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        cat <<VARIABLES
ICEBOUND_TEST_S3_ENDPOINT=http://127.0.0.1:$port
ICEBOUND_TEST_S3_BUCKET=bucket
ICEBOUND_TEST_S3_KEY=icebound
ICEBOUND_TEST_S3_SECRET=icebound-secret
ICEBOUND_TEST_S3_FOLDER=$dir/data/bucket
AWS_REGION=us-east-1
VARIABLES
        return
      fi
      sleep 0.1
    done
    kill "$(cat "$dir/pid")" 2>/dev/null || true
  done
  echo "s3_server: versitygw did not start:" >&2
  cat "$dir/log" >&2
  return 1
}

stop_server() {
  local dir=$1
  if [ -f "$dir/pid" ]; then
    local pid
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
  run)
    shift
    install_server
    dir=$(mktemp -d "${TMPDIR:-/tmp}/icebound-s3.XXXXXX")
    trap 'stop_server "$dir"' EXIT
    start_server "$dir" >"$dir/variables"
    set -a
    . "$dir/variables"
    set +a
    "$@"
    ;;
  start)
    install_server
    start_server "$2"
    ;;
  stop)
    stop_server "$2"
    ;;
  *)
    sed -n '3,14p' "$0" >&2
    exit 2
    ;;
esac
