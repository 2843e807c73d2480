/* warp.h: operations among the lanes of a warp, the warps of a block, and the blocks of a cluster.
 */
#ifndef WEIR_COMPILER_WARP_H
#define WEIR_COMPILER_WARP_H

#include "compiler/codegen/codegen.h"

/* ---- warp_ops.c ---- */

/* shfl, vote, match, redux, elect, activemask. */
bool emit_warp_op(struct codegen *cg, const struct ptx_instr *i);

/* ---- match.c ---- */

bool emit_match(struct codegen *cg, const struct ptx_instr *i);

/* ---- barrier.c ---- */

/* The warp arrives at a barrier and goes on. */
void emit_arrive(struct codegen *cg, const struct ptx_instr *i);
/* The warp suspends at a barrier that is known by number, at the end of blk. */
void barrier_wait_numbered(struct codegen *cg, const struct jblock *blk);
/* Counts this warp's votes for a reducing barrier. */
void barrier_count_votes(struct codegen *cg, const struct ptx_instr *i);
/* Writes the result of the reducing barrier just passed. */
void barrier_read_votes(struct codegen *cg, const struct ptx_instr *i);
/* In lockstep, all warps have passed a reducing barrier: its votes are to be read, the next one's
 * begin. */
void barrier_next_phase(struct codegen *cg);

/* ---- mbarrier.c ---- */

/* The mbarrier instructions. */
bool emit_mbarrier(struct codegen *cg, const struct ptx_instr *i);

/* ---- cluster.c ---- */

/* barrier.cluster.arrive, and the question that .wait has become: may the warp go on? */
void emit_cluster_barrier(struct codegen *cg, const struct ptx_instr *i);
/* cvta and isspacep of .shared::cluster; mapa, getctarank. */
bool emit_cluster_cvta(struct codegen *cg, const struct ptx_instr *i);
bool emit_cluster_isspacep(struct codegen *cg, const struct ptx_instr *i);
bool emit_cluster_address(struct codegen *cg, const struct ptx_instr *i);
/* clusterlaunchcontrol.try_cancel. */
bool emit_try_cancel(struct codegen *cg, const struct ptx_instr *i);

#endif
