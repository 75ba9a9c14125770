#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the build and the tests need; does nothing for what is already there, so it may run any number of times.
#   1. system packages (apt, when missing and we may)
#   2. .venv with the pinned Python packages; the pyarrow wheel carries the Arrow C++ headers and libraries
#   3. build/third_party: PostgreSQL's parser (libpg_query) and Roaring bitmaps (CRoaring), taken from pinned source packages on PyPI
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache make git python3-venv libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev
          libgtest-dev libgmock-dev clang-format libbenchmark-dev libxxhash-dev liblz4-dev libsqlite3-dev libyaml-cpp-dev
          libcurl4-openssl-dev libssl-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=""; [ "$(id -u)" = 0 ] || sudo="sudo"
  echo "bootstrap: installing ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -x .venv/bin/python ]; then
  python3 -m venv .venv
fi
stamp=.venv/requirements.stamp
if ! cmp -s tools/requirements.txt "$stamp"; then
  echo "bootstrap: installing Python packages"
  .venv/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt
  cp tools/requirements.txt "$stamp"
fi

# Unpacks one folder of a pinned source package of PyPI (the `# sdist:` lines of requirements.txt) into build/third_party.
#   fetch_sources PACKAGE FOLDER_IN_PACKAGE NAME FILE_THAT_MUST_BE_THERE
fetch_sources() {
  local target=build/third_party/$3 work
  [ ! -f "$target/$4" ] || return 0
  echo "bootstrap: fetching $3"
  work=$(mktemp -d)
  .venv/bin/pip download -q --disable-pip-version-check --no-deps --no-build-isolation --no-binary :all: -d "$work" \
    "$(grep "^# sdist: $1==" tools/requirements.txt | cut -d' ' -f3)"
  tar xzf "$work/$1"-*.tar.gz -C "$work"
  mkdir -p build/third_party
  rm -rf "$target"
  mv "$work/$1"-*/"$2" "$target"
  rm -rf "$work"
}
fetch_sources pglast libpg_query libpg_query pg_query.h
fetch_sources pyroaring pyroaring roaring roaring.h
echo "bootstrap: ready"
