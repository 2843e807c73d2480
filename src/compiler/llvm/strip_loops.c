/* strip_loops: makes a stretch of arithmetic a loop over strips of lanes (strip_mining.c).
 *
 * The block is split in three: what comes before (a new block), the loop, and what comes after,
 * which remains the original block, so that its successors are unchanged. */
#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_values.h"
#include "compiler/llvm/strip_mining.h"

enum {
    MAX_ARGUMENTS = 4, /* of an intrinsic */
    ALIGN = 64         /* of what lies in memory, in bytes: the widest registers' */
};

static LLVMTypeRef narrow(const struct body *y, LLVMTypeRef row)
{
    return strip_is_vector(row) ? LLVMVectorType(LLVMGetElementType(row), y->lanes) : row;
}

static LLVMValueRef byte_address(struct strips *s, LLVMValueRef base, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(s->b, LLVMInt8TypeInContext(s->ctx), base, &bytes, 1, "");
}

static LLVMValueRef const64(const struct strips *s, uint64_t v)
{
    return LLVMConstInt(LLVMInt64TypeInContext(s->ctx), v, false);
}

/* Allocates memory for a row in the area; the builder may be anywhere in the function. Predicates
 * are bytes. */
static uint64_t area_offset(struct strips *s, struct body *y, LLVMTypeRef row)
{
    int bytes = strip_element_bytes(LLVMGetElementType(row));
    uint64_t at = y->used, size = (uint64_t)(bytes > 0 ? bytes : 1) * JIT_WARP;
    y->used += (size + ALIGN - 1) / ALIGN * ALIGN;
    if (s->area == NULL) {
        LLVMBasicBlockRef back = LLVMGetInsertBlock(s->b);
        LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(s->fn);
        LLVMPositionBuilderBefore(s->b, LLVMGetFirstInstruction(entry));
        s->area =
            LLVMBuildArrayAlloca(s->b, LLVMInt8TypeInContext(s->ctx), const64(s, 0), "strips");
        LLVMSetAlignment(s->area, ALIGN);
        LLVMPositionBuilderAtEnd(s->b, back);
    }
    s->area_bytes = y->used > s->area_bytes ? y->used : s->area_bytes;
    return at;
}

/* The type in memory of a vector of `lanes` elements like row's. */
static LLVMTypeRef stored(const struct strips *s, LLVMTypeRef row, unsigned lanes)
{
    LLVMTypeRef t = LLVMGetElementType(row);
    return LLVMVectorType(strip_element_bytes(t) > 0 ? t : LLVMInt8TypeInContext(s->ctx), lanes);
}

/* The address of lane `lane` (i64) of a row in memory. */
static LLVMValueRef row_element(struct strips *s, LLVMTypeRef row, LLVMValueRef base,
                                LLVMValueRef lane)
{
    int bytes = strip_element_bytes(LLVMGetElementType(row));
    LLVMTypeRef t = LLVMIntTypeInContext(s->ctx, bytes > 0 ? (unsigned)bytes * 8 : 8);
    return LLVMBuildGEP2(s->b, t, base, &lane, 1, "");
}

/* Of a strip, or all lanes, in the area: of type t there. */
static unsigned alignment_of(LLVMTypeRef t)
{
    unsigned size = LLVMGetVectorSize(t) * (unsigned)strip_element_bytes(LLVMGetElementType(t));
    return size < ALIGN ? size : ALIGN;
}

static LLVMValueRef load_row(struct strips *s, LLVMTypeRef row, LLVMValueRef at, unsigned lanes)
{
    LLVMTypeRef t = stored(s, row, lanes);
    LLVMValueRef v = LLVMBuildLoad2(s->b, t, at, "");
    LLVMSetAlignment(v, alignment_of(t));
    if (strip_element_bytes(LLVMGetElementType(row)) == 0)
        v = LLVMBuildICmp(s->b, LLVMIntNE, v, LLVMConstNull(t), "");
    return v;
}

static void store_row(struct strips *s, LLVMTypeRef row, LLVMValueRef v, LLVMValueRef at,
                      unsigned lanes)
{
    LLVMTypeRef t = stored(s, row, lanes);
    if (strip_element_bytes(LLVMGetElementType(row)) == 0)
        v = LLVMBuildSExt(s->b, v, t, "");
    LLVMSetAlignment(LLVMBuildStore(s->b, v, at), alignment_of(t));
}

/* A live-in value or a constant, and its strip in the loop. */
struct live_in {
    LLVMValueRef row, strip;
};

/* A loop that is built. */
struct loop {
    LLVMBasicBlockRef head, body; /* before the loop; the loop */
    LLVMValueRef lane;            /* i64: a strip's first */
    struct {
        struct live_in *items;
        size_t count, cap;
    } in;
};

/* In the loop: the strip of a row in memory. */
static LLVMValueRef strip_of(struct strips *s, const struct body *y, const struct loop *l,
                             LLVMTypeRef row, LLVMValueRef base)
{
    return load_row(s, row, row_element(s, row, base, l->lane), y->lanes);
}

/* A constant whose lanes differ becomes a table. */
static LLVMValueRef lane_table(struct strips *s, LLVMValueRef row)
{
    LLVMTypeRef t = LLVMTypeOf(row);
    if (strip_element_bytes(LLVMGetElementType(t)) == 0) {
        LLVMValueRef lane[JIT_WARP];
        for (unsigned k = 0; k < JIT_WARP; k++) {
            LLVMValueRef v = LLVMGetAggregateElement(row, k);
            bool set = LLVMIsAConstantInt(v) != NULL && LLVMConstIntGetZExtValue(v) != 0;
            lane[k] = LLVMConstInt(LLVMInt8TypeInContext(s->ctx), set ? 0xff : 0, false);
        }
        row = LLVMConstVector(lane, JIT_WARP);
        t = LLVMTypeOf(row);
    }
    LLVMValueRef g = LLVMAddGlobal(s->m, t, "strips.lanes");
    LLVMSetInitializer(g, row);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(g, ALIGN);
    return g;
}

static LLVMValueRef constant_strip(struct strips *s, const struct body *y, const struct loop *l,
                                   LLVMValueRef row)
{
    LLVMTypeRef t = LLVMTypeOf(row);
    if (LLVMIsPoison(row))
        return LLVMGetPoison(narrow(y, t));
    if (LLVMIsUndef(row))
        return LLVMGetUndef(narrow(y, t));
    LLVMValueRef lane[JIT_WARP], first = LLVMGetAggregateElement(row, 0);
    bool alike = true;
    for (unsigned k = 0; k < JIT_WARP; k++) {
        lane[k] = LLVMGetAggregateElement(row, k);
        alike &= lane[k] == first;
    }
    return alike ? LLVMConstVector(lane, y->lanes) : strip_of(s, y, l, t, lane_table(s, row));
}

/* A scalar in all lanes of a strip. */
static LLVMValueRef scalar_strip(struct strips *s, const struct body *y, LLVMTypeRef row,
                                 LLVMValueRef scalar)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(s->ctx);
    LLVMValueRef none = LLVMGetPoison(narrow(y, row));
    LLVMValueRef first =
        LLVMBuildInsertElement(s->b, none, scalar, LLVMConstInt(i32, 0, false), "");
    LLVMTypeRef mask = LLVMVectorType(i32, y->lanes);
    return LLVMBuildShuffleVector(s->b, first, none, LLVMConstNull(mask), "");
}

/* A live-in value whose lanes are one scalar needs no memory: its strip is made where it is, which
 * may be far outside of what repeats the loop. NULL: it is none. */
static LLVMValueRef splat_strip(struct strips *s, const struct body *y, LLVMValueRef row)
{
    LLVMValueRef scalar = LLVMIsAShuffleVectorInst(row) != NULL ? strip_splat(row) : NULL;
    if (scalar == NULL)
        return NULL;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(s->b);
    LLVMValueRef next =
        LLVMGetNextInstruction(row); /* NULL: at the end of what is before the loop */
    if (next != NULL)
        LLVMPositionBuilderBefore(s->b, next);
    else
        LLVMPositionBuilderAtEnd(s->b, LLVMGetInstructionParent(row));
    LLVMValueRef strip = scalar_strip(s, y, LLVMTypeOf(row), scalar);
    LLVMPositionBuilderAtEnd(s->b, here);
    return strip;
}

/* The strip of an operand; scalars are unchanged. */
static LLVMValueRef strip_operand(struct strips *s, struct body *y, struct loop *l, LLVMValueRef v)
{
    if (!strip_is_vector(LLVMTypeOf(v)))
        return v;
    int32_t at = strip_number(y, v);
    if (at >= 0 && at < y->to && y->role[at] == ROLE_STRIP)
        return y->strip[at];
    for (size_t k = 0; k < l->in.count; k++)
        if (l->in.items[k].row == v)
            return l->in.items[k].strip;
    LLVMValueRef strip = splat_strip(s, y, v);
    if (strip == NULL && LLVMIsAConstant(v) != NULL &&
        LLVMGetAggregateElement(v, 0) != NULL) { /* else an expression */
        strip = constant_strip(s, y, l, v);
    } else if (strip == NULL) {
        uint64_t bytes = area_offset(s, y, LLVMTypeOf(v));
        LLVMPositionBuilderAtEnd(s->b, l->head);
        LLVMValueRef base = byte_address(s, s->area, const64(s, bytes));
        store_row(s, LLVMTypeOf(v), v, base, JIT_WARP);
        LLVMPositionBuilderAtEnd(s->b, l->body);
        strip = strip_of(s, y, l, LLVMTypeOf(v), base);
    }
    vec_push(&l->in, ((struct live_in){v, strip}));
    return strip;
}

/* The same intrinsic for fewer lanes: it is known by its name, in which vectors are ".v32...". */
static LLVMValueRef strip_call(struct strips *s, struct body *y, struct loop *l, LLVMValueRef v)
{
    LLVMValueRef args[MAX_ARGUMENTS];
    LLVMTypeRef types[MAX_ARGUMENTS];
    unsigned n = LLVMGetNumArgOperands(v);
    const char *name = strip_callee(v);
    for (unsigned k = 0; k < n; k++) {
        args[k] = strip_operand(s, y, l, LLVMGetOperand(v, k));
        if (k == 0 && !strncmp(name, "llvm.masked.load", 16))
            args[k] = row_element(s, LLVMTypeOf(v), args[k], l->lane);
        types[k] = LLVMTypeOf(args[k]);
    }
    struct strbuf text = {0};
    for (const char *next; (next = strstr(name, ".v32")) != NULL; name = next + 4) {
        sb_append(&text, name, (size_t)(next - name));
        sb_printf(&text, ".v%u", y->lanes);
    }
    sb_printf(&text, "%s", name);
    LLVMTypeRef t = LLVMFunctionType(narrow(y, LLVMTypeOf(v)), types, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(s->m, text.items);
    if (f == NULL)
        f = LLVMAddFunction(s->m, text.items, t);
    sb_free(&text);
    return LLVMBuildCall2(s->b, t, f, args, n, "");
}

static LLVMValueRef strip_load(struct strips *s, struct body *y, struct loop *l, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    unsigned align = LLVMGetAlignment(v);
    unsigned most = y->lanes * (unsigned)strip_element_bytes(LLVMGetElementType(t));
    LLVMValueRef at = row_element(s, t, LLVMGetOperand(v, 0), l->lane);
    LLVMValueRef strip = LLVMBuildLoad2(s->b, narrow(y, t), at, "");
    LLVMSetAlignment(strip, align < most ? align : most);
    return strip;
}

/* Clones an instruction of the stretch into the loop. */
static LLVMValueRef strip_instruction(struct strips *s, struct body *y, struct loop *l,
                                      LLVMValueRef v)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (op == LLVMCall)
        return strip_call(s, y, l, v);
    if (op == LLVMLoad)
        return strip_load(s, y, l, v);
    LLVMTypeRef t = narrow(y, LLVMTypeOf(v));
    if (op == LLVMShuffleVector)
        return scalar_strip(s, y, LLVMTypeOf(v), strip_splat(v));
    LLVMValueRef o[3] = {0};
    unsigned n = (unsigned)LLVMGetNumOperands(v);
    for (unsigned k = 0; k < n && k < 3; k++)
        o[k] = strip_operand(s, y, l, LLVMGetOperand(v, k));
    return lanewise_again(s->b, v, o, t);
}

/* Moves an instruction to where the builder is. With its source line: the builder would give it its
 * own. */
static void move_here(struct strips *s, LLVMValueRef v)
{
    LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(v));
    LLVMInstructionRemoveFromParent(v);
    LLVMInsertIntoBuilder(s->b, v);
}

/* Inserts a new block before y->bb, redirects all predecessors to it, and moves into it the
 * instructions that come before the loop. */
static LLVMBasicBlockRef loop_head(struct strips *s, struct body *y)
{
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(s->ctx, y->bb, "");
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(s->fn); b != NULL;
         b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(b);
        for (unsigned k = 0; term != NULL && k < LLVMGetNumSuccessors(term); k++)
            if (LLVMGetSuccessor(term, k) == y->bb)
                LLVMSetSuccessor(term, k, head);
    }
    LLVMPositionBuilderAtEnd(s->b, head);
    LLVMValueRef next, first = y->instr[y->from];
    for (LLVMValueRef v = LLVMGetFirstInstruction(y->bb); v != first; v = next) {
        next = LLVMGetNextInstruction(v);
        move_here(s, v);
    }
    for (int32_t k = y->from; k < y->to; k++)
        if (y->role[k] == ROLE_BEFORE)
            move_here(s, y->instr[k]);
    return head;
}

/* Stores live-out values into memory, and loads them after the loop; erases the stretch. */
static void store_live_out(struct strips *s, struct body *y, const struct loop *l)
{
    for (int32_t k = y->from; k < y->to; k++) {
        if (y->role[k] != ROLE_STRIP || !strip_is_live_out(y, k))
            continue;
        LLVMTypeRef t = LLVMTypeOf(y->instr[k]);
        uint64_t bytes = area_offset(s, y, t);
        LLVMValueRef base = byte_address(s, s->area, const64(s, bytes));
        store_row(s, t, y->strip[k], row_element(s, t, base, l->lane), y->lanes);
        LLVMPositionBuilderBefore(s->b, LLVMGetFirstInstruction(y->bb));
        base = byte_address(s, s->area, const64(s, bytes));
        LLVMReplaceAllUsesWith(y->instr[k], load_row(s, t, base, JIT_WARP));
        LLVMPositionBuilderAtEnd(s->b, l->body);
    }
    for (int32_t k = y->to - 1; k >= y->from; k--)
        if (y->role[k] == ROLE_STRIP)
            LLVMInstructionEraseFromParent(y->instr[k]);
}

void strip_loop_make(struct strips *s, struct body *y)
{
    LLVMMetadataRef line = LLVMInstructionGetDebugLoc(y->instr[y->from]);
    struct loop l = {.head = loop_head(s, y)};
    /* the builder may still have a line of another function */
    LLVMSetCurrentDebugLocation2(s->b, line);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(s->ctx);
    l.body = LLVMInsertBasicBlockInContext(s->ctx, y->bb, "");
    LLVMPositionBuilderAtEnd(s->b, l.body);
    l.lane = LLVMBuildPhi(s->b, i64, "");
    y->used = 0;
    for (int32_t k = y->from; k < y->to; k++)
        if (y->role[k] == ROLE_STRIP) {
            y->strip[k] = strip_instruction(s, y, &l, y->instr[k]);
            copy_access_metadata(y->instr[k], y->strip[k]);
        }
    store_live_out(s, y, &l);
    LLVMPositionBuilderAtEnd(s->b, l.head);
    LLVMBuildBr(s->b, l.body);
    LLVMPositionBuilderAtEnd(s->b, l.body);
    LLVMValueRef next = LLVMBuildAdd(s->b, l.lane, const64(s, y->lanes), "");
    LLVMValueRef done = LLVMBuildICmp(s->b, LLVMIntEQ, next, const64(s, JIT_WARP), "");
    LLVMBuildCondBr(s->b, done, y->bb, l.body);
    LLVMAddIncoming(l.lane, (LLVMValueRef[]){const64(s, 0), next},
                    (LLVMBasicBlockRef[]){l.head, l.body}, 2);
    free(l.in.items);
}
