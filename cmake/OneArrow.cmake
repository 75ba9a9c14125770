# SPDX-License-Identifier: Apache-2.0
#
# Finds the one Arrow C++ this build uses and defines icebound::arrow and icebound::parquet.
#
# A process must hold a single libarrow: two copies disagree about type registries and buffers. ICEBOUND_ARROW chooses:
#   auto     the first there is of: the wheel in ICEBOUND_PYARROW_DIR, when that is set; a system Arrow of our major version, which
#            other parts of the host program most likely use too; the wheel of the .venv that tools/bootstrap.sh made, or of python3
#   system   a system Arrow (find_package, so CMAKE_PREFIX_PATH and Arrow_DIR say where), or none
#   wheel    headers and libraries of a pyarrow wheel, or none: what the Python package must be built with, which shares them

set(ICEBOUND_ARROW_MAJOR 26)
set(ICEBOUND_ARROW "auto" CACHE STRING "Which Arrow C++ to use: auto, system or wheel")
set_property(CACHE ICEBOUND_ARROW PROPERTY STRINGS auto system wheel)

function(icebound_import_arrow name file include_dir)
  if(NOT TARGET ${name})
    add_library(${name} SHARED IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${file}")
    target_include_directories(${name} SYSTEM INTERFACE "${include_dir}")
  endif()
endfunction()

macro(icebound_arrow_from_wheel)
  if(NOT ICEBOUND_PYARROW_DIR)
    find_program(ICEBOUND_PYTHON NAMES python3 HINTS "${CMAKE_CURRENT_SOURCE_DIR}/.venv/bin" NO_DEFAULT_PATH)
    if(NOT ICEBOUND_PYTHON)
      find_program(ICEBOUND_PYTHON NAMES python3)
    endif()
    if(ICEBOUND_PYTHON)
      execute_process(COMMAND "${ICEBOUND_PYTHON}" -c
        "import importlib.util as u; s = u.find_spec('pyarrow'); print(s.submodule_search_locations[0] if s else '', end='')"
        OUTPUT_VARIABLE ICEBOUND_PYARROW_DIR ERROR_QUIET)
    endif()
  endif()
  set(_so "${ICEBOUND_ARROW_MAJOR}00")
  if(ICEBOUND_PYARROW_DIR AND EXISTS "${ICEBOUND_PYARROW_DIR}/libarrow.so.${_so}")
    set(_inc "${ICEBOUND_PYARROW_DIR}/include")
    icebound_import_arrow(icebound::arrow_core "${ICEBOUND_PYARROW_DIR}/libarrow.so.${_so}" "${_inc}")
    icebound_import_arrow(icebound::arrow_compute "${ICEBOUND_PYARROW_DIR}/libarrow_compute.so.${_so}" "${_inc}")
    icebound_import_arrow(icebound::arrow_s3 "${ICEBOUND_PYARROW_DIR}/libarrow_s3.so.${_so}" "${_inc}")
    icebound_import_arrow(icebound::arrow_parquet "${ICEBOUND_PYARROW_DIR}/libparquet.so.${_so}" "${_inc}")
    set(ICEBOUND_ARROW_LIBRARY_DIR "${ICEBOUND_PYARROW_DIR}")
    set(ICEBOUND_ARROW_FOUND "pyarrow wheel in ${ICEBOUND_PYARROW_DIR}")
  endif()
endmacro()

macro(icebound_arrow_from_system)
  find_package(Arrow ${ICEBOUND_ARROW_MAJOR} CONFIG QUIET)
  find_package(Parquet ${ICEBOUND_ARROW_MAJOR} CONFIG QUIET)
  find_package(ArrowCompute ${ICEBOUND_ARROW_MAJOR} CONFIG QUIET)
  if(Arrow_FOUND AND Parquet_FOUND)
    add_library(icebound::arrow_core ALIAS Arrow::arrow_shared)
    add_library(icebound::arrow_parquet ALIAS Parquet::parquet_shared)
    if(TARGET ArrowCompute::arrow_compute_shared)
      add_library(icebound::arrow_compute ALIAS ArrowCompute::arrow_compute_shared)
    endif()
    set(ICEBOUND_ARROW_FOUND "system Arrow ${Arrow_VERSION}")
  endif()
endmacro()

if(NOT TARGET icebound::arrow)
  if(NOT ICEBOUND_ARROW MATCHES "^(auto|system|wheel)$")
    message(FATAL_ERROR "ICEBOUND_ARROW is \"${ICEBOUND_ARROW}\", not auto, system or wheel")
  endif()
  if(ICEBOUND_ARROW STREQUAL "system" OR (ICEBOUND_ARROW STREQUAL "auto" AND NOT ICEBOUND_PYARROW_DIR))
    icebound_arrow_from_system()
  endif()
  if(NOT ICEBOUND_ARROW_FOUND AND NOT ICEBOUND_ARROW STREQUAL "system")
    icebound_arrow_from_wheel()
  endif()
  if(NOT ICEBOUND_ARROW_FOUND)
    message(FATAL_ERROR "No Arrow C++ ${ICEBOUND_ARROW_MAJOR} (ICEBOUND_ARROW=${ICEBOUND_ARROW}): install one, run tools/bootstrap.sh, or set "
                        "ICEBOUND_PYARROW_DIR to the folder of an installed pyarrow ${ICEBOUND_ARROW_MAJOR}")
  endif()
  message(STATUS "Arrow: ${ICEBOUND_ARROW_FOUND}")

  add_library(icebound_arrow INTERFACE)
  target_link_libraries(icebound_arrow INTERFACE icebound::arrow_core)
  if(TARGET icebound::arrow_compute)
    target_link_libraries(icebound_arrow INTERFACE icebound::arrow_compute)
  endif()
  add_library(icebound::arrow ALIAS icebound_arrow)
  add_library(icebound_parquet INTERFACE)
  target_link_libraries(icebound_parquet INTERFACE icebound::arrow_parquet icebound_arrow)
  add_library(icebound::parquet ALIAS icebound_parquet)
endif()
