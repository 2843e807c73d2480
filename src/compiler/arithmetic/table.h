/* table: which instructions the arithmetic module knows: a row for each form, with its emitter.
 * Private to this directory. */
#ifndef WEIR_COMPILER_TABLE_H
#define WEIR_COMPILER_TABLE_H

#include "compiler/arithmetic/build.h"

/* One form of an opcode: the types and modifiers it takes, its operands, and its emitter. */
struct alu_form {
    uint16_t op;          /* enum ptx_op */
    uint64_t types;       /* bit set of types[0] */
    uint64_t second;      /* bit set of types[1]; 0: there is one type only */
    const uint16_t *mods; /* allowed modifiers, ended by 0 (PTX_M_NONE) */
    /* Results, a colon, sources; a letter each:
     *   t types[0]   u types[1]   w twice as wide as types[0]   p predicate   i u32   s s32
     *   b b32   h b16   f f32   x like u but packed pairs of the width of t
     * after a '?': operands that may be left out, from the end; a '|' before an optional result. */
    const char *operands;
    void (*emit)(struct builder *b);
};

/* The rows, by file. */
extern const struct alu_form alu_int_forms[], alu_bit_forms[], alu_float_forms[],
    alu_approx_forms[], alu_cmp_forms[], alu_cvt_forms[], alu_video_forms[];
extern const size_t alu_int_nforms, alu_bit_nforms, alu_float_nforms, alu_approx_nforms,
    alu_cmp_nforms, alu_cvt_nforms, alu_video_nforms;

/* .sat to [0, 1]; .relu: nothing negative; .satfinite: nothing beyond `max`. NaN stays but for
 * .sat. Clamping before rounding is the same, the bounds being floats of the destination.
 * (convert.c) */
val alu_clamp_float(struct builder *b, val x, double max);

/* cvt.rs (stochastic.c). */
void alu_emit_stochastic(struct builder *b);

/* cvt has rules of its own: the operands depend on both types. */
bool alu_cvt_signature(const struct ptx_instr *i, struct alu_sig *sig, const char **why);

#define T(x)      (1ull << PTX_##x)
#define MODS(...) ((const uint16_t[]){__VA_ARGS__ __VA_OPT__(, ) PTX_M_NONE})
#define FORMS(family, ...)                                                                         \
    const struct alu_form alu_##family##_forms[] = {__VA_ARGS__};                                  \
    const size_t alu_##family##_nforms = WEIR_COUNT(alu_##family##_forms);

#define T_U     (T(U16) | T(U32) | T(U64))
#define T_S     (T(S16) | T(S32) | T(S64))
#define T_B     (T(B16) | T(B32) | T(B64))
#define T_INT   (T_U | T_S)
#define T_I16   (T(U16) | T(S16))
#define T_I32   (T(U32) | T(S32))
#define T_I3264 (T_I32 | T(U64) | T(S64))
#define T_HALF  (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))
#define T_F16   (T(F16) | T(F16X2))
#define T_BF16  (T(BF16) | T(BF16X2))
#define T_FLOAT (T(F32) | T(F64))

#endif
