/* row_versions: what follows a quotient of neighbours is written again for warps that lie in rows.
 *
 * Grids of several dimensions are often walked by one index: `x = i % width, y = i / width %
 * height` and so on, for `i = blockIdx.x * blockDim.x + threadIdx.x`. The quotient may differ from
 * lane to lane, and so all that is made of it is vectors, and each access gathers or tests where
 * its lanes are. But nearly all warps lie within one row, where the quotient is one value and the
 * remainder follows from the index; and where rows are of a multiple of eight elements, groups of
 * eight lanes do. Both can be told by a few scalars in front of the division. So the instructions
 * after it are there three times: for a warp in one row, for groups of eight lanes in one row each,
 * and as they were. In the first two the analyses find by themselves what is uniform and affine.
 *
 * With f the index of the first lane, w the divisor: all lanes are in one row if f % w + 31 < w,
 * and f + 31 does not wrap around; groups of eight are if f and w are multiples of eight. Each
 * thread's own arithmetic is right then, however the lanes are: nothing depends on uniformity.
 *
 * What is written again is dominated by the division and in the same loop as that: to the end of
 * the iteration, or of the kernel. Lanes may not act together there, nor wait. Registers that it
 * alone writes and that nobody reads afterwards get other names. */
#include "compiler/analysis/row_quotients.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_KERNEL = 1000, /* instructions of a kernel that is looked at */
    MOST_COPIED = 160,  /* instructions that are written again */
    MOST_SHORT = 80,    /* ... and for groups of eight, too */
    MOST_PAIRS = 2,     /* of an index and a divisor */
    MOST_STRIDE = 64,
    GROUP = 8
};

/* An index that is divided by a divisor. */
struct pair {
    struct jquotient quotient;
    int32_t division; /* an instruction that does it */
    int32_t divisor;  /* the instruction that makes the divisor, to be done before; -1: none */
    int64_t stride;   /* of the index, from lane to lane */
};

struct jrow_plan {
    int32_t at; /* the first division, where the copies begin */
    struct pair pairs[MOST_PAIRS];
    int npairs;
    struct { /* the instructions that are copied, in the order of the list */
        int32_t instr;
        int pair;     /* a division, of that pair; -1: any other */
        bool is_rest; /* of which the remainder is wanted */
    } copied[MOST_COPIED];
    int32_t ncopied;
    bool by_groups;   /* there is a copy for groups of eight lanes */
    int32_t *renamed; /* registers */
    int32_t nrenamed;
};

/* For tests: copies are made anywhere, and which runs follows from the block's number if there is
 * no division. */
static bool anywhere(const struct jkernel *k) { return (k->entry->pragmas & PTX_PRAGMA_ROWS) != 0; }

/* ---- where ---- */

/* Is it a quotient of neighbours by one value, or a remainder, whose lanes may differ? */
static bool is_of_neighbours(const struct jkernel *k, int32_t n, struct jquotient *q)
{
    if (!jit_find_quotient(k, n, q))
        return false;
    struct uniformity x = operand_uniformity(k, &q->index), d = operand_uniformity(k, &q->divisor);
    unsigned bits = ptx_type_bits((enum ptx_type)q->type);
    return is_uniform(&d) && x.seg == SEG_WARP && x.brk == 0 && x.stride > 0 &&
           x.stride <= MOST_STRIDE &&
           ptx_type_bits((enum ptx_type)k->regs[q->index.reg].type) == bits &&
           k->regs[k->instrs[n].operands[0].reg].uniformity.seg == SEG_NONE &&
           (q->divisor.kind == PTX_OPR_IMM ||
            ptx_type_bits((enum ptx_type)k->regs[q->divisor.reg].type) == bits);
}

/* What a search looks at: the blocks that are dominated by block `b` in the same loop. */
struct region {
    const struct jkernel *k;
    int32_t b, at; /* from instruction `at` of block b on */
    uint64_t *blocks;
};

static bool in_region(const struct region *r, int32_t b, int32_t n)
{
    return b != r->b || n >= r->at;
}

/* The instructions of block b, with the one that ends it. */
static int32_t block_end(const struct jkernel *k, const struct jblock *b)
{
    return b->term_instr != NULL ? (int32_t)(b->term_instr - k->instrs) + 1 : b->first + b->count;
}

static bool may_copy(const struct jkernel *k, const struct jblock *b)
{
    if ((b->term != TERM_JUMP && b->term != TERM_BRANCH && b->term != TERM_EXIT) || b->waits ||
        b->irreducible || b->suspend != 0 || jit_is_joint(k, b))
        return false;
    if (b->term_instr != NULL && block_end(k, b) != b->first + b->count + 1)
        return false;
    for (int32_t n = b->first; n < b->first + b->count; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (jit_is_warp_operation(i) || jit_is_polling_load(i) || i->op == PTX_OP_call ||
            i->op == PTX_OP_cp || i->trip || i->guard >= 0)
            return false;
    }
    return true;
}

/* Do vectors of addresses become scalars? */
static bool is_access_of_rows(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_ld && i->op != PTX_OP_st)
        return false;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_ld ? jit_ndst(i) : 0];
    if (at->kind != PTX_OPR_MEM || at->reg < 0)
        return false;
    const struct uniformity *s = &k->regs[at->reg].uniformity;
    return s->seg == SEG_NONE && s->hint_seg == SEG_WARP;
}

/* Adds the blocks; false: there is one that may not be copied. */
static bool find_blocks(struct region *r, const int32_t *idom, const int32_t *number)
{
    const struct jkernel *k = r->k;
    int32_t h = k->blocks[r->b].loop, last = h >= 0 ? jit_loop_end(k, h) : k->nblocks - 1;
    for (int32_t b = r->b; b <= last; b++) {
        if (number[b] < 0 || !graph_dominates(idom, number, r->b, b))
            continue;
        if (!may_copy(k, &k->blocks[b]))
            return false;
        bit_set(r->blocks, b);
    }
    return true;
}

/* ---- the plan ---- */

/* Writes block `b` the register between instructions `from` and `to`? Which one does, -1: none,
 * -2: several. */
static int32_t written_between(const struct jkernel *k, int32_t from, int32_t to, int32_t reg)
{
    int32_t found = -1;
    for (int32_t n = from; n < to; n++)
        if (jit_writes(&k->instrs[n], reg))
            found = found == -1 ? n : -2;
    return found;
}

/* Can the instruction be done before `at`, too? */
static bool can_precede(const struct jkernel *k, int32_t n, int32_t at)
{
    const struct ptx_instr *i = &k->instrs[n];
    struct diag ignored = {0};
    struct jroles roles;
    jit_roles(i, &roles);
    if (roles.ndef != 1 || (jit_cheap(i) & CHEAP_SCALAR) == 0 || !alu_supported(i, &ignored))
        return false;
    for (int u = 0; u < roles.nuse; u++)
        if (written_between(k, at, n, roles.use[u]) != -1)
            return false;
    return true;
}

/* The block that has an instruction. */
static int32_t block_of(const struct jkernel *k, int32_t n)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (n >= k->blocks[b].first && n < block_end(k, &k->blocks[b]))
            return b;
    return -1;
}

/* Does register `reg` have at instruction n, of block b in the region, what it has where the region
 * begins? Blocks run in their order but for loops, and b is in none of its own. */
static bool is_as_before(const struct region *r, int32_t b, int32_t n, int32_t reg)
{
    const struct jkernel *k = r->k;
    if (k->blocks[b].loop != k->blocks[r->b].loop)
        return false;
    for (int32_t e = r->b; e <= b; e++) {
        const struct jblock *block = &k->blocks[e];
        int32_t from = e == r->b ? r->at : block->first,
                to = e == b ? n : block->first + block->count;
        if ((e == b || bit_get(r->blocks, e)) && written_between(k, from, to, reg) != -1)
            return false;
    }
    return true;
}

/* Is instruction n of block b a quotient of the index as it is where the region begins? What makes
 * it is in the first block or in its own, in order, so that each reads what the others have made.
 */
static bool is_of_region(const struct region *r, int32_t b, int32_t n, const struct jquotient *q)
{
    const struct jkernel *k = r->k;
    if (!is_as_before(r, b, n, q->index.reg))
        return false;
    bool own = false; /* block */
    for (int e = 0; e < q->nparts; e++) {
        int32_t at = q->parts[e], in = block_of(k, at);
        int32_t next = e + 1 < q->nparts ? q->parts[e + 1] : n;
        if ((in != r->b && in != b) || (own && in != b) || (in == block_of(k, next) && next <= at))
            return false;
        own |= in == b;
        if (in == r->b && at < r->at && written_between(k, at, r->at, q->index.reg) != -1)
            return false;
    }
    return true;
}

/* The pair that instruction n of block b divides, which is added if it can be and is new; -1: none.
 * A divisor that is made after the region has begun is only found in its first block. */
static int pair_of(const struct region *r, struct jrow_plan *p, int32_t b, int32_t n, bool *is_rest)
{
    const struct jkernel *k = r->k;
    struct jquotient q;
    if (!is_of_neighbours(k, n, &q) || !is_of_region(r, b, n, &q))
        return -1;
    *is_rest = q.is_rest;
    int32_t made = -1;
    if (q.divisor.kind == PTX_OPR_REG && !is_as_before(r, b, n, q.divisor.reg)) {
        made = b == r->b ? written_between(k, p->at, n, q.divisor.reg) : -2;
        if (made < 0 || !can_precede(k, made, p->at))
            return -1;
    }
    for (int e = 0; e < p->npairs; e++) {
        const struct jquotient *other = &p->pairs[e].quotient;
        if (other->index.reg == q.index.reg && other->type == q.type &&
            other->divisor.kind == q.divisor.kind && other->divisor.reg == q.divisor.reg &&
            other->divisor.imm == q.divisor.imm && p->pairs[e].divisor == made)
            return e;
    }
    if (p->npairs == MOST_PAIRS)
        return -1;
    struct uniformity s = operand_uniformity(k, &q.index);
    p->pairs[p->npairs] =
        (struct pair){.quotient = q, .division = n, .divisor = made, .stride = s.stride};
    return p->npairs++;
}

/* Is a quotient by a constant of less than a warp, of rows that groups of eight lie in, in the
 * address of an access? There are no warps in one row then, and nothing is likely one value; but
 * each group accesses a vector. */
static bool pays_by_groups(const struct jkernel *k, const struct jrow_plan *p)
{
    struct diag ignored = {0};
    bool pays = false, *of_quotient = xcalloc(k->nregs + 1, sizeof *of_quotient);
    for (int32_t c = 0; c < p->ncopied && !pays; c++) {
        const struct ptx_instr *i = &k->instrs[p->copied[c].instr];
        if (i->op == PTX_OP_ld || i->op == PTX_OP_st) {
            const struct ptx_operand *at = &i->operands[i->op == PTX_OP_ld ? jit_ndst(i) : 0];
            pays = at->kind == PTX_OPR_MEM && at->reg >= 0 && of_quotient[at->reg] &&
                   k->regs[at->reg].uniformity.seg == SEG_NONE;
            continue;
        }
        struct jroles roles;
        jit_roles(i, &roles);
        const struct jquotient *q =
            p->copied[c].pair >= 0 ? &p->pairs[p->copied[c].pair].quotient : NULL;
        bool is = q != NULL && q->divisor.kind == PTX_OPR_IMM && q->divisor.imm < JIT_WARP &&
                  q->divisor.imm % GROUP == 0;
        for (int u = 0; u < roles.nuse && alu_supported(i, &ignored); u++)
            is |= of_quotient[roles.use[u]];
        for (int d = 0; d < roles.ndef; d++)
            of_quotient[roles.def[d]] = is;
    }
    free(of_quotient);
    return pays;
}

/* Lists the instructions. False: there are too many, or the copies would gain nothing. */
static bool find_copied(const struct region *r, struct jrow_plan *p)
{
    const struct jkernel *k = r->k;
    bool pays = anywhere(k);
    int32_t *in = xcalloc(k->ninstrs + 1, sizeof *in); /* 1 + the block */
    int32_t count = 0;
    EACH_BIT (b, r->blocks, k->nblocks)
        for (int32_t n = k->blocks[b].first; n < block_end(k, &k->blocks[b]); n++)
            if (in_region(r, b, n)) {
                in[n] = 1 + b;
                count++;
                pays |= is_access_of_rows(k, &k->instrs[n]);
            }
    bool fits = count <= MOST_COPIED;
    for (int32_t n = 0; fits && n < (int32_t)k->ninstrs; n++) {
        if (in[n] == 0)
            continue;
        bool rest = false;
        p->copied[p->ncopied].pair = pair_of(r, p, in[n] - 1, n, &rest);
        p->copied[p->ncopied].is_rest = rest;
        p->copied[p->ncopied++].instr = n;
    }
    p->by_groups = count <= MOST_SHORT;
    for (int e = 0; e < p->npairs; e++)
        p->by_groups &= p->pairs[e].stride == 1;
    free(in);
    return fits && (pays || (p->by_groups && pays_by_groups(k, p)));
}

/* Is register reg needed where the copied instructions lead to? */
static bool outlives(const struct region *r, int32_t reg)
{
    const struct jkernel *k = r->k;
    EACH_BIT (b, r->blocks, k->nblocks)
        for (int s = 0; s < k->blocks[b].nsucc; s++) {
            int32_t to = k->blocks[b].succ[s];
            if ((to == r->b || !bit_get(r->blocks, to)) && bit_get(k->blocks[to].live_in, reg))
                return true;
        }
    return false;
}

static void find_renamed(const struct region *r, struct jrow_plan *p)
{
    const struct jkernel *k = r->k;
    int32_t *writes = xcalloc(k->nregs + 1, sizeof *writes);
    p->renamed = xcalloc(k->nregs + 1, sizeof *p->renamed);
    for (int32_t n = 0, at = 0; n < (int32_t)k->ninstrs; n++) {
        struct jroles roles;
        jit_roles(&k->instrs[n], &roles);
        bool in = at < p->ncopied && p->copied[at].instr == n;
        at += in;
        for (int d = 0; d < roles.ndef; d++)
            writes[roles.def[d]] = in && writes[roles.def[d]] >= 0 ? 1 : -1;
    }
    for (int32_t reg = 0; reg < (int32_t)k->nregs; reg++)
        if (writes[reg] == 1 && !outlives(r, reg))
            p->renamed[p->nrenamed++] = reg;
    free(writes);
}

/* The plan for the division at instruction `at` of block b; NULL: there is none. */
static struct jrow_plan *plan_for(const struct jkernel *k, int32_t b, int32_t at,
                                  const int32_t *idom, const int32_t *number)
{
    struct region r = {.k = k, .b = b, .at = at, .blocks = xcalloc(bit_bytes(k->nblocks), 1)};
    struct jrow_plan *p = xcalloc(1, sizeof *p);
    p->at = at;
    if (find_blocks(&r, idom, number) && find_copied(&r, p) && (p->npairs > 0 || anywhere(k))) {
        find_renamed(&r, p);
    } else {
        jit_free_row_plan(p);
        p = NULL;
    }
    free(r.blocks);
    return p;
}

void jit_free_row_plan(struct jrow_plan *p)
{
    if (p != NULL)
        free(p->renamed);
    free(p);
}

bool jit_find_row_plan(struct jkernel *k)
{
    if (k->rows_searched)
        return false;
    k->rows_searched = true;
    if (k->fibers || k->is_function || k->opt->checked != 0 || k->ninstrs > MOST_KERNEL ||
        k->ngates > 0 || jit_find_yield_loop(k, false) != 0)
        return false;
    int32_t *order = xmalloc(sizeof *order * 3 * ((size_t)k->nblocks + 1)),
            *number = order + k->nblocks + 1, *idom = number + k->nblocks + 1;
    int32_t count = graph_reverse_postorder(&k->graph, 0, order, number);
    graph_dominators(&k->graph, order, number, count, idom);
    struct jquotient ignored;
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = k->blocks[b].first;
             n < k->blocks[b].first + k->blocks[b].count && k->rows == NULL; n++)
            if (anywhere(k) || is_of_neighbours(k, n, &ignored))
                k->rows = plan_for(k, b, n, idom, number);
    free(order);
    return k->rows != NULL;
}

/* ---- the instructions ---- */

/* Makes instructions in front of a division. */
struct maker {
    struct jkernel *k;
    const struct ptx_instr *at;
    unsigned type; /* of the division, and the same without sign */
    unsigned without_sign, bits;
};

static struct ptx_operand constant(uint64_t v)
{
    return (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = v};
}

/* A register that gets what an instruction makes of two operands. */
static int32_t made(const struct maker *m, enum ptx_op op, unsigned type, int mod,
                    struct ptx_operand x, struct ptx_operand y)
{
    bool compares = op == PTX_OP_setp;
    int32_t reg = flat_reg(
        m->k, "row", compares || type == PTX_PRED ? (uint8_t)PTX_PRED : jit_bits_type(m->bits));
    struct ptx_instr *i = flat_push(m->k);
    i->op = (uint16_t)op;
    i->types[i->ntypes++] = (uint8_t)type;
    if (mod >= 0)
        i->mods[i->nmods++] = (uint16_t)mod;
    i->operands = arena_alloc(&m->k->arena, 3 * sizeof *i->operands);
    i->noperands = 3;
    i->operands[0] = flat_reg_operand(reg);
    i->operands[1] = x;
    i->operands[2] = y;
    i->line = m->at->line;
    i->column = m->at->column;
    i->loc_file = m->at->loc_file;
    i->loc_line = m->at->loc_line;
    return reg;
}

static struct ptx_operand of(int32_t reg) { return flat_reg_operand(reg); }

/* The number of the lane, among as many as are in a group, in the type of the division. */
static int32_t lane_number(const struct maker *m, unsigned lanes)
{
    struct ptx_operand lane = {.kind = PTX_OPR_SREG, .reg = -1, .sreg = PTX_SR_laneid};
    int32_t reg = flat_reg(m->k, "lane", PTX_B32), wide;
    flat_push_mov(m->k, m->at, reg, lane, PTX_U32);
    if (lanes < JIT_WARP) {
        struct maker narrow = *m;
        narrow.bits = 32;
        reg = made(&narrow, PTX_OP_and, PTX_B32, -1, of(reg), constant(lanes - 1));
    }
    if (m->bits == 32)
        return reg;
    wide = flat_reg(m->k, "lane", PTX_B64);
    struct ptx_instr *i = flat_push(m->k);
    i->op = PTX_OP_cvt;
    i->types[i->ntypes++] = PTX_U64;
    i->types[i->ntypes++] = PTX_U32;
    i->operands = arena_alloc(&m->k->arena, 2 * sizeof *i->operands);
    i->noperands = 2;
    i->operands[0] = of(wide);
    i->operands[1] = of(reg);
    i->line = m->at->line;
    return wide;
}

/* A pair as registers. */
struct row {
    struct maker m;
    struct ptx_operand index, divisor;
    int64_t stride;
    int32_t first, quotient, product; /* the last: of the quotient and the divisor */
};

/* The index of the first lane in a group of so many. */
static int32_t first_index(const struct row *r, unsigned lanes)
{
    int32_t lane = lane_number(&r->m, lanes);
    if (r->stride != 1)
        lane =
            made(&r->m, PTX_OP_mul, r->m.type, PTX_M_lo, of(lane), constant((uint64_t)r->stride));
    return made(&r->m, PTX_OP_sub, r->m.type, -1, r->index, of(lane));
}

static void divide(struct row *r, int32_t first)
{
    r->quotient = made(&r->m, PTX_OP_div, r->m.without_sign, -1, of(first), r->divisor);
    r->product = made(&r->m, PTX_OP_mul, r->m.without_sign, PTX_M_lo, of(r->quotient), r->divisor);
}

static int32_t both(const struct maker *m, int32_t p, int32_t q)
{
    return p < 0 ? q : made(m, PTX_OP_and, PTX_PRED, -1, of(p), of(q));
}

/* The divisor as it is in front of the first division. */
static struct ptx_operand divisor_of(struct jkernel *k, const struct ptx_instr *old,
                                     const struct pair *p)
{
    struct ptx_operand o = p->quotient.divisor;
    if (p->divisor < 0)
        return o;
    struct ptx_instr i = old[p->divisor];
    i.operands = arena_alloc(&k->arena, sizeof *i.operands * ((size_t)i.noperands + 1));
    memcpy(i.operands, old[p->divisor].operands, sizeof *i.operands * (size_t)i.noperands);
    o.reg = i.operands[0].reg = flat_reg(k, "divisor", k->regs[o.reg].type);
    *flat_push(k) = i;
    return o;
}

/* Predicate: no lane's index wraps around, and the divisor is a length. */
static int32_t is_sound(const struct row *r)
{
    const struct maker *m = &r->m;
    bool is_signed = m->type != m->without_sign;
    uint64_t most =
        (~UINT64_C(0) >> (64 - m->bits) >> is_signed) - (uint64_t)r->stride * (JIT_WARP - 1);
    int32_t below = made(m, PTX_OP_setp, m->without_sign, PTX_M_le, of(r->first), constant(most));
    int32_t length =
        made(m, PTX_OP_setp, m->type, is_signed ? PTX_M_gt : PTX_M_ne, r->divisor, constant(0));
    return both(m, below, length);
}

/* Predicate: all lanes are in one row. Makes the quotient. */
static int32_t is_one_row(struct row *r)
{
    const struct maker *m = &r->m;
    divide(r, r->first);
    int32_t rest = made(m, PTX_OP_sub, m->without_sign, -1, of(r->first), of(r->product));
    rest = made(m, PTX_OP_add, m->without_sign, -1, of(rest),
                constant((uint64_t)r->stride * (JIT_WARP - 1)));
    return made(m, PTX_OP_setp, m->without_sign, PTX_M_lt, of(rest), r->divisor);
}

/* Predicate: groups of lanes begin at multiples of their length, and so do rows. */
static int32_t is_grouped(const struct row *r)
{
    const struct maker *m = &r->m;
    unsigned type = jit_bits_type(m->bits);
    int32_t any = made(m, PTX_OP_or, type, -1, of(r->first), r->divisor);
    any = made(m, PTX_OP_and, type, -1, of(any), constant(GROUP - 1));
    return made(m, PTX_OP_setp, m->without_sign, PTX_M_eq, of(any), constant(0));
}

/* A list that is being made: instruction n of the old one is at moved[n], and copy c of it at
 * moved[(c + 1) * stride + n]. */
struct rewriter {
    struct jkernel *k;
    const struct jrow_plan *p;
    const struct ptx_instr *old;
    int32_t *moved, stride;
    struct row rows[MOST_PAIRS];
    int32_t nold, nregs;
};

/* Where copy c of an instruction that goes to `target` goes. */
static int32_t copied_target(const struct rewriter *w, int c, int32_t target)
{
    for (int32_t n = 0; target != w->p->at && n < w->p->ncopied; n++)
        if (w->p->copied[n].instr == target)
            return (c + 1) * w->stride + target;
    return target;
}

/* A division in a copy: its result follows from the row's. */
static void push_division(const struct rewriter *w, const struct ptx_instr *i, bool is_rest,
                          const struct row *r, int32_t to)
{
    if (!is_rest) {
        flat_push_mov(w->k, i, to, of(r->quotient), jit_bits_type(r->m.bits));
        return;
    }
    int32_t rest = made(&r->m, PTX_OP_sub, r->m.type, -1, r->index, of(r->product));
    flat_push_mov(w->k, i, to, of(rest), jit_bits_type(r->m.bits));
}

static void push_copy(struct rewriter *w, int c)
{
    struct jkernel *k = w->k;
    const struct jrow_plan *p = w->p;
    int32_t *name = xmalloc(sizeof *name * ((size_t)w->nregs + 1));
    for (int32_t r = 0; r < w->nregs; r++)
        name[r] = r;
    for (int32_t r = 0; r < p->nrenamed; r++) {
        const struct jreg from = k->regs[p->renamed[r]];
        name[p->renamed[r]] = flat_reg(k, from.name, from.type);
    }
    for (int32_t e = 0; e < p->ncopied; e++) {
        int32_t n = p->copied[e].instr;
        struct ptx_instr i = w->old[n];
        w->moved[(c + 1) * w->stride + n] = (int32_t)k->ninstrs;
        if (p->copied[e].pair >= 0) {
            push_division(w, &i, p->copied[e].is_rest, &w->rows[p->copied[e].pair],
                          name[i.operands[0].reg]);
        } else {
            i.operands = flat_renamed(k, i.operands, i.noperands, name);
            i.guard = i.guard >= 0 ? name[i.guard] : -1;
            if (i.op == PTX_OP_bra)
                i.operands[0].target = copied_target(w, c, i.operands[0].target);
            *flat_push(k) = i;
        }
        bool goes_on = (i.op != PTX_OP_bra || i.guard >= 0) && i.op != PTX_OP_exit;
        bool follows = e + 1 < p->ncopied && p->copied[e + 1].instr == n + 1 && n + 1 != p->at;
        if (goes_on && !follows)
            flat_push_branch(k, &w->old[n], -1, false, n + 1);
    }
    free(name);
}

/* Predicate, without a division: a bit of the block's number. */
static int32_t bit_of_block(const struct maker *m, unsigned bit)
{
    struct ptx_operand block = {.kind = PTX_OPR_SREG, .reg = -1, .sreg = PTX_SR_ctaid};
    int32_t reg = flat_reg(m->k, "block", PTX_B32);
    flat_push_mov(m->k, m->at, reg, block, PTX_U32);
    reg = made(m, PTX_OP_and, PTX_B32, -1, of(reg), constant(1u << bit));
    return made(m, PTX_OP_setp, PTX_U32, PTX_M_ne, of(reg), constant(0));
}

/* In front of the first division: which of the copies runs. */
static void push_tests(struct rewriter *w)
{
    struct jkernel *k = w->k;
    const struct jrow_plan *p = w->p;
    int32_t one = -1, grouped = -1, sound = -1;
    for (int e = 0; e < p->npairs; e++) {
        const struct ptx_instr *i = &w->old[p->pairs[e].division];
        struct row *r = &w->rows[e];
        const struct jquotient *q = &p->pairs[e].quotient;
        unsigned bits = ptx_type_bits((enum ptx_type)q->type);
        *r = (struct row){.m = {.k = k,
                                .at = i,
                                .type = q->type,
                                .without_sign = bits == 32 ? PTX_U32 : PTX_U64,
                                .bits = bits},
                          .index = q->index,
                          .stride = p->pairs[e].stride};
        if (!ptx_type_is_signed((enum ptx_type)q->type))
            r->m.type = r->m.without_sign;
        r->divisor = divisor_of(k, w->old, &p->pairs[e]);
        r->first = first_index(r, JIT_WARP);
        sound = both(&r->m, sound, is_sound(r));
        one = both(&r->m, one, is_one_row(r));
        if (p->by_groups)
            grouped = both(&r->m, grouped, is_grouped(r));
    }
    struct maker m = {.k = k, .at = &w->old[p->at], .bits = 32};
    if (p->npairs == 0) {
        one = bit_of_block(&m, 0);
        grouped = bit_of_block(&m, 1);
    }
    flat_push_branch(k, m.at, both(&m, sound, one), false, w->stride + p->at);
    if (p->by_groups)
        flat_push_branch(k, m.at, both(&m, sound, grouped), false, 3 * w->stride - 1);
}

void jit_apply_row_plan(struct jkernel *k)
{
    const struct jrow_plan *p = k->rows;
    if (p == NULL)
        return;
    struct rewriter w = {
        .k = k, .p = p, .old = k->instrs, .nold = (int32_t)k->ninstrs, .nregs = (int32_t)k->nregs};
    w.stride = w.nold + 2; /* the last number of a copy is where it begins */
    w.moved = xcalloc(3 * (size_t)w.stride, sizeof *w.moved);
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    for (int32_t n = 0; n < w.nold; n++) {
        w.moved[n] = (int32_t)k->ninstrs;
        if (n == p->at)
            push_tests(&w);
        *flat_push(k) = w.old[n];
    }
    w.moved[w.nold] = (int32_t)k->ninstrs - 1; /* the last is an exit */
    push_copy(&w, 0);
    if (p->by_groups) {
        w.moved[3 * w.stride - 1] = (int32_t)k->ninstrs;
        for (int e = 0; e < p->npairs; e++)
            divide(&w.rows[e], first_index(&w.rows[e], GROUP));
        flat_push_branch(k, &w.old[p->at], -1, false, 2 * w.stride + p->at);
        push_copy(&w, 1);
    }
    struct ptx_instr last = w.old[w.nold - 1];
    *flat_push(k) = last;
    flat_retarget(k, w.moved);
    free(w.moved);
}
