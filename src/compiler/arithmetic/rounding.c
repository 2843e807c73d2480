/* rounding: float operations in the rounding modes that PTX names per instruction.
 *
 * Round to nearest is the machine's own. For the others AVX-512 has instructions with the mode
 * inside; elsewhere the result rounded to nearest is stepped to its neighbour where the exact
 * value lies on the wrong side of it. Which side that is comes from doubles for f32 (products and
 * residuals of f32 are exact in f64), from the two-sum for f64 sums, and from the C library for
 * the other f64 operations. Round to odd is what conversions in two steps need: a value rounded to
 * odd with two bits to spare rounds again as the exact value does. */
#include "compiler/arithmetic/build.h"

#include <stdio.h>

/* ---- stepping ---- */

val alu_round_exact(struct alu *a, const struct exact *x, enum rounding mode)
{
    if (mode == ROUND_RN)
        return x->r;
    bool is_float = LLVMGetTypeKind(ir_elem(x->r)) != LLVMIntegerTypeKind;
    val bits = is_float ? ir_as_int(a, x->r) : x->r;
    val one = ir_k(bits, 1), out = ir_add(a, bits, one), in = ir_sub(a, bits, one);
    val negative = ir_icmp(a, LLVMIntSLT, bits, ir_k(bits, 0));
    /* `out` is one step away from zero, `in` one towards it; floats order like magnitudes */
    val too_far = ir_select(a, negative, x->below, x->above);
    val r;
    switch (mode) {
    case ROUND_RZ: r = ir_select(a, too_far, in, bits); break;
    case ROUND_RP: r = ir_select(a, x->below, ir_select(a, negative, in, out), bits); break;
    case ROUND_RM: r = ir_select(a, x->above, ir_select(a, negative, out, in), bits); break;
    default: { /* odd: an inexact even one gives way to the neighbour on the exact value's side */
        val inexact = ir_or(a, x->below, x->above);
        val even = ir_icmp(a, LLVMIntEQ, ir_and(a, bits, one), ir_k(bits, 0));
        r = ir_select(a, ir_and(a, inexact, even), ir_select(a, too_far, in, out), bits);
        break;
    }
    }
    return is_float ? ir_as_float(a, r) : r;
}

/* Where hi + err lies, for |err| below one unit of hi, against the f32 nearest to hi. */
static struct exact locate(struct alu *a, val hi, val err)
{
    val r = ir_ftof(a, hi, 32), d = ir_fsub(a, hi, ir_ftof(a, r, 64)), zero = ir_kf(d, 0);
    struct exact x = {.r = r,
                      .below = ir_fcmp(a, LLVMRealOGT, d, zero),
                      .above = ir_fcmp(a, LLVMRealOLT, d, zero)};
    if (err != NULL) {
        val tie = ir_fcmp(a, LLVMRealOEQ, d, zero);
        x.below = ir_or(a, x.below, ir_and(a, tie, ir_fcmp(a, LLVMRealOGT, err, zero)));
        x.above = ir_or(a, x.above, ir_and(a, tie, ir_fcmp(a, LLVMRealOLT, err, zero)));
    }
    return x;
}

/* The rounding error of s = x + y, exactly (Knuth's two-sum). NaN when an operand is no number. */
static val two_sum_error(struct alu *a, val x, val y, val s)
{
    val y2 = ir_fsub(a, s, x), x2 = ir_fsub(a, s, y2);
    return ir_fadd(a, ir_fsub(a, x, x2), ir_fsub(a, y, y2));
}

/* Downwards, an exact zero sum s of unlike terms x and y is -0. */
static val zero_sum_sign(struct alu *a, val r, val x, val y, val s, enum rounding mode)
{
    if (mode != ROUND_RM)
        return r;
    val bits = ir_as_int(a, r), xy = ir_or(a, ir_as_int(a, x), ir_as_int(a, y));
    val sign = ir_and(a, xy, ir_k(xy, 1ull << (ir_bits(xy) - 1)));
    sign = ir_zext(a, ir_lshr(a, sign, ir_k(sign, ir_bits(xy) - ir_bits(r))), ir_bits(r));
    val zero = ir_fcmp(a, LLVMRealOEQ, s, ir_kf(s, 0));
    return ir_as_float(a, ir_select(a, zero, sign, bits));
}

/* ---- f32 without AVX-512 ---- */

static val sum_32(struct alu *a, val x, val y, enum rounding mode)
{
    val s = ir_fadd(a, x, y), err = two_sum_error(a, x, y, s);
    struct exact e = locate(a, s, err);
    return zero_sum_sign(a, alu_round_exact(a, &e, mode), x, y, s, mode);
}

static val op_32(struct alu *a, enum round_op op, const val *s, enum rounding mode)
{
    val x = ir_ftof(a, s[0], 64), y = op == OP_SQRT ? NULL : ir_ftof(a, s[1], 64);
    struct exact e;
    switch (op) {
    case OP_ADD: return sum_32(a, x, y, mode);
    case OP_SUB: return sum_32(a, x, ir_fneg(a, y), mode);
    case OP_FMA: return sum_32(a, ir_fmul(a, x, y), ir_ftof(a, s[2], 64), mode);
    case OP_MUL: e = locate(a, ir_fmul(a, x, y), NULL); break;
    default: {
        /* the residual's sign says on which side of the quotient or root r lies */
        val q = op == OP_DIV ? ir_fdiv(a, x, y) : ir_sqrt(a, x), r = ir_ftof(a, q, 32);
        val wide = ir_ftof(a, r, 64);
        val rest = ir_fsub(a, x, ir_fmul(a, wide, op == OP_DIV ? y : wide));
        if (op == OP_DIV) {
            val one = ir_kf(rest, 1);
            rest = ir_fmul(a, rest, ir_intr2(a, "llvm.copysign", one, y));
        }
        e = (struct exact){.r = r,
                           .below = ir_fcmp(a, LLVMRealOGT, rest, ir_kf(rest, 0)),
                           .above = ir_fcmp(a, LLVMRealOLT, rest, ir_kf(rest, 0))};
        break;
    }
    }
    return alu_round_exact(a, &e, mode);
}

/* ---- f64 without AVX-512 ---- */

static val sum_64(struct alu *a, val x, val y, enum rounding mode)
{
    val s = ir_fadd(a, x, y), err = two_sum_error(a, x, y, s), zero = ir_kf(s, 0);
    val inf = ir_kf(s, __builtin_inf());
    /* finite terms that overflow: the infinity lies beyond the sum, and err is no number */
    val finite = ir_and(a, ir_fcmp(a, LLVMRealOLT, ir_fabs(a, x), inf),
                        ir_fcmp(a, LLVMRealOLT, ir_fabs(a, y), inf));
    val over = ir_and(a, finite, ir_fcmp(a, LLVMRealOEQ, s, inf));
    val under = ir_and(a, finite, ir_fcmp(a, LLVMRealOEQ, ir_fneg(a, s), inf));
    struct exact e = {.r = s,
                      .below = ir_or(a, under, ir_fcmp(a, LLVMRealOGT, err, zero)),
                      .above = ir_or(a, over, ir_fcmp(a, LLVMRealOLT, err, zero))};
    return zero_sum_sign(a, alu_round_exact(a, &e, mode), x, y, s, mode);
}

static val op_64(struct alu *a, enum round_op op, const val *s, enum rounding mode)
{
    if (op == OP_ADD || op == OP_SUB)
        return sum_64(a, s[0], op == OP_SUB ? ir_fneg(a, s[1]) : s[1], mode);
    static const char *const names[] = {
        [OP_MUL] = "mul", [OP_DIV] = "div", [OP_FMA] = "fma", [OP_SQRT] = "sqrt"};
    static const char *const modes[] = {[ROUND_RZ] = "rz", [ROUND_RM] = "rm", [ROUND_RP] = "rp"};
    char symbol[40];
    snprintf(symbol, sizeof symbol, "weir_alu_%s64_%s", names[op], modes[mode]);
    val r = ir_kf(s[0], 0);
    ir_call_lanes(a, symbol, NULL, s, op == OP_FMA ? 3 : op == OP_SQRT ? 1 : 2, &r, 1);
    return r;
}

/* ---- AVX-512 ---- */

struct embedded {
    enum round_op op;
    enum rounding mode;
    unsigned nargs;
};

static val embedded_piece(struct alu *a, const val *args, void *arg)
{
    const struct embedded *e = arg;
    static const char *const names[] = {[OP_ADD] = "add", [OP_SUB] = "sub",    [OP_MUL] = "mul",
                                        [OP_DIV] = "div", [OP_FMA] = "vfmadd", [OP_SQRT] = "sqrt"};
    /* the instruction's rounding field: 8 (no exceptions) and 0 nearest, 1 down, 2 up, 3 to zero */
    static const uint8_t field[] = {
        [ROUND_RN] = 8, [ROUND_RM] = 9, [ROUND_RP] = 10, [ROUND_RZ] = 11};
    char name[48];
    snprintf(name, sizeof name, "llvm.x86.avx512.%s.p%c.512", names[e->op],
             ir_bits(args[0]) == 32 ? 's' : 'd');
    val with_mode[4];
    for (unsigned k = 0; k < e->nargs; k++)
        with_mode[k] = args[k];
    with_mode[e->nargs] = LLVMConstInt(ir_int(a, 32), field[e->mode], false);
    return ir_intr0(a, name, with_mode, e->nargs + 1);
}

static val nearest(struct alu *a, enum round_op op, const val *s)
{
    switch (op) {
    case OP_ADD: return ir_fadd(a, s[0], s[1]);
    case OP_SUB: return ir_fsub(a, s[0], s[1]);
    case OP_MUL: return ir_fmul(a, s[0], s[1]);
    case OP_DIV: return ir_fdiv(a, s[0], s[1]);
    case OP_FMA: return ir_fma(a, s[0], s[1], s[2]);
    default: return ir_sqrt(a, s[0]);
    }
}

val alu_float_op(struct alu *a, enum round_op op, const val *s, enum rounding mode)
{
    unsigned bits = ir_bits(s[0]);
    if (mode == ROUND_RN)
        return nearest(a, op, s);
    if (a->has_avx512 && mode != ROUND_ODD) {
        struct embedded e = {op, mode, op == OP_FMA ? 3 : op == OP_SQRT ? 1 : 2};
        return ir_pieces(a, 512 / bits, s, e.nargs, embedded_piece, &e);
    }
    return bits == 32 ? op_32(a, op, s, mode) : op_64(a, op, s, mode);
}

val alu_fma_rounded(struct alu *a, const val s[3], enum ptx_mod mode)
{
    return alu_float_op(a, OP_FMA, s,
                        mode == PTX_M_rz   ? ROUND_RZ
                        : mode == PTX_M_rm ? ROUND_RM
                        : mode == PTX_M_rp ? ROUND_RP
                                           : ROUND_RN);
}

/* ---- conversions ---- */

val alu_narrow(struct alu *a, val x, enum rounding mode)
{
    if (mode == ROUND_RN)
        return ir_ftof(a, x, 32);
    struct exact e = locate(a, x, NULL);
    return alu_round_exact(a, &e, mode);
}

val alu_int_to_float(struct alu *a, val x, bool is_signed, unsigned bits, enum rounding mode)
{
    if (ir_bits(x) < 32)
        x = ir_resize(a, x, 32, is_signed);
    if (mode == ROUND_RN)
        return ir_itof(a, x, bits, is_signed);
    if (ir_bits(x) == 32) {
        val wide = ir_itof(a, x, 64, is_signed);
        return bits == 64 ? wide : alu_narrow(a, wide, mode);
    }
    /* two halves, each exact in f64, and a rounded sum */
    val half = ir_k(x, 32), hi = is_signed ? ir_ashr(a, x, half) : ir_lshr(a, x, half);
    val s[] = {ir_itof(a, ir_zext(a, hi, 32), 64, is_signed),
               ir_itof(a, ir_zext(a, x, 32), 64, false)};
    s[0] = ir_fmul(a, s[0], ir_kf(s[0], 0x1p32));
    if (bits == 64)
        return alu_float_op(a, OP_ADD, s, mode);
    return alu_narrow(a, sum_64(a, s[0], s[1], ROUND_ODD), mode);
}
