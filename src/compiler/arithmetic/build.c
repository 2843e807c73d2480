/* build: helpers that emit LLVM IR for scalars and vectors of any length (build.h). */
#include "compiler/arithmetic/build.h"

#include <string.h>

void alu_host(struct alu *a, const char *features)
{
    static const struct {
        const char *name;
        unsigned bit;
    } wanted[] = {{"+avx512f", 1},  {"+avx512cd", 2},  {"+avx512bw", 4},
                  {"+avx512dq", 8}, {"+avx512vl", 16}, {"+avx2", 32},
                  {"+fma", 64},     {"+f16c", 128},    {"+avx512fp16", 256}};
    unsigned found = 0;
    for (const char *p = features; p != NULL && *p;) {
        size_t n = strcspn(p, ",");
        for (size_t k = 0; k < WEIR_COUNT(wanted); k++)
            if (strlen(wanted[k].name) == n && !memcmp(p, wanted[k].name, n))
                found |= wanted[k].bit;
        p += n + (p[n] == ',');
    }
    a->has_avx2 = found & 32;
    a->has_fma = found & 64;
    a->has_f16c = found & 128;
    a->has_avx512 = (found & 31) == 31 && a->has_fma && a->has_avx2;
    a->has_fp16 = a->has_avx512 && (found & 256);
    a->simd_bits = a->has_avx512 ? 512 : a->has_avx2 && a->has_fma ? 256 : 128;
}

enum rounding alu_rounding(const struct ptx_instr *i)
{
    for (int k = 0; k < i->nmods; k++) {
        switch (i->mods[k]) {
        case PTX_M_rz: return ROUND_RZ;
        case PTX_M_rm: return ROUND_RM;
        case PTX_M_rp: return ROUND_RP;
        case PTX_M_rna: return ROUND_RNA;
        default: break;
        }
    }
    return ROUND_RN;
}

/* ---- shapes and constants ---- */

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

unsigned ir_lanes(val v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return is_vector(t) ? LLVMGetVectorSize(t) : 1;
}

LLVMTypeRef ir_elem(val v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return is_vector(t) ? LLVMGetElementType(t) : t;
}

unsigned ir_bits(val v)
{
    LLVMTypeRef t = ir_elem(v);
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    default: return 64;
    }
}

LLVMTypeRef ir_vec(LLVMTypeRef elem, unsigned lanes)
{
    return lanes == 1 ? elem : LLVMVectorType(elem, lanes);
}

LLVMTypeRef ir_like(val shape, LLVMTypeRef elem)
{
    LLVMTypeRef t = LLVMTypeOf(shape);
    return is_vector(t) ? LLVMVectorType(elem, LLVMGetVectorSize(t)) : elem;
}

LLVMTypeRef ir_int(struct alu *a, unsigned bits) { return LLVMIntTypeInContext(a->ctx, bits); }

LLVMTypeRef ir_float(struct alu *a, unsigned bits)
{
    return bits == 16   ? LLVMHalfTypeInContext(a->ctx)
           : bits == 32 ? LLVMFloatTypeInContext(a->ctx)
                        : LLVMDoubleTypeInContext(a->ctx);
}

LLVMTypeRef alu_type(struct alu *a, enum ptx_type t)
{
    LLVMTypeRef elem;
    switch (t) {
    case PTX_PRED: elem = ir_int(a, 1); break;
    case PTX_F16: elem = ir_float(a, 16); break;
    case PTX_F32: elem = ir_float(a, 32); break;
    case PTX_F64: elem = ir_float(a, 64); break;
    default: elem = ir_int(a, ptx_type_bits(t)); break;
    }
    return ir_vec(elem, a->lanes);
}

/* The same constant in every lane of a type. */
static val splat(LLVMTypeRef t, val scalar)
{
    if (!is_vector(t))
        return scalar;
    val all[128];
    unsigned n = LLVMGetVectorSize(t);
    for (unsigned k = 0; k < n; k++)
        all[k] = scalar;
    return LLVMConstVector(all, n);
}

val ir_k(val like, uint64_t v)
{
    return splat(LLVMTypeOf(like), LLVMConstInt(ir_elem(like), v, false));
}

val ir_kn(struct alu *a, val shape, unsigned bits, uint64_t v)
{
    LLVMTypeRef elem = ir_int(a, bits);
    return splat(ir_like(shape, elem), LLVMConstInt(elem, v, false));
}

val ir_kf(val like, double v) { return splat(LLVMTypeOf(like), LLVMConstReal(ir_elem(like), v)); }

val ir_kbits(struct alu *a, val like, uint64_t bits)
{
    unsigned width = ir_bits(like);
    val scalar = LLVMConstBitCast(LLVMConstInt(ir_int(a, width), bits, false), ir_float(a, width));
    return splat(LLVMTypeOf(like), scalar);
}

bool ir_const(val v, uint64_t *out)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (!LLVMIsConstant(v))
        return false;
    if (!is_vector(t)) {
        if (LLVMIsAConstantInt(v) == NULL || LLVMGetIntTypeWidth(t) > 64)
            return false;
        *out = LLVMConstIntGetZExtValue(v);
        return true;
    }
    unsigned n = LLVMGetVectorSize(t);
    for (unsigned k = 0; k < n; k++) {
        val x = LLVMGetAggregateElement(v, k);
        if (x == NULL || LLVMIsAConstantInt(x) == NULL || LLVMGetIntTypeWidth(LLVMTypeOf(x)) > 64)
            return false;
        uint64_t c = LLVMConstIntGetZExtValue(x);
        if (k && c != *out)
            return false;
        *out = c;
    }
    return true;
}

/* ---- operations ---- */

val ir_resize(struct alu *a, val v, unsigned bits, bool is_signed)
{
    unsigned from = ir_bits(v);
    LLVMTypeRef t = ir_like(v, ir_int(a, bits));
    if (from == bits)
        return v;
    if (from > bits)
        return LLVMBuildTrunc(a->b, v, t, "");
    return is_signed ? LLVMBuildSExt(a->b, v, t, "") : LLVMBuildZExt(a->b, v, t, "");
}

val ir_bitcast(struct alu *a, val v, LLVMTypeRef elem)
{
    return LLVMBuildBitCast(a->b, v, ir_like(v, elem), "");
}

val ir_as_int(struct alu *a, val v) { return ir_bitcast(a, v, ir_int(a, ir_bits(v))); }
val ir_as_float(struct alu *a, val v) { return ir_bitcast(a, v, ir_float(a, ir_bits(v))); }

val ir_ftof(struct alu *a, val v, unsigned bits)
{
    unsigned from = ir_bits(v);
    LLVMTypeRef t = ir_like(v, ir_float(a, bits));
    return from == bits  ? v
           : from < bits ? LLVMBuildFPExt(a->b, v, t, "")
                         : LLVMBuildFPTrunc(a->b, v, t, "");
}

val ir_itof(struct alu *a, val v, unsigned bits, bool is_signed)
{
    LLVMTypeRef t = ir_like(v, ir_float(a, bits));
    return is_signed ? LLVMBuildSIToFP(a->b, v, t, "") : LLVMBuildUIToFP(a->b, v, t, "");
}

val ir_split(struct alu *a, val v, unsigned bits)
{
    unsigned n = ir_lanes(v) * ir_bits(v) / bits;
    return LLVMBuildBitCast(a->b, v, ir_vec(ir_int(a, bits), n), "");
}

val ir_join(struct alu *a, val v, unsigned bits)
{
    unsigned n = ir_lanes(v) * ir_bits(v) / bits;
    return LLVMBuildBitCast(a->b, v, ir_vec(ir_int(a, bits), n), "");
}

static val intrinsic(struct alu *a, const char *name, LLVMTypeRef overload, const val *args,
                     unsigned nargs)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    unsigned n = overload != NULL ? 1 : 0;
    val f = LLVMGetIntrinsicDeclaration(a->module, id, &overload, n);
    LLVMTypeRef t = LLVMIntrinsicGetType(a->ctx, id, &overload, n);
    return LLVMBuildCall2(a->b, t, f, (val *)args, nargs, "");
}

val ir_intr0(struct alu *a, const char *name, const val *args, unsigned nargs)
{
    return intrinsic(a, name, NULL, args, nargs);
}

val ir_intr1(struct alu *a, const char *name, val x)
{
    return intrinsic(a, name, LLVMTypeOf(x), &x, 1);
}

val ir_intr2(struct alu *a, const char *name, val x, val y)
{
    return intrinsic(a, name, LLVMTypeOf(x), (val[]){x, y}, 2);
}

val ir_intr3(struct alu *a, const char *name, val x, val y, val z)
{
    return intrinsic(a, name, LLVMTypeOf(x), (val[]){x, y, z}, 3);
}

val ir_fabs(struct alu *a, val x) { return ir_intr1(a, "llvm.fabs", x); }
val ir_fma(struct alu *a, val x, val y, val z) { return ir_intr3(a, "llvm.fma", x, y, z); }
val ir_sqrt(struct alu *a, val x) { return ir_intr1(a, "llvm.sqrt", x); }
val ir_isnan(struct alu *a, val x) { return ir_fcmp(a, LLVMRealUNO, x, x); }
val ir_min_s(struct alu *a, val x, val y) { return ir_intr2(a, "llvm.smin", x, y); }
val ir_max_s(struct alu *a, val x, val y) { return ir_intr2(a, "llvm.smax", x, y); }
val ir_min_u(struct alu *a, val x, val y) { return ir_intr2(a, "llvm.umin", x, y); }

/* The count as a value that LLVM's shifts accept, and whether it was in range. */
static val shift_in_range(struct alu *a, val x, val n)
{
    return ir_icmp(a, LLVMIntULT, n, ir_k(x, ir_bits(x)));
}

val ir_shl_clamp(struct alu *a, val x, val n)
{
    uint64_t c;
    if (ir_const(n, &c))
        return c < ir_bits(x) ? ir_shl(a, x, n) : ir_k(x, 0);
    return ir_select(a, shift_in_range(a, x, n), ir_shl(a, x, n), ir_k(x, 0));
}

val ir_lshr_clamp(struct alu *a, val x, val n)
{
    uint64_t c;
    if (ir_const(n, &c))
        return c < ir_bits(x) ? ir_lshr(a, x, n) : ir_k(x, 0);
    return ir_select(a, shift_in_range(a, x, n), ir_lshr(a, x, n), ir_k(x, 0));
}

val ir_ashr_clamp(struct alu *a, val x, val n)
{
    return ir_ashr(a, x, ir_min_u(a, n, ir_k(x, ir_bits(x) - 1)));
}

/* ---- pieces of a fixed width, and calls ---- */

/* shufflevector of x and y with the mask first, first + 1, ... */
static val shuffle_run(struct alu *a, val x, val y, unsigned first, unsigned count)
{
    val mask[256];
    LLVMTypeRef i32 = ir_int(a, 32);
    for (unsigned k = 0; k < count; k++)
        mask[k] = LLVMConstInt(i32, first + k, false);
    return LLVMBuildShuffleVector(a->b, x, y, LLVMConstVector(mask, count), "");
}

val ir_extract(struct alu *a, val v, unsigned first, unsigned count)
{
    if (count == ir_lanes(v))
        return v;
    if (count == 1)
        return LLVMBuildExtractElement(a->b, v, LLVMConstInt(ir_int(a, 32), first, false), "");
    return shuffle_run(a, v, LLVMGetPoison(LLVMTypeOf(v)), first, count);
}

val ir_concat(struct alu *a, val lo, val hi) { return shuffle_run(a, lo, hi, 0, 2 * ir_lanes(lo)); }

val ir_splat_source(val v)
{
    if (LLVMIsAShuffleVectorInst(v) == NULL)
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(v); k++)
        if (LLVMGetMaskValue(v, k) != 0)
            return NULL;
    val insert = LLVMGetOperand(v, 0);
    uint64_t at = 0;
    return LLVMIsAInsertElementInst(insert) != NULL && ir_const(LLVMGetOperand(insert, 2), &at) &&
                   at == 0
               ? LLVMGetOperand(insert, 1)
               : NULL;
}

val ir_splat(struct alu *a, val scalar, unsigned lanes)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    val one = LLVMBuildInsertElement(a->b, LLVMGetPoison(t), scalar,
                                     LLVMConstInt(ir_int(a, 32), 0, 0), "");
    val mask = LLVMConstNull(LLVMVectorType(ir_int(a, 32), lanes));
    return LLVMBuildShuffleVector(a->b, one, LLVMGetPoison(t), mask, "");
}

/* v in the low lanes of a vector of `width`, zeros above. */
static val widen(struct alu *a, val v, unsigned width)
{
    unsigned n = ir_lanes(v);
    LLVMTypeRef t = LLVMVectorType(ir_elem(v), width);
    if (n == 1)
        return LLVMBuildInsertElement(a->b, LLVMConstNull(t), v, LLVMConstInt(ir_int(a, 32), 0, 0),
                                      "");
    val mask[64];
    for (unsigned k = 0; k < width; k++)
        mask[k] = LLVMConstInt(ir_int(a, 32), k < n ? k : n, false);
    return LLVMBuildShuffleVector(a->b, v, LLVMConstNull(LLVMTypeOf(v)),
                                  LLVMConstVector(mask, width), "");
}

val ir_pieces(struct alu *a, unsigned width, const val *args, unsigned nargs,
              val (*fn)(struct alu *a, const val *args, void *arg), void *arg)
{
    unsigned n = ir_lanes(args[0]);
    val piece[4] = {0}, result[32] = {0};
    if (n < width || n == 1) {
        for (unsigned k = 0; k < nargs; k++)
            piece[k] = width == 1 ? args[k] : widen(a, args[k], width);
        val r = fn(a, piece, arg);
        return width == 1 ? r : ir_extract(a, r, 0, n);
    }
    unsigned count = n / width;
    for (unsigned c = 0; c < count; c++) {
        for (unsigned k = 0; k < nargs; k++)
            piece[k] = ir_extract(a, args[k], c * width, width);
        result[c] = fn(a, piece, arg);
    }
    for (; count > 1; count /= 2)
        for (unsigned c = 0; c < count / 2; c++)
            result[c] = ir_concat(a, result[2 * c], result[2 * c + 1]);
    return result[0];
}

/* Declares an external function once, with the attributes that make it movable. */
static val declare(struct alu *a, const char *symbol, LLVMTypeRef type, uint64_t memory)
{
    val f = LLVMGetNamedFunction(a->module, symbol);
    if (f != NULL)
        return f;
    f = LLVMAddFunction(a->module, symbol, type);
    static const char *const plain[] = {"nounwind", "willreturn", "nocallback", "nofree", "nosync"};
    for (size_t k = 0; k < WEIR_COUNT(plain); k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(plain[k], strlen(plain[k]));
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(a->ctx, kind, 0));
    }
    unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(a->ctx, kind, memory));
    return f;
}

enum { MEMORY_NONE = 0, MEMORY_ARGUMENTS = 3 }; /* encodings of LLVM's memory attribute */

val ir_call_pure(struct alu *a, const char *symbol, LLVMTypeRef ret, const val *args,
                 unsigned nargs)
{
    LLVMTypeRef types[4];
    for (unsigned k = 0; k < nargs; k++)
        types[k] = LLVMTypeOf(args[k]);
    LLVMTypeRef t = LLVMFunctionType(ret, types, nargs, false);
    return LLVMBuildCall2(a->b, t, declare(a, symbol, t, MEMORY_NONE), (val *)args, nargs, "");
}

/* Stack memory for one value, allocated in the function's entry block so that loops do not grow it.
 */
static val stack_slot(struct alu *a, LLVMTypeRef t)
{
    val fn = LLVMGetBasicBlockParent(LLVMGetInsertBlock(a->b));
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(a->ctx);
    val first = LLVMGetFirstInstruction(entry);
    if (first != NULL)
        LLVMPositionBuilderBefore(b, first);
    else
        LLVMPositionBuilderAtEnd(b, entry);
    val slot = LLVMBuildAlloca(b, t, "");
    LLVMSetAlignment(slot, 64);
    LLVMDisposeBuilder(b);
    return slot;
}

void ir_call_lanes(struct alu *a, const char *symbol, val mask, const val *src, unsigned nsrc,
                   val *dst, unsigned ndst)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(a->ctx, 0), i32 = ir_int(a, 32);
    LLVMTypeRef types[] = {i32, ptr, ptr, ptr, ptr, ptr};
    LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(a->ctx), types, 6, false);
    val f = declare(a, symbol, t, MEMORY_ARGUMENTS), args[6];
    unsigned lanes = ir_lanes(src[0]);
    if (mask == NULL && lanes > 1)
        mask = a->mask;
    args[0] = mask == NULL ? LLVMConstInt(i32, 0xffffffffu >> (32 - lanes), false)
              : lanes == 1 ? LLVMBuildZExt(a->b, mask, i32, "")
                           : LLVMBuildBitCast(a->b, mask, i32, "");
    for (unsigned k = 0; k < 3; k++) {
        args[1 + k] = k < nsrc ? stack_slot(a, LLVMTypeOf(src[k])) : LLVMConstNull(ptr);
        if (k < nsrc)
            LLVMBuildStore(a->b, src[k], args[1 + k]);
    }
    for (unsigned k = 0; k < 2; k++) {
        args[4 + k] = k < ndst ? stack_slot(a, LLVMTypeOf(dst[k])) : LLVMConstNull(ptr);
        if (k < ndst)
            LLVMBuildStore(a->b, dst[k], args[4 + k]);
    }
    LLVMBuildCall2(a->b, t, f, args, 6, "");
    for (unsigned k = 0; k < 2 && k < ndst; k++)
        dst[k] = LLVMBuildLoad2(a->b, LLVMTypeOf(dst[k]), args[4 + k], "");
}

/* ---- rare lanes ---- */

void ir_patch(struct alu *a, const char *symbol, val rare, const val *s, unsigned nargs, val *d,
              unsigned ndst)
{
    val any = rare;
    unsigned lanes = ir_lanes(rare);
    if (lanes > 1) {
        if (a->mask != NULL) /* lanes that are not active hold anything */
            rare = ir_and(a, rare, a->mask);
        val bits = LLVMBuildBitCast(a->b, rare, ir_int(a, lanes), "");
        any = ir_icmp(a, LLVMIntNE, bits, ir_k(bits, 0));
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(a->b);
    val fn = LLVMGetBasicBlockParent(before);
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(a->ctx, fn, "rare");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(a->ctx, fn, "");
    LLVMMoveBasicBlockAfter(some, before);
    LLVMMoveBasicBlockAfter(done, some);
    LLVMBuildCondBr(a->b, any, some, done);
    LLVMPositionBuilderAtEnd(a->b, some);
    val patched[2] = {d[0], ndst > 1 ? d[1] : NULL};
    ir_call_lanes(a, symbol, rare, s, nargs, patched, ndst);
    LLVMBuildBr(a->b, done);
    LLVMBasicBlockRef from[] = {before, some};
    LLVMPositionBuilderAtEnd(a->b, done);
    for (unsigned k = 0; k < ndst; k++) {
        val phi = LLVMBuildPhi(a->b, LLVMTypeOf(d[k]), ""), in[] = {d[k], patched[k]};
        LLVMAddIncoming(phi, in, from, 2);
        d[k] = phi;
    }
}

/* ---- flushing and clamping ---- */

static val subnormal_piece(struct alu *a, const val *x, void *name)
{
    val args[] = {x[0], LLVMConstInt(ir_int(a, 32), 0x20, false)}; /* the class of subnormals */
    return ir_intr0(a, name, args, 2);
}

/* i1: where x is subnormal (or zero, where that is cheaper to find out). */
static val subnormal(struct alu *a, val x)
{
    unsigned bits = ir_bits(x);
    if (a->has_avx512 && ir_lanes(x) >= 512 / bits && !LLVMIsConstant(x))
        return ir_pieces(a, 512 / bits, &x, 1, subnormal_piece,
                         bits == 32 ? "llvm.x86.avx512.fpclass.ps.512"
                                    : "llvm.x86.avx512.fpclass.pd.512");
    return ir_fcmp(a, LLVMRealOLT, ir_fabs(a, x), ir_kf(x, bits == 32 ? 0x1p-126 : 0x1p-1022));
}

val ir_flush(struct alu *a, val x)
{
    unsigned kind = LLVMGetMDKindIDInContext(a->ctx, "weir.flushed", 12);
    if (LLVMIsAInstruction(x) != NULL && LLVMGetMetadata(x, kind) != NULL)
        return x;
    val tiny = subnormal(a, x);
    val bits = ir_as_int(a, x);
    val sign = ir_and(a, bits, ir_k(bits, 1ull << (ir_bits(x) - 1)));
    val r = ir_select(a, tiny, ir_as_float(a, sign), x);
    if (LLVMIsAInstruction(r) != NULL) {
        LLVMMetadataRef none = LLVMMDNodeInContext2(a->ctx, NULL, 0);
        LLVMSetMetadata(r, kind, LLVMMetadataAsValue(a->ctx, none));
    }
    return r;
}

val ir_saturate(struct alu *a, val x)
{
    val zero = ir_kf(x, 0), one = ir_kf(x, 1);
    x = ir_select(a, ir_fcmp(a, LLVMRealOGT, x, zero), x, zero);
    return ir_select(a, ir_fcmp(a, LLVMRealOLT, x, one), x, one);
}

val ir_canonical_nan(struct alu *a, val x)
{
    uint64_t bits = ir_bits(x) == 64 ? 0x7fffffffffffffffull : (1ull << (ir_bits(x) - 1)) - 1;
    return ir_select(a, ir_isnan(a, x), ir_kbits(a, x, bits), x);
}

val alu_poly(struct alu *a, val x, const double *c, unsigned n)
{
    val r = ir_kf(x, c[n - 1]);
    for (unsigned k = n - 1; k-- > 0;)
        r = a->has_fma ? ir_fma(a, r, x, ir_kf(x, c[k]))
                       : ir_fadd(a, ir_fmul(a, r, x), ir_kf(x, c[k]));
    return r;
}
