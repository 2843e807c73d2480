/* jam_cost: whether unroll-and-jam of a loop over warps pays (warp_jamming.c), and for how many of
 * them, by an estimate of cycles: a loop is limited by its operations, of which jamming saves those
 * that are the same for all warps, or by a chain of operations that wait for each other, of which
 * jamming puts several side by side. */
#include <stdlib.h>

#include "compiler/llvm/strip_mining.h"
#include "compiler/llvm/warp_jamming.h"

enum {
    GAIN_PERCENT = 90, /* jammed, a warp must take less than so much of its time alone */
    /* More warps than there are chains for: they gain only by what all share, and their addresses
     * need more registers. */
    FEW = 4,
    MORE_PERCENT = 93, /* of what it takes with fewer */
    MAX_MADE = 6000,   /* instructions of a jammed loop */
    /* Arithmetic on vectors, in operations of a warp, below which a loop is left alone: of an inner
     * loop, of one that has none. */
    MIN_INNER = 1,
    MIN_STRAIGHT = 8,
    REORDER_WINDOW = 200, /* as in strip_mining.c */
    TOLD_OPS = 2          /* what a store of the warp's index costs */
};

static const double OPS_PER_CYCLE = 3;

static unsigned registers_of(const struct jam *j, LLVMTypeRef t)
{
    if (!strip_is_vector(t) || strip_element_bytes(LLVMGetElementType(t)) <= 0)
        return 1;
    unsigned bits = (unsigned)strip_element_bytes(LLVMGetElementType(t)) * 8 * LLVMGetVectorSize(t);
    return bits <= j->simd_bits ? 1 : bits / j->simd_bits;
}

/* Part of an access or of an operand, as a rule: shuffles of what was loaded, offsets, scalars that
 * are loaded for all lanes. */
static bool is_free(LLVMValueRef v)
{
    LLVMUseRef use = LLVMGetFirstUse(v);
    LLVMValueRef user = use != NULL && LLVMGetNextUse(use) == NULL ? LLVMGetUser(use) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
    case LLVMBitCast:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMGetElementPtr: return true;
    case LLVMLoad: return user != NULL && LLVMIsAInsertElementInst(user) != NULL;
    case LLVMAdd:
    case LLVMOr:
        return user != NULL && LLVMIsAGetElementPtrInst(user) != NULL &&
               LLVMIsAConstantInt(LLVMGetOperand(v, 1)) != NULL;
    default: return false;
    }
}

static bool is_arithmetic(LLVMValueRef v)
{
    return strip_is_vector(LLVMTypeOf(v)) &&
           (LLVMIsABinaryOperator(v) != NULL || LLVMIsACallInst(v) != NULL ||
            LLVMIsACastInst(v) != NULL || LLVMIsASelectInst(v) != NULL);
}

static unsigned latency_of(LLVMValueRef v)
{
    if (is_free(v))
        return 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFDiv: return 12;
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMMul: return 4;
    case LLVMLoad: return 5;
    case LLVMCall: return 5;
    default: return 1;
    }
}

/* What is known of the part of the path that counts: its innermost loop, or all of it. Operations
 * are of registers. */
struct measure {
    unsigned once, each;      /* operations done once, for each warp */
    unsigned arithmetic;      /* of the latter, on vectors */
    unsigned told;            /* accesses in front of which the index of the warp is stored */
    unsigned live, live_once; /* registers, at the most */
    unsigned latency;         /* cycles of a chain of a warp's operations */
    bool loop;                /* from one iteration to the next */
};

/* The innermost loop of the path, as positions in it. */
static bool inner_loop(const struct jam *j, int32_t *first, int32_t *last)
{
    *first = 0;
    *last = j->npath - 1;
    bool found = false;
    for (int32_t n = 0; n < j->npath; n++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(j->blocks[j->path[n]].bb);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            int32_t to = jam_number(j, LLVMGetSuccessor(end, s));
            if (to <= 0 || !j->blocks[to].hot || j->blocks[to].order > n ||
                n - j->blocks[to].order >= *last - *first)
                continue;
            *first = j->blocks[to].order;
            *last = n;
            found = true;
        }
    }
    return found;
}

/* Numbers of positions: an instruction's place among those that are measured. */
struct positions {
    int32_t *of, *last; /* per instruction of the loop: its place, -1; its last use's place */
    unsigned *ready;    /* cycles until it is ready */
    int32_t count;
};

static void measure_operands(const struct jam *j, const struct positions *p, int32_t k,
                             unsigned *ready)
{
    LLVMValueRef v = j->instrs[k].v;
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(v); o++) {
        const struct jam_instr *from = jam_instr_of(j, LLVMGetOperand(v, o));
        if (from == NULL || p->of[from - j->instrs] < 0)
            continue;
        size_t at = (size_t)(from - j->instrs);
        p->last[at] = p->of[k];
        *ready = p->ready[at] > *ready ? p->ready[at] : *ready;
    }
}

static void measure_live(const struct jam *j, const struct positions *p, struct measure *m)
{
    unsigned *ends = xcalloc((size_t)p->count + 1, 2 * sizeof *ends), live[2] = {0};
    for (int32_t n = 0; n < j->npath; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        for (int32_t k = at->first; k < at->first + at->count; k++) {
            LLVMValueRef v = j->instrs[k].v;
            if (p->of[k] < 0)
                continue;
            unsigned *end = ends + (size_t)p->of[k] * 2;
            live[0] -= end[0];
            live[1] -= end[1];
            bool short_lived = p->last[k] <= p->of[k] || LLVMIsALoadInst(v) != NULL ||
                               (is_free(v) && LLVMIsAPHINode(v) == NULL);
            if (!strip_is_vector(LLVMTypeOf(v)) || short_lived)
                continue;
            unsigned regs = registers_of(j, LLVMTypeOf(v)), which = j->instrs[k].varies ? 1 : 0;
            live[which] += regs;
            ends[(size_t)p->last[k] * 2 + which] += regs;
            m->live = live[1] > m->live ? live[1] : m->live;
            m->live_once = live[0] > m->live_once ? live[0] : m->live_once;
        }
    }
    free(ends);
}

/* How often the index of each warp is stored in a block: once, unless it writes. There each store
 * counts twice, as it keeps LLVM from making the access an operand. */
static unsigned told_in(const struct jam *j, const struct jam_block *at)
{
    unsigned n = 0;
    bool writes = false;
    for (int32_t k = at->first; k < at->first + at->count && j->index_store != NULL; k++) {
        n += j->instrs[k].varies && j->instrs[k].faults ? 1 : 0;
        writes |= j->instrs[k].writes;
    }
    return writes ? 2 * n : n > 0 ? 1 : 0;
}

static struct measure measure(const struct jam *j)
{
    struct measure m = {0};
    struct positions p = {.of = xcalloc((size_t)j->ninstrs, sizeof *p.of),
                          .last = xcalloc((size_t)j->ninstrs, sizeof *p.last),
                          .ready = xcalloc((size_t)j->ninstrs, sizeof *p.ready)};
    int32_t first, last;
    m.loop = inner_loop(j, &first, &last);
    for (int32_t k = 0; k < j->ninstrs; k++)
        p.of[k] = -1;
    for (int32_t n = first; n <= last; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        for (int32_t k = at->first; k < at->first + at->count; k++)
            p.of[k] = p.count++;
    }
    for (int32_t n = first; n <= last; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        m.told += told_in(j, at);
        for (int32_t k = at->first; k < at->first + at->count; k++) {
            LLVMValueRef v = j->instrs[k].v;
            bool start = m.loop && n == first && LLVMIsAPHINode(v) != NULL;
            unsigned ready = 0;
            if (start)
                p.last[k] = p.count;
            else
                measure_operands(j, &p, k, &ready);
            if (start) /* chains begin here; loads and addresses run ahead */
                p.ready[k] = strip_is_vector(LLVMTypeOf(v)) ? 1 : 0;
            else
                p.ready[k] = m.loop && ready == 0 ? 0 : ready + latency_of(v);
            m.latency = p.ready[k] > m.latency ? p.ready[k] : m.latency;
            if (is_free(v))
                continue;
            unsigned regs = registers_of(j, LLVMTypeOf(v));
            if (LLVMIsAStoreInst(v) != NULL)
                regs = registers_of(j, LLVMTypeOf(LLVMGetOperand(v, 0)));
            m.once += j->instrs[k].varies ? 0 : regs;
            m.each += j->instrs[k].varies ? regs : 0;
            m.arithmetic += j->instrs[k].varies && is_arithmetic(v) ? regs : 0;
        }
    }
    measure_live(j, &p, &m);
    free(p.of);
    free(p.last);
    free(p.ready);
    return m;
}

/* Cycles that a warp takes when so many are jammed. */
static double cost_of(const struct measure *m, unsigned n)
{
    double told = n > 1 ? TOLD_OPS * m->told : 0, ops = m->once + (m->each + told) * n,
           issue = ops / n / OPS_PER_CYCLE;
    double beside = m->loop ? 1 : 1 + REORDER_WINDOW / (ops + 1);
    double wait = m->latency / beside / n;
    return issue > wait ? issue : wait;
}

unsigned jam_choose(const struct jam *j, bool always)
{
    struct measure m = measure(j);
    unsigned registers = j->simd_bits == 512 ? 32 : 16, best = 0;
    unsigned least = (m.loop ? MIN_INNER : MIN_STRAIGHT) *
                     registers_of(j, LLVMVectorType(LLVMFloatTypeInContext(j->ctx), JIT_WARP));
    double cost = cost_of(&m, 1) * GAIN_PERCENT / 100;
    for (unsigned n = 2; n <= JAM_MOST; n++) {
        double most = n > FEW && best > 0 ? cost * MORE_PERCENT / 100 : cost;
        bool pays = m.arithmetic >= least && cost_of(&m, n) < most &&
                    m.live * n + m.live_once <= registers * 3 / 4;
        if (j->warps % n != 0 || (unsigned)j->ninstrs * n > MAX_MADE || (!pays && !always))
            continue;
        cost = cost_of(&m, n);
        best = n;
    }
    return best;
}
