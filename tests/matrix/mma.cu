/* K2.12: mma.sync, ldmatrix, stmatrix, movmatrix: the fragments' layouts are the ISA's, so each
 * test computes every lane's fragments from the layout's formulas and compares the whole product.
 * */
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "check.h"

/* Registers of one lane; matrices have at most 8 of A, 4 of B and C. */
struct lane {
    uint64_t a[8], b[4], c[4], d[4];
};

#define KERNEL_2_1(name, text)                                                                     \
    __global__ void name(lane *l)                                                                  \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        unsigned d[4];                                                                             \
        asm volatile(text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                  \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                              \
                     : "r"((unsigned)x.a[0]), "r"((unsigned)x.a[1]), "r"((unsigned)x.b[0]),        \
                       "r"((unsigned)x.c[0]), "r"((unsigned)x.c[1]), "r"((unsigned)x.c[2]),        \
                       "r"((unsigned)x.c[3]));                                                     \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = d[i];                                                                         \
    }
#define KERNEL_4_2(name, text)                                                                     \
    __global__ void name(lane *l)                                                                  \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        unsigned d[4];                                                                             \
        asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"   \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                              \
                     : "r"((unsigned)x.a[0]), "r"((unsigned)x.a[1]), "r"((unsigned)x.a[2]),        \
                       "r"((unsigned)x.a[3]), "r"((unsigned)x.b[0]), "r"((unsigned)x.b[1]),        \
                       "r"((unsigned)x.c[0]), "r"((unsigned)x.c[1]), "r"((unsigned)x.c[2]),        \
                       "r"((unsigned)x.c[3]));                                                     \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = d[i];                                                                         \
    }
#define KERNEL_F_2_1(name, text)                                                                   \
    __global__ void name(lane *l)                                                                  \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        float d[4];                                                                                \
        asm volatile(text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                  \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                              \
                     : "r"((unsigned)x.a[0]), "r"((unsigned)x.a[1]), "r"((unsigned)x.b[0]),        \
                       "f"(__uint_as_float(x.c[0])), "f"(__uint_as_float(x.c[1])),                 \
                       "f"(__uint_as_float(x.c[2])), "f"(__uint_as_float(x.c[3])));                \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = __float_as_uint(d[i]);                                                        \
    }
#define KERNEL_F_4_2(name, text)                                                                   \
    __global__ void name(lane *l)                                                                  \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        float d[4];                                                                                \
        asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"   \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                              \
                     : "r"((unsigned)x.a[0]), "r"((unsigned)x.a[1]), "r"((unsigned)x.a[2]),        \
                       "r"((unsigned)x.a[3]), "r"((unsigned)x.b[0]), "r"((unsigned)x.b[1]),        \
                       "f"(__uint_as_float(x.c[0])), "f"(__uint_as_float(x.c[1])),                 \
                       "f"(__uint_as_float(x.c[2])), "f"(__uint_as_float(x.c[3])));                \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = __float_as_uint(d[i]);                                                        \
    }
#define KERNEL_HALF(name, text, operands, ...)                                                     \
    __global__ void name(lane *l)                                                                  \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        unsigned d[2];                                                                             \
        asm volatile(text operands                                                                 \
                     : "=r"(d[0]), "=r"(d[1])                                                      \
                     : __VA_ARGS__, "r"((unsigned)x.c[0]), "r"((unsigned)x.c[1]));                 \
        x.d[0] = d[0];                                                                             \
        x.d[1] = d[1];                                                                             \
    }
#define A(n) "r"((unsigned)x.a[n])
#define B(n) "r"((unsigned)x.b[n])

KERNEL_F_2_1(f16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
KERNEL_F_4_2(f16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
KERNEL_F_2_1(bf16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
KERNEL_F_4_2(bf16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
KERNEL_F_2_1(tf32_k4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
KERNEL_F_4_2(tf32_k8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
KERNEL_HALF(half_k8, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
            " {%0, %1}, {%2, %3}, {%4}, {%5, %6};", A(0), A(1), B(0))
KERNEL_HALF(half_k16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
            " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};", A(0), A(1), A(2), A(3), B(0), B(1))
KERNEL_2_1(s8_k16, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32")
KERNEL_4_2(s8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
KERNEL_4_2(u8s8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32")
KERNEL_4_2(sat_k32, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32")
KERNEL_2_1(s4_k32, "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32")
KERNEL_4_2(u4_k64, "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32")
KERNEL_2_1(xor_k128, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc")
KERNEL_4_2(and_k256, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
KERNEL_F_4_2(e4m3_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
KERNEL_F_4_2(e5m2_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32")
__global__ void s8_m8(lane *l)
{
    lane &x = l[threadIdx.x];
    unsigned d[2];
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=r"(d[0]), "=r"(d[1])
                 : A(0), B(0), "r"((unsigned)x.c[0]), "r"((unsigned)x.c[1]));
    x.d[0] = d[0];
    x.d[1] = d[1];
}
__global__ void f64_k4(lane *l)
{
    lane &x = l[threadIdx.x];
    double d[2];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=d"(d[0]), "=d"(d[1])
                 : "d"(__longlong_as_double(x.a[0])), "d"(__longlong_as_double(x.b[0])),
                   "d"(__longlong_as_double(x.c[0])), "d"(__longlong_as_double(x.c[1])));
    x.d[0] = __double_as_longlong(d[0]);
    x.d[1] = __double_as_longlong(d[1]);
}
__global__ void f64_k16(lane *l)
{
    lane &x = l[threadIdx.x];
    double d[4], a[8], b[4], c[4];
    for (int i = 0; i < 8; i++)
        a[i] = __longlong_as_double(x.a[i]);
    for (int i = 0; i < 4; i++)
        b[i] = __longlong_as_double(x.b[i]), c[i] = __longlong_as_double(x.c[i]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rn {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%16, %17, %18, %19};"
                 : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                   "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]),
                   "d"(c[2]), "d"(c[3]));
    for (int i = 0; i < 4; i++)
        x.d[i] = __double_as_longlong(d[i]);
}

/* Doubles in each rounding, the smallest shape and the largest. */
#define KERNELS_F64(mode)                                                                          \
    __global__ void f64_k4_##mode(lane *l)                                                         \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        double d[2];                                                                               \
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64." #mode                      \
                     " {%0, %1}, {%2}, {%3}, {%4, %5};"                                            \
                     : "=d"(d[0]), "=d"(d[1])                                                      \
                     : "d"(__longlong_as_double(x.a[0])), "d"(__longlong_as_double(x.b[0])),       \
                       "d"(__longlong_as_double(x.c[0])), "d"(__longlong_as_double(x.c[1])));      \
        x.d[0] = __double_as_longlong(d[0]);                                                       \
        x.d[1] = __double_as_longlong(d[1]);                                                       \
    }                                                                                              \
    __global__ void f64_k8_##mode(lane *l)                                                         \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        double d[4], a[4], b[2], c[4];                                                             \
        for (int i = 0; i < 4; i++)                                                                \
            a[i] = __longlong_as_double(x.a[i]), c[i] = __longlong_as_double(x.c[i]);              \
        for (int i = 0; i < 2; i++)                                                                \
            b[i] = __longlong_as_double(x.b[i]);                                                   \
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64." #mode                     \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"        \
                     : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])                              \
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]),           \
                       "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));                                \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = __double_as_longlong(d[i]);                                                   \
    }
KERNELS_F64(rn)
KERNELS_F64(rz)
KERNELS_F64(rm)
KERNELS_F64(rp)

enum kind { F16, BF16, TF32, F32, F64, S8, U8, S4, U4, B1, S32, E4M3, E5M2 };
static unsigned bits_of(kind t)
{
    static const unsigned bits[] = {16, 16, 32, 32, 64, 8, 8, 4, 4, 1, 32, 8, 8};
    return bits[t];
}
static uint64_t field(const uint64_t *r, unsigned bits, unsigned i)
{
    unsigned per = bits == 64 ? 1 : 32 / bits;
    uint64_t v = r[i / per] >> (bits * (i % per) % 64);
    return bits == 64 ? v : v & ((1ull << bits) - 1);
}
static double value(kind t, uint64_t v)
{
    uint32_t w = (uint32_t)v;
    uint16_t h = (uint16_t)v;
    float f;
    double d;
    __half x;
    switch (t) {
    case F16: memcpy(&x, &h, 2); return __half2float(x);
    case BF16:
        w <<= 16;
        memcpy(&f, &w, 4);
        return f;
    case TF32: w &= 0xffffe000u; /* fall through */
    case F32: memcpy(&f, &w, 4); return f;
    case F64: memcpy(&d, &v, 8); return d;
    case E4M3: /* the largest exponent and fraction are NaN; the rest are numbers */
        d = (v >> 3 & 15) ? ldexp(8 + (double)(v & 7), (int)(v >> 3 & 15) - 10)
                          : ldexp((double)(v & 7), -9);
        return v & 0x80 ? -d : d;
    case E5M2:
        d = (v >> 2 & 31) ? ldexp(4 + (double)(v & 3), (int)(v >> 2 & 31) - 17)
                          : ldexp((double)(v & 3), -16);
        return v & 0x80 ? -d : d;
    case S8: return (int8_t)v;
    case S4: return (int)(v ^ 8) - 8;
    case S32: return (int32_t)v;
    default: return (double)v;
    }
}
static uint64_t random_bits(kind t)
{
    double r = rand() / (double)RAND_MAX * 4 - 2;
    float f = (float)r;
    uint32_t w;
    uint64_t q;
    uint16_t h;
    __half x = __float2half(f);
    memcpy(&w, &f, 4);
    memcpy(&q, &r, 8);
    memcpy(&h, &x, 2);
    switch (t) {
    case F16: return h;
    case BF16: return w >> 16;
    case TF32:
    case F32: return w;
    case F64: return q;
    case E4M3: /* no NaN, no infinity */
    case E5M2: return (uint64_t)(rand() >> 5) & 0xbb;
    case S32: return (uint32_t)(rand() % 20001 - 10000);
    default: return (uint64_t)(rand() >> 5) & ((1u << bits_of(t)) - 1);
    }
}
static void fill(uint64_t *r, int regs, kind t, int64_t fixed)
{
    unsigned bits = bits_of(t), per = bits == 64 ? 1 : 32 / bits;
    for (int n = 0; n < regs; n++) {
        r[n] = 0;
        for (unsigned i = 0; i < per; i++)
            r[n] |= (fixed ? (uint64_t)fixed : random_bits(t)) << (bits == 64 ? 0 : bits * i);
    }
}

enum { PLAIN, SATURATE, XOR, AND };

static void check(const char *name, void (*kernel)(lane *), int m, int k, kind ta, kind tb, kind tc,
                  int mode = PLAIN)
{
    lane *l;
    CHECK(cudaMallocManaged(&l, 32 * sizeof *l) == cudaSuccess);
    unsigned ea = bits_of(ta) == 64 ? 1 : 32 / bits_of(ta);
    int halves = m / 8, regs_a = m * k / 32 / (int)ea, regs_b = 8 * k / 32 / (int)ea;
    int elems_c = m * 8 / 32, regs_c = tc == F16 ? elems_c / 2 : elems_c;
    for (int n = 0; n < 32; n++) {
        fill(l[n].a, regs_a, ta, 0);
        fill(l[n].b, regs_b, tb, 0);
        fill(l[n].c, regs_c, tc, mode == SATURATE ? 0x7fffff00 + n * 8 : 0);
        memset(l[n].d, 0, sizeof l[n].d);
    }
    kernel<<<1, 32>>>(l);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<double> a(m * k), b(k * 8);
    for (int n = 0; n < 32; n++) {
        int g = n >> 2, t = n & 3;
        for (int i = 0; i < regs_a * (int)ea; i++) {
            int r = i / (int)ea, s = i % (int)ea;
            int row = g + 8 * (r % halves), col = t * (int)ea + s + r / halves * 4 * (int)ea;
            a[row * k + col] = value(ta, field(l[n].a, bits_of(ta), i));
        }
        for (int i = 0; i < regs_b * (int)ea; i++) {
            int r = i / (int)ea, s = i % (int)ea;
            b[(t * (int)ea + s + r * 4 * (int)ea) * 8 + g] =
                value(tb, field(l[n].b, bits_of(tb), i));
        }
    }
    int wrong = 0;
    for (int n = 0; n < 32; n++)
        for (int i = 0; i < elems_c; i++) {
            int row = (n >> 2) + 8 * (i >> 1), col = (n & 3) * 2 + (i & 1);
            double want = value(tc, field(l[n].c, bits_of(tc), i)), scale = fabs(want);
            for (int j = 0; j < k; j++) {
                double x = a[row * k + j], y = b[j * 8 + col];
                double p = mode == XOR ? x != y : x * y;
                want += p;
                scale += fabs(p);
            }
            if (mode == SATURATE && want > 2147483647.0)
                want = 2147483647.0;
            double got = value(tc, field(l[n].d, bits_of(tc), i));
            double allowed = tc == S32   ? 0
                             : tc == F64 ? scale * 0x1p-50
                             : tc == F32 ? scale * 0x1p-20
                                         : fabs(want) * 0x1p-11 + scale * 0x1p-20;
            wrong += !(fabs(got - want) <= allowed);
        }
    if (wrong)
        printf("%s: ", name);
    CHECK_EQ_INT(wrong, 0);
    cudaFree(l);
}
#define CHECK_MMA(name, ...) check(#name, name, __VA_ARGS__)

/* ---- roundings of doubles ---- */

/* Every product is added with one rounding, in the order of k. */
static double fused(double a, double b, double c, int mode)
{
    fesetround(mode);
    volatile double r = fma(a, b, c);
    fesetround(FE_TONEAREST);
    return r;
}

static double any_double(int range)
{
    return ldexp(rand() - RAND_MAX / 2 + rand() * 0x1p-31, rand() % range - range / 2);
}

static void check_rounded(void (*kernel)(lane *), int m, int k, int mode)
{
    lane *l;
    CHECK(cudaMallocManaged(&l, 32 * sizeof(lane)) == cudaSuccess);
    int wrong = 0;
    for (int round = 0; round < 8; round++) {
        std::vector<double> a(m * k), b(k * 8), c(m * 8);
        for (double &x : a)
            x = any_double(20);
        for (double &x : b)
            x = any_double(20);
        for (double &x : c)
            x = round == 7 ? any_double(2) * 0x1p-1060 : any_double(80);
        for (int n = 0; n < 32; n++) {
            int g = n >> 2, t = n & 3, halves = m / 8;
            for (int i = 0; i < m * k / 32; i++)
                memcpy(&l[n].a[i], &a[(g + 8 * (i % halves)) * k + t + 4 * (i / halves)], 8);
            for (int i = 0; i < k / 4; i++)
                memcpy(&l[n].b[i], &b[(t + 4 * i) * 8 + g], 8);
            for (int i = 0; i < m / 4; i++)
                memcpy(&l[n].c[i], &c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)], 8);
        }
        kernel<<<1, 32>>>(l);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        for (int n = 0; n < 32; n++)
            for (int i = 0; i < m / 4; i++) {
                int row = (n >> 2) + 8 * (i >> 1), col = 2 * (n & 3) + (i & 1);
                double want = c[row * 8 + col], got;
                for (int j = 0; j < k; j++)
                    want = fused(a[row * k + j], b[j * 8 + col], want, mode);
                memcpy(&got, &l[n].d[i], 8);
                wrong += got != want;
            }
    }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(l);
}

static void check_roundings()
{
    check_rounded(f64_k4_rn, 8, 4, FE_TONEAREST);
    check_rounded(f64_k4_rz, 8, 4, FE_TOWARDZERO);
    check_rounded(f64_k4_rm, 8, 4, FE_DOWNWARD);
    check_rounded(f64_k4_rp, 8, 4, FE_UPWARD);
    check_rounded(f64_k8_rn, 16, 8, FE_TONEAREST);
    check_rounded(f64_k8_rz, 16, 8, FE_TOWARDZERO);
    check_rounded(f64_k8_rm, 16, 8, FE_DOWNWARD);
    check_rounded(f64_k8_rp, 16, 8, FE_UPWARD);
}

/* ---- eight by eight halves ---- */

__global__ void move(const unsigned short *in, unsigned *out, unsigned short *back, int trans)
{
    __shared__ __align__(16) unsigned short m[4 * 64], w[4 * 64];
    for (int i = threadIdx.x; i < 256; i += 32)
        m[i] = in[i];
    __syncwarp();
    /* the matrices' rows in the reverse order, to see that addresses are taken from the lanes */
    unsigned at = (unsigned)__cvta_generic_to_shared(m + (31 - threadIdx.x) * 8);
    unsigned to = (unsigned)__cvta_generic_to_shared(w + (31 - threadIdx.x) * 8);
    unsigned r[4], x2[2], x1, moved;
    if (trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(x2[0]), "=r"(x2[1])
                     : "r"(at)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(x1)
                     : "r"(at)
                     : "memory");
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0, %1, %2, %3};" ::"r"(r[0]),
            "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(to)
            : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(x2[0]), "=r"(x2[1])
                     : "r"(at)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(x1)
                     : "r"(at)
                     : "memory");
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0, %1, %2, %3};" ::"r"(r[0]),
                     "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(to)
                     : "memory");
    }
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(r[0]));
    __syncwarp();
    for (int i = 0; i < 4; i++)
        out[i * 32 + threadIdx.x] = r[i];
    out[4 * 32 + threadIdx.x] = x2[0];
    out[5 * 32 + threadIdx.x] = x2[1];
    out[6 * 32 + threadIdx.x] = x1;
    out[7 * 32 + threadIdx.x] = moved;
    for (int i = threadIdx.x; i < 256; i += 32)
        back[i] = w[i];
}

static void check_moves()
{
    unsigned short *in, *back;
    unsigned *out;
    CHECK(cudaMallocManaged(&in, 512) == cudaSuccess &&
          cudaMallocManaged(&back, 512) == cudaSuccess &&
          cudaMallocManaged(&out, 8 * 128) == cudaSuccess);
    for (int trans = 0; trans < 2; trans++) {
        for (int i = 0; i < 256; i++)
            in[i] = (unsigned short)rand();
        move<<<1, 32>>>(in, out, back, trans);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        for (int n = 0; n < 8; n++) {
            int matrix = n < 4 ? n : n < 6 ? n - 4 : 0;
            bool turned = n == 7 ? !trans : trans;
            for (int l = 0; l < 32; l++)
                for (int s = 0; s < 2; s++) {
                    int row = l >> 2, col = 2 * (l & 3) + s, r = turned ? col : row,
                        c = turned ? row : col;
                    unsigned got = out[n * 32 + l] >> (16 * s) & 0xffff;
                    wrong += got != in[(31 - (8 * matrix + r)) * 8 + c];
                }
        }
        CHECK_EQ_INT(wrong, 0);
        CHECK(memcmp(in, back, 512) == 0);
    }
}

int main()
{
    srand(2);
    CHECK_MMA(f16_k8, 16, 8, F16, F16, F32);
    CHECK_MMA(f16_k16, 16, 16, F16, F16, F32);
    CHECK_MMA(bf16_k8, 16, 8, BF16, BF16, F32);
    CHECK_MMA(bf16_k16, 16, 16, BF16, BF16, F32);
    CHECK_MMA(tf32_k4, 16, 4, TF32, TF32, F32);
    CHECK_MMA(tf32_k8, 16, 8, TF32, TF32, F32);
    CHECK_MMA(half_k8, 16, 8, F16, F16, F16);
    CHECK_MMA(half_k16, 16, 16, F16, F16, F16);
    CHECK_MMA(s8_m8, 8, 16, S8, S8, S32);
    CHECK_MMA(s8_k16, 16, 16, S8, S8, S32);
    CHECK_MMA(s8_k32, 16, 32, S8, S8, S32);
    CHECK_MMA(u8s8_k32, 16, 32, U8, S8, S32);
    CHECK_MMA(sat_k32, 16, 32, U8, U8, S32, SATURATE);
    CHECK_MMA(s4_k32, 16, 32, S4, S4, S32);
    CHECK_MMA(u4_k64, 16, 64, U4, S4, S32);
    CHECK_MMA(xor_k128, 16, 128, B1, B1, S32, XOR);
    CHECK_MMA(and_k256, 16, 256, B1, B1, S32, AND);
    CHECK_MMA(f64_k4, 8, 4, F64, F64, F64);
    CHECK_MMA(f64_k16, 16, 16, F64, F64, F64);
    CHECK_MMA(e4m3_k32, 16, 32, E4M3, E5M2, F32);
    CHECK_MMA(e5m2_k32, 16, 32, E5M2, E4M3, F32);
    check_roundings();
    check_moves();
    return check_done();
}
