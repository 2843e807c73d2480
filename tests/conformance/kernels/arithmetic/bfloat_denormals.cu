// FLAGS: -arch=sm_90 -use_fast_math
// RUN whole: WEIR_JIT=optimizing
/* K2: bfloat16 keeps its denormals where single precision flushes them to zero: its instructions
 * have no such form. */
#include <cuda_bf16.h>

#include "check.h"

__device__ static unsigned short bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }

__global__ void compute(const unsigned short *in, unsigned short *out, float *flushed)
{
    __nv_bfloat16 x = __ushort_as_bfloat16(in[0]), y = __ushort_as_bfloat16(in[1]);
    __nv_bfloat16 one = __ushort_as_bfloat16(in[2]), zero = __ushort_as_bfloat16(in[3]);
    __nv_bfloat162 pair = {x, y}, ones = {one, one}, zeros = {zero, zero};
    out[0] = bits(__hadd(x, y));
    out[1] = bits(__hsub(y, x));
    out[2] = bits(__hmul(x, one));
    out[3] = bits(__hfma(x, one, y));
    __nv_bfloat162 sum = __hadd2(pair, pair), difference = __hsub2(zeros, pair);
    __nv_bfloat162 product = __hmul2(pair, ones), both = __hfma2(pair, ones, pair);
    out[4] = bits(sum.x);
    out[5] = bits(sum.y);
    out[6] = bits(difference.x);
    out[7] = bits(difference.y);
    out[8] = bits(product.x);
    out[9] = bits(product.y);
    out[10] = bits(both.x);
    out[11] = bits(both.y);
    *flushed = __uint_as_float((unsigned)in[0] << 16) + __uint_as_float((unsigned)in[1] << 16);
}

int main()
{
    unsigned short *in, *out;
    float *flushed;
    CHECK_EQ_INT(cudaMallocManaged(&in, 64), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 64), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&flushed, sizeof *flushed), cudaSuccess);
    in[0] = 0x0012;
    in[1] = 0x0021;
    in[2] = 0x3f80;
    in[3] = 0;
    compute<<<1, 1>>>(in, out, flushed);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    const int expected[] = {0x33,          0x0f,          0x12, 0x33, 0x24, 0x42,
                            0x12 | 0x8000, 0x21 | 0x8000, 0x12, 0x21, 0x24, 0x42};
    for (int n = 0; n < 12; n++)
        CHECK_EQ_INT(out[n], expected[n]);
    CHECK(*flushed == 0.0f);
    cudaFree(in);
    cudaFree(out);
    cudaFree(flushed);
    return check_done();
}
