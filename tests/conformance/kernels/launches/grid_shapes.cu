/* K1: grids of many blocks in x, y and z, whose number is no multiple of anything, of blocks in
 * many shapes: each thread runs once and knows who it is. In kernels that go through memory in the
 * order of threads, that do so in a loop, that scatter, and that have memory of their own; launched
 * again and again, since an implementation may take blocks that follow each other together. */
#include <cstdio>
#include <vector>

#include "check.h"

struct place {
    unsigned block, thread; /* 10 bits for each of x, y and z */
};

static __device__ place here()
{
    return {blockIdx.x | blockIdx.y << 10 | blockIdx.z << 20,
            threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20};
}

/* The thread's number in the grid, in the order of coordinates. */
static __host__ __device__ unsigned number(dim3 at, dim3 all, unsigned w, unsigned h)
{
    return (at.z * all.y * h + at.y) * all.x * w + at.x;
}

static __device__ unsigned mine()
{
    dim3 at(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
            blockIdx.z * blockDim.z + threadIdx.z);
    return number(at, gridDim, blockDim.x, blockDim.y);
}

__global__ void stream(unsigned *block, unsigned *thread, unsigned *times, unsigned skip)
{
    unsigned n = mine();
    place p = here();
    if (blockIdx.x * blockDim.x + threadIdx.x == skip || blockIdx.y == skip)
        return;
    block[n] = p.block;
    thread[n] = p.thread;
    times[n]++;
}

__global__ void loops(unsigned *block, unsigned *thread, unsigned *times, unsigned skip)
{
    unsigned n = mine(), sum = 0;
    place p = here();
    if (blockIdx.x * blockDim.x + threadIdx.x == skip || blockIdx.y == skip)
        return;
    for (unsigned k = 0; k < threadIdx.x % 5; k++)
        sum += times[n];
    block[n] = p.block;
    thread[n] = p.thread;
    times[n] = times[n] + 1 + sum * skip / 1000;
}

__global__ void scatter(unsigned *block, unsigned *thread, unsigned *times, unsigned skip)
{
    unsigned local[4], n = mine();
    place p = here();
    for (unsigned k = 0; k < 4; k++)
        local[(n + k) & 3] = k == 0 ? p.block : k == 1 ? p.thread : n ^ k;
    if (blockIdx.x * blockDim.x + threadIdx.x == skip || blockIdx.y == skip)
        return;
    n ^= n >> 4 & 1; /* pairs change places */
    block[n] = local[mine() & 3];
    thread[n] = local[(mine() + 1) & 3];
    atomicAdd(&times[n], 1u);
}

/* Shared memory without a barrier: a thread's own word, and its warp's. */
__global__ void shared(unsigned *block, unsigned *thread, unsigned *times, unsigned skip)
{
    __shared__ unsigned words[1024], count[32];
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, n = mine();
    place p = here();
    words[t] = p.block;
    if (t % 32 == 0)
        count[t / 32] = 0;
    __syncwarp();
    atomicAdd(&count[t / 32], 1u);
    __syncwarp();
    unsigned threads = blockDim.x * blockDim.y * blockDim.z, lanes = threads - t / 32 * 32;
    if (blockIdx.x * blockDim.x + threadIdx.x == skip || blockIdx.y == skip)
        return;
    block[n] = words[t];
    thread[n] = p.thread;
    times[n] += count[t / 32] == (lanes < 32 ? lanes : 32) ? 1 : 100;
}

typedef void kernel_fn(unsigned *, unsigned *, unsigned *, unsigned);

static void run(const char *name, kernel_fn *kernel, dim3 grid, dim3 shape, bool pairs)
{
    const unsigned skip = 7, times = 3;
    size_t n = (size_t)grid.x * grid.y * grid.z * shape.x * shape.y * shape.z, bytes = n * 4;
    std::vector<unsigned> got[3];
    unsigned *d[3];
    for (unsigned *&p : d) {
        CHECK_EQ_INT(cudaMalloc(&p, bytes + 64), cudaSuccess);
        CHECK_EQ_INT(cudaMemset(p, 0, bytes + 64), cudaSuccess);
    }
    for (unsigned i = 0; i < times; i++)
        kernel<<<grid, shape>>>(d[0], d[1], d[2], skip);
    for (int i = 0; i < 3; i++) {
        got[i].resize(n + 16);
        CHECK_EQ_INT(cudaMemcpy(got[i].data(), d[i], bytes + 64, cudaMemcpyDeviceToHost),
                     cudaSuccess);
        cudaFree(d[i]);
    }
    int bad = 0;
    for (unsigned z = 0; z < grid.z * shape.z; z++)
        for (unsigned y = 0; y < grid.y * shape.y; y++)
            for (unsigned x = 0; x < grid.x * shape.x; x++) {
                unsigned at = number(dim3(x, y, z), grid, shape.x, shape.y);
                bool out = x == skip || y / shape.y == skip;
                unsigned b = x / shape.x | y / shape.y << 10 | z / shape.z << 20;
                unsigned t = x % shape.x | y % shape.y << 10 | z % shape.z << 20;
                at ^= pairs ? at >> 4 & 1 : 0;
                if (got[0][at] != (out ? 0 : b) || got[1][at] != (out ? 0 : t) ||
                    got[2][at] != (out ? 0 : times))
                    if (bad++ == 0)
                        printf("%s, (%u,%u,%u) blocks of (%u,%u,%u): (%u,%u,%u) is %x, %x, %u\n",
                               name, grid.x, grid.y, grid.z, shape.x, shape.y, shape.z, x, y, z,
                               got[0][at], got[1][at], got[2][at]);
            }
    CHECK_EQ_INT(bad, 0);
}

int main()
{
    const dim3 shapes[] = {{32, 8, 1},  {16, 16, 1}, {64, 3, 1}, {256, 1, 1},
                           {8, 8, 2},   {4, 16, 1},  {24, 8, 1}, {16, 9, 1},
                           {32, 1, 16}, {33, 1, 1},  {1, 1, 1},  {96, 2, 2}};
    const dim3 grids[] = {{1, 1, 1}, {2, 9, 1}, {33, 2, 2}, {131, 1, 1}, {70, 9, 1}, {1, 40, 3}};
    for (const dim3 &shape : shapes)
        for (const dim3 &grid : grids) {
            run("stream", stream, grid, shape, false);
            run("loops", loops, grid, shape, false);
            run("scatter", scatter, grid, shape, true);
            run("shared", shared, grid, shape, false);
        }
    return check_done();
}
