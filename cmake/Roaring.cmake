# SPDX-License-Identifier: Apache-2.0
#
# Builds CRoaring (compressed bitmaps, the format of deletion vectors) from the one source file that tools/bootstrap.sh unpacked, as
# icebound::roaring.

set(ICEBOUND_ROARING_DIR "${CMAKE_SOURCE_DIR}/build/third_party/roaring" CACHE PATH "CRoaring sources: roaring.c and roaring.h")
if(NOT EXISTS "${ICEBOUND_ROARING_DIR}/roaring.h")
  message(FATAL_ERROR "No CRoaring in ${ICEBOUND_ROARING_DIR}: run tools/bootstrap.sh")
endif()

add_library(icebound_roaring STATIC "${ICEBOUND_ROARING_DIR}/roaring.c")
target_include_directories(icebound_roaring SYSTEM PUBLIC "${ICEBOUND_ROARING_DIR}")
target_compile_options(icebound_roaring PRIVATE -w -O2 -fno-sanitize=all)
set_target_properties(icebound_roaring PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
add_library(icebound::roaring ALIAS icebound_roaring)
