# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install build/release --prefix DIR`: headers, libicebound, the program, and the CMake package `icebound`.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/icebound DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS icebound EXPORT icebound_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS icebound_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS icebound_arrow EXPORT icebound_targets)
install(EXPORT icebound_targets NAMESPACE icebound:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/icebound)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/icebound-config.cmake.in
  ${CMAKE_BINARY_DIR}/icebound-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/icebound)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/icebound-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/icebound-config.cmake ${CMAKE_BINARY_DIR}/icebound-config-version.cmake
  ${CMAKE_SOURCE_DIR}/cmake/OneArrow.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/icebound)
