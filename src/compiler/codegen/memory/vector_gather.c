/* vector_gather.c: gathers and scatters of vectors, of 8 or 16 bytes a lane (ld.v4.f32 and the
 * like).
 *
 * A gather of every element would access each lane's memory once an element. Here each lane's bytes
 * are moved at once, by a function of the module that exists once for each size, since such
 * accesses come in large numbers in kernels that copy tiles. A scatter, where the machine has none,
 * is a loop over lanes anyway, and uses the same function.
 *
 * Kernels with very many accesses whose lanes may or may not be neighbours (tiles copied by
 * unrolled loops) leave the test of the addresses to the function, too: inline it is a hundred
 * instructions an access, and compiling takes ten times as long. */
#include <stdio.h>

#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* The memory that the function shares with its callers: addresses, vectors by lane, elements by
 * number, and the misaligned lanes. */
enum {
    VECTORS = 256,
    ELEMENTS = VECTORS + 512,
    MISALIGNED = ELEMENTS + 512,
    SHARED_BYTES = MISALIGNED + 64
};

/* Kernels of more instructions than these need small code. */
enum { MANY_INSTRUCTIONS = 2000 };
/* Kernels of more divergent accesses than these leave the test of addresses to a function. */
enum { MANY_DIVERGENT = 96 };

/* How the function gets the addresses. */
enum address_form {
    ADDRESSES, /* each lane's address, already tested */
    STRIDED,   /* lane 0's address, already tested, and the stride */
    PROBED,    /* each lane's address */
    OFFSETS,   /* an address, and each lane's offset from there */
    INDEXED,   /* an address, and each lane's index from there, already tested */
};
static const char *const form_names[] = {"", "_strided", "_probed", "_offsets", "_indexed"};

struct lane_vector {
    unsigned bytes, vec; /* of an element; elements */
    bool load;
    enum address_form address_form;
    unsigned scale; /* of an index: bytes, and how it becomes 64 bits wide */
    bool is_signed;
};

static LLVMValueRef scratch_at(struct codegen *cg, LLVMValueRef p, uint64_t bytes)
{
    return byte_offset(cg, p, c64(cg, bytes));
}

static LLVMTypeRef element_row(struct codegen *cg, const struct lane_vector *p)
{
    return LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, p->bytes * 8), JIT_WARP);
}

/* The alignment of the elements of one number. */
static unsigned row_align(unsigned bytes) { return bytes > 1 ? 64 : 32; }

/* Where the caller has, or finds, the elements of one number. */
static LLVMValueRef element_place(struct codegen *cg, const struct lane_vector *p, LLVMValueRef fn,
                                  unsigned k)
{
    return scratch_at(cg, LLVMGetParam(fn, 0), ELEMENTS + (uint64_t)k * p->bytes * JIT_WARP);
}

/* Joins 2^n vectors, or what they are made of, one after the other. */
static LLVMValueRef joined(struct codegen *cg, LLVMValueRef *v, unsigned count)
{
    unsigned idx[JIT_WARP * 4];
    for (; count > 1; count /= 2)
        for (unsigned k = 0; k < count / 2; k++) {
            unsigned len = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = l;
            v[k] = shuffle(cg, v[2 * k], v[2 * k + 1], idx, 2 * len);
        }
    return v[0];
}

/* Leaves the elements of each number that all lanes' vectors have. */
static void leave_elements(struct codegen *cg, const struct lane_vector *p, LLVMValueRef fn,
                           LLVMValueRef vectors)
{
    unsigned idx[JIT_WARP];
    for (unsigned k = 0; k < p->vec; k++) {
        for (unsigned l = 0; l < JIT_WARP; l++)
            idx[l] = l * p->vec + k;
        LLVMValueRef st = LLVMBuildStore(cg->alu.b, shuffle(cg, vectors, NULL, idx, JIT_WARP),
                                         element_place(cg, p, fn, k));
        LLVMSetAlignment(st, row_align(p->bytes));
    }
}

/* All lanes' vectors, one after the other, of the elements that the caller has left. */
static LLVMValueRef take_elements(struct codegen *cg, const struct lane_vector *p, LLVMValueRef fn)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v[4];
    unsigned idx[JIT_WARP * 4], n = JIT_WARP * p->vec;
    for (unsigned k = 0; k < p->vec; k++) {
        v[k] = LLVMBuildLoad2(b, element_row(cg, p), element_place(cg, p, fn, k), "");
        LLVMSetAlignment(v[k], row_align(p->bytes));
    }
    for (unsigned l = 0; l < n; l++)
        idx[l] = l % p->vec * JIT_WARP + l / p->vec;
    return p->vec == 1 ? v[0] : shuffle(cg, joined(cg, v, p->vec), NULL, idx, n);
}

/* The type of all lanes' vectors, one after the other. */
static LLVMTypeRef vectors_type(struct codegen *cg, const struct lane_vector *p)
{
    return LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, p->bytes * 8), JIT_WARP * p->vec);
}

/* The pointer to a lane's vector, by an index or offset that is in memory. */
static LLVMValueRef lane_from_base(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                                   LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    bool is_signed = p->address_form == OFFSETS || p->is_signed;
    LLVMValueRef at = LLVMBuildGEP2(b, cg->i32, LLVMGetParam(fn, 0), &lane, 1, "");
    at = LLVMBuildLoad2(b, cg->i32, at, "");
    at = is_signed ? LLVMBuildSExt(b, at, cg->i64, "") : LLVMBuildZExt(b, at, cg->i64, "");
    if (p->address_form == INDEXED)
        at = LLVMBuildMul(b, at, c64(cg, p->scale), "");
    return byte_offset(cg, LLVMGetParam(fn, 2), at);
}

/* The pointer to a lane's vector. */
static LLVMValueRef lane_pointer(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                                 LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    if (p->address_form == INDEXED)
        return lane_from_base(cg, fn, p, lane);
    if (p->address_form != STRIDED)
        return LLVMBuildLoad2(b, cg->ptr,
                              LLVMBuildGEP2(b, cg->ptr, LLVMGetParam(fn, 0), &lane, 1, ""), "");
    LLVMValueRef by = LLVMBuildMul(b, LLVMBuildZExt(b, lane, cg->i64, ""), LLVMGetParam(fn, 3), "");
    return byte_offset(cg, LLVMGetParam(fn, 2), by);
}

/* What the caller has stored of each lane: an offset or an address. */
static LLVMValueRef lane_places(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p)
{
    LLVMTypeRef t = p->address_form == OFFSETS ? cg->v32i32 : cg->v32i64;
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, LLVMGetParam(fn, 0), "");
    LLVMSetAlignment(v, 64);
    return v;
}

/* The lanes' addresses, which are stored where lane_pointer finds them. */
static LLVMValueRef lane_addresses(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                                   LLVMValueRef places)
{
    LLVMBuilderRef b = cg->alu.b;
    if (p->address_form != OFFSETS)
        return places;
    LLVMValueRef base = LLVMBuildPtrToInt(b, LLVMGetParam(fn, 2), cg->i64, "");
    LLVMValueRef v =
        LLVMBuildAdd(b, LLVMBuildSExt(b, places, cg->v32i64, ""), splat(cg, base, JIT_WARP), "");
    LLVMSetAlignment(LLVMBuildStore(b, v, LLVMGetParam(fn, 0)), 64);
    return v;
}

/* Goes to `aligned` if all lanes are, active or not. Else tells the caller which active ones are
 * not, and returns if there are any; goes on here if there are none. */
static void probe_alignment(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                            LLVMValueRef places, LLVMBasicBlockRef aligned)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef look = append_bb(cg, fn, "look"), bad = append_bb(cg, fn, "misaligned"),
                      good = append_bb(cg, fn, "inactive");
    LLVMTypeRef t = LLVMTypeOf(places);
    uint64_t low = p->bytes * p->vec - 1;
    LLVMValueRef any = intrinsic(cg, "llvm.vector.reduce.or", &t, 1, &places, 1);
    any = LLVMBuildAnd(b, any, LLVMConstInt(LLVMTypeOf(any), low, false), "");
    LLVMValueRef there = scratch_at(cg, LLVMGetParam(fn, 0), MISALIGNED);
    LLVMBuildStore(b, c32(cg, 0), there);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, any, LLVMConstNull(LLVMTypeOf(any)), ""),
                    aligned, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at = lane_addresses(cg, fn, p, places);
    at = LLVMBuildAnd(b, at, splat(cg, c64(cg, low), JIT_WARP), "");
    at = LLVMBuildICmp(b, LLVMIntNE, at, LLVMConstNull(cg->v32i64), "");
    LLVMValueRef misaligned = LLVMBuildAnd(b, bits_of(cg, at), LLVMGetParam(fn, 1), "");
    LLVMBuildStore(b, misaligned, there);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, misaligned, c32(cg, 0), ""), good, bad);
    LLVMPositionBuilderAtEnd(b, bad);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, good);
}

/* Copies the vectors of 32 active neighbours at once and goes to `done`; goes on here with others.
 * Two lanes tell for most that they are none. */
static void probe_neighbours(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                             LLVMValueRef places, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1);
    unsigned bytes = p->bytes * p->vec;
    LLVMTypeRef t = LLVMGetElementType(LLVMTypeOf(places));
    LLVMBasicBlockRef near = append_bb(cg, fn, "near"), adjacent = append_bb(cg, fn, "adjacent"),
                      far = append_bb(cg, fn, "divergent");
    LLVMValueRef first = LLVMBuildExtractElement(b, places, c32(cg, 0), "");
    LLVMValueRef second = LLVMBuildExtractElement(b, places, c32(cg, 1), "");
    second = LLVMBuildSub(b, second, first, "");
    LLVMValueRef two = LLVMBuildICmp(b, LLVMIntEQ, second, LLVMConstInt(t, bytes, false), "");
    LLVMBuildCondBr(b, two, near, far);
    LLVMPositionBuilderAtEnd(b, near);
    LLVMValueRef want = LLVMBuildAdd(b, splat(cg, first, JIT_WARP),
                                     lane_constants(cg, t, (int64_t)bytes, SEG_WARP), "");
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, places, want, ""));
    same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, same, lanes, ""), c32(cg, 0xffffffff), "");
    LLVMBuildCondBr(b, same, adjacent, far);
    LLVMPositionBuilderAtEnd(b, adjacent);
    LLVMTypeRef all = LLVMVectorType(cg->i8, JIT_WARP * bytes);
    LLVMValueRef here = scratch_at(cg, memory, p->vec == 1 ? ELEMENTS : VECTORS);
    LLVMValueRef there =
        p->address_form == OFFSETS
            ? byte_offset(cg, LLVMGetParam(fn, 2), LLVMBuildSExt(b, first, cg->i64, ""))
            : LLVMBuildIntToPtr(b, first, cg->ptr, "");
    LLVMValueRef v = LLVMBuildLoad2(b, all, p->load ? there : here, "");
    LLVMSetAlignment(v, p->load ? bytes : 64);
    v = LLVMBuildStore(b, v, p->load ? here : there);
    LLVMSetAlignment(v, p->load ? 64 : bytes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, far);
}

/* ---- all lanes ---- */

/* What a lane moves at once. */
static LLVMTypeRef lane_unit(struct codegen *cg, const struct lane_vector *p)
{
    unsigned bytes = p->bytes * p->vec;
    return bytes == 4 ? cg->i32 : bytes == 8 ? cg->i64 : LLVMVectorType(cg->i64, bytes / 8);
}

/* May all lanes be written out? */
static bool moves_words(const struct lane_vector *p)
{
    unsigned bytes = p->bytes * p->vec;
    return bytes == 4 || bytes == 8 || bytes == 16;
}

static LLVMValueRef lane_place(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                               unsigned lane)
{
    LLVMValueRef l = c32(cg, lane);
    return p->address_form == OFFSETS ? lane_from_base(cg, fn, p, l) : lane_pointer(cg, fn, p, l);
}

/* What all lanes load, made in registers, a register at a time: each address from memory, and no
 * branch that depends on a lane. A vector that is read from what lanes have just stored one by one
 * would wait for all of these. */
static LLVMValueRef load_all_lanes(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p)
{
    enum { STRIP = 8 };
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef unit = lane_unit(cg, p);
    bool wide = LLVMGetTypeKind(unit) == LLVMVectorTypeKind;
    LLVMValueRef v[JIT_WARP];
    unsigned count = 0;
    for (unsigned l = 0; l < JIT_WARP; l++) {
        LLVMValueRef x = LLVMBuildLoad2(b, unit, lane_place(cg, fn, p, l), "");
        LLVMSetAlignment(x, p->vec > 1 ? 1 : p->bytes); /* as in the loop over lanes */
        if (wide) {
            v[count++] = x;
            continue;
        }
        if (l % STRIP == 0)
            v[count++] = LLVMGetPoison(LLVMVectorType(unit, STRIP));
        v[count - 1] = LLVMBuildInsertElement(b, v[count - 1], x, c32(cg, l % STRIP), "");
    }
    return LLVMBuildBitCast(b, joined(cg, v, count), vectors_type(cg, p), "");
}

static void store_all_lanes(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                            LLVMValueRef vectors)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef unit = lane_unit(cg, p);
    bool wide = LLVMGetTypeKind(unit) == LLVMVectorTypeKind;
    unsigned words = wide ? LLVMGetVectorSize(unit) : 1;
    LLVMTypeRef word = wide ? LLVMGetElementType(unit) : unit;
    vectors = LLVMBuildBitCast(b, vectors, LLVMVectorType(word, JIT_WARP * words), "");
    for (unsigned l = 0; l < JIT_WARP; l++) {
        unsigned idx[2] = {l * words, l * words + 1};
        LLVMValueRef x = wide ? shuffle(cg, vectors, NULL, idx, words)
                              : LLVMBuildExtractElement(b, vectors, c32(cg, l), "");
        LLVMSetAlignment(LLVMBuildStore(b, x, lane_place(cg, fn, p, l)), 1);
    }
}

/* Where all lanes are active moves their vectors and returns; goes on here where some are not. */
static void move_all(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                     LLVMValueRef vectors)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef all = append_bb(cg, fn, "all"), some = append_bb(cg, fn, "some");
    LLVMValueRef lanes = LLVMGetParam(fn, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, lanes, c32(cg, 0xffffffff), ""), all, some);
    LLVMPositionBuilderAtEnd(b, all);
    if (p->load)
        leave_elements(cg, p, fn, load_all_lanes(cg, fn, p));
    else
        store_all_lanes(cg, fn, p, vectors);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, some);
}

/* Tests the addresses: reports misaligned ones and returns; goes to `done` with neighbours, returns
 * with words that all lanes have moved; goes on here with the active ones of any others. */
static void probe_addresses(struct codegen *cg, LLVMValueRef fn, const struct lane_vector *p,
                            LLVMValueRef vectors, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef aligned = append_bb(cg, fn, "aligned"), each = append_bb(cg, fn, "each");
    LLVMValueRef places = lane_places(cg, fn, p);
    probe_alignment(cg, fn, p, places, aligned);
    LLVMBuildBr(b, each);
    LLVMPositionBuilderAtEnd(b, aligned);
    probe_neighbours(cg, fn, p, places, done);
    if (moves_words(p))
        move_all(cg, fn, p, vectors);
    lane_addresses(cg, fn, p, places);
    LLVMBuildBr(b, each);
    LLVMPositionBuilderAtEnd(b, each);
}

/* void (ptr memory, i32 lanes), and if strided, ptr of lane 0, i64 stride; of offsets and indices,
 * ptr */
static void gather_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct lane_vector *p = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef memory = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1);
    unsigned bytes = p->bytes * p->vec;
    LLVMTypeRef unit = bytes < 4 ? LLVMIntTypeInContext(cg->alu.ctx, bytes * 8)
                                 : LLVMVectorType(cg->i32, bytes / 4);
    LLVMBasicBlockRef loop = append_bb(cg, fn, "lane"), done = append_bb(cg, fn, "done");
    LLVMValueRef vectors = p->load ? NULL : take_elements(cg, p, fn), there, here;
    bool probes = p->address_form == PROBED || p->address_form == OFFSETS;
    if (!probes && moves_words(p))
        move_all(cg, fn, p, vectors);
    if (!p->load && p->vec > 1)
        LLVMSetAlignment(LLVMBuildStore(b, vectors, scratch_at(cg, memory, VECTORS)), 64);
    if (probes)
        probe_addresses(cg, fn, p, vectors, done);
    struct lane_loop l = lane_loop_open(cg, lanes, loop, done);
    there = lane_pointer(cg, fn, p, l.lane);
    here = LLVMBuildGEP2(b, unit, scratch_at(cg, memory, p->vec == 1 ? ELEMENTS : VECTORS), &l.lane,
                         1, "");
    /* vectors in local memory may be at any address (mem_alignment) */
    LLVMValueRef v = LLVMBuildLoad2(b, unit, p->load ? there : here, "");
    LLVMSetAlignment(v, p->load ? 1 : bytes);
    v = LLVMBuildStore(b, v, p->load ? here : there);
    LLVMSetAlignment(v, p->load ? bytes : 1);
    lane_loop_close(cg, &l);
    if (!p->load || p->vec == 1)
        return;
    v = LLVMBuildLoad2(b, vectors_type(cg, p), scratch_at(cg, memory, VECTORS), "");
    LLVMSetAlignment(v, 64);
    leave_elements(cg, p, fn, v);
}

static LLVMValueRef gather_scratch(struct codegen *cg)
{
    LLVMTypeRef type = LLVMArrayType2(cg->i8, SHARED_BYTES);
    return shared_slot(cg, SLOT_GATHER, type, 64, "gather");
}

/* Calls the function. `at` is each lane's address, offset or index, or if strided, lane 0's
 * address; offsets and indices are from `base` on. */
static void call_gather(struct codegen *cg, const struct access *a, struct lane_vector p,
                        LLVMValueRef at, LLVMValueRef base, LLVMValueRef *v)
{
    char name[64], scale[16] = "";
    LLVMValueRef scratch = gather_scratch(cg);
    p.bytes = a->bytes;
    p.vec = (unsigned)a->vec;
    p.load = v == NULL;
    if (p.address_form != STRIDED)
        LLVMSetAlignment(store_threads(cg, at, scratch), 64);
    for (unsigned k = 0; !p.load && k < p.vec; k++) {
        LLVMValueRef row = scratch_at(cg, scratch, ELEMENTS + (uint64_t)k * p.bytes * JIT_WARP);
        LLVMSetAlignment(store_threads(cg, v[k], row), row_align(p.bytes));
    }
    if (p.address_form == INDEXED)
        snprintf(scale, sizeof scale, "_%s%u", p.is_signed ? "s" : "u", p.scale);
    snprintf(name, sizeof name, "weir_%s_%ux%u%s%s", p.load ? "load" : "store", p.vec, p.bytes,
             form_names[p.address_form], scale);
    LLVMTypeRef params[4] = {cg->ptr, cg->i32, cg->ptr, cg->i64};
    unsigned count = p.address_form == STRIDED ? 4 : base != NULL ? 3 : 2;
    LLVMValueRef fn = module_function(cg, name, params, count, gather_body, &p);
    LLVMValueRef args[4] = {scratch, mask_bits(cg), base != NULL ? base : at,
                            a->windowed ? cg->block.local_stride
                                        : c64(cg, (uint64_t)a->uniformity.stride)};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, count, "");
}

/* The same in the form in which the addresses are: 32 indices are half of what 32 addresses are,
 * and take nothing to make. */
static void call_in_form(struct codegen *cg, const struct access *a,
                         const struct lane_addresses *at, LLVMValueRef first, LLVMValueRef *v)
{
    struct lane_vector p = {.address_form = STRIDED};
    LLVMValueRef base = NULL, lanes = first;
    if (first == NULL && (at->index != NULL || a->space == PTX_SPACE_SHARED)) {
        bool offsets = at->index == NULL;
        p.address_form = INDEXED;
        p.scale = offsets ? 1 : at->scale;
        p.is_signed = offsets || at->is_signed;
        lanes = offsets ? at->at : at->index;
        base = offsets ? cg->block.shared : LLVMBuildIntToPtr(cg->alu.b, at->base, cg->ptr, "");
    } else if (first == NULL) {
        p.address_form = ADDRESSES;
        lanes = at->at;
    }
    call_gather(cg, a, p, lanes, base, v);
}

bool vector_gather_strided(const struct access *a)
{
    return a->windowed || (a->uniformity.seg == SEG_WARP && a->uniformity.brk == 0);
}

bool vector_gather_fits(const struct codegen *cg, const struct access *a, bool load)
{
    unsigned unit = mem_natural(a);
    if (a->bytes < 4 && (a->vec > 1 || !load)) /* no machine gathers or scatters these */
        return unit <= 16;
    if (a->vec == 1 && !cg->alu.has_avx512 && !load)
        return a->bytes <= 8;
    if (a->vec == 1 && !cg->alu.has_avx512) /* a gather of 32 quadwords is a hundred instructions */
        return a->bytes == 8 && cg->k->ninstrs > MANY_INSTRUCTIONS;
    if (a->is_volatile && a->vec > 1) /* an element at a time would not do (load_store.c) */
        return unit <= 16;
    return a->vec > 1 && (unit == 8 || unit == 16);
}

/* Loads the elements that the function has left. */
static void gather_results(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef at =
            scratch_at(cg, gather_scratch(cg), ELEMENTS + (uint64_t)k * a->bytes * JIT_WARP);
        out[k] = LLVMBuildLoad2(cg->alu.b, LLVMVectorType(a->elem, JIT_WARP), at, "");
        LLVMSetAlignment(out[k], row_align(a->bytes));
    }
}

void vector_gather(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                   LLVMValueRef first, LLVMValueRef *out)
{
    call_in_form(cg, a, at, first, NULL);
    gather_results(cg, a, out);
}

void vector_scatter(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                    LLVMValueRef first, LLVMValueRef *v)
{
    call_in_form(cg, a, at, first, v);
}

/* ---- with the test of addresses ---- */

struct vector_gather {
    uint32_t divergent; /* accesses whose lanes are not known to be neighbours */
    uint64_t *of_data;  /* bit set over registers: what differs between lanes and is made of what is
                           read from memory */
};

/* Accesses of the kernel whose lanes are not known to be neighbours. */
static uint32_t count_divergent(const struct jkernel *k)
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

/* Is what the instruction writes made of data? */
static bool makes_data(const struct ptx_instr *i, const struct jroles *r, const uint64_t *of_data)
{
    bool param = i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM;
    bool is = (i->op == PTX_OP_ld || i->op == PTX_OP_ldu) && !param;
    for (int u = 0; u < r->nuse && !is; u++)
        is = bit_get(of_data, r->use[u]);
    return is;
}

static void find_data(const struct jkernel *k, uint64_t *of_data)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t n = 0; n < k->ninstrs; n++) {
            struct jroles r;
            jit_roles(&k->instrs[n], &r);
            if (!makes_data(&k->instrs[n], &r, of_data))
                continue;
            for (int d = 0; d < r.ndef; d++) {
                if (bit_get(of_data, r.def[d]) || is_uniform(&k->regs[r.def[d]].uniformity))
                    continue;
                bit_set(of_data, r.def[d]);
                more = true;
            }
        }
    }
}

bool scattered_by_data(const struct codegen *cg, const struct access *a)
{
    bool gathers = cg->alu.has_avx512 || (cg->alu.has_avx2 && cg->k->ninstrs <= MANY_INSTRUCTIONS);
    return a->vec == 1 && a->bytes >= 4 && gathers && a->at->reg >= 0 &&
           a->uniformity.hint_seg == SEG_NONE && !vector_gather_fits(cg, a, true) &&
           bit_get(cg->gather->of_data, a->at->reg);
}

bool vector_gather_probes(struct codegen *cg, const struct access *a)
{
    if (a->is_volatile || a->space == PTX_SPACE_LOCAL || a->uniformity.seg != SEG_NONE ||
        mem_natural(a) > 16 || (a->vec > 1 && a->bytes < 4))
        return false;
    if (cg->gather == NULL) {
        cg->gather = arena_alloc(&cg->k->arena, sizeof *cg->gather);
        cg->gather->divergent = count_divergent(cg->k);
        cg->gather->of_data = arena_alloc(&cg->k->arena, bit_bytes((int32_t)cg->k->nregs));
        if (cg->gather->divergent > MANY_DIVERGENT)
            find_data(cg->k, cg->gather->of_data);
    }
    return cg->gather->divergent > MANY_DIVERGENT;
}

/* Misaligned lanes that the function has found are a fault of the access. */
static void fault_if_misaligned(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef misaligned =
        LLVMBuildLoad2(b, cg->i32, scratch_at(cg, gather_scratch(cg), MISALIGNED), "");
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, misaligned, c32(cg, 0), ""), yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef lane = lowest_lane(cg, misaligned);
    LLVMValueRef at = LLVMBuildGEP2(b, cg->i64, gather_scratch(cg), &lane, 1, "");
    emit_fault(cg, JIT_FAULT_MISALIGNED, misaligned, LLVMBuildLoad2(b, cg->i64, at, ""));
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

static void call_probing(struct codegen *cg, const struct access *a, LLVMValueRef *v)
{
    bool offsets = a->space == PTX_SPACE_SHARED;
    struct lane_vector p = {.address_form = offsets ? OFFSETS : PROBED};
    LLVMValueRef at = address_vector(cg, a->at, offsets ? PTX_SPACE_GENERIC : a->space);
    if (offsets)
        at = LLVMBuildTrunc(cg->alu.b, at, cg->v32i32, "");
    call_gather(cg, a, p, at, offsets ? cg->block.shared : NULL, v);
    if (mem_natural(a) > 1)
        fault_if_misaligned(cg);
}

void vector_gather_probing(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    call_probing(cg, a, NULL);
    gather_results(cg, a, out);
}

void vector_scatter_probing(struct codegen *cg, const struct access *a, LLVMValueRef *v)
{
    call_probing(cg, a, v);
}
