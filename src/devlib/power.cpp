/* Powers by an integer: powi, which pow(x, int) becomes. */
#include "devlib.h"

HELPER double power_by_squaring(double a, u32 n)
{
    double r = 1.0;
    for (; n; n >>= 1) {
        if (n & 1)
            r *= a;
        if (n > 1)
            a *= a;
    }
    return r;
}
/* A double's 29 spare bits hold what up to 2^28 products lose. The negative power is taken of the
 * reciprocal's power, so that nothing overflows on the way to a subnormal result. */
FN float __nv_powif(float a, int n)
{
    double r = power_by_squaring((double)a, n < 0 ? 0u - (u32)n : (u32)n);
    return (float)(n < 0 ? 1.0 / r : r);
}
FN double __nv_powi(double a, int n)
{
    if (__builtin_constant_p(n) && n >= 0 && n <= 3)
        return power_by_squaring(a, (u32)n);
    return __nv_pow(a, (double)n);
}
