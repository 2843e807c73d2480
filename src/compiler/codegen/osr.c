/* osr.c: on-stack replacement. A block that runs baseline code continues in optimized code when
 * there is some.
 *
 * The exec module sets a word (jit_block.replaced) when a kernel's code has been replaced. Baseline
 * code tests it and returns JIT_OSR_EXIT; called again, the block continues in the current code.
 * With a dispatcher this is a plain suspension, since the whole state of the block is in its
 * frames: it may happen whenever warps have run.
 *
 * In kernels in lockstep the next region, and values kept once for the block, are values of the
 * function. The code that leaves stores them (in jit_block.state and jit_block.scratch, and in the
 * first warp's frame when that is full), and optimized code begins by loading them. An entry has a
 * price: what was computed before is not known after it, and a loop over barriers with two entries
 * is no loop to LLVM. So there are few entries: one in each loop over barriers, where it begins.
 *
 * Both are emitted as conditions that are decided with the tier (OSR_LEAVES, OSR_ENTERS): small
 * kernels, which are optimized at once, do not pay for what they never do. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

enum {
    MAX_RESUME = 256, /* more resume points are not analysed */
    VOTES = 4,        /* words of scratch[] that votes use (warp/barrier.c) */
    WORDS = WEIR_COUNT(((struct jit_block *)NULL)->scratch) - VOTES
};

struct osr {
    uint32_t frame_offset; /* in the first frame: the slots that do not fit into scratch[] */
    uint64_t *points;      /* in lockstep: the resume points where blocks may leave */
};

/* ---- where ---- */

/* Chooses points until no cycle of regions avoids them all, in the order of the program: loops are
 * met first where they begin. */
static void choose_points(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    struct graph g; /* of the resume points */
    graph_init(&g, k->nresume);
    for (int32_t r = 0; r < k->nresume; r++)
        EACH_BIT (b, cg->regions->blocks[r], k->nblocks)
            if (k->blocks[b].term == TERM_SUSPEND && k->blocks[b].suspend != SUSPEND_YIELD &&
                k->blocks[b].suspend != SUSPEND_COUNT)
                graph_edge(&g, r, k->blocks[b].resume);
    graph_close(&g);
    for (int32_t r = 1; r < k->nresume; r++) {
        uint64_t reached[MAX_RESUME / 64];
        bit_copy(reached, cg->osr->points, k->nresume);
        graph_reach(&g, r, GRAPH_ALL, reached);
        if (bit_get(reached, r))
            bit_set(cg->osr->points, r);
    }
    graph_free(&g);
}

/* Is a register kept once for the block and needed at resume point r? */
static bool kept_once(const struct codegen *cg, int32_t r, int32_t reg)
{
    return bit_get(cg->frame->resume_live[r], reg) && frame_once(cg, reg);
}

/* Assigns slots of 8 bytes to what is kept once: the free words of scratch[], then more in every
 * frame, of which the first one's are used. */
static void assign_slots(struct codegen *cg)
{
    uint32_t n = 0;
    cg->osr->frame_offset = cg->frame->bytes;
    EACH_BIT (r, cg->osr->points, cg->k->nresume)
        for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
            if (kept_once(cg, r, reg) && cg->regs[reg].osr_slot == 0)
                cg->regs[reg].osr_slot = ++n;
    if (n > WORDS)
        cg->frame->bytes = (cg->osr->frame_offset + (n - WORDS) * 8 + 63) & ~63u;
}

void osr_init(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (k->nresume < 2)
        return;
    if (k->lockstep && k->nresume > MAX_RESUME)
        return;
    cg->osr = arena_alloc(&k->arena, sizeof *cg->osr);
    if (!k->lockstep)
        return;
    cg->osr->points = arena_alloc(&k->arena, bit_bytes(k->nresume));
    choose_points(cg);
    assign_slots(cg);
}

bool osr_possible(const struct codegen *cg) { return cg->osr != NULL; }

/* ---- code ---- */

/* An i1 that osr_decide replaces. */
static LLVMValueRef undecided(struct codegen *cg, const char *name)
{
    return call_helper(cg, name, cg->i1, NULL, 0);
}

LLVMValueRef osr_is_baseline(struct codegen *cg) { return undecided(cg, OSR_LEAVES); }

/* Branches to the block that is returned if this is baseline code and has been replaced, else goes
 * on. */
static LLVMBasicBlockRef leave_if_replaced(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef look = new_bb(cg, "test_replaced"), leave = new_bb(cg, "osr_exit"),
                      on = new_bb(cg, "stay");
    LLVMBuildCondBr(b, undecided(cg, OSR_LEAVES), look, on);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at = LLVMBuildLoad2(
        b, cg->ptr, byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(replaced))), "");
    LLVMValueRef replaced = LLVMBuildLoad2(b, cg->i32, at, "");
    LLVMSetVolatile(replaced, true);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, replaced, c32(cg, 0), ""), leave, on);
    LLVMPositionBuilderAtEnd(b, on);
    return leave;
}

void osr_dispatch(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->k->has_poll) { /* the count of warps that spun in vain would be lost */
        LLVMBasicBlockRef none = new_bb(cg, "unspun");
        LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->regions->spun_slot, "");
        spun = LLVMBuildICmp(b, LLVMIntEQ, spun, c32(cg, 0), "");
        LLVMBuildCondBr(b, spun, none, cg->regions->dispatch);
        LLVMPositionBuilderAtEnd(b, none);
    }
    LLVMBasicBlockRef leave = leave_if_replaced(cg);
    LLVMBuildBr(b, cg->regions->dispatch);
    LLVMPositionBuilderAtEnd(b, leave);
    LLVMBuildRet(b, c32(cg, JIT_OSR_EXIT));
}

static LLVMValueRef state_pointer(struct codegen *cg)
{
    return byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(state)));
}

/* Where the block keeps a register while it changes code. */
static LLVMValueRef slot_pointer(struct codegen *cg, int32_t reg)
{
    uint32_t n = cg->regs[reg].osr_slot - 1;
    if (n < WORDS)
        return byte_offset(cg, cg->block.ptr,
                           c64(cg, BLOCK_FIELD(scratch) + (VOTES + n) * sizeof(uint64_t)));
    return byte_offset(cg, cg->block.frames,
                       c64(cg, cg->osr->frame_offset + (n - WORDS) * sizeof(uint64_t)));
}

static LLVMTypeRef slot_type(struct codegen *cg, int32_t reg, LLVMTypeRef *stored)
{
    LLVMTypeRef t = scalar_type(cg, cg->k->regs[reg].type);
    *stored = cg->k->regs[reg].type == PTX_PRED ? cg->i8 : t;
    return t;
}

void osr_barrier(struct codegen *cg, int32_t r)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->osr == NULL || cg->osr->points == NULL || !bit_get(cg->osr->points, r))
        return;
    LLVMBasicBlockRef leave = leave_if_replaced(cg), on = LLVMGetInsertBlock(b);
    LLVMPositionBuilderAtEnd(b, leave);
    for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
        if (kept_once(cg, r, reg)) {
            LLVMTypeRef stored, t = slot_type(cg, reg, &stored);
            LLVMValueRef v = LLVMBuildLoad2(b, t, cg->regs[reg].in, "");
            if (stored != t)
                v = LLVMBuildZExt(b, v, stored, "");
            LLVMBuildStore(b, v, slot_pointer(cg, reg));
        }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    LLVMBuildStore(b, LLVMBuildOr(b, phase, c32(cg, (uint64_t)r * 2), ""), state_pointer(cg));
    LLVMBuildRet(b, c32(cg, JIT_OSR_EXIT));
    LLVMPositionBuilderAtEnd(b, on);
}

void osr_entry(struct codegen *cg, LLVMBasicBlockRef at, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMPositionBuilderAtEnd(b, at);
    if (cg->osr == NULL || cg->osr->points == NULL || bit_empty(cg->osr->points, cg->k->nresume)) {
        LLVMBuildBr(b, regions[0]);
        return;
    }
    LLVMBasicBlockRef osr_entry_bb = new_bb(cg, "osr_entry");
    LLVMBuildCondBr(b, undecided(cg, OSR_ENTERS), osr_entry_bb, regions[0]);
    LLVMPositionBuilderAtEnd(b, osr_entry_bb);
    LLVMValueRef state = LLVMBuildLoad2(b, cg->i32, state_pointer(cg), "");
    LLVMBuildStore(b, LLVMBuildAnd(b, state, c32(cg, 1), ""), cg->regions->phase_slot);
    LLVMValueRef sw = LLVMBuildSwitch(b, LLVMBuildLShr(b, state, c32(cg, 1), ""), regions[0], 4);
    EACH_BIT (r, cg->osr->points, cg->k->nresume) {
        LLVMBasicBlockRef in = new_bb(cg, "enter");
        LLVMAddCase(sw, c32(cg, (uint64_t)r), in);
        LLVMPositionBuilderAtEnd(b, in);
        for (int32_t reg = 0; reg < (int32_t)cg->k->nregs; reg++)
            if (kept_once(cg, r, reg) && cg->regs[reg].in != NULL) {
                LLVMTypeRef stored, t = slot_type(cg, reg, &stored);
                LLVMValueRef v = LLVMBuildLoad2(b, stored, slot_pointer(cg, reg), "");
                if (stored != t)
                    v = LLVMBuildTrunc(b, v, t, "");
                LLVMBuildStore(b, v, cg->regs[reg].in);
            }
        LLVMBuildBr(b, regions[r]);
    }
}

void osr_decide(LLVMModuleRef m, const char *name, bool yes)
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
