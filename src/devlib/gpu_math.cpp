/* The functions that PTX leaves open (externs.txt), for drivers of GPUs, which have none of their own:
 * OpenCL's of libclc, LLVM's library for it, under our names. weircc links them into the second form of
 * device code (tools/weircc/device/gpu/form.h) on machines without NVIDIA's toolkit. libclc has no
 * Bessel functions.
 *
 * libclc's names are mangled: acos of double is _Z4acosd. */
#include "devlib.h"

#define ONE(name, mangled)                                                                         \
    extern "C" double clc_##name(double) noexcept __asm__(mangled "d");                            \
    extern "C" float clc_##name##f(float) noexcept __asm__(mangled "f");                           \
    FN double __nv_##name(double a) noexcept { return clc_##name(a); }                             \
    FN float __nv_##name##f(float a) noexcept { return clc_##name##f(a); }

#define TWO(name, mangled)                                                                         \
    extern "C" double clc_##name(double, double) noexcept __asm__(mangled "dd");                   \
    extern "C" float clc_##name##f(float, float) noexcept __asm__(mangled "ff");                   \
    FN double __nv_##name(double a, double b) noexcept { return clc_##name(a, b); }                \
    FN float __nv_##name##f(float a, float b) noexcept { return clc_##name##f(a, b); }

ONE(acos, "_Z4acos")
ONE(acosh, "_Z5acosh")
ONE(asin, "_Z4asin")
ONE(asinh, "_Z5asinh")
ONE(atan, "_Z4atan")
ONE(atanh, "_Z5atanh")
ONE(cbrt, "_Z4cbrt")
ONE(cos, "_Z3cos")
ONE(cosh, "_Z4cosh")
ONE(cospi, "_Z5cospi")
ONE(erf, "_Z3erf")
ONE(erfc, "_Z4erfc")
ONE(exp, "_Z3exp")
ONE(exp10, "_Z5exp10")
ONE(exp2, "_Z4exp2")
ONE(expm1, "_Z5expm1")
ONE(lgamma, "_Z6lgamma")
ONE(log, "_Z3log")
ONE(log10, "_Z5log10")
ONE(log1p, "_Z5log1p")
ONE(log2, "_Z4log2")
ONE(sin, "_Z3sin")
ONE(sinh, "_Z4sinh")
ONE(sinpi, "_Z5sinpi")
ONE(tan, "_Z3tan")
ONE(tanh, "_Z4tanh")
ONE(tgamma, "_Z6tgamma")
TWO(atan2, "_Z5atan2")
TWO(fmod, "_Z4fmod")
TWO(hypot, "_Z5hypot")
TWO(pow, "_Z3pow")
