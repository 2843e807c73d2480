# The elementwise instruction emitter: needs LLVM's headers.
set(WEIR_ALU_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/alu_build.c ${CMAKE_CURRENT_LIST_DIR}/alu_table.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_int.c ${CMAKE_CURRENT_LIST_DIR}/alu_div.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_bits.c ${CMAKE_CURRENT_LIST_DIR}/alu_round.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_half.c ${CMAKE_CURRENT_LIST_DIR}/alu_fma16.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_float.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_approx.c ${CMAKE_CURRENT_LIST_DIR}/alu_cmp.c
  ${CMAKE_CURRENT_LIST_DIR}/alu_cvt.c ${CMAKE_CURRENT_LIST_DIR}/alu_video.c
  ${CMAKE_CURRENT_LIST_DIR}/math_table.c ${CMAKE_CURRENT_LIST_DIR}/math_emit.c
  ${CMAKE_CURRENT_LIST_DIR}/math_inline.c ${CMAKE_CURRENT_LIST_DIR}/math_simd.c
  ${CMAKE_CURRENT_LIST_DIR}/math_explog.c)
# What emitted code calls at run time: no LLVM, belongs to the loading half. Links sleef and m.
set(WEIR_ALU_RUNTIME_SOURCES ${CMAKE_CURRENT_LIST_DIR}/math_lanes.c)
