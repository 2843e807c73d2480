# Where the CMake files of CCCL (Thrust, CUB, libcu++) are: those that came with the headers that weircc
# uses, so that a project gets one CCCL, whether its targets or the compiler bring it. A toolkit of NVIDIA's,
# Python's package, what `make cccl` fetches and a checkout all have them in lib/cmake beside the headers.
#
# Sets WeirCCCL_DIR, the directory that holds cccl, cub, thrust and libcudacxx, or, where there is none,
# WeirCCCL_MISSING, which says why. weircc is asked once for each run of CMake.
get_property(WeirCCCL_DIR GLOBAL PROPERTY WEIR_CCCL_DIR)
get_property(WeirCCCL_MISSING GLOBAL PROPERTY WEIR_CCCL_MISSING)
if(NOT WeirCCCL_DIR AND NOT WeirCCCL_MISSING)
  # The directory may have been reached by a link, lib/weir/cuda/lib64.
  get_filename_component(WeirCCCL_own "${CMAKE_CURRENT_LIST_DIR}/.." REALPATH)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "#include <thrust/version.h>"
    COMMAND "${WeirCCCL_own}/../../bin/weircc" -E -x c++ -
    OUTPUT_VARIABLE WeirCCCL_text ERROR_VARIABLE WeirCCCL_errors)
  if(WeirCCCL_text MATCHES "\"([^\"\n]+)/thrust/version\\.h\"")
    get_filename_component(WeirCCCL_headers "${CMAKE_MATCH_1}" REALPATH)
    foreach(root "${WeirCCCL_headers}/.." "${WeirCCCL_headers}/../.." "${WeirCCCL_headers}")
      get_filename_component(root "${root}/lib/cmake" REALPATH)
      if(NOT WeirCCCL_DIR AND NOT root STREQUAL WeirCCCL_own AND EXISTS "${root}/thrust/thrust-config.cmake")
        set(WeirCCCL_DIR "${root}")
      endif()
    endforeach()
    set(WeirCCCL_MISSING "none, the CCCL in ${WeirCCCL_headers} came without its CMake files")
  elseif(WeirCCCL_errors MATCHES "WEIR_CCCL names [^\n]*")
    set(WeirCCCL_MISSING "none, ${CMAKE_MATCH_0}")
  else()
    set(WeirCCCL_MISSING "none, weircc finds no CCCL on this machine (`pip install nvidia-cuda-cccl` brings it)")
  endif()
  set_property(GLOBAL PROPERTY WEIR_CCCL_DIR "${WeirCCCL_DIR}")
  set_property(GLOBAL PROPERTY WEIR_CCCL_MISSING "${WeirCCCL_MISSING}")
endif()
