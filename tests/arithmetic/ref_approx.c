/* ref_approx: the exact values of approximate instructions, to be compared with a tolerance. */
#include "ref.h"

#include <math.h>

bool ref_approx(const struct ptx_instr *i, const uint64_t *s, long double *r)
{
    const struct format *f = format_of(i->types[0]);
    uint64_t v[2];
    for (int k = 0; k < 2; k++)
        v[k] = ptx_has(i, PTX_M_ftz) ? flush(f, s[k]) : s[k];
    if (f == &F64 && ptx_has(i, PTX_M_ftz)) /* the upper words alone count */
        v[0] &= 0xffffffff00000000;
    long double x = (long double)format_value(f, v[0]), y = (long double)format_value(f, v[1]);
    switch (i->op) {
    case PTX_OP_rcp: *r = 1 / x; return true;
    case PTX_OP_sqrt: *r = sqrtl(x); return true;
    case PTX_OP_rsqrt: *r = 1 / sqrtl(x); return true;
    case PTX_OP_div:
        *r = x / y;
        if (ptx_has(i, PTX_M_approx)) {
            if (fabsl(y) > 0x1p126L && fabsl(y) < 0x1p128L)
                *r = isinf(x) ? NAN : isnan(x) ? x : copysignl(0, x) * copysignl(1, y);
            else if (fabsl(y) < 0x1p-126L && y != 0)
                return false;
        }
        return true;
    case PTX_OP_sin: *r = sinl(x); return isinf(x) || !(fabsl(x) > 1000);
    case PTX_OP_cos: *r = cosl(x); return isinf(x) || !(fabsl(x) > 1000);
    case PTX_OP_lg2: *r = log2l(x); return true;
    case PTX_OP_ex2: *r = exp2l(x); return true;
    default: *r = tanhl(x); return true;
    }
}
