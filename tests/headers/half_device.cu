/* K2.16, headers: half and bfloat16 on the device against the same functions on the host, bit for
 * bit, on random bit patterns. Run on the software device. */
#include <stdint.h>
#include <stdio.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

enum { SAMPLES = 8192 };

static unsigned long long seed = 1;
static uint32_t random32(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 32);
}

template <typename H, typename H2> struct operands {
    H a, b, c;
    H2 x, y, z;
    float f;
    int i;
    long long l;
};

template <typename In, typename R, typename F> __global__ void apply(F f, const In *in, R *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = f(in[i]);
}

/* Bits of a result; NaNs of the types count as one. */
static uint32_t canonical(__half v) { return __hisnan(v) ? 0x7fff : __half_as_ushort(v); }
static uint32_t canonical(__nv_bfloat16 v)
{
    return __hisnan(v) ? 0x7fff : __bfloat16_as_ushort(v);
}
static uint32_t canonical(__half2 v) { return canonical(v.x) | canonical(v.y) << 16; }
static uint32_t canonical(__nv_bfloat162 v) { return canonical(v.x) | canonical(v.y) << 16; }
static uint32_t canonical(float v) { return v != v ? 0x7fffffff : __builtin_bit_cast(uint32_t, v); }
static uint64_t canonical(long long v) { return (uint64_t)v; }

template <typename H, typename H2, typename R, typename F>
static void compare(const char *name, F f)
{
    typedef operands<H, H2> In;
    In *in;
    R *out;
    cudaMallocManaged(&in, SAMPLES * sizeof(In));
    cudaMallocManaged(&out, SAMPLES * sizeof(R));
    for (int i = 0; i < SAMPLES; i++) {
        uint16_t bits[9];
        for (int k = 0; k < 9; k++)
            bits[k] = (uint16_t)random32();
        if (i % 2) /* of about the same size, so that sums and comparisons say something */
            for (int k = 1; k < 9; k++)
                bits[k] = (uint16_t)((bits[0] & 0x7c00) | (bits[k] & 0x83ff));
        memcpy(&in[i], bits, sizeof bits);
        uint32_t r = random32();
        in[i].f = i % 2 ? (float)(int)r * 0x1p-20f : __builtin_bit_cast(float, r);
        in[i].i = (int)random32() >> (r & 31);
        in[i].l = (long long)((unsigned long long)random32() << 32 | random32()) >> (r & 63);
    }
    apply<In, R><<<SAMPLES / 128, 128>>>(f, in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0, at = 0;
    for (int i = SAMPLES - 1; i >= 0; i--)
        if (canonical(out[i]) != canonical((R)f(in[i]))) {
            wrong++;
            at = i;
        }
    if (wrong)
        printf("%s: %d of %d differ, first (%g %g %g | %g | %d): %llx, on the host %llx\n", name,
               wrong, SAMPLES, (float)in[at].a, (float)in[at].b, (float)in[at].c, in[at].f,
               in[at].i, (unsigned long long)canonical(out[at]),
               (unsigned long long)canonical((R)f(in[at])));
    CHECK(wrong == 0);
    cudaFree(in);
    cudaFree(out);
}

#define SAME(R, expression)                                                                        \
    compare<H, H2, R>(#expression, [] __host__ __device__(const operands<H, H2> &v) -> R {         \
        H a = v.a, b = v.b, c = v.c;                                                               \
        H2 x = v.x, y = v.y, z = v.z;                                                              \
        (void)a, (void)b, (void)c, (void)x, (void)y, (void)z;                                      \
        return (R)(expression);                                                                    \
    });

/* nvcc has these on the device only. */
#ifdef __NVCC__
#define ONLY_HERE(R, expression)
#else
#define ONLY_HERE SAME
#endif

template <typename H, typename H2> static void arithmetic(void)
{
    SAME(H, a + b)
    SAME(H, a - b)
    SAME(H, a * b)
    SAME(H, a / b)
    SAME(H, __hfma(a, b, c))
    SAME(H, __hadd_rn(a, b))
    SAME(H, __hmul_rn(a, b))
    SAME(H, __hadd_sat(a, b))
    SAME(H, __hfma_sat(a, b, c))
    SAME(H, __hfma_relu(a, b, c))
    SAME(H, -a)
    SAME(H, __habs(a))
    SAME(H, __hmax(a, b))
    SAME(H, __hmin(a, b))
    SAME(H, __hmax_nan(a, b))
    SAME(H, hsqrt(__habs(a)))
    SAME(H, hrcp(a))
    SAME(H, hfloor(a))
    SAME(H, hceil(a))
    SAME(H, htrunc(a))
    SAME(H, hrint(a))
    SAME(H2, x + y)
    SAME(H2, x - y)
    SAME(H2, x * y)
    SAME(H2, x / y)
    SAME(H2, __hfma2(x, y, z))
    SAME(H2, __hmax2(x, y))
    SAME(H2, __hle2(x, y))
    SAME(H2, __hneg2(x))
    SAME(float, (float)a)
    SAME(H, H(v.f))
    SAME(H, H((double)v.f * 1.0000001))
    SAME(H, H(v.i))
    SAME(H, H(v.l))
    SAME(long long, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * __hltu(a, b) +
                        32 * __hequ(a, b) + 64 * __hisnan(a) + 128 * (x == y))
    SAME(long long, __heq2_mask(x, y))
}

static void conversions(void)
{
    {
        typedef __half H;
        typedef __half2 H2;
        ONLY_HERE(long long, __half2int_rn(a))
        SAME(long long, __half2int_rz(a))
        ONLY_HERE(long long, __half2uint_rd(a))
        ONLY_HERE(long long, __half2ll_ru(a))
        ONLY_HERE(long long, __half2short_rn(a))
        SAME(H, __float2half_rz(v.f))
        SAME(H, __float2half_rd(v.f))
        SAME(H, __float2half_ru(v.f))
        SAME(H, __int2half_rz(v.i))
        SAME(H, __ll2half_ru(v.l))
        SAME(H2, __floats2half2_rn(v.f, (float)v.i))
        SAME(__nv_bfloat16, static_cast<__nv_bfloat16>(a))
    }
    {
        typedef __nv_bfloat16 H;
        typedef __nv_bfloat162 H2;
        ONLY_HERE(long long, __bfloat162int_rn(a))
        SAME(long long, __bfloat162ull_rz(a))
        SAME(H, __float2bfloat16_rz(v.f))
        SAME(H, __float2bfloat16_ru(v.f))
        SAME(H, __ll2bfloat16_rn(v.l))
        SAME(H2, __floats2bfloat162_rn(v.f, (float)v.i))
        SAME(__half, static_cast<__half>(a))
    }
}

/* The second value is never written, and what is made of it is dropped: the first must not suffer.
 */
template <typename H> __global__ void half_written(const H *in, H *out)
{
    H value[1], made[2];
    value[0] = in[threadIdx.x];
    for (int i = 0; i < 2; i++) {
        made[i] = __hmax(value[i], __hneg(value[i]));
        made[i] = __hmin_nan(__hmax_nan(made[i], in[0]), in[1]);
        made[i] = __hadd_sat(made[i], in[0]);
    }
    out[threadIdx.x] = made[0];
}

template <typename H> static void unwritten_values(void)
{
    H *memory, host[32];
    for (int i = 0; i < 32; i++)
        host[i] = H(i ? 0.25f - i * 0.125f : 0.0f);
    host[1] = H(0.75f);
    CHECK(cudaMalloc(&memory, 2 * sizeof host) == cudaSuccess);
    CHECK(cudaMemcpy(memory, host, sizeof host, cudaMemcpyDefault) == cudaSuccess);
    half_written<<<1, 32>>>(memory, memory + 32);
    H made[32];
    CHECK(cudaMemcpy(made, memory + 32, sizeof made, cudaMemcpyDefault) == cudaSuccess);
    for (int i = 0; i < 32; i++) {
        float size = (float)host[i] < 0 ? -(float)host[i] : (float)host[i];
        CHECK((float)made[i] == (size > 0.75f ? 0.75f : size));
    }
    CHECK(cudaFree(memory) == cudaSuccess);
}

int main()
{
    unwritten_values<__half>();
    unwritten_values<__nv_bfloat16>();
    arithmetic<__half, __half2>();
    arithmetic<__nv_bfloat16, __nv_bfloat162>();
    conversions();
    return check_done();
}
