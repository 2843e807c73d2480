/* kernel: runs the passes over PTX (passes.h) on one kernel, and begins them anew where what they
 * find asks for it. */
#include <stdlib.h>

#include "compiler/passes.h"

/* Begins the analyses anew, with a loop in which warps interleave, by barriers or by yielding. */
static void reset_kernel(struct jkernel *k, int32_t barrier_loop, int32_t yield_loop)
{
    struct jkernel fresh = {.entry = k->entry,
                            .opt = k->opt,
                            .diag = k->diag,
                            .is_function = k->is_function,
                            .one_lane = k->one_lane,
                            .fibers = k->fibers,
                            .layout = k->layout,
                            .nwarps = k->nwarps,
                            .full_warps = k->full_warps,
                            .lanes = k->lanes,
                            .seg_min = k->seg_min,
                            .gates = k->gates,
                            .ngates = k->ngates,
                            .gate_rounds = k->gate_rounds,
                            .edits = k->edits,
                            .moves = k->moves,
                            .exit_tests = k->exit_tests,
                            .search_loops = k->search_loops,
                            .table_rows = k->table_rows,
                            .rows = k->rows,
                            .rows_searched = k->rows_searched,
                            .counter = k->counter,
                            .whole_blocks = k->whole_blocks,
                            .barrier_loop = barrier_loop,
                            .barrier_iterations = k->barrier_iterations,
                            .yield_loop = yield_loop};
    k->gates = NULL;
    k->edits.items = NULL;
    k->moves.items = NULL;
    k->search_loops = (struct jsearch_loops){0};
    k->table_rows.items = NULL;
    k->rows = NULL;
    jkernel_free(k);
    *k = fresh;
}

static bool run_analyses(struct jkernel *k)
{
    for (;;) {
        if (!pass_flatten(k))
            return false;
        jit_apply_row_plan(k);
        jit_apply_exit_tests(k);
        jit_apply_splits(k);
        jit_apply_search_loops(k);
        jit_apply_table_rows(k);
        jit_apply_moves(k);
        if (!pass_cfg(k))
            return false;
        pass_carry_tests(k);
        if (!pass_liveness(k) || !pass_uniformity(k))
            return false;
        if (!jit_find_row_plan(k) && !jit_find_exit_tests(k) && !jit_find_splits(k) &&
            !jit_find_search_loops(k) && !jit_find_table_rows(k) && !jit_find_early_values(k) &&
            !jit_find_gates(k))
            return pass_repeated_segments(k) && pass_lockstep(k);
        reset_kernel(k, k->barrier_loop, k->yield_loop);
    }
}

static bool restart_passes(struct jkernel *k, int32_t barrier_loop, int32_t yield_loop)
{
    reset_kernel(k, barrier_loop, yield_loop);
    return run_analyses(k);
}

/* Begins anew with other instructions, of which nothing is known. */
static bool restart_whole(struct jkernel *k, bool whole)
{
    free(k->gates);
    free(k->edits.items);
    free(k->moves.items);
    free(k->table_rows.items);
    jit_free_search_loops(&k->search_loops);
    jit_free_row_plan(k->rows);
    k->exit_tests = (struct jexit_tests){0};
    k->gates = NULL;
    k->ngates = k->gate_rounds = 0;
    k->edits = (struct jedits){0};
    k->moves = (struct jmoves){0};
    k->table_rows = (struct jtable_rows){0};
    k->rows = NULL;
    k->rows_searched = false;
    k->whole_blocks = whole;
    return restart_passes(k, 0, 0);
}

/* Where guards keep the warps of blocks from sharing rows: do those of whole blocks? Makes *loop
 * as jit_find_barrier_loop does. */
static bool find_whole_loop(struct jkernel *k, int32_t *loop)
{
    enum { MOST_INSTRUCTIONS = 200 };
    *loop = 0;
    bool loops = false, leaves = false;
    for (int32_t b = 0; b < k->nblocks; b++) {
        if (k->blocks[b].term == TERM_SUSPEND)
            return true;
        loops |= k->blocks[b].loop >= 0;
        leaves |= k->blocks[b].diverges;
    }
    if (!loops || !leaves || k->ninstrs > MOST_INSTRUCTIONS || k->is_function || k->has_poll ||
        k->has_calls || k->opt->checked != 0)
        return true;
    if (!restart_whole(k, true))
        return false;
    *loop = k->has_whole ? jit_find_barrier_loop(k) : 0;
    return *loop != 0 || restart_whole(k, false);
}

bool jkernel_build(struct jkernel *k, const struct ptx_func *entry, const struct jit_options *opt,
                   struct diag *d)
{
    k->entry = entry;
    k->opt = opt;
    k->diag = d;
    uint32_t threads = opt->ntid[0] * opt->ntid[1] * opt->ntid[2];
    k->nwarps = (int32_t)((threads + JIT_WARP - 1) / JIT_WARP);
    k->full_warps = threads != 0 && threads % JIT_WARP == 0;
    k->lanes = threads != 0 && threads < JIT_WARP ? (1u << threads) - 1 : UINT32_MAX;
    if (!run_analyses(k))
        return false;
    if (!jit_short_segments_pay(k)) {
        k->seg_min = SEG_KEPT;
        if (!restart_passes(k, 0, 0))
            return false;
    }
    int32_t barriers = jit_find_barrier_loop(k), yields = jit_find_yield_loop(k, true);
    barriers = yields != 0 ? 0 : barriers;
    if (barriers == 0 && yields == 0 && !find_whole_loop(k, &barriers))
        return false;
    if ((barriers != 0 || yields != 0) &&
        (!restart_passes(k, barriers, yields) ||
         (!k->lockstep && !k->has_poll &&
          !(k->whole_blocks ? restart_whole(k, false) : restart_passes(k, 0, 0)))))
        return false;
    k->counter = barriers == 0 && yields == 0 ? jit_find_counter(k) : 0;
    if (k->counter != 0) {
        if (!restart_passes(k, 0, 0) || !pass_lane_serialization(k))
            return false;
        if (jit_counter_pays(k))
            return true;
        k->counter = 0;
        if (!restart_passes(k, 0, 0))
            return false;
    }
    return pass_lane_serialization(k);
}

void jkernel_free(struct jkernel *k)
{
    graph_free(&k->graph);
    arena_free(&k->arena);
    free(k->gates);
    k->gates = NULL;
    free(k->edits.items);
    k->edits = (struct jedits){0};
    free(k->moves.items);
    free(k->table_rows.items);
    k->moves = (struct jmoves){0};
    k->table_rows = (struct jtable_rows){0};
    jit_free_search_loops(&k->search_loops);
    jit_free_row_plan(k->rows);
    k->rows = NULL;
}

void jkernel_print_uniformity(const struct jkernel *k, struct strbuf *out)
{
    if (k->lockstep)
        sb_printf(out, "lockstep: all warps take the same path from barrier to barrier\n");
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        sb_printf(out, "block %d%s%s depth %d", b, blk->converged ? "" : " (partial)",
                  blk->diverges ? " (diverges)" : "", blk->depth);
        for (int s = 0; s < blk->nsucc; s++)
            sb_printf(out, "%s%d", s ? " " : " -> ", blk->succ[s]);
        if (blk->term == TERM_GATE || blk->waits)
            sb_printf(out, blk->waits ? " (waits)" : " (gate)");
        if (blk->term == TERM_SUSPEND)
            sb_printf(out, " (%s)",
                      blk->suspend == SUSPEND_BARRIER ? "barrier"
                      : blk->suspend == SUSPEND_SYNC  ? "device synchronize"
                      : blk->suspend == SUSPEND_YIELD ? "yield"
                      : blk->suspend == SUSPEND_COUNT ? "counter"
                                                      : "poll");
        if (blk->serial_from)
            sb_printf(out, " (lanes serialized until %d unless adjacent)", blk->serial_end);
        else if (blk->serial_group)
            sb_printf(out, " (groups of %d lanes serialized until %d)", 1 << blk->serial_group,
                      blk->serial_end);
        else if (blk->serial_end)
            sb_printf(out, " (lanes serialized until %d)", blk->serial_end);
        else if (blk->serialized)
            sb_printf(out, " (one lane)");
        else if (blk->strips_end)
            sb_printf(out, " (strips serialized without AVX-512)");
        sb_printf(out, "\n");
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            struct jroles r;
            jit_roles(i, &r);
            sb_printf(out, "  %s", ptx_op_name((enum ptx_op)i->op));
            for (int t = 0; t < i->ntypes; t++)
                sb_printf(out, ".%s", ptx_type_name((enum ptx_type)i->types[t]));
            sb_printf(out, " (line %d)", i->line);
            for (int d = 0; d < r.ndef; d++) {
                const struct jreg *reg = &k->regs[r.def[d]];
                const struct uniformity *s = &reg->uniformity;
                sb_printf(out, "  %s:", reg->name);
                if (is_uniform(s))
                    sb_printf(out, " uniform");
                else if (s->seg)
                    sb_printf(out, " seg %d stride %lld%s", 1 << s->seg, (long long)s->stride,
                              s->brk ? " unless wrapped" : "");
                else
                    sb_printf(out, " divergent");
                if (!s->seg && s->hint_seg)
                    sb_printf(out, " (likely stride %lld)", (long long)s->stride);
                if (reg->remat)
                    sb_printf(out, " remat");
                else if (k->lockstep && reg->same)
                    sb_printf(out, " same");
            }
            sb_printf(out, "\n");
        }
    }
}
