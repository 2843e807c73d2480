# The public header alone: needs no library. -pedantic because it is included by programs that use it.
function(weir_header_test name source)
  add_executable(test_driver_${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  target_include_directories(test_driver_${name} BEFORE PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../include)
  target_compile_options(test_driver_${name} PRIVATE -Wall -Wextra -pedantic ${ARGN})
  add_test(NAME driver.${name} COMMAND test_driver_${name})
endfunction()

weir_header_test(header_c header_c.c)
weir_header_test(header_c_per_thread header_c.c -DCUDA_API_PER_THREAD_DEFAULT_STREAM)
weir_header_test(header_cpp header_cpp.cpp)
weir_header_test(header_runtime header_runtime.cpp)
