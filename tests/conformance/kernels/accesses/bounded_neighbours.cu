/* K2: neighbours whose indices are bounded: wrapped around by a mask, a remainder or a choice,
 * clamped, made of the quotient and the remainder of one index, shifted by part of a tile; also
 * bounds of what wraps around within a row. Compiled code expects most warps to be away from the
 * bounds; here many are at one. */
#include <vector>

#include "check.h"

#define BOTH __host__ __device__ static inline

enum { WIDTH = 64, HEIGHT = 24, CELLS = WIDTH * HEIGHT };

enum way {
    MASKED,
    CLAMPED,
    CHOSEN,
    REMAINDER,
    OF_ONE,
    UNSIGNED_OF_ONE,
    CROSSED,
    FOLDED,
    RAGGED,
    WAYS
};

BOTH int least(int a, int b) { return a < b ? a : b; }
BOTH int most(int a, int b) { return a > b ? a : b; }

struct five {
    int at[5];
};

/* A cell and its neighbours. w and h are WIDTH and HEIGHT, which only the host knows. */
template <way W> BOTH five neighbours(int x, int y, int w, int h)
{
    int i = y * WIDTH + x;
    switch (W) {
    case MASKED: {
        int left = (x - 1) & (WIDTH - 1), right = (x + 1) & (WIDTH - 1);
        return {{i, y * WIDTH + left, y * WIDTH + right, y * WIDTH + ((x + 17) & (WIDTH - 1)),
                 y * WIDTH + ((x * 2) & (WIDTH - 2))}};
    }
    case CLAMPED:
        return {{i, y * w + most(x - 1, 0), y * w + least(x + 1, w - 1), most(y - 1, 0) * w + x,
                 least(y + 1, h - 1) * w + x}};
    case CHOSEN: {
        int left = x == 0 ? w - 1 : x - 1, right = x == w - 1 ? 0 : x + 1;
        int up = y == 0 ? h - 1 : y - 1, down = y == h - 1 ? 0 : y + 1;
        return {{i, y * w + left, y * w + right, up * w + x, down * w + x}};
    }
    case REMAINDER:
        return {{i, y * w + (x + w - 1) % w, y * w + (x + 1) % w, (y + h - 1) % h * w + x,
                 (y + 1) % h * w + x}};
    case OF_ONE: {
        int column = i % WIDTH, row = i / WIDTH;
        return {{row * WIDTH + column, row * WIDTH + most(column - 1, 0), i / 3 + column, i % 100,
                 (i % CELLS) / 2}};
    }
    case UNSIGNED_OF_ONE: {
        unsigned u = (unsigned)i - 5u, column = u % 48, row = u / 48;
        return {{(int)(((unsigned)i + 5u) % CELLS), (int)((row * 48 + column) % CELLS),
                 (int)((u >> 3) % CELLS), (int)((row | column) % CELLS),
                 (int)((u / 1000) % CELLS)}};
    }
    case FOLDED: { /* unsigned and signed numbers end in the middle of a row */
        unsigned u = (unsigned)x - 21u, bound = (unsigned)w - 1;
        int far = (int)(0x7fffffffu - 20 + (unsigned)x), near = least(most(far, 7), 40);
        int across = most(least(x + 1, w - 1), least(2 * x, x));
        return {{i, y * w + (int)(u < bound ? u : bound), y * w + near, least(i + 2, CELLS - 1),
                 (y - most(near, 3) / 64) * w + across}};
    }
    case CROSSED: return {{i, i ^ 2, i ^ 16, i ^ 64, (i | 8) ^ 1}};
    default: {
        int column = x * 30 % WIDTH + 1, row = most(y - 1, 0);
        return {{i, row * WIDTH | least(x + 1, WIDTH - 1), row * WIDTH + least(column, WIDTH - 1),
                 abs(x - 20) + row * WIDTH, abs(20 - x)}};
    }
    }
}

template <way W>
__global__ void by_tile(const unsigned *from, unsigned *to, long long *indices, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    five n = neighbours<W>(x, y, w, h);
    unsigned sum = 0;
    long long all = 0;
    for (int k = 0; k < 5; k++) {
        sum = sum * 3 + from[n.at[k]];
        all = all * 5 + n.at[k];
    }
    to[n.at[0]] = sum;
    indices[y * w + x] = all;
}

/* The same by one index, in a loop. */
template <way W>
__global__ void by_index(const unsigned *from, unsigned *to, long long *indices, int w, int h)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < WIDTH * HEIGHT;
         i += gridDim.x * blockDim.x) {
        int x = i % WIDTH, y = i / WIDTH;
        if (x >= w || y >= h)
            continue;
        five n = neighbours<W>(x, y, w, h);
        unsigned sum = 0;
        long long all = 0;
        for (int k = 0; k < 5; k++) {
            sum = sum * 3 + from[n.at[k]];
            all = all * 5 + n.at[k];
        }
        to[n.at[0]] = sum;
        indices[i] = all;
    }
}

static unsigned *from, *to;
static long long *indices;

template <way W> static void compare()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<unsigned> sums(CELLS);
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            five n = neighbours<W>(x, y, WIDTH, HEIGHT);
            unsigned sum = 0;
            long long all = 0;
            for (int k = 0; k < 5; k++) {
                sum = sum * 3 + from[n.at[k]];
                all = all * 5 + n.at[k];
            }
            sums[n.at[0]] = sum;
            wrong += indices[y * WIDTH + x] != all;
        }
    /* cells that several threads write hold what one of them wrote: then only indices are compared
     */
    if (W != UNSIGNED_OF_ONE)
        for (int n = 0; n < CELLS; n++)
            wrong += to[n] != sums[n];
    if (wrong != 0)
        printf("way %d: %d cells are wrong\n", W, wrong);
    CHECK_EQ_INT(wrong, 0);
    cudaMemset(to, 0, CELLS * sizeof *to);
    cudaMemset(indices, 0, CELLS * sizeof *indices);
}

template <int W> static void test_all()
{
    static const dim3 shapes[] = {{32, 4}, {16, 16}, {8, 8}, {24, 2}};
    for (dim3 block : shapes) {
        dim3 grid((WIDTH + block.x - 1) / block.x, (HEIGHT + block.y - 1) / block.y);
        by_tile<(way)W><<<grid, block>>>(from, to, indices, WIDTH, HEIGHT);
        compare<(way)W>();
    }
    by_index<(way)W><<<3, 96>>>(from, to, indices, WIDTH, HEIGHT);
    compare<(way)W>();
    if constexpr (W > 0)
        test_all<W - 1>();
}

int main()
{
    cudaMallocManaged(&from, CELLS * sizeof *from);
    cudaMallocManaged(&to, CELLS * sizeof *to);
    cudaMallocManaged(&indices, CELLS * sizeof *indices);
    for (int n = 0; n < CELLS; n++)
        from[n] = (unsigned)n * 2654435761u;
    test_all<WAYS - 1>();
    cudaFree(from);
    cudaFree(to);
    cudaFree(indices);
    return check_done();
}
