/* strip_mining: executes long stretches of arithmetic for a few lanes at a time.
 *
 * A value of a warp is 32 lanes: on a CPU with sixteen registers of 256 bits, four registers. Where
 * more than a handful of such values are live at once (the state of a hash, an approximation of a
 * function), nearly all of them are spilled, and each operation loads and stores. But most
 * operations of kernels are lanewise. So a stretch of such operations within one basic block
 * becomes a loop over strips of lanes, as many as one register holds: live-in values are stored
 * into memory before the loop, and live-out values are loaded after it. The same values then fit
 * into registers, and there is less code, which LLVM compiles in a fraction of the time.
 *
 * Each lane computes the same as before, in the same order. Nothing that writes memory is part of a
 * stretch, and loads stay between the same writes. Rows of the program's memory are loaded before
 * the loop, whole. */
#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/strip_mining.h"

enum {
    MIN_WORK = 150,    /* CPU instructions; shorter stretches are left alone */
    GAIN_PERCENT = 85, /* a loop must take less than so much of the time without */
    /* of CPUs today, about: */
    REORDER_WINDOW = 200, /* instructions in flight: the size of the reorder buffer */
    DECODED_CACHE = 4000  /* instructions in the cache of decoded ones */
};

/* Vector instructions that a CPU does in a cycle, beside loads and stores. */
static const double VECTOR_OPS_PER_CYCLE = 2.5;

/* What an instruction more costs whose operand or result is spilled: stores and loads go beside. */
static const double SPILL_COST = 0.25;

/* ---- values ---- */

int strip_element_bytes(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: {
        unsigned bits = LLVMGetIntTypeWidth(t);
        return bits == 1                                             ? 0
               : bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (int)bits / 8
                                                                     : -1;
    }
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 2;
    case LLVMFloatTypeKind: return 4;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return 8;
    default: return -1;
    }
}

/* A value of a warp: 32 lanes. */
static bool is_row(LLVMTypeRef t)
{
    return strip_is_vector(t) && LLVMGetVectorSize(t) == JIT_WARP &&
           strip_element_bytes(LLVMGetElementType(t)) >= 0;
}

/* Vector registers that such a value takes. */
static unsigned registers_of(const struct strips *s, LLVMTypeRef t)
{
    unsigned bits = (unsigned)strip_element_bytes(LLVMGetElementType(t)) * 8 * JIT_WARP;
    return bits <= s->simd_bits ? 1 : bits / s->simd_bits;
}

LLVMValueRef strip_splat(LLVMValueRef v)
{
    LLVMValueRef insert = LLVMGetOperand(v, 0);
    if (LLVMIsAInsertElementInst(insert) == NULL ||
        LLVMIsAConstantInt(LLVMGetOperand(insert, 2)) == NULL ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(insert, 2)) != 0)
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(v); k++)
        if (LLVMGetMaskValue(v, k) != 0)
            return NULL;
    return LLVMGetOperand(insert, 1);
}

const char *strip_callee(LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t length;
    return LLVMIsAFunction(f) != NULL ? LLVMGetValueName2(f, &length) : "";
}

/* Lanewise intrinsics. Returns what follows the name of one (".v32f32"); else NULL. */
static const char *known_call(LLVMValueRef call)
{
    static const char *const known[] = {
        "abs",   "bitreverse", "bswap",    "ceil",    "copysign",   "ctlz",          "ctpop",
        "cttz",  "fabs",       "floor",    "fma",     "fptosi.sat", "fptoui.sat",    "fshl",
        "fshr",  "maximum",    "maxnum",   "minimum", "minnum",     "nearbyint",     "rint",
        "round", "roundeven",  "sadd.sat", "smax",    "smin",       "sqrt",          "ssub.sat",
        "trunc", "uadd.sat",   "umax",     "umin",    "usub.sat",   "masked.gather", "masked.load"};
    const char *name = strip_callee(call);
    if (strncmp(name, "llvm.", 5) != 0)
        return NULL;
    for (size_t k = 0; k < WEIR_COUNT(known); k++) {
        size_t length = 5 + strlen(known[k]);
        if (strncmp(name + 5, known[k], length - 5) == 0 && name[length] == '.' &&
            name[length + 1] != 's') /* round.sat */
            return name + length;
    }
    return NULL;
}

static bool reads_memory(LLVMValueRef v)
{
    return LLVMIsALoadInst(v) != NULL ||
           (LLVMIsACallInst(v) != NULL && !strncmp(strip_callee(v), "llvm.masked.", 12));
}

/* A vector of neighbours' values from the program's memory. Strips would come to each of its cache
 * lines several times, after all other rows: where rows are a power of two of bytes long, the line
 * is gone by then. */
static bool is_program_row(const struct strips *s, LLVMValueRef v)
{
    bool row = LLVMIsALoadInst(v) != NULL ||
               (LLVMIsACallInst(v) != NULL && !strncmp(strip_callee(v), "llvm.masked.load", 16));
    return row && LLVMGetMetadata(v, s->program_memory) != NULL;
}

/* Can a constant be cut into strips? Not where lanes have addresses of their own: those are known
 * to the loader only. */
static bool known_constant(LLVMValueRef v)
{
    if (LLVMIsAConstantDataVector(v) != NULL || LLVMIsAConstantAggregateZero(v) != NULL ||
        LLVMIsUndef(v))
        return true;
    LLVMValueRef first = LLVMGetAggregateElement(v, 0);
    for (unsigned k = 0; first != NULL && k < JIT_WARP; k++) {
        LLVMValueRef lane = LLVMGetAggregateElement(v, k);
        bool plain = LLVMIsAConstantInt(lane) != NULL || LLVMIsAConstantFP(lane) != NULL ||
                     LLVMIsUndef(lane) || LLVMIsAConstantPointerNull(lane) != NULL;
        if (lane != first && !plain)
            return false;
    }
    return first != NULL;
}

/* Is an instruction lanewise, so that it can be executed strip by strip? */
static bool is_lanewise(LLVMValueRef v)
{
    if (!is_row(LLVMTypeOf(v)))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    switch (op) {
    case LLVMShuffleVector: return strip_splat(v) != NULL;
    case LLVMLoad:
        return !LLVMGetVolatile(v) && LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic &&
               strip_element_bytes(LLVMGetElementType(LLVMTypeOf(v))) > 0;
    case LLVMCall:
        if (known_call(v) == NULL || strncmp(known_call(v), ".v32", 4) != 0)
            return false;
        break;
    case LLVMSelect:
    case LLVMGetElementPtr:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMFNeg:
    case LLVMFreeze: break;
    default:
        if (LLVMIsABinaryOperator(v) == NULL && LLVMIsACastInst(v) == NULL)
            return false;
    }
    unsigned n = op == LLVMCall ? LLVMGetNumArgOperands(v) : (unsigned)LLVMGetNumOperands(v);
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef o = LLVMGetOperand(v, k);
        LLVMTypeRef t = LLVMTypeOf(o);
        if (strip_is_vector(t) ? !is_row(t) : LLVMIsACastInst(v) != NULL)
            return false;
        if (strip_is_vector(t) && LLVMIsAConstant(o) != NULL && !known_constant(o))
            return false;
    }
    return true;
}

bool strip_is_pure(LLVMValueRef call)
{
    return !strncmp(strip_callee(call), "llvm.prefetch", 13) ||
           !strncmp(strip_callee(call), "llvm.vector.reduce", 18) ||
           (known_call(call) != NULL && !reads_memory(call));
}

/* May an instruction that is not lanewise read memory? *writes: may it write memory, or have other
 * effects? */
static bool touches_memory(LLVMValueRef v, bool *writes)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad:
        *writes = LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic;
        return true;
    case LLVMCall: return *writes = !strip_is_pure(v);
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMInvoke:
    case LLVMVAArg: *writes = true; return true;
    default: *writes = false; return false;
    }
}

/* ---- the block ---- */

static size_t slot_of(const struct body *y, LLVMValueRef v)
{
    size_t at = (size_t)((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20 & (y->slots - 1);
    while (y->keys[at] != NULL && y->keys[at] != v)
        at = (at + 1) & (y->slots - 1);
    return at;
}

int32_t strip_number(const struct body *y, LLVMValueRef v)
{
    size_t at = slot_of(y, v);
    return y->keys[at] != NULL && y->numbers[at] >= y->from ? y->numbers[at] : -1;
}

static void body_open(struct body *y, LLVMBasicBlockRef bb)
{
    *y = (struct body){.bb = bb};
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL; i = LLVMGetNextInstruction(i))
        y->n++;
    size_t n = (size_t)y->n;
    for (y->slots = 16; y->slots < n * 2; y->slots *= 2)
        ;
    y->instr = xcalloc(n, sizeof *y->instr);
    y->role = xcalloc(n, sizeof *y->role);
    y->lanewise = xcalloc(n, sizeof *y->lanewise);
    y->strip = xcalloc(n, sizeof(LLVMValueRef));
    y->keys = xcalloc(y->slots, sizeof *y->keys);
    y->numbers = xcalloc(y->slots, sizeof *y->numbers);
    int32_t k = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL;
         i = LLVMGetNextInstruction(i), k++) {
        size_t at = slot_of(y, i);
        y->keys[at] = i;
        y->numbers[at] = k;
        y->instr[k] = i;
        y->lanewise[k] = is_lanewise(i);
        if (LLVMIsAPHINode(i) != NULL)
            y->from = k + 1;
    }
}

static void body_close(struct body *y)
{
    free(y->instr);
    free(y->role);
    free(y->lanewise);
    free(y->strip);
    free(y->keys);
    free(y->numbers);
}

/* Does an instruction use one of the stretch that has this role? */
static bool uses(const struct body *y, LLVMValueRef v, enum role p)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v); k++) {
        int32_t at = strip_number(y, LLVMGetOperand(v, k));
        if (at >= 0 && at < y->to && y->role[at] == p)
            return true;
    }
    return false;
}

/* Extends the stretch from y->from as far as possible: lanewise instructions are executed together,
 * after what they may need and before what needs them. Ends at the first instruction that does not
 * allow that order. */
static void extend_stretch(const struct strips *s, struct body *y)
{
    bool reads = false, wrote = false, touched = false;
    for (y->to = y->from; y->to < y->n - 1; y->to++) {
        LLVMValueRef v = y->instr[y->to];
        bool late = uses(y, v, ROLE_AFTER), writes = false;
        if (y->lanewise[y->to]) {
            if (late || (reads_memory(v) && wrote))
                return;
            if (is_program_row(s, v) && !uses(y, v, ROLE_STRIP)) {
                y->role[y->to] = ROLE_BEFORE;
                continue;
            }
            reads |= reads_memory(v);
            y->role[y->to] = ROLE_STRIP;
            continue;
        }
        bool touches = touches_memory(v, &writes);
        late |= uses(y, v, ROLE_STRIP) || (writes && reads) || (touches && touched);
        y->role[y->to] = late ? ROLE_AFTER : ROLE_BEFORE;
        touched |= late && touches;
        wrote |= late && writes;
    }
}

/* Does it cost no instruction, wherever it is needed? */
static bool is_free(LLVMValueRef v)
{
    return LLVMGetInstructionOpcode(v) == LLVMShuffleVector ||
           LLVMGetInstructionOpcode(v) == LLVMBitCast;
}

bool strip_is_live_out(const struct body *y, int32_t k)
{
    for (LLVMUseRef u = LLVMGetFirstUse(y->instr[k]); u != NULL; u = LLVMGetNextUse(u)) {
        int32_t at = strip_number(y, LLVMGetUser(u));
        if (at < 0 || at >= y->to || y->role[at] != ROLE_STRIP)
            return true;
    }
    return false;
}

/* Is operand `o` a live-in value, which the loop loads from memory? */
static bool is_live_in(const struct body *y, LLVMValueRef o)
{
    if (!strip_is_vector(LLVMTypeOf(o)) || LLVMIsAConstant(o) != NULL)
        return false;
    int32_t at = strip_number(y, o);
    return at < 0 || at >= y->to || y->role[at] != ROLE_STRIP;
}

/* What is known of a stretch. Registers are vector registers, at full width. */
struct measure {
    unsigned work;    /* instructions of the CPU: registers written */
    unsigned wide;    /* ... with elements of 64 bits */
    unsigned narrow;  /* ... with elements of 8 or 16 bits */
    unsigned moves;   /* registers of live-in and live-out values */
    unsigned live;    /* at the most */
    unsigned latency; /* cycles from the first to the last result of one lane */
};

/* Cycles from operands to result. */
static unsigned latency_of(LLVMValueRef v)
{
    if (is_free(v))
        return 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFDiv:
    case LLVMFRem: return 12;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: return 40;
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMMul:
    case LLVMFPToSI:
    case LLVMFPToUI:
    case LLVMSIToFP:
    case LLVMUIToFP:
    case LLVMFPExt:
    case LLVMFPTrunc: return 4;
    case LLVMLoad: return 7;
    case LLVMCall:
        return reads_memory(v)                                                             ? 20
               : LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v))) == LLVMIntegerTypeKind ? 2
                                                                                           : 5;
    default: return 1;
    }
}

/* Measures the operands of instruction k: live ranges end here at the earliest, live-in values are
 * counted. Returns the cycle in which the last operand is ready. */
static unsigned measure_operands(const struct strips *s, const struct body *y, int32_t k,
                                 const unsigned *ready, int32_t *last, struct measure *m)
{
    LLVMValueRef v = y->instr[k];
    unsigned latest = 0;
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(v); o++) {
        LLVMValueRef operand = LLVMGetOperand(v, o);
        int32_t at = strip_number(y, operand);
        if (at >= 0 && at < k && y->role[at] == ROLE_STRIP) {
            last[at - y->from] = k;
            latest = ready[at - y->from] > latest ? ready[at - y->from] : latest;
        } else if (!is_free(v) && is_live_in(y, operand)) {
            /* one that several need counts more than once: it may have to be loaded more than once
             */
            m->moves += registers_of(s, LLVMTypeOf(operand));
        }
    }
    return latest;
}

static struct measure measure_stretch(const struct strips *s, const struct body *y)
{
    struct measure m = {0};
    size_t n = (size_t)(y->to - y->from) + 1;
    int32_t *last = xcalloc(n, sizeof *last);
    unsigned *ends = xcalloc(n, sizeof *ends), *ready = xcalloc(n, sizeof *ready), live = 0;
    for (int32_t k = y->from; k < y->to; k++) {
        LLVMValueRef v = y->instr[k];
        if (y->role[k] != ROLE_STRIP)
            continue;
        unsigned regs = registers_of(s, LLVMTypeOf(v));
        unsigned at = measure_operands(s, y, k, ready, last, &m) + latency_of(v);
        ready[k - y->from] = at;
        m.latency = at > m.latency ? at : m.latency;
        m.moves += strip_is_live_out(y, k) ? regs : 0;
        if (is_free(v))
            continue;
        m.work += regs;
        int bytes = strip_element_bytes(LLVMGetElementType(LLVMTypeOf(v)));
        m.wide += bytes == 8 ? regs : 0;
        m.narrow += bytes == 1 || bytes == 2 ? regs : 0;
    }
    for (int32_t k = y->from; k < y->to; k++) {
        live -= ends[k - y->from];
        if (y->role[k] != ROLE_STRIP || is_free(y->instr[k]) || last[k - y->from] == 0)
            continue;
        live += registers_of(s, LLVMTypeOf(y->instr[k]));
        ends[last[k - y->from] - y->from] += registers_of(s, LLVMTypeOf(y->instr[k]));
        m.live = live > m.live ? live : m.live;
    }
    free(last);
    free(ends);
    free(ready);
    return m;
}

/* Estimates the cycles that a stretch takes for a warp in strips of so many lanes. The limit is
 * either the number of instructions, with those for spilled values, or their latency, since a CPU
 * has only so many in flight. */
static double stretch_cost(const struct strips *s, const struct measure *m, unsigned lanes)
{
    double strips = JIT_WARP / (double)lanes, live = m->live / strips;
    double spilled = live > s->registers ? 1 - s->registers / live : 0;
    double instructions = m->work * (1 + SPILL_COST * spilled) / strips;
    double issue = instructions * strips / VECTOR_OPS_PER_CYCLE;
    if (instructions > DECODED_CACHE)
        issue *= 2;
    double side_by_side = 1 + REORDER_WINDOW / instructions;
    double wait = m->latency * (side_by_side < strips ? strips / side_by_side : 1);
    double moves = lanes < JIT_WARP ? m->moves * 2.0 / VECTOR_OPS_PER_CYCLE : 0;
    return (issue > wait ? issue : wait) + moves;
}

/* Does a loop pay, and with how many lanes at a time? */
static bool pays(const struct strips *s, struct body *y)
{
    struct measure m = measure_stretch(s, y);
    y->lanes = s->simd_bits / 32;
    if (s->always)
        return m.work > 0;
    if (m.work < MIN_WORK || m.live <= s->registers)
        return false;
    double best = stretch_cost(s, &m, JIT_WARP) * GAIN_PERCENT / 100;
    unsigned element = m.wide * 2 > m.work ? 64 : m.narrow * 2 > m.work ? 16 : 32;
    unsigned least = s->simd_bits / element;
    y->lanes = JIT_WARP;
    for (unsigned lanes = JIT_WARP / 2; lanes >= least; lanes /= 2) {
        double cost = stretch_cost(s, &m, lanes);
        if (cost < best) {
            best = cost;
            y->lanes = lanes;
        }
    }
    return y->lanes < JIT_WARP;
}

void strip_mine(LLVMModuleRef m, unsigned simd_bits, bool always)
{
    struct strips s = {.m = m,
                       .ctx = LLVMGetModuleContext(m),
                       .simd_bits = simd_bits,
                       .always = always,
                       .registers = simd_bits == 512 ? 32 : 16};
    s.program_memory = LLVMGetMDKindIDInContext(s.ctx, "alias.scope", 11);
    s.b = LLVMCreateBuilderInContext(s.ctx);
    for (s.fn = LLVMGetFirstFunction(m); s.fn != NULL; s.fn = LLVMGetNextFunction(s.fn)) {
        if (LLVMCountBasicBlocks(s.fn) == 0)
            continue;
        s.area = NULL;
        s.area_bytes = 0;
        LLVMBasicBlockRef next, entry = LLVMGetEntryBasicBlock(s.fn);
        for (LLVMBasicBlockRef bb = LLVMGetNextBasicBlock(entry); bb != NULL; bb = next) {
            next = LLVMGetNextBasicBlock(bb);
            struct body y;
            body_open(&y, bb);
            for (; y.from < y.n - 1; y.from = y.to) {
                extend_stretch(&s, &y);
                if (pays(&s, &y))
                    strip_loop_make(&s, &y);
            }
            body_close(&y);
        }
        if (s.area != NULL)
            LLVMSetOperand(s.area, 0,
                           LLVMConstInt(LLVMInt64TypeInContext(s.ctx), s.area_bytes, false));
    }
    LLVMDisposeBuilder(s.b);
}
