/* ref: what an instruction gives for one lane, in plain C, written from the text of the PTX ISA.
 * It shares nothing with the emitter: float formats are rounded from 113-bit values, directed
 * rounding comes from the CPU's mode, bits are moved one by one. */
#ifndef WEIR_TEST_ALU_REF_H
#define WEIR_TEST_ALU_REF_H

#include "ptx/ptx.h"

typedef __float128 quad;

/* Sources and results as raw bits, zero-extended. False when there is no reference for it. */
bool ref_run(const struct ptx_instr *i, const uint64_t *s, uint64_t *d);

bool ref_cvt(const struct ptx_instr *i, const uint64_t *s, uint64_t *d);
bool ref_video(const struct ptx_instr *i, const uint64_t *s, uint64_t *d);
/* The exact value of an approximate instruction. False where the ISA promises nothing. */
bool ref_approx(const struct ptx_instr *i, const uint64_t *s, long double *d);

/* A float format: value of bits (NaN and infinities too), and bits nearest to a value. */
struct format {
    int exponent, fraction; /* bits */
    bool no_inf;            /* e4m3: the largest exponent holds numbers, all ones is NaN */
    bool no_nan;            /* nor a NaN, which becomes the largest number */
};
extern const struct format F16, BF16, F32, F64, TF32, E4M3, E5M2, E2M3, E3M2, E2M1;
const struct format *format_of(unsigned type);
quad format_value(const struct format *f, uint64_t bits);
enum mode { RN, RZ, RM, RP, RNA };
uint64_t format_bits(const struct format *f, quad v, enum mode mode);
uint64_t format_nan(const struct format *f); /* all ones but the sign */
enum mode mode_of(const struct ptx_instr *i);
double max_norm(const struct format *f);
bool is_nan(quad v);
uint64_t flush(const struct format *f, uint64_t bits); /* subnormal to zero of its sign */
uint64_t ones(unsigned bits);

static inline int64_t sign_extend(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

#endif
