/* emit_piece: lanes that lie apart and access 8 or 16 bytes each, as vectors (ld.v4.f32 and the
 * like). A gather of every element would touch each lane's memory once an element; here each lane's
 * bytes are moved in one piece, by a function of the module that exists once for each size, since
 * such accesses come in large numbers in kernels that copy tiles. A scatter, where the machine has
 * none, is lane after lane anyway, and shares that function's form.
 *
 * Kernels with very many accesses whose lanes may be apart or neighbours (tiles copied by unrolled
 * loops) leave the look at the addresses to the function, too: in line it is a hundred instructions
 * an access, and compiling takes ten times as long. */
#include <stdio.h>

#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/memory/memory.h"

/* The memory that the function shares with its callers: addresses, pieces by lane, elements by
 * number, and the lanes found misaligned. */
enum {
    PIECES = 256,
    ELEMENTS = PIECES + 512,
    ODD_LANES = ELEMENTS + 512,
    SHARED_BYTES = ODD_LANES + 64
};

/* Kernels of more instructions than these are to become code that is small. */
enum { MANY_INSTRUCTIONS = 2000 };
/* Kernels of more accesses with lanes apart than these leave the look at them to a function. */
enum { MANY_APART = 96 };

/* What the function is told of where the pieces are. */
enum where {
    PLACED,  /* each lane's address, which has been looked at */
    STEPPED, /* lane 0's address, which has been looked at, and how far apart the lanes' are */
    LOOKED,  /* each lane's address */
    OFFSETS, /* an address, and each lane's offset from there */
};
static const char *const where_names[] = {"", "_stepped", "_looked", "_offsets"};

struct piece {
    unsigned bytes, vec; /* of an element; elements */
    bool load;
    enum where where;
};

static LLVMValueRef vector_gather_at(struct codegen *cg, LLVMValueRef p, uint64_t bytes)
{
    return byte_offset(cg, p, c64(cg, bytes));
}

static LLVMTypeRef vector_gather_row(struct codegen *cg, const struct piece *p)
{
    return LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, p->bytes * 8), JIT_WARP);
}

/* Elements of one number begin at a multiple of this. */
static unsigned row_align(unsigned bytes) { return bytes > 1 ? 64 : 32; }

/* Pieces by lane to elements by number, or back. */
static void vector_gather_turn(struct codegen *cg, const struct piece *p, LLVMValueRef memory)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned idx[JIT_WARP * 4], n = JIT_WARP * p->vec;
    if (p->vec == 1)
        return; /* the same */
    LLVMTypeRef all = LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, p->bytes * 8), n);
    LLVMValueRef v[4], x;
    if (p->load) {
        x = LLVMBuildLoad2(b, all, vector_gather_at(cg, memory, PIECES), "");
        LLVMSetAlignment(x, 64);
        for (unsigned k = 0; k < p->vec; k++) {
            for (unsigned l = 0; l < JIT_WARP; l++)
                idx[l] = l * p->vec + k;
            LLVMValueRef st = LLVMBuildStore(
                b, mma_shuffle(cg, x, NULL, idx, JIT_WARP),
                vector_gather_at(cg, memory, ELEMENTS + (uint64_t)k * p->bytes * JIT_WARP));
            LLVMSetAlignment(st, row_align(p->bytes));
        }
        return;
    }
    for (unsigned k = 0; k < p->vec; k++) {
        v[k] = LLVMBuildLoad2(
            b, vector_gather_row(cg, p),
            vector_gather_at(cg, memory, ELEMENTS + (uint64_t)k * p->bytes * JIT_WARP), "");
        LLVMSetAlignment(v[k], row_align(p->bytes));
    }
    for (unsigned l = 0; l < 2 * JIT_WARP; l++)
        idx[l] = l;
    for (unsigned m = p->vec; m > 1; m /= 2)
        for (unsigned k = 0; k < m / 2; k++) {
            unsigned len = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = l;
            v[k] = mma_shuffle(cg, v[2 * k], v[2 * k + 1], idx, 2 * len);
        }
    for (unsigned l = 0; l < n; l++)
        idx[l] = l % p->vec * JIT_WARP + l / p->vec;
    x = LLVMBuildStore(b, mma_shuffle(cg, v[0], NULL, idx, n),
                       vector_gather_at(cg, memory, PIECES));
    LLVMSetAlignment(x, 64);
}

/* Where the lane's piece lies. */
static LLVMValueRef vector_gather_place(struct codegen *cg, LLVMValueRef fn, const struct piece *p,
                                        LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    if (p->where != STEPPED)
        return LLVMBuildLoad2(b, cg->ptr,
                              LLVMBuildGEP2(b, cg->ptr, LLVMGetParam(fn, 0), &lane, 1, ""), "");
    LLVMValueRef by = LLVMBuildMul(b, LLVMBuildZExt(b, lane, cg->i64, ""), LLVMGetParam(fn, 3), "");
    return byte_offset(cg, LLVMGetParam(fn, 2), by);
}

/* The lanes' addresses, which are put where vector_gather_place finds them. */
static LLVMValueRef vector_gather_addresses(struct codegen *cg, LLVMValueRef fn,
                                            const struct piece *p)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0);
    bool offsets = p->where == OFFSETS;
    LLVMValueRef v = LLVMBuildLoad2(b, offsets ? cg->v32i32 : cg->v32i64, memory, "");
    LLVMSetAlignment(v, 64);
    if (!offsets)
        return v;
    LLVMValueRef base = LLVMBuildPtrToInt(b, LLVMGetParam(fn, 2), cg->i64, "");
    v = LLVMBuildAdd(b, LLVMBuildSExt(b, v, cg->v32i64, ""), splat(cg, base, JIT_WARP), "");
    LLVMSetAlignment(LLVMBuildStore(b, v, memory), 64);
    return v;
}

static LLVMBasicBlockRef vector_gather_block(struct codegen *cg, LLVMValueRef fn, const char *name)
{
    return LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, name);
}

/* Looks at the addresses: tells of misaligned ones and does nothing more; moves the pieces of 32
 * active neighbours all at once and goes to `done`; goes on here with any others. */
static void look(struct codegen *cg, LLVMValueRef fn, const struct piece *p, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1);
    unsigned bytes = p->bytes * p->vec;
    LLVMBasicBlockRef odd_bb = vector_gather_block(cg, fn, "odd"),
                      even = vector_gather_block(cg, fn, "even");
    LLVMBasicBlockRef near = vector_gather_block(cg, fn, "near"),
                      far = vector_gather_block(cg, fn, "far");
    LLVMValueRef at = vector_gather_addresses(cg, fn, p),
                 low = splat(cg, c64(cg, bytes - 1), JIT_WARP);
    LLVMValueRef odd =
        LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, at, low, ""), LLVMConstNull(cg->v32i64), "");
    odd = LLVMBuildAnd(b, bits_of(cg, odd), lanes, "");
    LLVMBuildStore(b, odd, vector_gather_at(cg, memory, ODD_LANES));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, odd, c32(cg, 0), ""), even, odd_bb);
    LLVMPositionBuilderAtEnd(b, odd_bb);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, even);
    LLVMValueRef first = LLVMBuildExtractElement(b, at, c32(cg, 0), "");
    LLVMValueRef want = LLVMBuildAdd(b, splat(cg, first, JIT_WARP),
                                     lane_constants(cg, cg->i64, (int64_t)bytes, SEG_WARP), "");
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, at, want, ""));
    same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, same, lanes, ""), c32(cg, 0xffffffff), "");
    LLVMBuildCondBr(b, same, near, far);
    LLVMPositionBuilderAtEnd(b, near);
    LLVMTypeRef all = LLVMVectorType(cg->i8, JIT_WARP * bytes);
    LLVMValueRef here = vector_gather_at(cg, memory, p->vec == 1 ? ELEMENTS : PIECES);
    LLVMValueRef there = LLVMBuildIntToPtr(b, first, cg->ptr, "");
    LLVMValueRef v = LLVMBuildLoad2(b, all, p->load ? there : here, "");
    LLVMSetAlignment(v, p->load ? bytes : 64);
    v = LLVMBuildStore(b, v, p->load ? here : there);
    LLVMSetAlignment(v, p->load ? 64 : bytes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, far);
}

/* void (ptr memory, i32 lanes), and if stepped, ptr of lane 0, i64 step; of offsets, ptr */
static void vector_gather_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct piece *p = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1);
    unsigned bytes = p->bytes * p->vec;
    LLVMTypeRef whole = bytes < 4 ? LLVMIntTypeInContext(cg->alu.ctx, bytes * 8)
                                  : LLVMVectorType(cg->i32, bytes / 4);
    LLVMBasicBlockRef before, loop = vector_gather_block(cg, fn, "lane"),
                              done = vector_gather_block(cg, fn, "done");
    if (!p->load)
        vector_gather_turn(cg, p, memory);
    if (p->where == LOOKED || p->where == OFFSETS)
        look(cg, fn, p, done);
    before = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(cg->i1, 1, false)};
    LLVMValueRef lane = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    LLVMValueRef there = vector_gather_place(cg, fn, p, lane);
    LLVMValueRef here = LLVMBuildGEP2(
        b, whole, vector_gather_at(cg, memory, p->vec == 1 ? ELEMENTS : PIECES), &lane, 1, "");
    /* local memory has pieces anywhere (mem_due) */
    LLVMValueRef v = LLVMBuildLoad2(b, whole, p->load ? there : here, "");
    LLVMSetAlignment(v, p->load ? 1 : bytes);
    v = LLVMBuildStore(b, v, p->load ? here : there);
    LLVMSetAlignment(v, p->load ? bytes : 1);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){lanes, rest}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    if (p->load)
        vector_gather_turn(cg, p, memory);
}

/* `at` is each lane's address or offset, or for STEPPED, lane 0's. */
static void vector_gather_call(struct codegen *cg, const struct access *a, enum where where,
                               LLVMValueRef at, LLVMValueRef *v, bool load)
{
    struct piece p = {a->bytes, (unsigned)a->vec, load, where};
    char name[48];
    if (cg->pieces == NULL) {
        cg->pieces = new_slot(cg, LLVMArrayType2(cg->i8, SHARED_BYTES), "pieces");
        LLVMSetAlignment(cg->pieces, 64);
    }
    if (where != STEPPED)
        LLVMSetAlignment(LLVMBuildStore(cg->alu.b, at, cg->pieces), 64);
    for (unsigned k = 0; !load && k < p.vec; k++) {
        LLVMValueRef row =
            vector_gather_at(cg, cg->pieces, ELEMENTS + (uint64_t)k * p.bytes * JIT_WARP);
        LLVMSetAlignment(LLVMBuildStore(cg->alu.b, v[k], row), row_align(p.bytes));
    }
    snprintf(name, sizeof name, "weir_%s_%ux%u%s", load ? "load" : "store", p.vec, p.bytes,
             where_names[where]);
    LLVMTypeRef params[4] = {cg->ptr, cg->i32, cg->ptr, cg->i64};
    unsigned count = where == STEPPED ? 4 : where == OFFSETS ? 3 : 2;
    LLVMValueRef fn = mma_function(cg, name, params, count, vector_gather_body, &p);
    LLVMValueRef args[4] = {cg->pieces, mask_bits(cg), where == OFFSETS ? cg->shared : at,
                            a->windowed ? cg->local_stride
                                        : c64(cg, (uint64_t)a->uniformity.stride)};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, count, "");
}

bool piece_stepped(const struct access *a)
{
    return a->windowed || (a->uniformity.seg == SEG_WARP && a->uniformity.brk == 0);
}

bool piece_fits(const struct codegen *cg, const struct access *a, bool load)
{
    unsigned whole = mem_natural(a);
    if (a->bytes < 4 && (a->vec > 1 || !load)) /* no machine gathers or scatters these */
        return whole <= 16;
    if (a->vec == 1 && !cg->alu.has_avx512 && !load)
        return a->bytes <= 8;
    if (a->vec == 1 && !cg->alu.has_avx512) /* a gather of 32 quadwords is a hundred instructions */
        return a->bytes == 8 && cg->k->ninstrs > MANY_INSTRUCTIONS;
    if (a->is_volatile && a->vec > 1) /* an element at a time would not do (emit_mem.c) */
        return whole <= 16;
    return a->vec > 1 && (whole == 8 || whole == 16);
}

/* What a function has left, by element. */
static void vector_gather_results(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef at =
            vector_gather_at(cg, cg->pieces, ELEMENTS + (uint64_t)k * a->bytes * JIT_WARP);
        out[k] = LLVMBuildLoad2(cg->alu.b, LLVMVectorType(a->elem, JIT_WARP), at, "");
        LLVMSetAlignment(out[k], row_align(a->bytes));
    }
}

void piece_load(struct codegen *cg, const struct access *a, LLVMValueRef where, LLVMValueRef *out)
{
    vector_gather_call(cg, a, piece_stepped(a) ? STEPPED : PLACED, where, NULL, true);
    vector_gather_results(cg, a, out);
}

void piece_store(struct codegen *cg, const struct access *a, LLVMValueRef where, LLVMValueRef *v)
{
    vector_gather_call(cg, a, piece_stepped(a) ? STEPPED : PLACED, where, v, false);
}

/* ---- the look, too ---- */

/* Accesses of the kernel whose lanes are not known to be neighbours. */
static uint32_t count_apart(const struct jkernel *k)
{
    uint32_t count = 0;
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        bool copy = i->op == PTX_OP_cp && i->noperands >= 2;
        if (i->op != PTX_OP_ld && i->op != PTX_OP_st && !copy)
            continue;
        for (int o = 0; o < 2; o++)
            if (i->operands[o].kind == PTX_OPR_MEM)
                count += address_uniformity(k, &i->operands[o]).seg == SEG_NONE;
    }
    return count;
}

bool piece_looked(struct codegen *cg, const struct access *a)
{
    if (a->is_volatile || a->space == PTX_SPACE_LOCAL || a->uniformity.seg != SEG_NONE ||
        mem_natural(a) > 16 || (a->vec > 1 && a->bytes < 4))
        return false;
    if (!cg->apart_counted) {
        cg->apart = count_apart(cg->k);
        cg->apart_counted = true;
    }
    return cg->apart > MANY_APART;
}

/* What the function has found to be misaligned is a fault of the access. */
static void fault_if_odd(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef odd = LLVMBuildLoad2(b, cg->i32, vector_gather_at(cg, cg->pieces, ODD_LANES), "");
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, odd, c32(cg, 0), ""), yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef args[2] = {odd, LLVMConstInt(cg->i1, 1, false)};
    LLVMValueRef lane = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    LLVMValueRef at = LLVMBuildGEP2(b, cg->i64, cg->pieces, &lane, 1, "");
    emit_fault(cg, JIT_FAULT_MISALIGNED, odd, LLVMBuildLoad2(b, cg->i64, at, ""));
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

static void call_looking(struct codegen *cg, const struct access *a, LLVMValueRef *v, bool load)
{
    bool offsets = a->space == PTX_SPACE_SHARED;
    LLVMValueRef at = address_vector(cg, a->at, offsets ? PTX_SPACE_GENERIC : a->space);
    if (offsets)
        at = LLVMBuildTrunc(cg->alu.b, at, cg->v32i32, "");
    vector_gather_call(cg, a, offsets ? OFFSETS : LOOKED, at, v, load);
    if (mem_natural(a) > 1)
        fault_if_odd(cg);
}

void piece_load_looking(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    call_looking(cg, a, NULL, true);
    vector_gather_results(cg, a, out);
}

void piece_store_looking(struct codegen *cg, const struct access *a, LLVMValueRef *v)
{
    call_looking(cg, a, v, false);
}
