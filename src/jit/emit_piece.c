/* emit_piece: lanes that lie apart and access 8 or 16 bytes each, as vectors (ld.v4.f32 and the
 * like). A gather of every element would touch each lane's memory once an element; here each lane's
 * bytes are moved in one piece, by a function of the module that exists once for each size, since
 * such accesses come in large numbers in kernels that copy tiles. A scatter, where the machine has
 * none, is lane after lane anyway, and shares that function's form. */
#include <stdio.h>

#include "jit/emit_mem.h"
#include "jit/emit_mma.h"

/* The memory that the function shares with its callers: addresses, pieces by lane, elements by
 * number. */
enum { PIECES = 256, ELEMENTS = PIECES + 512, SHARED_BYTES = ELEMENTS + 512 };

/* Kernels of more instructions than these are to become code that is small. */
enum { MANY_INSTRUCTIONS = 2000 };

struct piece {
    unsigned bytes, vec; /* of an element; elements */
    bool load;
};

static LLVMValueRef at_(struct emit *e, LLVMValueRef p, uint64_t bytes)
{
    return byte_offset(e, p, c64(e, bytes));
}

static LLVMTypeRef row_(struct emit *e, const struct piece *p)
{
    return LLVMVectorType(LLVMIntTypeInContext(e->alu.ctx, p->bytes * 8), JIT_WARP);
}

/* Pieces by lane to elements by number, or back. */
static void turn_(struct emit *e, const struct piece *p, LLVMValueRef memory)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned idx[JIT_WARP * 4], n = JIT_WARP * p->vec;
    if (p->vec == 1)
        return; /* the same */
    LLVMTypeRef all = LLVMVectorType(LLVMIntTypeInContext(e->alu.ctx, p->bytes * 8), n);
    LLVMValueRef v[4], x;
    if (p->load) {
        x = LLVMBuildLoad2(b, all, at_(e, memory, PIECES), "");
        LLVMSetAlignment(x, 64);
        for (unsigned k = 0; k < p->vec; k++) {
            for (unsigned l = 0; l < JIT_WARP; l++)
                idx[l] = l * p->vec + k;
            LLVMValueRef st =
                LLVMBuildStore(b, mma_shuffle(e, x, NULL, idx, JIT_WARP),
                               at_(e, memory, ELEMENTS + (uint64_t)k * p->bytes * JIT_WARP));
            LLVMSetAlignment(st, 64);
        }
        return;
    }
    for (unsigned k = 0; k < p->vec; k++) {
        v[k] = LLVMBuildLoad2(b, row_(e, p),
                              at_(e, memory, ELEMENTS + (uint64_t)k * p->bytes * JIT_WARP), "");
        LLVMSetAlignment(v[k], 64);
    }
    for (unsigned l = 0; l < 2 * JIT_WARP; l++)
        idx[l] = l;
    for (unsigned m = p->vec; m > 1; m /= 2)
        for (unsigned k = 0; k < m / 2; k++) {
            unsigned len = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = l;
            v[k] = mma_shuffle(e, v[2 * k], v[2 * k + 1], idx, 2 * len);
        }
    for (unsigned l = 0; l < n; l++)
        idx[l] = l % p->vec * JIT_WARP + l / p->vec;
    x = LLVMBuildStore(b, mma_shuffle(e, v[0], NULL, idx, n), at_(e, memory, PIECES));
    LLVMSetAlignment(x, 64);
}

/* void (ptr memory, i32 lanes) */
static void body_(struct emit *e, LLVMValueRef fn, const void *arg)
{
    const struct piece *p = arg;
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1);
    unsigned bytes = p->bytes * p->vec;
    LLVMTypeRef whole = bytes < 4 ? LLVMIntTypeInContext(e->alu.ctx, bytes * 8)
                                  : LLVMVectorType(e->i32, bytes / 4);
    LLVMBasicBlockRef before, loop = LLVMAppendBasicBlockInContext(e->alu.ctx, fn, "lane");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->alu.ctx, fn, "done");
    if (!p->load)
        turn_(e, p, memory);
    before = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, e->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(e->i1, 1, false)};
    LLVMValueRef lane = intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2);
    LLVMValueRef there =
        LLVMBuildLoad2(b, e->ptr, LLVMBuildGEP2(b, e->ptr, memory, &lane, 1, ""), "");
    LLVMValueRef here =
        LLVMBuildGEP2(b, whole, at_(e, memory, p->vec == 1 ? ELEMENTS : PIECES), &lane, 1, "");
    LLVMValueRef v = LLVMBuildLoad2(b, whole, p->load ? there : here, "");
    LLVMSetAlignment(v, p->bytes * p->vec);
    v = LLVMBuildStore(b, v, p->load ? here : there);
    LLVMSetAlignment(v, p->bytes * p->vec);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(e, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){lanes, rest}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(e, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    if (p->load)
        turn_(e, p, memory);
}

static LLVMValueRef call_(struct emit *e, const struct access *a, LLVMValueRef pointers,
                          LLVMValueRef *v, bool load)
{
    struct piece p = {a->bytes, (unsigned)a->vec, load};
    char name[48];
    if (e->pieces == NULL) {
        e->pieces = new_slot(e, LLVMArrayType2(e->i8, SHARED_BYTES), "pieces");
        LLVMSetAlignment(e->pieces, 64);
    }
    LLVMSetAlignment(LLVMBuildStore(e->alu.b, pointers, e->pieces), 64);
    for (unsigned k = 0; !load && k < p.vec; k++) {
        LLVMValueRef at = at_(e, e->pieces, ELEMENTS + (uint64_t)k * p.bytes * JIT_WARP);
        LLVMSetAlignment(LLVMBuildStore(e->alu.b, v[k], at), 64);
    }
    snprintf(name, sizeof name, "weir_%s_%ux%u", load ? "load" : "store", p.vec, p.bytes);
    LLVMTypeRef params[2] = {e->ptr, e->i32};
    LLVMValueRef fn = mma_function(e, name, params, 2, body_, &p);
    LLVMValueRef args[2] = {e->pieces, mask_bits(e)};
    return LLVMBuildCall2(e->alu.b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

bool piece_fits(const struct emit *e, const struct access *a, bool load)
{
    unsigned whole = mem_natural(a);
    if (a->vec == 1 && !e->alu.has_avx512 && !load)
        return a->bytes <= 8;
    if (a->vec == 1 && !e->alu.has_avx512) /* a gather of 32 quadwords is a hundred instructions */
        return a->bytes == 8 && e->k->ninstrs > MANY_INSTRUCTIONS;
    return a->vec > 1 && a->bytes >= 4 && (whole == 8 || whole == 16);
}

void piece_load(struct emit *e, const struct access *a, LLVMValueRef pointers, LLVMValueRef *out)
{
    call_(e, a, pointers, NULL, true);
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef at = at_(e, e->pieces, ELEMENTS + (uint64_t)k * a->bytes * JIT_WARP);
        out[k] = LLVMBuildLoad2(e->alu.b, LLVMVectorType(a->elem, JIT_WARP), at, "");
        LLVMSetAlignment(out[k], 64);
    }
}

void piece_store(struct emit *e, const struct access *a, LLVMValueRef pointers, LLVMValueRef *v)
{
    call_(e, a, pointers, v, false);
}
