/* Pairs of trigonometric functions: two calls, each of which the compiler turns into vector math. */
#include "devlib.h"

FN void __nv_sincosf(float a, float *s, float *c)
{
    *s = __nv_sinf(a);
    *c = __nv_cosf(a);
}
FN void __nv_sincos(double a, double *s, double *c)
{
    *s = __nv_sin(a);
    *c = __nv_cos(a);
}
FN void __nv_sincospif(float a, float *s, float *c)
{
    *s = __nv_sinpif(a);
    *c = __nv_cospif(a);
}
FN void __nv_sincospi(double a, double *s, double *c)
{
    *s = __nv_sinpi(a);
    *c = __nv_cospi(a);
}
