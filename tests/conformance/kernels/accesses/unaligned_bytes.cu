/* K2: bytes that a thread loads and stores side by side need no alignment, however many they are
 * and whatever is done to them. */
#include "check.h"

enum { THREADS = 64, EACH = 16, STRIDE = 17 };

__global__ void flip(const unsigned char *in, unsigned char *out)
{
    unsigned char v[EACH];
    for (int i = 0; i < EACH; i++)
        v[i] = in[threadIdx.x * STRIDE + i];
    for (int i = 0; i < EACH; i++)
        out[threadIdx.x * STRIDE + i] = v[i] ^ 0x80;
}

__global__ void flip_shared(const unsigned char *in, unsigned char *out)
{
    __shared__ unsigned char all[THREADS * STRIDE];
    for (int i = threadIdx.x; i < THREADS * STRIDE; i += THREADS)
        all[i] = in[i];
    __syncthreads();
    unsigned char v[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        v[i] = (unsigned char)~all[threadIdx.x * STRIDE + i];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        all[threadIdx.x * STRIDE + i] = v[i];
    __syncthreads();
    for (int i = threadIdx.x; i < THREADS * STRIDE; i += THREADS)
        out[i] = all[i];
}

__global__ void add_shorts(const char *in, char *out)
{
    const char *from = in + threadIdx.x * STRIDE;
    char *to = out + threadIdx.x * STRIDE;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        to[i] = (char)(from[i] + from[EACH - 1 - i]);
}

int main()
{
    unsigned char *in, *out;
    CHECK_EQ_INT(cudaMallocManaged(&in, THREADS * STRIDE), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, THREADS * STRIDE), cudaSuccess);
    for (int i = 0; i < THREADS * STRIDE; i++)
        in[i] = (unsigned char)(i * 7);
    flip<<<1, THREADS>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS * STRIDE; i++)
        if (i % STRIDE < EACH)
            CHECK_EQ_INT(out[i], in[i] ^ 0x80);
    flip_shared<<<1, THREADS>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS * STRIDE; i++)
        CHECK_EQ_INT(out[i], i % STRIDE < EACH ? (unsigned char)~in[i] : in[i]);
    add_shorts<<<1, THREADS>>>((char *)in, (char *)out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS * STRIDE; i++)
        if (i % STRIDE < EACH)
            CHECK_EQ_INT(out[i], (unsigned char)(in[i] + in[i + EACH - 1 - 2 * (i % STRIDE)]));
    cudaFree(in);
    cudaFree(out);
    return check_done();
}
