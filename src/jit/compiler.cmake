# The compiler's own files; the elementwise emitters bring theirs.
include(${CMAKE_CURRENT_LIST_DIR}/alu.cmake)
set(WEIR_JIT_SOURCES
  roles.c flatten.c flatten_areas.c flatten_copies.c flatten_lower.c cfg.c live.c shape.c shape_solve.c repeat.c narrow.c lockstep.c pace.c relay.c range.c turns.c yield.c
  emit.c emit_value.c emit_op.c emit_call.c emit_mem.c emit_apart.c emit_piece.c emit_masked.c emit_copy.c emit_window.c emit_place.c emit_move.c emit_check.c emit_atom.c emit_debug.c emit_flow.c emit_turns.c emit_ends.c emit_note.c emit_row.c emit_relay.c
  emit_frame.c emit_again.c emit_tex.c emit_mma.c emit_mma_core.c emit_mma_quads.c emit_mma_sparse.c
  emit_mma_move.c emit_async.c emit_barrier.c emit_cluster.c
  emit_warp.c ahead.c homes.c cold.c strips.c strips_make.c quick.c quick_made.c quick_prepare.c compile.c ${WEIR_ALU_SOURCES})
