/* K2: values that follow from the thread's index and constants alone: quotients and remainders by
 * sizes of tiles, of all integer types, in blocks of all shapes; tiles that a block fills by one
 * index, whose rows are no multiples of a warp. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

enum { WIDTH = 70, HEIGHT = 45 };

/* What a thread makes of its number in the block, for divisor D. */
template <int D> static __host__ __device__ unsigned made(unsigned t, unsigned x, unsigned y)
{
    unsigned short s = (unsigned short)(t * 3 + y);
    int below = (int)t - 100;
    long long wide = (long long)t * 1234567 - 40000000;
    unsigned sum = t / D * 1000003 + t % D * 31;
    sum = sum * 17 + s / (unsigned short)D * 7 + s % (unsigned short)D;
    sum = sum * 17 + (unsigned)(below / D * 5 + below % D);
    sum = sum * 17 + (unsigned)(wide / D) + (unsigned)(wide % D);
    sum = sum * 17 + ((x * y + 5) / D ^ (x | y << 3) % D);
    return sum * 17 + (unsigned)((int)(sum & 0xffff) - 30000) / D;
}

template <int D> static __global__ void values(unsigned *out)
{
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned trip = 0; trip < 2; trip++)
        if (blockIdx.x % 3 != trip) /* some blocks have one of them */
            out[(blockIdx.x * 2 + trip) * n + t] =
                made<D>(t + trip * n, threadIdx.x, threadIdx.y + threadIdx.z);
}

template <int D> static void try_values(dim3 block)
{
    unsigned n = block.x * block.y * block.z, *out, blocks = 5;
    std::vector<unsigned> got(n * 2 * blocks), expected(n * 2 * blocks);
    CHECK_EQ_INT(cudaMalloc(&out, got.size() * 4), cudaSuccess);
    cudaMemset(out, 0, got.size() * 4);
    values<D><<<blocks, block>>>(out);
    CHECK_EQ_INT(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDefault), cudaSuccess);
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned trip = 0; trip < 2; trip++)
            for (unsigned t = 0; t < n && b % 3 != trip; t++)
                expected[(b * 2 + trip) * n + t] = made<D>(
                    t + trip * n, t % block.x, t / block.x % block.y + t / block.x / block.y);
    CHECK(got == expected);
    cudaFree(out);
}

/* Quotients shifted by the thread's index: from 32 on nothing is left, or the sign. */
static __global__ void shifted(unsigned *out)
{
    unsigned t = threadIdx.x, left, right, q = t / 34;
    asm("shl.b32 %0, %1, %2;" : "=r"(left) : "r"(q + 5), "r"(t));
    asm("shr.s32 %0, %1, %2;" : "=r"(right) : "r"(q - 100), "r"(t));
    out[t] = q * 17 + left + right * 3;
}

static void try_shifted(unsigned *out)
{
    unsigned got[256];
    shifted<<<1, 256>>>(out);
    CHECK_EQ_INT(cudaMemcpy(got, out, sizeof got, cudaMemcpyDefault), cudaSuccess);
    for (unsigned t = 0; t < 256; t++) {
        unsigned q = t / 34, left = t < 32 ? (q + 5) << t : 0;
        unsigned right = (unsigned)((int)(q - 100) >> (t < 31 ? t : 31));
        CHECK_EQ_INT(got[t], q * 17 + left + right * 3);
    }
}

/* A block's tile of BX by BY elements with one around it, from an image that goes on at its edges.
 */
template <int BX, int BY> static __global__ void tiles(const short *in, int *out)
{
    __shared__ short tile[BY + 2][BX + 2];
    int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
    for (int k = threadIdx.y * BX + threadIdx.x; k < (BX + 2) * (BY + 2); k += BX * BY) {
        int x = min(max(x0 + k % (BX + 2), 0), WIDTH - 1);
        int y = min(max(y0 + k / (BX + 2), 0), HEIGHT - 1);
        tile[k / (BX + 2)][k % (BX + 2)] = in[y * WIDTH + x];
    }
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y, sum = 0;
    for (int v = 0; v < 3; v++)
        for (int u = 0; u < 3; u++)
            sum = sum * 3 + tile[threadIdx.y + v][threadIdx.x + u];
    if (x < WIDTH && y < HEIGHT)
        out[y * WIDTH + x] = sum;
}

template <int BX, int BY> static void try_tiles(const short *in, int *out)
{
    std::vector<short> image(WIDTH * HEIGHT);
    std::vector<int> got(WIDTH * HEIGHT), expected(WIDTH * HEIGHT);
    cudaMemcpy(image.data(), in, image.size() * 2, cudaMemcpyDefault);
    cudaMemset(out, 0, got.size() * 4);
    tiles<BX, BY><<<dim3((WIDTH + BX - 1) / BX, (HEIGHT + BY - 1) / BY), dim3(BX, BY)>>>(in, out);
    CHECK_EQ_INT(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDefault), cudaSuccess);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 0;
            for (int v = y - 1; v <= y + 1; v++)
                for (int u = x - 1; u <= x + 1; u++) {
                    int row = v < 0 ? 0 : v >= HEIGHT ? HEIGHT - 1 : v;
                    int column = u < 0 ? 0 : u >= WIDTH ? WIDTH - 1 : u;
                    sum = sum * 3 + image[row * WIDTH + column];
                }
            expected[y * WIDTH + x] = sum;
        }
    CHECK(got == expected);
}

int main()
{
    for (dim3 block : {dim3(256), dim3(32, 8), dim3(16, 16), dim3(16, 4, 2), dim3(100), dim3(1024),
                       dim3(6, 16, 2), dim3(10, 3)}) {
        try_values<3>(block), try_values<10>(block), try_values<34>(block), try_values<99>(block);
    }
    short *in;
    int *out;
    std::vector<short> image(WIDTH * HEIGHT);
    for (int n = 0; n < WIDTH * HEIGHT; n++)
        image[n] = (short)(n * 7919 % 251 - 100);
    CHECK_EQ_INT(cudaMalloc(&in, image.size() * 2), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&out, image.size() * 4), cudaSuccess);
    cudaMemcpy(in, image.data(), image.size() * 2, cudaMemcpyDefault);
    try_shifted((unsigned *)out);
    try_tiles<32, 8>(in, out), try_tiles<16, 16>(in, out), try_tiles<32, 4>(in, out);
    try_tiles<8, 8>(in, out), try_tiles<64, 16>(in, out), try_tiles<20, 8>(in, out);
    return check_done();
}
