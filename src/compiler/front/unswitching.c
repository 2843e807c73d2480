/* unswitching.c: what follows a test that the whole block decides alike is written twice.
 *
 * One kernel often does two things, by a parameter: a filter along rows or columns, with a bias or
 * without. Compilers unroll its loop and leave the test in each turn:
 *
 *   @%p bra down;  add %at, %a, %x;  bra on;  down: add %at, %b, %y;  on: ld.global.f32 %v, [%at];
 *
 * A register has one uniformity, from all that is written to it, so the address is as bad as the
 * worse of both, and what is known of the better one, that lanes are neighbours say, is lost. So
 * all that can be reached from the first of these tests is there twice, for either outcome, with
 * registers of its own and without further tests. With loops around them that is loop unswitching,
 * which LLVM does as well, but only when the analyses have been made.
 *
 * Outcomes are values of parameters, constants and the block's number. What is written again holds
 * no calls, and nothing that threads do together or wait for. */
#include <stdlib.h>
#include <string.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

enum {
    MOST_KERNEL = 1000, /* instructions of a kernel that is looked at */
    MOST_WRITTEN = 600, /* instructions of both outcomes together */
    MOST_DEPTH = 12,    /* of what an outcome is made of */
    MOST_ARM = 32,      /* instructions that are looked at from a test on */
    FEWEST_TESTS = 3    /* of addresses, but in loops */
};

struct unswitching {
    struct jkernel *k;
    int32_t *ndefs, *def; /* of each register: how many instructions write it, one that does */
    uint8_t *is_target;   /* of each instruction: do branches go to it? */
    uint64_t *address;    /* registers of which addresses are made */
    int32_t test;         /* the first test, which decides */
    uint64_t *region;     /* instructions that can be reached from it */
    uint64_t *reached[2]; /* ... if its condition does not hold, and if it does */
    uint64_t *kept;       /* instructions that come before it, too */
};

static bool is_test(const struct unswitching *u, int32_t n, int32_t reg)
{
    return u->k->instrs[n].op == PTX_OP_bra && u->k->instrs[n].guard == reg;
}

/* ---- what can be reached ---- */

/* Where a walk goes on at tests of a register: -1: to both sides; 0, 1: as if it were so. */
struct outcome {
    int32_t reg;
    int value;
};

static bool goes(const struct ptx_instr *i, struct outcome o, bool taken)
{
    if (i->op == PTX_OP_exit || i->op == PTX_OP_ret)
        return i->guard >= 0 && !taken;
    if (i->op != PTX_OP_bra)
        return !taken;
    if (i->guard < 0)
        return taken;
    return i->guard != o.reg || o.value < 0 || taken == (o.value != (int)i->guard_neg);
}

/* Adds what can be reached from instruction `from`, which it does not go beyond if it is `end`. */
static void reach(const struct jkernel *k, int32_t from, int32_t end, struct outcome o,
                  uint64_t *set)
{
    int32_t n = (int32_t)k->ninstrs, *stack = xmalloc(sizeof *stack * ((size_t)n + 1)), top = 0;
    if (from < n && !bit_get(set, from))
        stack[top++] = from;
    if (top > 0)
        bit_set(set, from);
    while (top > 0) {
        int32_t at = stack[--top];
        const struct ptx_instr *i = &k->instrs[at];
        for (int taken = 0; at != end && taken < 2; taken++) {
            if (!goes(i, o, taken))
                continue;
            int32_t to = taken ? i->operands[0].target : at + 1;
            if (to < n && !bit_get(set, to)) {
                bit_set(set, to);
                stack[top++] = to;
            }
        }
    }
    free(stack);
}

/* ---- which test ---- */

/* Is a value the same for all threads of a block, and whenever it is computed? */
static bool is_of_block(const struct unswitching *u, int32_t reg, int depth)
{
    if (u->ndefs[reg] != 1 || depth == 0)
        return false;
    const struct ptx_instr *i = &u->k->instrs[u->def[reg]];
    struct diag ignored = {0};
    struct jroles r;
    jit_roles(i, &r);
    if (r.ndef != 1 || i->guard >= 0)
        return false;
    if (i->op == PTX_OP_ld)
        return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM && r.nuse == 0;
    if (i->op != PTX_OP_mov && !alu_supported(i, &ignored))
        return false;
    for (int o = 1; o < i->noperands; o++) {
        const struct ptx_operand *from = &i->operands[o];
        bool known = from->kind == PTX_OPR_IMM || from->kind == PTX_OPR_FIMM ||
                     from->kind == PTX_OPR_REG ||
                     (from->kind == PTX_OPR_SREG &&
                      (from->sreg == PTX_SR_ctaid || from->sreg == PTX_SR_nctaid ||
                       from->sreg == PTX_SR_ntid));
        if (!known)
            return false;
    }
    for (int n = 0; n < r.nuse; n++)
        if (!is_of_block(u, r.use[n], depth - 1))
            return false;
    return true;
}

static bool may_copy(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    switch (i->op) {
    case PTX_OP_bra: return i->operands[0].kind == PTX_OPR_LABEL && !i->trip;
    case PTX_OP_exit: return i->noperands == 0;
    case PTX_OP_ld:
    case PTX_OP_ldu:
    case PTX_OP_st:
    case PTX_OP_atom:
    case PTX_OP_red:
        return i->nspaces > 0 && i->spaces[0] != PTX_SPACE_SHARED_CLUSTER &&
               !jit_is_polling_load(i);
    case PTX_OP_mov:
    case PTX_OP_cvta: return true;
    default: return !jit_is_warp_operation(i) && alu_supported(i, &ignored);
    }
}

/* Finds registers of which addresses are made. */
static void find_addresses(struct unswitching *u)
{
    const struct jkernel *k = u->k;
    struct jroles r;
    for (int round = 0; round < MOST_DEPTH; round++)
        for (int32_t n = (int32_t)k->ninstrs - 1; n >= 0; n--) {
            const struct ptx_instr *i = &k->instrs[n];
            for (int o = 0; o < i->noperands; o++)
                if (i->operands[o].kind == PTX_OPR_MEM && i->operands[o].reg >= 0)
                    bit_set(u->address, i->operands[o].reg);
            bool needed = false;
            jit_roles(i, &r);
            for (int d = 0; d < r.ndef; d++)
                needed |= bit_get(u->address, r.def[d]);
            for (int s = 0; needed && i->op != PTX_OP_ld && s < r.nuse; s++)
                bit_set(u->address, r.use[s]);
        }
}

/* Does what runs from instruction n on, up to where another path joins it, write an address that
 * is written elsewhere, too? */
static bool chooses_address(const struct unswitching *u, int32_t n)
{
    const struct jkernel *k = u->k;
    struct jroles r;
    for (int jumps = 0; jumps < 4 && k->instrs[n].op == PTX_OP_bra && k->instrs[n].guard < 0;
         jumps++)
        n = k->instrs[n].operands[0].target;
    for (int e = 0; e < MOST_ARM && n + e < (int32_t)k->ninstrs; e++) {
        const struct ptx_instr *i = &k->instrs[n + e];
        if (i->op == PTX_OP_bra || i->op == PTX_OP_exit || (e > 0 && u->is_target[n + e]))
            return false;
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++)
            if (u->ndefs[r.def[d]] > 1 && bit_get(u->address, r.def[d]))
                return true;
    }
    return false;
}

/* Does it pay to have what the test at hand decides twice? */
static bool pays(const struct unswitching *u, int32_t reg)
{
    const struct jkernel *k = u->k;
    bool in_loop = false;
    int32_t tests = 0;
    int32_t n = (int32_t)k->ninstrs;
    uint64_t *after = xcalloc(bit_bytes(n), 1);
    EACH_BIT (at, u->region, n)
        if (is_test(u, at, reg) &&
            (chooses_address(u, at + 1) || chooses_address(u, k->instrs[at].operands[0].target))) {
            tests++;
            bit_clear_all(after, n);
            reach(k, at + 1, -1, (struct outcome){-1, -1}, after);
            in_loop |= bit_get(after, at);
        }
    free(after);
    return tests >= FEWEST_TESTS || (in_loop && tests > 0);
}

/* Is it legal to have what follows the test at instruction n twice, and is that not too much? */
static bool fits(struct unswitching *u, int32_t n)
{
    const struct jkernel *k = u->k;
    int32_t count = (int32_t)k->ninstrs, reg = k->instrs[n].guard;
    struct outcome any = {-1, -1};
    u->test = n;
    bit_clear_all(u->region, count);
    bit_set(u->region, n); /* it may be come to again */
    reach(k, n + 1, -1, any, u->region);
    reach(k, k->instrs[n].operands[0].target, -1, any, u->region);
    if (bit_get(u->region, u->def[reg]))
        return false;
    EACH_BIT (at, u->region, count) {
        struct jroles r;
        if (!may_copy(&k->instrs[at]))
            return false;
        jit_roles(&k->instrs[at], &r);
        for (int d = 0; d < r.ndef; d++) {
            unsigned bits = ptx_type_bits((enum ptx_type)k->regs[r.def[d]].type);
            if (k->regs[r.def[d]].type != PTX_PRED && bits != 16 && bits != 32 && bits != 64)
                return false;
        }
    }
    for (int value = 0; value < 2; value++) {
        bool taken = value != (int)k->instrs[n].guard_neg;
        bit_clear_all(u->reached[value], count);
        reach(k, taken ? k->instrs[n].operands[0].target : n + 1, -1, (struct outcome){reg, value},
              u->reached[value]);
    }
    return bit_count(u->reached[0], count) + bit_count(u->reached[1], count) <= MOST_WRITTEN;
}

/* Finds the test; false: there is none. */
static bool find_test(struct unswitching *u)
{
    const struct jkernel *k = u->k;
    bool anywhere = (k->entry->pragmas & PTX_PRAGMA_ROWS) != 0; /* for tests */
    uint64_t *seen = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    bool found = false;
    for (int32_t n = 0; n < (int32_t)k->ninstrs && !found; n++) {
        int32_t reg = k->instrs[n].op == PTX_OP_bra ? k->instrs[n].guard : -1;
        if (reg < 0 || bit_get(seen, reg) || u->ndefs[reg] != 1)
            continue;
        bit_set(seen, reg);
        found = (anywhere || is_of_block(u, reg, MOST_DEPTH)) && fits(u, n) &&
                (anywhere || pays(u, reg));
    }
    free(seen);
    return found;
}

/* ---- the instructions ---- */

static struct ptx_operand *renamed(struct jkernel *k, const struct ptx_operand *from, int count,
                                   const int32_t *name)
{
    struct ptx_operand *to = arena_alloc(&k->arena, sizeof *to * ((size_t)count + 1));
    for (int o = 0; o < count; o++) {
        to[o] = from[o];
        if (to[o].reg >= 0 && (to[o].kind == PTX_OPR_REG || to[o].kind == PTX_OPR_MEM))
            to[o].reg = name[to[o].reg];
        if (to[o].nitems > 0)
            to[o].items = renamed(k, from[o].items, from[o].nitems, name);
    }
    return to;
}

/* Registers that are written for one outcome get names of their own, and begin with what was
 * written before the test. */
static void begin_outcome(struct unswitching *u, int value, const struct ptx_instr *old,
                          int32_t count, int32_t *name)
{
    struct jkernel *k = u->k;
    const struct ptx_instr *at = &old[u->test];
    int32_t nregs = (int32_t)k->nregs;
    uint64_t *before = xcalloc(bit_bytes(nregs), 1), *written = xcalloc(bit_bytes(nregs), 1);
    struct jroles r;
    for (int32_t n = 0; n < count; n++) {
        jit_roles(&old[n], &r);
        for (int d = 0; d < r.ndef; d++) {
            if (bit_get(u->kept, n))
                bit_set(before, r.def[d]);
            if (bit_get(u->reached[value], n))
                bit_set(written, r.def[d]);
        }
    }
    for (int32_t reg = 0; reg < nregs; reg++) {
        name[reg] = reg;
        if (!bit_get(written, reg))
            continue;
        const struct jreg from = k->regs[reg];
        name[reg] = flat_reg(k, from.name, from.type);
        unsigned bits = ptx_type_bits((enum ptx_type)from.type);
        if (bit_get(before, reg))
            flat_push_mov(k, at, name[reg], flat_reg_operand(reg),
                          from.type == PTX_PRED ? (uint8_t)PTX_PRED : jit_bits_type(bits));
    }
    free(before);
    free(written);
}

/* The instructions for one outcome; instruction n is called base + n. */
static void push_outcome(struct unswitching *u, int value, const struct ptx_instr *old,
                         int32_t count, int32_t base, int32_t *moved)
{
    struct jkernel *k = u->k;
    int32_t reg = old[u->test].guard, *name = xmalloc(sizeof *name * (k->nregs + 1));
    bool taken = value != (int)old[u->test].guard_neg;
    begin_outcome(u, value, old, count, name);
    flat_push_branch(k, &old[u->test], -1, false,
                     base + (taken ? old[u->test].operands[0].target : u->test + 1));
    for (int32_t n = 0; n < count; n++) {
        moved[base + n] = (int32_t)k->ninstrs;
        struct ptx_instr i = old[n];
        bool decided = i.op == PTX_OP_bra && i.guard == reg;
        if (!bit_get(u->reached[value], n) || (decided && value == (int)i.guard_neg))
            continue;
        i.operands = renamed(k, i.operands, i.noperands, name);
        if (decided)
            i.guard = -1, i.guard_neg = false;
        else if (i.guard >= 0)
            i.guard = name[i.guard];
        if (i.op == PTX_OP_bra)
            i.operands[0].target += base;
        *flat_push(k) = i;
    }
    moved[base + count] = (int32_t)k->ninstrs;
    free(name);
}

static void rewrite(struct unswitching *u)
{
    struct jkernel *k = u->k;
    const struct ptx_instr *old = k->instrs;
    int32_t count = (int32_t)k->ninstrs, stride = count + 1;
    /* by number: the old instruction, then those of the outcomes; last where the outcomes begin */
    int32_t *moved = xcalloc(3 * (size_t)stride + 2, sizeof *moved);
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    for (int32_t n = 0; n < count; n++) {
        moved[n] = (int32_t)k->ninstrs;
        if (!bit_get(u->kept, n))
            continue;
        if (n == u->test) {
            flat_push_branch(k, &old[n], old[n].guard, false, 3 * stride + 1);
            flat_push_branch(k, &old[n], -1, false, 3 * stride);
        } else {
            *flat_push(k) = old[n];
        }
    }
    for (int value = 0; value < 2; value++) {
        moved[3 * stride + value] = (int32_t)k->ninstrs;
        push_outcome(u, value, old, count, (value + 1) * stride, moved);
    }
    struct ptx_instr last = old[count - 1]; /* an exit */
    *flat_push(k) = last;
    moved[count] = (int32_t)k->ninstrs - 1;
    flat_retarget(k, moved);
    free(moved);
}

static void count_defs(struct unswitching *u)
{
    const struct jkernel *k = u->k;
    struct jroles r;
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++) {
            u->ndefs[r.def[d]]++;
            u->def[r.def[d]] = n;
        }
        if (i->op == PTX_OP_bra)
            u->is_target[i->operands[0].target] = 1;
    }
}

static bool has_tables(const struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs; n++)
        if (k->instrs[n].op == PTX_OP_brx || k->instrs[n].op == PTX_OP_call)
            return true;
    return false;
}

/* Test -1: the first that pays. */
static bool unswitch(struct jkernel *k, int32_t test)
{
    if (k->is_function || k->fibers || k->opt->checked != 0 || k->ninstrs > MOST_KERNEL ||
        has_tables(k))
        return false;
    bool done = false;
    int32_t count = (int32_t)k->ninstrs;
    struct unswitching u = {
        .k = k,
        .ndefs = xcalloc(k->nregs + 1, sizeof *u.ndefs),
        .def = xcalloc(k->nregs + 1, sizeof *u.def),
        .is_target = xcalloc(k->ninstrs + 1, 1),
        .address = xcalloc(bit_bytes((int32_t)k->nregs + 1), 1),
        .region = xcalloc(bit_bytes(count + 1), 1),
        .reached = {xcalloc(bit_bytes(count + 1), 1), xcalloc(bit_bytes(count + 1), 1)},
        .kept = xcalloc(bit_bytes(count + 1), 1)};
    count_defs(&u);
    find_addresses(&u);
    if (test >= 0 ? fits(&u, test) : find_test(&u)) {
        reach(k, 0, u.test, (struct outcome){-1, -1}, u.kept);
        done = bit_get(u.kept, u.test);
        if (done)
            rewrite(&u);
    }
    free(u.ndefs);
    free(u.def);
    free(u.is_target);
    free(u.address);
    free(u.region);
    free(u.reached[0]);
    free(u.reached[1]);
    free(u.kept);
    return done;
}

void flat_unswitch(struct jkernel *k) { unswitch(k, -1); }

bool flat_unswitch_at(struct jkernel *k, int32_t n) { return unswitch(k, n); }
