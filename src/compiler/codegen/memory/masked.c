/* emit_masked: loads and stores of neighbouring lanes of which some are inactive, where the machine
 * has no instruction for that (x86 without AVX-512 moves masked elements of four and eight bytes
 * alone, others none). Left to LLVM each such access becomes a test and a branch for every element:
 * a hundred instructions and thirty blocks, ten thousand blocks in kernels that copy tiles of f16,
 * most of whose compile time they were. They are moved by functions of the module, which exist once
 * for each size and know the usual cases, all lanes active or a vector that lies in one page. */
#include <stdio.h>

#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/memory/memory.h"

enum {
    MOST_BYTES = 32 * JIT_WARP, /* that a warp's lanes load at once */
    LEAST_PAGE = 4096,          /* memory that is mapped, or is not, as one */
};

/* What a function moves: `lanes` times `vec` neighbouring elements. */
struct move {
    LLVMTypeRef elem;
    unsigned bytes, vec, lanes; /* bytes of an element */
    LLVMTypeRef type;           /* all of them */
};

static struct move masked_move(const struct access *a, int lanes)
{
    struct move m = {
        .elem = a->elem, .bytes = a->bytes, .vec = (unsigned)a->vec, .lanes = (unsigned)lanes};
    m.type = LLVMVectorType(m.elem, m.vec * m.lanes);
    return m;
}

bool masked_native(const struct codegen *cg, unsigned bytes)
{
    return cg->alu.has_avx512 || (cg->alu.has_avx2 && bytes >= 4);
}

/* The lanes' bits of an i32 to a bit for each element. */
static LLVMValueRef masked_elements(struct codegen *cg, const struct move *m, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef each[JIT_WARP];
    unsigned idx[JIT_WARP * 16];
    for (unsigned l = 0; l < m->lanes; l++)
        each[l] = c32(cg, 1u << l);
    LLVMValueRef v =
        LLVMBuildAnd(b, splat(cg, bits, (int)m->lanes), LLVMConstVector(each, m->lanes), "");
    v = LLVMBuildICmp(b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    for (unsigned l = 0; l < m->lanes * m->vec; l++)
        idx[l] = l / m->vec;
    return m->vec == 1 ? v : mma_shuffle(cg, v, NULL, idx, m->lanes * m->vec);
}

static LLVMValueRef all_lanes(struct codegen *cg, const struct move *m)
{
    return c32(cg, m->lanes == JIT_WARP ? UINT32_MAX : (1u << m->lanes) - 1);
}

static LLVMBasicBlockRef masked_block(struct codegen *cg, LLVMValueRef fn, const char *name)
{
    return LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, name);
}

/* For each active lane: its elements from `from` to `to`. */
static void lane_by_lane(struct codegen *cg, LLVMValueRef fn, const struct move *m,
                         LLVMValueRef bits, LLVMValueRef from, LLVMValueRef to)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef lane = LLVMVectorType(m->elem, m->vec);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = masked_block(cg, fn, "lane"),
                      done = masked_block(cg, fn, "no more");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(cg->i1, 1, false)};
    LLVMValueRef at = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    at = LLVMBuildMul(b, LLVMBuildZExt(b, at, cg->i64, ""), c64(cg, (uint64_t)m->vec * m->bytes),
                      "");
    LLVMValueRef v = LLVMBuildLoad2(b, lane, byte_offset(cg, from, at), "");
    LLVMSetAlignment(v, m->bytes);
    LLVMSetAlignment(LLVMBuildStore(b, v, byte_offset(cg, to, at)), m->bytes);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){bits, rest}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* The function (pointer, lanes, slot), which leaves what it loads in the slot: what inactive lanes'
 * bytes hold is read, too, where that cannot fault, and not looked at. */
static void load_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct move *m = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = LLVMGetParam(fn, 0), bits = LLVMGetParam(fn, 1), slot = LLVMGetParam(fn, 2);
    uint64_t size = (uint64_t)m->bytes * m->vec * m->lanes;
    LLVMBasicBlockRef whole = masked_block(cg, fn, "whole"), parts = masked_block(cg, fn, "parts"),
                      done = masked_block(cg, fn, "done");
    LLVMValueRef zero = LLVMConstNull(m->type);
    LLVMValueRef in_page =
        LLVMBuildAnd(b, LLVMBuildPtrToInt(b, p, cg->i64, ""), c64(cg, LEAST_PAGE - 1), "");
    LLVMValueRef one = LLVMBuildICmp(b, LLVMIntULE, in_page, c64(cg, LEAST_PAGE - size), "");
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), "");
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits, all_lanes(cg, m), "");
    LLVMBuildCondBr(b, LLVMBuildOr(b, all, LLVMBuildAnd(b, one, any, ""), ""), whole, parts);

    LLVMPositionBuilderAtEnd(b, whole);
    LLVMValueRef v = LLVMBuildLoad2(b, m->type, p, "");
    LLVMSetAlignment(v, m->bytes);
    v = LLVMBuildSelect(b, masked_elements(cg, m, bits), v, zero, "");
    LLVMSetAlignment(LLVMBuildStore(b, v, slot), 64);
    LLVMBuildBr(b, done);

    LLVMPositionBuilderAtEnd(b, parts);
    LLVMSetAlignment(LLVMBuildStore(b, zero, slot), 64);
    lane_by_lane(cg, fn, m, bits, p, slot);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* The function (pointer, lanes, slot), which stores what is in the slot. */
static void store_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct move *m = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = LLVMGetParam(fn, 0), bits = LLVMGetParam(fn, 1), slot = LLVMGetParam(fn, 2);
    LLVMBasicBlockRef whole = masked_block(cg, fn, "whole"), parts = masked_block(cg, fn, "parts"),
                      done = masked_block(cg, fn, "done");
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits, all_lanes(cg, m), "");
    LLVMBuildCondBr(b, all, whole, parts);
    LLVMPositionBuilderAtEnd(b, whole);
    LLVMValueRef v = LLVMBuildLoad2(b, m->type, slot, "");
    LLVMSetAlignment(v, 64);
    LLVMSetAlignment(LLVMBuildStore(b, v, p), m->bytes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, parts);
    lane_by_lane(cg, fn, m, bits, slot, p);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

static LLVMValueRef masked_slot(struct codegen *cg)
{
    if (cg->masked == NULL) {
        cg->masked = new_slot(cg, LLVMArrayType2(cg->i8, MOST_BYTES), "masked");
        LLVMSetAlignment(cg->masked, 64);
    }
    return cg->masked;
}

/* With the active ones among `lanes` lanes from `first` on. */
static void masked_call(struct codegen *cg, struct move *m, bool load, LLVMValueRef p, int first)
{
    char name[48];
    snprintf(name, sizeof name, "weir_masked_%s_%ux%ux%u", load ? "load" : "store", m->lanes,
             m->vec, m->bytes);
    LLVMTypeRef params[3] = {cg->ptr, cg->i32, cg->ptr};
    LLVMValueRef fn = mma_function(cg, name, params, 3, load ? load_body : store_body, m);
    LLVMValueRef bits = LLVMBuildLShr(cg->alu.b, mask_bits(cg), c32(cg, (uint64_t)first), "");
    LLVMValueRef args[3] = {p, LLVMBuildAnd(cg->alu.b, bits, all_lanes(cg, m), ""),
                            masked_slot(cg)};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
}

LLVMValueRef masked_load(struct codegen *cg, const struct access *a, LLVMValueRef p, int first,
                         int lanes)
{
    struct move m = masked_move(a, lanes);
    masked_call(cg, &m, true, p, first);
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, m.type, masked_slot(cg), "");
    LLVMSetAlignment(v, 64);
    return v;
}

void masked_store(struct codegen *cg, const struct access *a, LLVMValueRef v, LLVMValueRef p,
                  int first, int lanes)
{
    struct move m = masked_move(a, lanes);
    LLVMSetAlignment(LLVMBuildStore(cg->alu.b, v, masked_slot(cg)), 64);
    masked_call(cg, &m, false, p, first);
}
