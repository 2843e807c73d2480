/* K2: kernels that begin with guards: threads beyond the end of a matrix leave, and the others make
 * its product, in grids of which all blocks, some or none are whole. The bounds come from
 * parameters, also where they are zero, negative or as large as numbers are. */
#include <vector>

#include "check.h"

enum guard { EITHER, EACH, INSIDE, LARGER, WIDE, UNSIGNED, BELOW, AFTER, BEFORE, BETWEEN, GUARDS };

template <guard G> static __device__ bool leaves(int x, int y, int width, int height)
{
    switch (G) {
    case LARGER: return max(x, y) >= min(width, height);
    case WIDE: return (size_t)x >= (size_t)width || (size_t)y >= (size_t)height;
    case UNSIGNED: return (unsigned)x >= (unsigned)width || (unsigned)y > (unsigned)height - 1;
    case BELOW: return x >= width || y >= height || x < 3 || 5 > y;
    case AFTER: return max(x + 3, y + 4) >= width || y + 2000 >= (unsigned)height + 2000;
    case BEFORE: return x - 3 >= width || (long long)(y - 5) >= height;
    case BETWEEN:
        return (unsigned)(x - 3) >= (unsigned)width || (unsigned)(y - 40) < (unsigned)height;
    default: return x >= width || y >= height;
    }
}

// The sum of products along k, of rows of a that warps have and rows of b that they share.
template <guard G>
__global__ void product(const int *a, const int *b, int *c, int n, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (G == EACH) {
        if (x >= width)
            return;
        int last = height - 1;
        if (y > last)
            return;
    } else if (G != INSIDE && leaves<G>(x, y, width, height)) {
        return;
    }
    if (G != INSIDE || (x < width && y < height)) {
        int sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[y * n + k] * b[k * 256 + x];
        c[y * 256 + x] = sum;
    }
}

static bool stays(guard g, int x, int y, int width, int height)
{
    switch (g) {
    case LARGER: return x < width && y < width && x < height && y < height;
    case WIDE: return (size_t)x < (size_t)width && (size_t)y < (size_t)height;
    case UNSIGNED: return (unsigned)x < (unsigned)width && (unsigned)y <= (unsigned)height - 1;
    case BELOW: return x >= 3 && y >= 5 && x < width && y < height;
    case AFTER: return x < width - 3 && y < width - 4 && y + 2000u < (unsigned)height + 2000;
    case BEFORE: return x - 3 < width && y - 5ll < height;
    case BETWEEN: return x - 3u < (unsigned)width && y - 40u >= (unsigned)height;
    default: return x < width && y < height;
    }
}

enum { SIDE = 256, DEPTH = 37 };
static std::vector<int> a(SIDE *DEPTH), b(SIDE *DEPTH), c(SIDE *SIDE), want(SIDE *SIDE);
static int *device_a, *device_b, *device_c;

template <guard G> static void test(dim3 block, int width, int height)
{
    CHECK_EQ_INT(cudaMemset(device_c, 0xff, sizeof(int) * SIDE * SIDE), cudaSuccess);
    product<G><<<dim3(SIDE / block.x, SIDE / block.y), block>>>(device_a, device_b, device_c, DEPTH,
                                                                width, height);
    CHECK_EQ_INT(cudaMemcpy(c.data(), device_c, sizeof(int) * SIDE * SIDE, cudaMemcpyDeviceToHost),
                 cudaSuccess);
    size_t wrong = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int value = stays(G, x, y, width, height) ? want[y * SIDE + x] : -1;
            wrong += c[y * SIDE + x] != value;
        }
    CHECK_EQ_INT(wrong, 0);
    if (wrong)
        printf("guard %d, blocks of %u,%u, bounds %d,%d\n", G, block.x, block.y, width, height);
}

template <int G> static void test_guards(dim3 block)
{
    static const int bounds[][2] = {{256, 256}, {255, 241}, {16, 100},        {1, 1},
                                    {0, 256},   {-1, 300},  {0x7fffffff, 96}, {300, -0x7fffffff}};
    for (auto &bound : bounds)
        test<(guard)G>(block, bound[0], bound[1]);
    if constexpr (G + 1 < GUARDS)
        test_guards<G + 1>(block);
}

int main()
{
    for (int i = 0; i < SIDE * DEPTH; i++)
        a[i] = i * 7919 % 1009, b[i] = i * 31 % 997 - 500;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int k = 0; k < DEPTH; k++)
                want[y * SIDE + x] += a[y * DEPTH + k] * b[k * SIDE + x];
    size_t bytes = sizeof(int) * SIDE * DEPTH;
    CHECK_EQ_INT(cudaMalloc(&device_a, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&device_b, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&device_c, sizeof(int) * SIDE * SIDE), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(8, 16), dim3(64, 4), dim3(128)})
        test_guards<0>(block);
    return check_done();
}
