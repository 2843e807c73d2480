/* K2: blocks less wide than a warp in large grids, several of which may be run side by side: every
 * thread has its own indices, in blocks of any shape, in grids that a whole number of warps fills
 * and in others; and a fault names the block and the thread. */
#include <dlfcn.h>
#include <stddef.h>

#include <vector>

#include "check.h"

#if defined(__has_include)
#if __has_include(<weir/fault.h>)
#include <weir/fault.h>
#define HAVE_FAULTS 1
#endif
#endif

struct place {
    unsigned thread[3], block[3], width, grid, across, wide;
};

__device__ static unsigned rank_of_thread()
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return block * blockDim.x * blockDim.y * blockDim.z + thread;
}

// What a thread finds. The index along x is made in several ways.
template <unsigned WIDTH> __global__ void places(place *out)
{
    place p = {{threadIdx.x, threadIdx.y, threadIdx.z}, {blockIdx.x, blockIdx.y, blockIdx.z}};
    p.width = blockDim.x;
    p.grid = gridDim.x;
    p.across = blockIdx.x * blockDim.x + threadIdx.x;
    p.wide = (unsigned)((size_t)blockIdx.x * WIDTH + threadIdx.x);
    out[rank_of_thread()] = p;
}

// Rows and columns with a border, as programs write them; what is outside leaves.
__global__ void sums(const int *in, int *out, int width, int height, int reach)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int sum = 0;
    for (int d = -reach; d <= reach; d++)
        if (x + d >= 0 && x + d < width)
            sum += in[y * width + x + d] * (d + 8);
    out[y * width + x] = sum + (threadIdx.x & 1 ? blockIdx.x : 0);
}

// The product of two matrices, whose rows all warps of a block read.
__global__ void product(const float *a, const float *b, float *c, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

// Memory of a thread's own, and a loop whose length follows from the thread.
__global__ void own(int *out, int turns)
{
    int mine[8];
    for (int i = 0; i < 8; i++)
        mine[i] = (int)(blockIdx.x * 100 + threadIdx.x) * i;
    int sum = 0;
    for (int i = 0; i < turns + (int)threadIdx.x % 3; i++)
        sum += mine[(i * 5 + threadIdx.x) % 8];
    out[rank_of_thread()] = sum;
}

__global__ void odd(char *p, unsigned block, unsigned thread)
{
    size_t at = 4 * (size_t)rank_of_thread();
    bool me = blockIdx.x == block && threadIdx.x + blockDim.x * threadIdx.y == thread;
    *(int *)(p + at + (me ? 2 : 0)) = 1;
}

template <class T> static T *device_array(size_t count)
{
    T *p = nullptr;
    CHECK_EQ_INT(cudaMalloc(&p, count * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(p, 0xff, count * sizeof(T)), cudaSuccess);
    return p;
}

template <class T> static std::vector<T> taken(T *p, size_t count)
{
    std::vector<T> v(count);
    CHECK_EQ_INT(cudaMemcpy(v.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK_EQ_INT(cudaFree(p), cudaSuccess);
    return v;
}

static size_t size_of(dim3 d) { return (size_t)d.x * d.y * d.z; }

static void check_places(const std::vector<place> &found, dim3 grid, dim3 block)
{
    size_t wrong = 0, at = 0;
    for (unsigned bz = 0; bz < grid.z; bz++)
        for (unsigned by = 0; by < grid.y; by++)
            for (unsigned bx = 0; bx < grid.x; bx++)
                for (unsigned z = 0; z < block.z; z++)
                    for (unsigned y = 0; y < block.y; y++)
                        for (unsigned x = 0; x < block.x; x++) {
                            unsigned across = bx * block.x + x;
                            place p = {{x, y, z}, {bx, by, bz}, block.x, grid.x, across, across};
                            wrong += memcmp(&p, &found[at++], sizeof p) != 0;
                        }
    CHECK_EQ_INT(wrong, 0);
    if (wrong)
        printf("blocks of %u,%u,%u in a grid of %u,%u,%u\n", block.x, block.y, block.z, grid.x,
               grid.y, grid.z);
}

static void test_places(dim3 grid, dim3 block)
{
    size_t count = size_of(grid) * size_of(block);
    place *out = device_array<place>(count);
    switch (block.x) {
    case 8: places<8><<<grid, block>>>(out); break;
    case 16: places<16><<<grid, block>>>(out); break;
    default: places<4><<<grid, block>>>(out); break;
    }
    check_places(taken(out, count), grid, block);
}

// The nodes of an executable graph change to grids of other shapes.
static void test_graph()
{
    dim3 block(16, 4), grids[] = {dim3(64, 8), dim3(63, 8), dim3(2, 2), dim3(32, 9)};
    size_t most = size_of(grids[0]) * size_of(block);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    CHECK_EQ_INT(cudaGraphCreate(&graph, 0), cudaSuccess);
    for (int i = 0; i < 4; i++) {
        place *out = device_array<place>(most);
        void *args[] = {&out};
        cudaKernelNodeParams p = {};
        p.func = (void *)places<16>;
        p.gridDim = grids[i];
        p.blockDim = block;
        p.kernelParams = args;
        if (i == 0) {
            CHECK_EQ_INT(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p), cudaSuccess);
            CHECK_EQ_INT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
        } else {
            CHECK_EQ_INT(cudaGraphExecKernelNodeSetParams(exec, node, &p), cudaSuccess);
        }
        CHECK_EQ_INT(cudaGraphLaunch(exec, 0), cudaSuccess);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        check_places(taken(out, most), grids[i], block);
    }
    CHECK_EQ_INT(cudaGraphExecDestroy(exec), cudaSuccess);
    CHECK_EQ_INT(cudaGraphDestroy(graph), cudaSuccess);
}

static void test_sums(dim3 block, int width, int height)
{
    size_t count = (size_t)width * height;
    std::vector<int> in(count);
    for (size_t i = 0; i < count; i++)
        in[i] = (int)(i * 7919 % 1000);
    int *from = device_array<int>(count), *to = device_array<int>(count);
    CHECK_EQ_INT(cudaMemcpy(from, in.data(), count * 4, cudaMemcpyHostToDevice), cudaSuccess);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    sums<<<grid, block>>>(from, to, width, height, 3);
    std::vector<int> found = taken(to, count);
    size_t wrong = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int sum = x % block.x & 1 ? x / block.x : 0;
            for (int d = -3; d <= 3; d++)
                if (x + d >= 0 && x + d < width)
                    sum += in[y * width + x + d] * (d + 8);
            wrong += found[y * width + x] != sum;
        }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(cudaFree(from), cudaSuccess);
}

static void test_product(dim3 block, int n)
{
    size_t count = (size_t)n * n;
    std::vector<float> a(count), b(count);
    for (size_t i = 0; i < count; i++)
        a[i] = (float)(i * 31 % 17), b[i] = (float)(i * 13 % 11);
    float *da = device_array<float>(count), *db = device_array<float>(count),
          *dc = device_array<float>(count);
    CHECK_EQ_INT(cudaMemcpy(da, a.data(), count * 4, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(db, b.data(), count * 4, cudaMemcpyHostToDevice), cudaSuccess);
    product<<<dim3(n / block.x, n / block.y), block>>>(da, db, dc, n);
    std::vector<float> found = taken(dc, count);
    size_t wrong = 0;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0; // of small whole numbers: exact
            for (int k = 0; k < n; k++)
                sum += a[y * n + k] * b[k * n + x];
            wrong += found[y * n + x] != sum;
        }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(cudaFree(da), cudaSuccess);
    CHECK_EQ_INT(cudaFree(db), cudaSuccess);
}

static void test_own(dim3 grid, dim3 block)
{
    size_t count = size_of(grid) * size_of(block), wrong = 0;
    int *out = device_array<int>(count);
    own<<<grid, block>>>(out, 5);
    std::vector<int> found = taken(out, count);
    for (size_t i = 0; i < count; i++) {
        int thread = (int)(i % size_of(block)) % block.x;
        int column = (int)(i / size_of(block)) % grid.x, sum = 0;
        for (int t = 0; t < 5 + thread % 3; t++)
            sum += (column * 100 + thread) * ((t * 5 + thread) % 8);
        wrong += found[i] != sum;
    }
    CHECK_EQ_INT(wrong, 0);
}

static void test_fault()
{
    char *p = device_array<char>(1 << 20);
    odd<<<dim3(512), dim3(16, 3)>>>(p, 301, 37);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
#if HAVE_FAULTS
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    auto ask = driver ? (int (*)(weir_fault *))dlsym(driver, "weir_last_fault") : nullptr;
    if (!ask)
        return;
    weir_fault f = {};
    f.bytes = sizeof f;
    CHECK_EQ_INT(ask(&f), 1);
    CHECK_EQ_INT(f.frames[0].block[0], 301);
    CHECK(f.frames[0].thread_known);
    CHECK_EQ_INT(f.frames[0].thread[0], 37 % 16);
    CHECK_EQ_INT(f.frames[0].thread[1], 37 / 16);
#endif
}

int main()
{
    for (unsigned grid = 125; grid <= 128; grid++) {
        test_places(dim3(grid, 3), dim3(16, 16));
        test_places(dim3(grid, 2, 2), dim3(16, 3, 2));
        test_places(dim3(grid, 2), dim3(8, 8));
        test_places(dim3(grid, 3), dim3(8, 1, 5));
        test_places(dim3(4 * grid), dim3(16));
        test_places(dim3(4 * grid), dim3(8));
        test_places(dim3(4 * grid), dim3(4, 2));
        test_own(dim3(grid, 3), dim3(16, 2));
        test_own(dim3(4 * grid), dim3(8, 3));
    }
    test_places(dim3(2, 2), dim3(16, 16));
    test_places(dim3(64, 2), dim3(16, 64));
    test_graph();
    for (unsigned width : {512u, 500u, 1u, 497u}) {
        test_sums(dim3(16, 16), width, 300);
        test_sums(dim3(8, 8), width, 300);
        test_sums(dim3(16, 1), width, 70);
    }
    test_product(dim3(16, 16), 192);
    test_product(dim3(8, 16), 192);
    test_product(dim3(8, 4), 96);
    test_fault();
    return check_done();
}
