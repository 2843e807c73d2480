/* interp_warp: what the threads of a warp, or of a block, do together, for the interpreter. */
#include "interp_state.h"

#include "../arithmetic/ref.h"

#include <string.h>

bool interp_is_warp_op(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_elect:
    case PTX_OP_redux: return true;
    case PTX_OP_bar: return ptx_has(i, PTX_M_warp);
    default: return false;
    }
}

bool interp_is_barrier(const struct ptx_instr *i)
{
    return (i->op == PTX_OP_bar && !ptx_has(i, PTX_M_warp)) || i->op == PTX_OP_barrier;
}

/* One meeting of threads of a warp. */
struct meeting {
    struct thread *t[MAX_WARP]; /* by lane; NULL: takes no part */
    uint64_t a[MAX_WARP];
    uint32_t mask; /* those that take part */
};

/* The member mask is the last operand. */
static uint32_t members(struct machine *m, struct thread *t)
{
    if (t->at->op != PTX_OP_bar && !ptx_has(t->at, PTX_M_sync)) /* of old targets: all */
        return 0xffffffff;
    const struct ptx_operand *o = &t->at->operands[t->at->noperands - 1];
    return (uint32_t)interp_read(m, t, t->at, o, PTX_B32);
}

/* May two threads meet? The instruction must be the same, but need not be at the same address. */
static bool same_kind(const struct ptx_instr *a, const struct ptx_instr *b)
{
    return a == b || (a->op == b->op && a->nmods == b->nmods && a->ntypes == b->ntypes &&
                      !memcmp(a->mods, b->mods, sizeof a->mods[0] * a->nmods) &&
                      !memcmp(a->types, b->types, a->ntypes));
}

static uint64_t shuffle(struct machine *m, const struct meeting *g, int lane, bool *valid)
{
    struct thread *t = g->t[lane];
    const struct ptx_instr *i = t->at;
    const struct ptx_operand *o = i->operands + (i->pair ? 3 : 2);
    int b = (int)interp_read(m, t, i, &o[0], PTX_U32) & 31;
    uint32_t c = (uint32_t)interp_read(m, t, i, &o[1], PTX_U32);
    int clamp = (int)(c & 31), segment = (int)(c >> 8 & 31), j;
    int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    if (ptx_has(i, PTX_M_up))
        j = lane - b, *valid = j >= most;
    else if (ptx_has(i, PTX_M_down))
        j = lane + b, *valid = j <= most;
    else if (ptx_has(i, PTX_M_bfly))
        j = lane ^ b, *valid = j <= most;
    else
        j = least | (b & ~segment), *valid = j <= most;
    if (!*valid)
        j = lane;
    return g->t[j] != NULL ? g->a[j] : 0; /* a lane that takes no part gives 0 */
}

static uint64_t vote(const struct meeting *g, const struct ptx_instr *i)
{
    uint32_t yes = 0;
    for (int k = 0; k < MAX_WARP; k++)
        yes |= g->t[k] != NULL && g->a[k] ? 1u << k : 0;
    return ptx_has(i, PTX_M_all)   ? yes == g->mask
           : ptx_has(i, PTX_M_any) ? yes != 0
           : ptx_has(i, PTX_M_uni) ? yes == 0 || yes == g->mask
                                   : yes;
}

static uint64_t match(const struct meeting *g, const struct ptx_instr *i, int lane, bool *all)
{
    uint32_t same = 0;
    for (int k = 0; k < MAX_WARP; k++)
        same |= g->t[k] != NULL && g->a[k] == g->a[lane] ? 1u << k : 0;
    *all = same == g->mask;
    return ptx_has(i, PTX_M_any) ? same : *all ? g->mask : 0;
}

static uint64_t reduce(struct machine *m, const struct meeting *g, const struct ptx_instr *i)
{
    uint64_t r = 0;
    bool first = true;
    for (int k = 0; k < MAX_WARP; k++) {
        if (g->t[k] == NULL)
            continue;
        r = first ? g->a[k] : interp_atomic(m, i, i->types[0], true, r, g->a[k], 0);
        first = false;
    }
    return r;
}

static void meet(struct machine *m, struct meeting *g)
{
    uint64_t result[MAX_WARP] = {0};
    bool second[MAX_WARP] = {0};
    for (int k = 0; k < MAX_WARP; k++) {
        struct thread *t = g->t[k];
        if (t == NULL || t->at->op == PTX_OP_bar || t->at->op == PTX_OP_elect)
            continue;
        const struct ptx_operand *a = &t->at->operands[t->at->pair ? 2 : 1];
        g->a[k] =
            interp_read(m, t, t->at, a, t->at->op == PTX_OP_vote ? PTX_PRED : t->at->types[0]);
    }
    for (int k = 0; k < MAX_WARP; k++) {
        struct thread *t = g->t[k];
        if (t == NULL)
            continue;
        switch (t->at->op) {
        case PTX_OP_shfl: result[k] = shuffle(m, g, k, &second[k]); break;
        case PTX_OP_vote: result[k] = vote(g, t->at); break;
        case PTX_OP_match: result[k] = match(g, t->at, k, &second[k]); break;
        case PTX_OP_elect:
            result[k] = (uint64_t)__builtin_ctz(g->mask);
            second[k] = result[k] == (uint64_t)k;
            break;
        case PTX_OP_redux: result[k] = reduce(m, g, t->at); break;
        default: break;
        }
    }
    for (int k = 0; k < MAX_WARP; k++) {
        struct thread *t = g->t[k];
        if (t == NULL)
            continue;
        if (t->at->op != PTX_OP_bar)
            interp_write(m, t, t->at, &t->at->operands[0],
                         t->at->op != PTX_OP_vote       ? PTX_B32
                         : ptx_has(t->at, PTX_M_ballot) ? PTX_B32
                                                        : PTX_PRED,
                         result[k]);
        if (t->at->pair)
            interp_write(m, t, t->at, &t->at->operands[1], PTX_PRED, second[k]);
        t->wait = RUNS;
    }
}

/* Do all that the thread waits for wait with it? Then they are the meeting. */
static bool gather(struct machine *m, int first, int lane, struct meeting *g)
{
    struct thread *t = &m->threads[first + lane];
    uint32_t mask = members(m, t);
    if (!(mask >> lane & 1))
        interp_fail(m, t->at, "lane %d is not in its mask %x", lane, mask);
    *g = (struct meeting){.mask = 0};
    for (int k = 0; k < MAX_WARP; k++) {
        if (!(mask >> k & 1) || first + k >= m->nthreads)
            continue;
        struct thread *u = &m->threads[first + k];
        if (u->wait == EXITED)
            continue;
        if (u->wait != AT_WARP || !same_kind(u->at, t->at) || members(m, u) != mask)
            return false;
        g->t[k] = u;
        g->mask |= 1u << k;
    }
    return true;
}

bool interp_warp(struct machine *m, int first)
{
    bool moved = false;
    struct meeting g;
    for (int lane = 0; lane < MAX_WARP && first + lane < m->nthreads; lane++)
        if (m->threads[first + lane].wait == AT_WARP && gather(m, first, lane, &g)) {
            meet(m, &g);
            moved = true;
        }
    return moved;
}

/* ---- barriers of the block ---- */

static bool reduces(const struct ptx_instr *i) { return ptx_has(i, PTX_M_red); }

/* Operand 0, or 1 after a result, is the barrier's number. */
static const struct ptx_operand *number(const struct ptx_instr *i)
{
    return &i->operands[reduces(i) ? 1 : 0];
}

bool interp_barrier(struct machine *m)
{
    const struct ptx_instr *at = NULL;
    uint32_t yes = 0, all = 0;
    for (int k = 0; k < m->nthreads; k++) {
        struct thread *t = &m->threads[k];
        if (t->wait == EXITED)
            continue;
        if (t->wait != AT_BARRIER)
            return false;
        if (ptx_has(t->at, PTX_M_arrive) || t->at->noperands > (reduces(t->at) ? 3 : 1))
            interp_fail(m, t->at, "barriers for part of the block are not interpreted");
        if (at != NULL && interp_read(m, t, t->at, number(t->at), PTX_U32) !=
                              interp_read(m, t, at, number(at), PTX_U32))
            interp_fail(m, t->at, "threads wait at two barriers");
        at = t->at;
        if (reduces(at))
            yes += interp_read(m, t, at, &at->operands[at->noperands - 1], PTX_PRED) != 0;
        all++;
    }
    for (int k = 0; k < m->nthreads; k++) {
        struct thread *t = &m->threads[k];
        if (t->wait != AT_BARRIER)
            continue;
        if (reduces(t->at)) {
            bool popc = ptx_has(t->at, PTX_M_popc);
            interp_write(m, t, t->at, &t->at->operands[0], popc ? PTX_U32 : PTX_PRED,
                         popc                        ? yes
                         : ptx_has(t->at, PTX_M_and) ? yes == all
                                                     : yes != 0);
        }
        t->wait = RUNS;
    }
    return at != NULL;
}
