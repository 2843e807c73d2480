# What others find Weir by: a CMake package and pkg-config files, in the build tree as after
# `make install`, since both are laid out alike. And the packages of CCCL, which a CUDA toolkit has in the
# same place: those of the CCCL that weircc uses, wherever that is.
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
configure_file(${CMAKE_CURRENT_LIST_DIR}/cccl/WeirCCCL.cmake ${package}/WeirCCCL.cmake COPYONLY)
foreach(name cccl cub thrust libcudacxx)
  set(cccl ${CMAKE_BINARY_DIR}/lib/cmake/${name}/${name}-config)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/cccl/config.cmake.in ${cccl}.cmake @ONLY)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/cccl/version.cmake.in ${cccl}-version.cmake @ONLY)
  # A prefix that others share, /usr/local, may have CCCL's own: it stays.
  install(CODE "
    set(there \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/cmake/${name}/${name}-config.cmake\")
    set(ours WeirCCCL)
    if(EXISTS \"\${there}\")
      file(STRINGS \"\${there}\" ours REGEX WeirCCCL)
    endif()
    if(ours)
      file(INSTALL \"${cccl}.cmake\" \"${cccl}-version.cmake\"
        DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/cmake/${name}\")
    else()
      message(STATUS \"Kept: \${there}, which is not Weir's\")
    endif()")
endforeach()
install(FILES ${package}/WeirConfig.cmake ${package}/WeirConfigVersion.cmake ${package}/WeirCCCL.cmake
  DESTINATION lib/cmake/Weir)
install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/weir.pc ${CMAKE_BINARY_DIR}/lib/pkgconfig/cudart.pc
  ${CMAKE_BINARY_DIR}/lib/pkgconfig/syncedmem.pc
  DESTINATION lib/pkgconfig)
