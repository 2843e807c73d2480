# What others find Weir by: a CMake package and pkg-config files, in the build tree as after
# `make install`, since both are laid out alike.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/lib/cmake/Weir)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/WeirConfig.cmake.in
  ${package}/WeirConfig.cmake INSTALL_DESTINATION lib/cmake/Weir
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${package}/WeirConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
foreach(name weir cudart syncedmem)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in
    ${CMAKE_BINARY_DIR}/lib/pkgconfig/${name}.pc @ONLY)
endforeach()
install(FILES ${package}/WeirConfig.cmake ${package}/WeirConfigVersion.cmake
  DESTINATION lib/cmake/Weir)
install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/weir.pc ${CMAKE_BINARY_DIR}/lib/pkgconfig/cudart.pc
  ${CMAKE_BINARY_DIR}/lib/pkgconfig/syncedmem.pc
  DESTINATION lib/pkgconfig)
