/* defined: what the checks of initialisation and of synchronization are told by compiled code.
 *
 * A kernel may copy what nothing has written, such as the padding of a structure, as long as it
 * decides nothing by it. So a register that is loaded from memory and only ever stored carries a
 * bit for each byte (a row of 32 bytes, a lane each) from the load to the store; any other load is
 * a use. Arithmetic carries no bits: what is loaded for it counts as used there. The rows do not
 * outlive a barrier: after one they say that all is known. */
#include "compiler/codegen/memory/defined.h"

#include <string.h>

#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access_told.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

/* Of a register. */
enum copied { COPIED_UNKNOWN, COPIED_ONLY, COPIED_USED };

struct defined_registers {
    uint8_t *how;       /* enum copied, of each register */
    LLVMValueRef *rows; /* where their bits are; NULL: not made yet */
};

static bool asked(const struct codegen *cg, uint32_t check)
{
    return (cg->k->opt->checked & check) != 0;
}

static void note(struct defined_registers *r, int32_t reg, enum copied how)
{
    if (r->how[reg] < how)
        r->how[reg] = (uint8_t)how;
}

static void note_instr(struct defined_registers *r, const struct ptx_instr *i)
{
    struct jroles roles;
    jit_roles(i, &roles);
    if (i->op == PTX_OP_ld && !ptx_has(i, PTX_M_volatile)) {
        for (int n = 0; n < roles.ndef; n++)
            note(r, roles.def[n], COPIED_ONLY);
    } else if (i->op != PTX_OP_st) {
        for (int n = 0; n < roles.ndef; n++)
            note(r, roles.def[n], COPIED_USED); /* written by something else, too */
    }
    if (i->op == PTX_OP_st) {
        if (i->operands[0].reg >= 0)
            note(r, i->operands[0].reg, COPIED_USED);
        return;
    }
    for (int n = 0; n < roles.nuse; n++)
        note(r, roles.use[n], COPIED_USED);
}

static struct defined_registers *registers_of(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (cg->defined != NULL)
        return cg->defined;
    struct defined_registers *r = arena_alloc(&k->arena, sizeof *r);
    r->how = arena_alloc(&k->arena, k->nregs);
    r->rows = arena_alloc(&k->arena, k->nregs * sizeof *r->rows);
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->cond >= 0)
            note(r, blk->cond, COPIED_USED);
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            note_instr(r, i);
            if (i->guard >= 0)
                note(r, i->guard, COPIED_USED);
        }
        if (blk->term_instr != NULL)
            note_instr(r, blk->term_instr);
    }
    cg->defined = r;
    return r;
}

/* Where the bits of a register are that is only copied; NULL: of none, or one that is used. */
static LLVMValueRef row_of(struct codegen *cg, const struct ptx_operand *o)
{
    struct defined_registers *r = registers_of(cg);
    if (o == NULL || o->kind != PTX_OPR_REG || r->how[o->reg] != COPIED_ONLY)
        return NULL;
    if (r->rows[o->reg] == NULL) {
        LLVMTypeRef row = LLVMArrayType2(cg->i8, JIT_WARP);
        r->rows[o->reg] = new_slot(cg, row, "unwritten");
        LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->alu.ctx);
        LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(r->rows[o->reg]));
        LLVMBuildStore(b, LLVMConstNull(row), r->rows[o->reg]);
        LLVMDisposeBuilder(b);
    }
    return r->rows[o->reg];
}

static const struct ptx_operand *element(const struct ptx_operand *o, int k)
{
    return o != NULL && o->kind == PTX_OPR_VEC ? &o->items[k] : o;
}

static void tell(struct codegen *cg, const char *helper, LLVMValueRef at, unsigned offset,
                 unsigned bytes, LLVMValueRef row)
{
    LLVMBuilderRef b = cg->alu.b;
    at = LLVMBuildAdd(b, at, splat(cg, c64(cg, offset), JIT_WARP), "");
    helper_row_store(cg, 0, LLVMBuildFreeze(b, at, ""));
    LLVMValueRef args[6] = {cg->block.ptr,
                            mask_bits(cg),
                            helper_rows(cg, 0),
                            c32(cg, bytes | bytes << JIT_DEFINED_ELEMENT_SHIFT),
                            row != NULL ? row : LLVMConstNull(cg->ptr),
                            c32(cg, 0)};
    call_helper(cg, helper, LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

/* All elements of an access at once, of which no bits are carried. */
static void tell_all(struct codegen *cg, const char *helper, const struct told *t, unsigned element)
{
    LLVMValueRef shape = told_addresses(cg, t);
    LLVMValueRef args[6] = {
        cg->block.ptr,          mask_bits(cg),
        helper_rows(cg, 0),     c32(cg, t->bytes | element << JIT_DEFINED_ELEMENT_SHIFT),
        LLVMConstNull(cg->ptr), shape};
    call_helper(cg, helper, LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

/* Whether bits are carried with an element, or nobody wants it. */
static bool is_copied(struct codegen *cg, const struct ptx_operand *d, int vec)
{
    for (int k = 0; d != NULL && k < vec; k++)
        if (element(d, k)->kind != PTX_OPR_REG || row_of(cg, element(d, k)) != NULL)
            return true;
    return false;
}

bool defined_is_copied(struct codegen *cg, const struct ptx_instr *load)
{
    return is_copied(cg, &load->operands[0], load->vec != 0 ? load->vec : 1);
}

static bool is_followed(const struct codegen *cg, unsigned space)
{
    return asked(cg, JIT_CHECKS_DEFINED) &&
           (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC || space == PTX_SPACE_SHARED);
}

void defined_load(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                  unsigned space, unsigned bytes, int vec, const struct ptx_operand *d)
{
    if (!is_followed(cg, space))
        return;
    if (!is_copied(cg, d, vec)) {
        struct told t = told_one(at, space, bytes * (unsigned)vec);
        if (i == NULL || told_loads(cg, i, &t, TOLD_DEFINED))
            tell_all(cg, "weir_rt_defined_read", &t, bytes);
        return;
    }
    LLVMValueRef address = address_vector(cg, at, space);
    for (int k = 0; k < vec; k++) {
        const struct ptx_operand *o = element(d, k);
        if (o == NULL || o->kind == PTX_OPR_REG) /* else nobody wants it */
            tell(cg, "weir_rt_defined_read", address, (unsigned)k * bytes, bytes, row_of(cg, o));
    }
}

void defined_store(struct codegen *cg, const struct ptx_operand *at, unsigned space, unsigned bytes,
                   int vec, const struct ptx_operand *data)
{
    if (!is_followed(cg, space))
        return;
    bool copied = false;
    for (int k = 0; k < vec; k++)
        copied = copied || row_of(cg, element(data, k)) != NULL;
    if (!copied) {
        struct told t = told_one(at, space, bytes * (unsigned)vec);
        tell_all(cg, "weir_rt_defined_write", &t, bytes);
        return;
    }
    LLVMValueRef address = address_vector(cg, at, space);
    for (int k = 0; k < vec; k++)
        tell(cg, "weir_rt_defined_write", address, (unsigned)k * bytes, bytes,
             row_of(cg, element(data, k)));
}

/* ---- who comes ---- */

/* Lanes that are about to end their threads: they wait for that until the others end, too. */
static LLVMValueRef leaving_slot(struct codegen *cg)
{
    if (cg->leaving == NULL) {
        cg->leaving = new_slot(cg, cg->i32, "leaving");
        LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->alu.ctx);
        LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(cg->leaving));
        LLVMBuildStore(b, c32(cg, 0), cg->leaving);
        LLVMDisposeBuilder(b);
    }
    return cg->leaving;
}

/* Whether a block leads to nothing but the end. */
static bool only_ends(const struct jkernel *k, const struct jblock *blk)
{
    for (int steps = 0; steps < 4 && blk->count == 0 && blk->nsucc == 1; steps++)
        blk = &k->blocks[blk->succ[0]];
    return blk->count == 0 && blk->nsucc == 0;
}

void sync_leave(struct codegen *cg, int32_t block, LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!asked(cg, JIT_CHECKS_SYNC) || !only_ends(cg->k, &cg->k->blocks[block]))
        return;
    LLVMValueRef before = LLVMBuildLoad2(b, cg->i32, leaving_slot(cg), "");
    LLVMBuildStore(b, LLVMBuildOr(b, before, lanes, ""), cg->leaving);
}

void sync_enter_region(struct codegen *cg)
{
    if (asked(cg, JIT_CHECKS_SYNC))
        LLVMBuildStore(cg->alu.b, c32(cg, 0), leaving_slot(cg));
}

/* Which barrier of the source it is, where all threads must come to the same one; 0: a barrier for
 * some threads, or one to which each thread may come by a way of its own (barrier.sync without
 * .aligned). */
static uint32_t barrier_site(const struct ptx_instr *i)
{
    bool reduces = ptx_has(i, PTX_M_red),
         aligned = i->op == PTX_OP_bar || ptx_has(i, PTX_M_aligned);
    bool all = i->noperands == (reduces ? 3 : 1) && !ptx_has(i, PTX_M_wait_group);
    return aligned && all ? (uint32_t)i->line : 0;
}

void sync_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    if (!asked(cg, JIT_CHECKS_SYNC))
        return;
    debug_at(cg, i); /* it ends its block, and is none of the instructions in it */
    LLVMValueRef args[3] = {cg->block.ptr, mask_bits(cg), c32(cg, barrier_site(i))};
    call_helper(cg, "weir_rt_sync_barrier", LLVMVoidTypeInContext(cg->alu.ctx), args, 3);
}

void sync_warp(struct codegen *cg, const struct ptx_operand *members)
{
    if (!asked(cg, JIT_CHECKS_SYNC))
        return;
    LLVMValueRef named =
        LLVMBuildZExt(cg->alu.b, operand_vector(cg, members, PTX_B32), cg->v32i64, "");
    helper_row_store(cg, 0, LLVMBuildFreeze(cg->alu.b, named, ""));
    LLVMValueRef leaving = LLVMBuildLoad2(cg->alu.b, cg->i32, leaving_slot(cg), "");
    LLVMValueRef live =
        LLVMBuildAnd(cg->alu.b, live_lanes(cg), LLVMBuildNot(cg->alu.b, leaving, ""), "");
    LLVMValueRef args[4] = {cg->block.ptr, mask_bits(cg), live, helper_rows(cg, 0)};
    call_helper(cg, "weir_rt_sync_warp", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
}
