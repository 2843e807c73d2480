# Mathematical functions with -ftz=true: what nvcc's give for subnormal numbers, and instead of them.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

cat >a.cu <<'END'
#include <cmath>
#include <cstdio>
#define ONE(X) X(asinf) X(asinhf) X(atanf) X(atanhf) X(cbrtf) X(erff) X(erfcf) X(exp10f) X(exp2f) X(expf) X(expm1f) X(j1f)  \
    X(lgammaf) X(log10f) X(log1pf) X(log2f) X(logf) X(logbf) X(rcbrtf) X(sinf) X(sinhf) X(sinpif) X(tanf) X(tanhf)          \
    X(tgammaf) X(y0f) X(y1f) X(ilogb_) X(sincos_) X(builtin_)
#define TWO(X) X(atan2f) X(powf) X(hypotf) X(fmodf)
__device__ float ilogb_(float x) { return ilogbf(x); }
__device__ float builtin_(float x) { return __builtin_exp2f(x); }
__device__ float sincos_(float x) { float s, c; sincosf(x, &s, &c); return s + c - 1; }
enum { VALUES = 6 };
__managed__ float x[VALUES], y[VALUES], result[VALUES];
#define KERNEL1(f) __global__ void k_##f() { result[threadIdx.x] = f(x[threadIdx.x]); }
#define KERNEL2(f) __global__ void k_##f() { result[threadIdx.x] = f(x[threadIdx.x], y[threadIdx.x]); }
ONE(KERNEL1) TWO(KERNEL2)
static const char *kind(float v)
{
    return v != v ? "nan" : std::isinf(v) ? v > 0 ? "inf" : "-inf" : v == 0 ? std::signbit(v) ? "-0" : "0" :
           std::fpclassify(v) == FP_SUBNORMAL ? "subnormal" : "normal";
}
template <class K> static void show(const char *name, K *kernel)
{
    kernel<<<1, VALUES>>>();
    cudaDeviceSynchronize();
    printf("%s", name);
    for (float v : result)
        printf(" %s", kind(v));
    puts("");
}
#define SHOW(f) show(#f, k_##f);
int main()
{
    const float a[] = {1e-40f, -5e-39f, -130, 9.5f, -38.3f, 1e-20f}, b[] = {2, -3e-39f, 1e-40f, -40, 3, 2};
    for (int i = 0; i < VALUES; i++)
        x[i] = a[i], y[i] = b[i];
    ONE(SHOW) TWO(SHOW)
}
END
run weircc -ftz=true a.cu -o program
ok
run ./program
ok
says_not subnormal
# as nvcc's programs have it
cat >wanted <<'END'
asinf 0 -0 nan nan nan normal
erfcf normal normal normal 0 normal normal
exp2f normal normal 0 normal normal normal
expf normal normal 0 normal normal normal
lgammaf inf inf inf normal normal normal
log1pf 0 -0 nan normal nan normal
logf -inf -inf nan normal nan normal
logbf -inf -inf normal normal normal normal
sinpif 0 -0 -0 normal normal normal
tgammaf inf -inf nan normal -0 normal
y1f -inf -inf nan normal nan normal
builtin_ normal normal 0 normal normal normal
atan2f 0 normal normal normal normal normal
powf 0 normal normal 0 normal 0
hypotf normal 0 normal normal normal normal
fmodf 0 nan nan normal normal normal
END
grep -E '^(asinf|atan2f|exp2f|builtin_|expf|logf|log1pf|powf|erfcf|tgammaf|lgammaf|logbf|sinpif|hypotf|fmodf|y1f) ' out >got
cmp -s got wanted
note $? "differs: $(diff got wanted)"
run weircc a.cu -o program
ok
run ./program
says 'asinf subnormal subnormal'
says 'exp2f normal normal subnormal'
run weircc -ftz=true -G a.cu -o program
ok
run ./program
says_not subnormal
# The next number, and a sign, which is not arithmetic.
cat >a.cu <<'END'
#include <cstdio>
#include <cstring>
__managed__ float x[6], y[6], next[6], sign[6];
__global__ void k() { int t = threadIdx.x; next[t] = nextafterf(x[t], y[t]); sign[t] = copysignf(x[t], y[t]); }
int main()
{
    const float m = 1.17549435e-38f, a[] = {m, -m, 0, -0.f, 1e-40f, 2 * m}, b[] = {0, 1e-40f, 1, -1, -1e-40f, 0};
    memcpy(x, a, sizeof a), memcpy(y, b, sizeof b);
    k<<<1, 6>>>();
    cudaDeviceSynchronize();
    for (int i = 0; i < 6; i++) {
        unsigned n, s;
        memcpy(&n, &next[i], 4), memcpy(&s, &sign[i], 4);
        printf("%08x/%08x ", n, s);
    }
    puts("");
}
END
run weircc -ftz=true a.cu -o program
ok
run ./program
says "00000000/00800000 80000000/00800000 00800000/00000000 80800000/80000000 80000000/800116c2 00ffffff/01000000 "
done_
