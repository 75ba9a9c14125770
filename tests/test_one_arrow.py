# SPDX-License-Identifier: Apache-2.0
"""Which Arrow a build takes (cmake/OneArrow.cmake), with made-up packages: nothing is compiled."""

import shutil
import subprocess

import pytest

import measure

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")

PACKAGES = {"Arrow": "Arrow::arrow_shared", "Parquet": "Parquet::parquet_shared", "ArrowCompute": "ArrowCompute::arrow_compute_shared"}


@pytest.fixture
def configure(tmp_path):
    """configure(system=26, wheel=True, **options): what CMake says when it is asked for Arrow in such a world."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(probe LANGUAGES CXX)\n"
        f"include({measure.ROOT}/cmake/OneArrow.cmake)\n"
        "get_target_property(library icebound::arrow_core IMPORTED_LOCATION)\nmessage(STATUS \"chosen: ${library}\")\n"
    )

    def run(system=None, wheel=False, **options):
        prefix = tmp_path / "prefix"
        for name, target in PACKAGES.items() if system else ():
            folder = prefix / "lib" / "cmake" / name
            folder.mkdir(parents=True)
            (folder / f"{name}Config.cmake").write_text(
                f"add_library({target} SHARED IMPORTED)\nset_target_properties({target} PROPERTIES IMPORTED_LOCATION /system/{name}.so)\n"
            )
            (folder / f"{name}ConfigVersion.cmake").write_text(
                f"set(PACKAGE_VERSION {system}.0.0)\nif(PACKAGE_FIND_VERSION_MAJOR EQUAL {system})\n  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n"
            )
        fake = tmp_path / "pyarrow"
        if wheel:
            (fake / "include").mkdir(parents=True)
            (fake / "libarrow.so.2600").touch()
        options.setdefault("ICEBOUND_PYTHON", fake.parent / "python")
        (fake.parent / "python").write_text(f"#!/bin/sh\nprintf %s '{fake if wheel else ''}'\n")
        (fake.parent / "python").chmod(0o755)
        arguments = [f"-D{name}={value}" for name, value in options.items()]
        return subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *arguments], capture_output=True, text=True
        )

    return run


def chosen(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split("chosen: ")[1].splitlines()[0]


def test_a_system_arrow_of_our_major_goes_first(configure):
    assert chosen(configure(system=26, wheel=True)) == "/system/Arrow.so"


def test_a_system_arrow_of_another_major_does_not(configure):
    assert chosen(configure(system=25, wheel=True)).endswith("pyarrow/libarrow.so.2600")


def test_a_named_wheel_goes_before_it(configure, tmp_path):
    assert chosen(configure(system=26, wheel=True, ICEBOUND_PYARROW_DIR=tmp_path / "pyarrow")).endswith("pyarrow/libarrow.so.2600")


def test_each_may_be_asked_for(configure):
    assert chosen(configure(system=26, wheel=True, ICEBOUND_ARROW="wheel")).endswith("pyarrow/libarrow.so.2600")


@pytest.mark.parametrize("world", [{"wheel": True, "ICEBOUND_ARROW": "system"}, {"system": 26, "ICEBOUND_ARROW": "wheel"}, {}, {"ICEBOUND_ARROW": "both"}])
def test_or_the_build_ends(configure, world):
    done = configure(**world)
    assert done.returncode != 0 and ("No Arrow C++ 26" in done.stderr or "not auto, system or wheel" in done.stderr)
