// Grids in three dimensions with a queue of registers along z, a lattice Boltzmann step, and
// relaxations by one persistent kernel with a barrier of the whole grid.
#include <cooperative_groups.h>

#include "harness.h"

enum { R = 4 };
static __device__ float weight(int k)
{
    return k == 0 ? 0.4f : k == 1 ? 0.06f : k == 2 ? 0.03f : k == 3 ? 0.015f : 0.005f;
}
// 25 points; a thread goes down a column and keeps 2 R + 1 values of it.
template <int W>
__global__ void stencil3d(const float *in, float *out, int width_given, int depth)
{
    int width = W ? W : width_given;
    int x = blockIdx.x * blockDim.x + threadIdx.x + R, y = blockIdx.y * blockDim.y + threadIdx.y + R;
    if (x >= width - R || y >= width - R)
        return;
    int plane = width * width;
    const float *p = in + y * width + x;
    float column[2 * R + 1];
    for (int k = 0; k < 2 * R; k++)
        column[k + 1] = p[k * plane];
    for (int z = R; z < depth - R; z++) {
#pragma unroll
        for (int k = 0; k < 2 * R; k++)
            column[k] = column[k + 1];
        column[2 * R] = p[(z + R) * plane];
        const float *here = p + z * plane;
        float sum = weight(0) * column[R];
#pragma unroll
        for (int k = 1; k <= R; k++)
            sum += weight(k) * (column[R - k] + column[R + k] + here[-k] + here[k] +
                                here[-k * width] + here[k * width]);
        out[z * plane + y * width + x] = sum;
    }
}
BENCH_SPELLING(stencil3d, 0, stencil3d<0>);
BENCH_SPELLING(stencil3d, 1, stencil3d<128>);

// D2Q9, collision and streaming by pulling; walls wrap.
template <class I, bool AND>
__global__ void lattice(const float *from, float *to, I width, I height)
{
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float w[9] = {4 / 9.f,  1 / 9.f,  1 / 9.f,  1 / 9.f, 1 / 9.f,
                        1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    I x = blockIdx.x * (I)blockDim.x + threadIdx.x, y = blockIdx.y * (I)blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float f[9], rho = 0, u = 0, v = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        I sx = AND ? (x - cx[k]) & (width - 1) : (x - cx[k] + width) % width;
        I sy = AND ? (y - cy[k]) & (height - 1) : (y - cy[k] + height) % height;
        f[k] = from[(k * height + sy) * width + sx];
        rho += f[k];
        u += cx[k] * f[k];
        v += cy[k] * f[k];
    }
    u /= rho;
    v /= rho;
    float square = 1.5f * (u * u + v * v);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        float along = 3 * (cx[k] * u + cy[k] * v);
        float rest = w[k] * rho * (1 + along + 0.5f * along * along - square);
        to[(k * height + y) * width + x] = f[k] + 0.6f * (rest - f[k]);
    }
}
BENCH_SPELLING(lattice, 0, lattice<int, true>);
BENCH_SPELLING(lattice, 1, lattice<int, false>);
BENCH_SPELLING(lattice, 2, lattice<long long, true>);

// Steps of a stencil in one kernel: all blocks wait for each other after each.
template <bool STRIDE> __global__ void persistent(float *a, float *b, int n, int steps)
{
    auto grid = cooperative_groups::this_grid();
    int inner = n - 2, each = (inner + gridDim.x - 1) / gridDim.x;
    for (int step = 0; step < steps; step++) {
        const float *in = step % 2 ? b : a;
        float *out = step % 2 ? a : b;
        if (STRIDE) {
            for (int i = grid.thread_rank(); i < inner * inner; i += grid.size()) {
                int at = (i / inner + 1) * n + i % inner + 1;
                out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
            }
        } else {
            int from = blockIdx.x * each + 1, to = min(from + each, n - 1);
            for (int y = from; y < to; y++)
                for (int x = threadIdx.x + 1; x < n - 1; x += blockDim.x) {
                    int at = y * n + x;
                    out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
                }
        }
        grid.sync();
    }
}
// As many blocks as run at once.
template <bool STRIDE> static void together(const bench_launch *l, void **args)
{
    int each = 0, device = 0, units = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, persistent<STRIDE>, l->block_x, 0);
    cudaLaunchCooperativeKernel((void *)persistent<STRIDE>, dim3(units * each),
                                dim3(l->block_x), args, 0, nullptr);
}
BENCH_HOST(persistent, 0, together<false>);
BENCH_HOST(persistent, 1, together<true>);
