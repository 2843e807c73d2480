/* emit_move: a block that runs quick code goes on in better code when there is some.
 *
 * The grid room sets a word (jit_block.replaced) when a kernel's code has been replaced. Quick code
 * looks at it and returns JIT_OSR_EXIT; called again, the block goes on in the code that is there
 * now. With a dispatcher that is as simple as a suspension: all of the block is in its frames. It
 * may happen whenever warps have run.
 *
 * In kernels in lockstep the next region and what is kept once for the block are values of the
 * function, so the code that leaves writes them down (jit_block.state; jit_block.scratch, and the
 * first warp's frame when that is full), and better code begins by reading them. An entry costs it
 * something: what was computed before is not known behind it, and a loop over barriers with two
 * entries is no loop to LLVM. So entries are few: one in each loop over barriers, where it begins.
 *
 * Both are emitted as conditions that are decided when the tier is (MOVE_LEAVES, MOVE_ENTERS):
 * small kernels, which are optimised at once, and optimised code in the first place shall not pay
 * for what they never do. */
#include <stddef.h>
#include <string.h>

#include "compiler/codegen/codegen.h"

enum {
    MOST_RESUME = 256, /* resume points of a kernel that it is worked out for */
    VOTES = 4,         /* words of scratch[] that are taken (emit.c) */
    WORDS = WEIR_COUNT(((struct jit_block *)NULL)->scratch) - VOTES
};

#define FIELD(name) offsetof(struct jit_block, name)

/* ---- where ---- */

/* The resume points that region r may lead to. */
static void find_next(struct codegen *cg, int32_t r, uint64_t *next)
{
    struct jkernel *k = cg->k;
    uint64_t *seen = arena_alloc(&k->arena, (size_t)bit_words(k->nblocks) * 8);
    int32_t n = 0;
    for (int32_t c = 0; c < k->nblocks; c++)
        if (r == 0 ? c == 0 : bit_get(cg->resume_cand[r], c)) {
            bit_set(seen, c);
            cg->work[n++] = c;
        }
    while (n > 0) {
        const struct jblock *blk = &k->blocks[cg->work[--n]];
        if (blk->term == TERM_SUSPEND && blk->suspend != SUSPEND_YIELD)
            bit_set(next, blk->resume);
        for (int s = 0; s < blk->nsucc && blk->suspend != SUSPEND_BARRIER; s++)
            if (!bit_get(seen, blk->succ[s])) {
                bit_set(seen, blk->succ[s]);
                cg->work[n++] = blk->succ[s];
            }
    }
}

/* Whether a way leads from r back to r, by none of the points chosen. */
static bool comes_back(const struct codegen *cg, uint64_t *const *next, int32_t r)
{
    uint64_t seen[MOST_RESUME / 64] = {0};
    int32_t stack[MOST_RESUME], n = 0, count = cg->k->nresume;
    stack[n++] = r;
    while (n > 0) {
        int32_t at = stack[--n];
        for (int32_t to = bit_next(next[at], count, 0); to >= 0;
             to = bit_next(next[at], count, to + 1)) {
            if (to == r)
                return true;
            if (bit_get(cg->moves, to) || bit_get(seen, to))
                continue;
            bit_set(seen, to);
            stack[n++] = to;
        }
    }
    return false;
}

/* Chooses so many points that no way goes round without one of them, in the order of the program:
 * loops first are met where they begin. */
static void choose(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint64_t *next[MOST_RESUME];
    for (int32_t r = 0; r < k->nresume; r++) {
        next[r] = arena_alloc(&k->arena, (size_t)bit_words(k->nresume) * 8);
        find_next(cg, r, next[r]);
    }
    for (int32_t r = 1; r < k->nresume; r++)
        if (comes_back(cg, next, r))
            bit_set(cg->moves, r);
}

/* Is a register among those that the block keeps once and needs at resume point r? */
static bool carried(const struct codegen *cg, int32_t r, int32_t reg)
{
    return bit_get(cg->resume_live[r], reg) && frame_once(cg, reg);
}

/* Places for what is kept once, 8 bytes each: what is free of scratch[], then some more in every
 * frame, of which the first one's are used. */
static void make_room(struct codegen *cg)
{
    uint32_t n = 0;
    cg->kept_offset = cg->frame_bytes;
    for (int32_t r = bit_next(cg->moves, cg->k->nresume, 0); r >= 0;
         r = bit_next(cg->moves, cg->k->nresume, r + 1))
        for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
            if (carried(cg, r, reg) && cg->regs[reg].kept == 0)
                cg->regs[reg].kept = ++n;
    if (n > WORDS)
        cg->frame_bytes = (cg->kept_offset + (n - WORDS) * 8 + 63) & ~63u;
}

void move_plan(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (k->nresume < 2)
        return;
    if (!k->lockstep) {
        cg->can_move = true;
        return;
    }
    if (k->nresume > MOST_RESUME)
        return;
    cg->moves = arena_alloc(&k->arena, (size_t)bit_words(k->nresume) * 8);
    choose(cg);
    make_room(cg);
    cg->can_move = true;
}

/* ---- code ---- */

/* i1, decided later. */
static LLVMValueRef undecided(struct codegen *cg, const char *name)
{
    return emit_helper(cg, name, cg->i1, NULL, 0);
}

/* Branches to the block given back if this is quick code and has been replaced, else goes on
 * behind. */
static LLVMBasicBlockRef osr_leave(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef look = new_bb(cg, "look"), leave = new_bb(cg, "move"),
                      on = new_bb(cg, "stay");
    LLVMBuildCondBr(b, undecided(cg, MOVE_LEAVES), look, on);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at =
        LLVMBuildLoad2(b, cg->ptr, byte_offset(cg, cg->blk, c64(cg, FIELD(replaced))), "");
    LLVMValueRef replaced = LLVMBuildLoad2(b, cg->i32, at, "");
    LLVMSetVolatile(replaced, true);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, replaced, c32(cg, 0), ""), leave, on);
    LLVMPositionBuilderAtEnd(b, on);
    return leave;
}

void move_dispatch(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->k->has_poll) { /* how many have spun in vain would be forgotten */
        LLVMBasicBlockRef none = new_bb(cg, "unspun");
        LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->spun_slot, "");
        spun = LLVMBuildICmp(b, LLVMIntEQ, spun, c32(cg, 0), "");
        LLVMBuildCondBr(b, spun, none, cg->dispatch);
        LLVMPositionBuilderAtEnd(b, none);
    }
    LLVMBasicBlockRef leave = osr_leave(cg);
    LLVMBuildBr(b, cg->dispatch);
    LLVMPositionBuilderAtEnd(b, leave);
    LLVMBuildRet(b, c32(cg, JIT_OSR_EXIT));
}

static LLVMValueRef osr_state(struct codegen *cg)
{
    return byte_offset(cg, cg->blk, c64(cg, FIELD(state)));
}

/* Where the block keeps a register while it moves. */
static LLVMValueRef osr_kept(struct codegen *cg, int32_t reg)
{
    uint32_t n = cg->regs[reg].kept - 1;
    if (n < WORDS)
        return byte_offset(cg, cg->blk, c64(cg, FIELD(scratch) + (VOTES + n) * sizeof(uint64_t)));
    return byte_offset(cg, cg->frame, c64(cg, cg->kept_offset + (n - WORDS) * sizeof(uint64_t)));
}

static LLVMTypeRef kept_type(struct codegen *cg, int32_t reg, LLVMTypeRef *stored)
{
    LLVMTypeRef t = scalar_type(cg, cg->k->regs[reg].type);
    *stored = cg->k->regs[reg].type == PTX_PRED ? cg->i8 : t;
    return t;
}

void move_passed(struct codegen *cg, int32_t r)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->moves == NULL || !bit_get(cg->moves, r))
        return;
    LLVMBasicBlockRef leave = osr_leave(cg), on = LLVMGetInsertBlock(b);
    LLVMPositionBuilderAtEnd(b, leave);
    for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
        if (carried(cg, r, reg)) {
            LLVMTypeRef stored, t = kept_type(cg, reg, &stored);
            LLVMValueRef v = LLVMBuildLoad2(b, t, cg->regs[reg].in, "");
            if (stored != t)
                v = LLVMBuildZExt(b, v, stored, "");
            LLVMBuildStore(b, v, osr_kept(cg, reg));
        }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    LLVMBuildStore(b, LLVMBuildOr(b, phase, c32(cg, (uint64_t)r * 2), ""), osr_state(cg));
    LLVMBuildRet(b, c32(cg, JIT_OSR_EXIT));
    LLVMPositionBuilderAtEnd(b, on);
}

void move_begin(struct codegen *cg, LLVMBasicBlockRef at, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMPositionBuilderAtEnd(b, at);
    if (cg->moves == NULL || bit_next(cg->moves, cg->k->nresume, 0) < 0) {
        LLVMBuildBr(b, regions[0]);
        return;
    }
    LLVMBasicBlockRef moved = new_bb(cg, "moved");
    LLVMBuildCondBr(b, undecided(cg, MOVE_ENTERS), moved, regions[0]);
    LLVMPositionBuilderAtEnd(b, moved);
    LLVMValueRef state = LLVMBuildLoad2(b, cg->i32, osr_state(cg), "");
    LLVMBuildStore(b, LLVMBuildAnd(b, state, c32(cg, 1), ""), cg->phase_slot);
    LLVMValueRef sw = LLVMBuildSwitch(b, LLVMBuildLShr(b, state, c32(cg, 1), ""), regions[0], 4);
    for (int32_t r = bit_next(cg->moves, cg->k->nresume, 0); r >= 0;
         r = bit_next(cg->moves, cg->k->nresume, r + 1)) {
        LLVMBasicBlockRef in = new_bb(cg, "enter");
        LLVMAddCase(sw, c32(cg, (uint64_t)r), in);
        LLVMPositionBuilderAtEnd(b, in);
        for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
            if (carried(cg, r, reg) && cg->regs[reg].in != NULL) {
                LLVMTypeRef stored, t = kept_type(cg, reg, &stored);
                LLVMValueRef v = LLVMBuildLoad2(b, stored, osr_kept(cg, reg), "");
                if (stored != t)
                    v = LLVMBuildTrunc(b, v, t, "");
                LLVMBuildStore(b, v, cg->regs[reg].in);
            }
        LLVMBuildBr(b, regions[r]);
    }
}

void move_decide(LLVMModuleRef m, const char *name, bool yes)
{
    LLVMValueRef question = LLVMGetNamedFunction(m, name);
    if (question == NULL)
        return;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(LLVMGetModuleContext(m));
    for (LLVMUseRef u; (u = LLVMGetFirstUse(question)) != NULL;) {
        LLVMValueRef call = LLVMGetUser(u);
        LLVMReplaceAllUsesWith(call, LLVMConstInt(i1, yes, false));
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(question);
}
