# SPDX-License-Identifier: Apache-2.0
#
# Builds libpg_query (PostgreSQL's own parser) from the sources that tools/bootstrap.sh unpacked, as icebound::pg_query.

set(ICEBOUND_PG_QUERY_DIR "${CMAKE_SOURCE_DIR}/build/third_party/libpg_query" CACHE PATH "libpg_query sources")
if(NOT EXISTS "${ICEBOUND_PG_QUERY_DIR}/pg_query.h")
  message(FATAL_ERROR "No libpg_query in ${ICEBOUND_PG_QUERY_DIR}: run tools/bootstrap.sh")
endif()

file(GLOB _pg_query_sources
  "${ICEBOUND_PG_QUERY_DIR}/src/*.c"
  "${ICEBOUND_PG_QUERY_DIR}/src/postgres/*.c")
foreach(_file vendor/xxhash/xxhash.c vendor/upb/upb.c vendor/upb/third_party/utf8_range/utf8_range.c
              protobuf/pg_query.upb_minitable.c vendor/protobuf-c/protobuf-c.c protobuf/pg_query.pb-c.c)
  if(EXISTS "${ICEBOUND_PG_QUERY_DIR}/${_file}")
    list(APPEND _pg_query_sources "${ICEBOUND_PG_QUERY_DIR}/${_file}")
  endif()
endforeach()

add_library(icebound_pg_query STATIC ${_pg_query_sources})
target_include_directories(icebound_pg_query SYSTEM
  PUBLIC "${ICEBOUND_PG_QUERY_DIR}"
  PRIVATE "${ICEBOUND_PG_QUERY_DIR}/vendor" "${ICEBOUND_PG_QUERY_DIR}/vendor/upb"
          "${ICEBOUND_PG_QUERY_DIR}/vendor/upb/third_party/utf8_range"
          "${ICEBOUND_PG_QUERY_DIR}/src/include" "${ICEBOUND_PG_QUERY_DIR}/src/postgres/include")
target_compile_options(icebound_pg_query PRIVATE -w -fno-strict-aliasing -fwrapv -O2 -fno-sanitize=all)
set_target_properties(icebound_pg_query PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
add_library(icebound::pg_query ALIAS icebound_pg_query)
