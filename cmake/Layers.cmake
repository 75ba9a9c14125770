# SPDX-License-Identifier: Apache-2.0
#
# icebound_layer(NAME [DEPS layer...] [LIBS target...]): one folder below src/ is one static library that links only what
# its row of design allows. Sources are globbed (all sub-folders), so a new file needs no edit here; `*_test.cc` files of a
# folder become one test program named after the folder, e.g. exec_sort_test; `*_benchmark.cc` likewise.

add_library(icebound_options INTERFACE)
target_compile_features(icebound_options INTERFACE cxx_std_20)
target_compile_options(icebound_options INTERFACE -Wall -Wextra -Werror=return-type -Werror=unused-result
  -Wno-unused-parameter -Wno-missing-field-initializers -fno-omit-frame-pointer)
target_include_directories(icebound_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>)
target_link_libraries(icebound_options INTERFACE icebound::arrow Threads::Threads fmt::fmt)
target_compile_definitions(icebound_options INTERFACE SPDLOG_FMT_EXTERNAL
  $<$<BOOL:${ICEBOUND_INJECTION}>:ICEBOUND_INJECTION>)

# One precompiled header for all layers: the standard library and Arrow's core.
add_library(icebound_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(icebound_pch PRIVATE icebound_options)
target_precompile_headers(icebound_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
set_target_properties(icebound_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)

set_property(GLOBAL PROPERTY icebound_layers "")

# Builds every unit test program: what the sanitizer runs need.
add_custom_target(unit_tests)

if(ICEBOUND_BUILD_TESTS)
  add_library(icebound_unit_test_main STATIC ${CMAKE_SOURCE_DIR}/tests/unit_test_main.cc)
  target_link_libraries(icebound_unit_test_main PUBLIC icebound_options GTest::gmock GTest::gtest)
endif()

function(icebound_layer name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS" ${ARGN})
  string(REPLACE "/" "_" id ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|benchmark|fuzz)\\.cc$")
  if(NOT sources)
    set(sources ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  endif()
  add_library(icebound_${id} STATIC ${sources})
  target_link_libraries(icebound_${id} PUBLIC icebound_options ${arg_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    string(REPLACE "/" "_" dep ${dep})
    target_link_libraries(icebound_${id} PUBLIC icebound_${dep})
  endforeach()
  target_precompile_headers(icebound_${id} REUSE_FROM icebound_pch)
  set_target_properties(icebound_${id} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY icebound_layers icebound_${id})

  if(ICEBOUND_BUILD_TESTS)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_test.cc)
    set(folders "")
    foreach(test IN LISTS tests)
      get_filename_component(folder ${test} DIRECTORY)
      list(APPEND folders ${folder})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
      file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR}/src ${folder})
      string(REPLACE "/" "_" test_id ${relative})
      file(GLOB folder_tests CONFIGURE_DEPENDS ${folder}/*_test.cc)
      icebound_test(${test_id}_test SOURCES ${folder_tests} LIBS icebound_${id})
    endforeach()
  endif()
  if(ICEBOUND_BUILD_BENCHMARKS)
    file(GLOB_RECURSE benchmarks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_benchmark.cc)
    foreach(benchmark IN LISTS benchmarks)
      get_filename_component(bench_id ${benchmark} NAME_WE)
      add_executable(${bench_id} ${benchmark})
      target_link_libraries(${bench_id} PRIVATE icebound_${id} benchmark::benchmark_main)
      target_precompile_headers(${bench_id} REUSE_FROM icebound_pch)
    endforeach()
  endif()
endfunction()

function(icebound_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} icebound_unit_test_main)
  target_precompile_headers(${name} REUSE_FROM icebound_pch)
  # -fPIC as in the libraries, where CMake would say -fPIE: else the precompiled header does not fit.
  target_compile_options(${name} PRIVATE -fPIC)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600 LABELS unit)
  add_dependencies(unit_tests ${name})
endfunction()
