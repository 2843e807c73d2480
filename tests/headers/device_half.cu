/* half and bfloat16: every function and operator, called once on the device and on the host,
 * through one template for both types. Compiled here; the host side is also run (half_values.cpp).
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename H, typename H2> __host__ __device__ void both_sides(H *p, H2 *q, int *i)
{
    H a = p[0], b = p[1], c = p[2];
    p[3] = __hadd(a, b) + __hsub(a, b) * __hmul(a, b) / __hdiv(a, b) - __hfma(a, b, c);
    p[4] = __hadd_rn(a, b) + __hsub_rn(a, b) + __hmul_rn(a, b) + __hadd_sat(a, b) +
           __hsub_sat(a, b) + __hmul_sat(a, b) + __hfma_sat(a, b, c) + __hfma_relu(a, b, c) +
           __hneg(a) + __habs(a) + __hmax(a, b) + __hmin(a, b) + __hmax_nan(a, b) +
           __hmin_nan(a, b);
    a += b;
    a -= b;
    a *= b;
    a /= b;
    p[5] = -a + +b;
    a++;
    --a;
    i[0] = __heq(a, b) + __hne(a, b) + __hlt(a, b) + __hle(a, b) + __hgt(a, b) + __hge(a, b) +
           __hequ(a, b) + __hneu(a, b) + __hltu(a, b) + __hleu(a, b) + __hgtu(a, b) + __hgeu(a, b) +
           __hisnan(a) + __hisinf(a) + (a == b) + (a != b) + (a < b) + (a <= b) + (a > b) +
           (a >= b);
    p[6] = hsqrt(a) + hrsqrt(a) + hrcp(a) + hexp(a) + hexp2(a) + hexp10(a) + hlog(a) + hlog2(a) +
           hlog10(a) + hsin(a) + hcos(a) + htanh(a) + hceil(a) + hfloor(a) + htrunc(a) + hrint(a);

    H2 x = q[0], y = q[1], z = q[2];
    q[3] = __hadd2(x, y) + __hsub2(x, y) * __hmul2(x, y) / __h2div(x, y) - __hfma2(x, y, z);
    q[4] = __hadd2_rn(x, y) + __hsub2_rn(x, y) + __hmul2_rn(x, y) + __hadd2_sat(x, y) +
           __hsub2_sat(x, y) + __hmul2_sat(x, y) + __hfma2_sat(x, y, z) + __hfma2_relu(x, y, z) +
           __hneg2(x) + __habs2(x) + __hmax2(x, y) + __hmin2(x, y) + __hmax2_nan(x, y) +
           __hmin2_nan(x, y) + __hcmadd(x, y, z) + __lowhigh2highlow(x);
    q[5] = __heq2(x, y) + __hne2(x, y) + __hlt2(x, y) + __hle2(x, y) + __hgt2(x, y) + __hge2(x, y) +
           __hequ2(x, y) + __hneu2(x, y) + __hltu2(x, y) + __hleu2(x, y) + __hgtu2(x, y) +
           __hgeu2(x, y) + __hisnan2(x);
    i[1] = __hbeq2(x, y) + __hbne2(x, y) + __hblt2(x, y) + __hbgeu2(x, y) + (x == y) + (x != y) +
           (int)__heq2_mask(x, y) + (int)__hltu2_mask(x, y);
    q[6] = h2sqrt(x) + h2rsqrt(x) + h2rcp(x) + h2exp(x) + h2exp2(x) + h2exp10(x) + h2log(x) +
           h2log2(x) + h2log10(x) + h2sin(x) + h2cos(x) + h2tanh(x) + h2ceil(x) + h2floor(x) +
           h2trunc(x) + h2rint(x);
    x += y;
    x *= y;
    p[7] = H(1.0f);
    p[8] = H(1.0);
    p[9] = H(3);
    p[10] = H(4u);
    p[11] = H(5ll);
    i[2] = (int)(float)a + (a ? 1 : 0) + (int)__low2float(x) + (int)__high2float(x);
}

/* The conversions carry the type's name. */
#define CONVERSIONS(N, H, H2)                                                                      \
    __host__ __device__ void conversions_##N(H *p, H2 *q, float *f, int *i, long long *l)          \
    {                                                                                              \
        H a = __float2##N(f[0]);                                                                   \
        p[1] = __float2##N##_rn(f[0]);                                                             \
        p[2] = __float2##N##_rz(f[0]) + __float2##N##_rd(f[0]) + __float2##N##_ru(f[0]);           \
        p[3] = __double2##N(f[0]);                                                                 \
        f[1] = __##N##2float(a);                                                                   \
        i[0] = __##N##2int_rn(a) + __##N##2int_rz(a) + __##N##2int_rd(a) + __##N##2int_ru(a) +     \
               __##N##2short_rz(a) + __##N##2ushort_rz(a) + (int)__##N##2uint_rn(a) +              \
               __##N##2char_rz(a) + __##N##2uchar_rz(a) + __##N##_as_short(a) +                    \
               __##N##_as_ushort(a);                                                               \
        l[0] = __##N##2ll_rn(a) + (long long)__##N##2ull_rz(a);                                    \
        p[4] = __int2##N##_rn(i[1]) + __int2##N##_rz(i[1]) + __uint2##N##_rn(i[1]) +               \
               __short2##N##_rn(i[1]) + __ushort2##N##_rn(i[1]) + __ll2##N##_rn(l[1]) +            \
               __ull2##N##_rn(l[1]) + __ushort_as_##N(7) + __short_as_##N(7);                      \
        q[0] = __##N##2##N##2(a);                                                                  \
        q[1] = __halves2##N##2(a, a);                                                              \
        q[2] = __float2##N##2_rn(f[0]);                                                            \
        q[3] = __floats2##N##2_rn(f[0], f[1]);                                                     \
        q[4] = __float22##N##2_rn(float2{f[0], f[1]});                                             \
        q[5] = __low2##N##2(q[1]) + __high2##N##2(q[1]) + __lows2##N##2(q[1], q[2]) +              \
               __highs2##N##2(q[1], q[2]) + make_##N##2(a, a);                                     \
        p[5] = __low2##N(q[1]) + __high2##N(q[1]);                                                 \
        float2 w = __##N##22float2(q[1]);                                                          \
        f[2] = w.x + w.y;                                                                          \
    }
CONVERSIONS(half, __half, __half2)
CONVERSIONS(bfloat16, __nv_bfloat16, __nv_bfloat162)

/* Constants of both types, of which the C++ library has many (cuda::std::numbers). */
constexpr __half half_e = __half_raw{0x4170};
constexpr __half2 half_pair(half_e, half_e);
constexpr __nv_bfloat16 bfloat_pi = __nv_bfloat16_raw{0x4049};
constexpr __nv_bfloat162 bfloat_pair(bfloat_pi, bfloat_pi);
static_assert(static_cast<bool>(half_pair.x) && static_cast<bool>(bfloat_pair.y), "constants");
__constant__ constexpr __half half_constant = half_pair.y;

template <typename H, typename H2> __device__ void device_only(H *p, H2 *q)
{
    p[0] = __shfl_sync(~0u, p[1], 1) + __shfl_up_sync(~0u, p[1], 1) +
           __shfl_down_sync(~0u, p[1], 1) + __shfl_xor_sync(~0u, p[1], 1);
    q[0] = __shfl_sync(~0u, q[1], 1) + __shfl_up_sync(~0u, q[1], 1) +
           __shfl_down_sync(~0u, q[1], 1) + __shfl_xor_sync(~0u, q[1], 1);
    __stwb(p, __ldcg(p + 1));
    __stcg(p, __ldca(p + 1));
    __stcs(p, __ldcs(p + 1));
    __stwt(q, __ldlu(q + 1));
    q[2] = __ldg(q + 3) + __ldcv(q + 4);
}

__global__ void all(half *p, half2 *q, nv_bfloat16 *r, nv_bfloat162 *s, float *f, int *i,
                    long long *l)
{
    both_sides(p, q, i);
    both_sides(r, s, i);
    conversions_half(p, q, f, i, l);
    conversions_bfloat16(r, s, f, i, l);
    device_only(p, q);
    device_only(r, s);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    atomicAdd(p, p[1]);
    atomicAdd(q, q[1]);
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    atomicAdd(r, r[1]);
    atomicAdd(s, s[1]);
#endif
}

int main()
{
    half p[32];
    half2 q[32];
    nv_bfloat16 r[32];
    nv_bfloat162 s[32];
    int i[8];
    both_sides(p, q, i);
    both_sides(r, s, i);
}
