/* K2.21: the compiler's own mathematical functions (__builtin_exp) give in device code what CUDA's
 * do. */
#include "check.h"
#include <cmath>

#define ONE_ARGUMENT(F)                                                                            \
    F(acos)                                                                                        \
    F(acosh)                                                                                       \
    F(asin)                                                                                        \
    F(asinh)                                                                                       \
    F(atan) F(atanh) F(cbrt) F(cos) F(cosh) F(erf) F(erfc) F(exp) F(exp2) F(expm1) F(lgamma)       \
        F(tgamma) F(log) F(log10) F(log1p) F(log2) F(logb) F(sin) F(sinh) F(tan) F(tanh) F(sqrt)   \
            F(fabs) F(floor) F(rint)
#define TWO_ARGUMENTS(F) F(atan2) F(fdim) F(hypot) F(nextafter) F(pow) F(remainder) F(fmod) F(fmax)

__device__ bool same(double a, double b) { return a == b || (a != a && b != b); }

/* A kernel for each function, which counts what differs. */
#define KERNEL(name, double_arguments, float_arguments)                                            \
    __global__ void compare_##name(const double *x, int n, int *differ)                            \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n)                                                                                \
            return;                                                                                \
        double a = x[i], b = x[(i + 7) % n];                                                       \
        float c = (float)a, d = (float)b;                                                          \
        (void)b, (void)d;                                                                          \
        if (!same(__builtin_##name double_arguments, name double_arguments) ||                     \
            !same(__builtin_##name##f float_arguments, name##f float_arguments))                   \
            atomicAdd(differ, 1);                                                                  \
    }
#define ONE(name) KERNEL(name, (a), (c))
#define TWO(name) KERNEL(name, (a, b), (c, d))
ONE_ARGUMENT(ONE)
TWO_ARGUMENTS(TWO)

/* Those with integers, and with results by pointers. */
#define WITH_INTEGERS(F) F(scalbn, a, (int)b) F(scalbln, a, (long)b) F(ldexp, a, (int)b)
#define TO_INTEGERS(F)   F(ilogb) F(lrint) F(llrint) F(lround) F(llround)
__global__ void compare_integers(const double *x, int n, int *differ)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], b = x[(i + 7) % n], whole[2];
    float c = (float)a, whole_float[2];
    int quotients[2];
#define SCALED(name, value, count)                                                                 \
    same(__builtin_##name(value, count), name(value, count)) &&                                    \
        same(__builtin_##name##f(c, count), name##f(c, count)) &&
#define INTEGER(name) __builtin_##name(a) == name(a) && __builtin_##name##f(c) == name##f(c) &&
    bool right = WITH_INTEGERS(SCALED) TO_INTEGERS(INTEGER) true;
    right = right && same(__builtin_modf(a, &whole[0]), modf(a, &whole[1])) &&
            same(__builtin_modff(c, &whole_float[0]), modff(c, &whole_float[1])) &&
            same(whole[0], whole[1]) && same(whole_float[0], whole_float[1]) &&
            same(__builtin_remquo(a, b, &quotients[0]), remquo(a, b, &quotients[1])) &&
            quotients[0] == quotients[1];
    if (!right)
        atomicAdd(differ, 1);
}

int main()
{
    enum { N = 256 };
    double *x;
    int *differ;
    CHECK(cudaMallocManaged(&x, N * sizeof *x) == cudaSuccess);
    CHECK(cudaMallocManaged(&differ, sizeof *differ) == cudaSuccess);
    for (int i = 0; i < N; i++)
        x[i] = (i % 5 - 2) * 0.37 * i / 16 + 0.01 * i;
#define RUN(name)                                                                                  \
    *differ = 0;                                                                                   \
    compare_##name<<<N / 64, 64>>>(x, N, differ);                                                  \
    CHECK(cudaDeviceSynchronize() == cudaSuccess);                                                 \
    if (*differ != 0)                                                                              \
        printf(#name ": %d of %d differ\n", *differ, N);                                           \
    CHECK(*differ == 0);
    ONE_ARGUMENT(RUN)
    TWO_ARGUMENTS(RUN)
    RUN(integers)
    return check_done();
}
