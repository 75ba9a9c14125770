# SPDX-License-Identifier: Apache-2.0
#
# Two commands do everything on a fresh machine: `make demo` and `make test`. Each target only calls steps that can be run by hand.

export CCACHE_SLOPPINESS = pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help bootstrap build demo test test-fast sanitize bench lint format clean

help:
	@echo "make demo    build, make a table many times the limit, sort it in 64 MiB, print the peak the system measured"
	@echo "make test    everything CI runs"
	@echo "make sanitize  the unit tests under ASan+UBSan, and under TSan"
	@echo "make build   build/release/icebound"
	@echo "make bench   the comparison with the peers: sorts (SF1, SF10), then queries (SF1)"
	@echo "make lint    layer rules, formatting"

bootstrap:
	@tools/bootstrap.sh

build: bootstrap
	@[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
	@cmake --build build/release -- -k 20

demo: build
	@.venv/bin/python tools/demo.py

test-fast: build
	ctest --preset release -j 2

sanitize: bootstrap
	@rm -rf build/tsan/reports && mkdir -p build/tsan/reports
	@for preset in asan tsan; do \
	  { [ -f build/$$preset/build.ninja ] || cmake --preset $$preset >/dev/null; } && \
	  cmake --build build/$$preset --target unit_tests && ctest --preset $$preset -j 2 -L unit || exit 1; \
	done
	@.venv/bin/python tools/thread_reports.py build/tsan/reports

test: lint test-fast
	.venv/bin/python -m pytest -q tests

bench: build
	@.venv/bin/pip install -q --disable-pip-version-check -r benchmarks/requirements.txt
	@.venv/bin/python benchmarks/compare/sort_compare.py
	@.venv/bin/python benchmarks/compare/query_compare.py --scale 1

lint: bootstrap
	@.venv/bin/python tools/check_layers.py
	@.venv/bin/python tools/check_format.py

clean:
	rm -rf build/release build/debug build/asan build/tsan
