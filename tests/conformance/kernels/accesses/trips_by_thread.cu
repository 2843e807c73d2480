/* K2: loops through which the threads of a block go once, twice or three times, as follows from
 * their indices: tiles with what surrounds them, filled by rows and by one index, upwards and
 * downwards, by counters of 32 and 64 bits that begin anew, go on, or begin at what the host gives;
 * of blocks of all shapes, whose warps make further trips whole, in part or not at all. */
#include <vector>

#include "check.h"

#define BOTH __host__ __device__ static inline

enum way { ROWS, ONE_INDEX, DOWNWARDS, LONG, GOES_ON, GIVEN, WAYS };
enum { COLUMNS = 64, LINES = 40 };

BOTH int within(int v, int end) { return v < 0 ? 0 : v >= end ? end - 1 : v; }

template <class T> BOTH T pixel(const T *image, int x, int y)
{
    return image[within(y - 2, LINES) * COLUMNS + within(x - 2, COLUMNS)];
}

/* What thread (x, y) of BX by BY puts into a tile of W by H. */
template <way WAY, int BX, int BY, int W, int H, class T>
BOTH void fill(T *tile, const T *image, int x, int y, int x0, int y0, int shift)
{
    switch (WAY) {
    case ROWS:
        for (int ty = y; ty < H; ty += BY)
            for (int tx = x; tx < W; tx += BX)
                tile[ty * W + tx] = pixel(image, x0 + tx, y0 + ty);
        break;
    case ONE_INDEX:
        for (unsigned k = y * BX + x; k < W * H; k += BX * BY)
            tile[k] = pixel(image, x0 + (int)(k % W), y0 + (int)(k / W));
        break;
    case DOWNWARDS:
        for (int ty = y; ty < H; ty += BY)
            for (int tx = W - 1 - x; tx >= 0; tx -= BX)
                tile[ty * W + tx] = pixel(image, x0 + tx, y0 + ty);
        break;
    case LONG:
        for (long long ty = y; ty < H; ty += BY)
            for (long long tx = x; tx < W; tx += BX)
                tile[ty * W + tx] = pixel(image, x0 + (int)tx, (int)(y0 + ty));
        break;
    case GOES_ON: { /* the second row goes on where the first one has ended */
        int tx = x;
        for (int ty = y; ty < H; ty += BY) {
            do {
                tile[ty * W + tx % W] = pixel(image, x0 + tx % W, y0 + ty);
                tx += BX;
            } while (tx < W);
            if (tx >= 2 * W)
                tx = x;
        }
        break;
    }
    default:
        for (int tx = x + shift; tx < W; tx += BX)
            tile[y * W + tx] = pixel(image, x0 + tx, y0 + y + shift);
    }
}

template <way WAY, int BX, int BY, int W, int H, class T>
__global__ void fills(const T *image, T *out, int shift)
{
    __shared__ T tile[W * H];
    int t = threadIdx.y * BX + threadIdx.x;
    for (int k = 0; k < W * H; k++)
        if (t == 0)
            tile[k] = 77;
    __syncthreads();
    fill<WAY, BX, BY, W, H>(tile, image, threadIdx.x, threadIdx.y, blockIdx.x * BX, blockIdx.y * BY,
                            shift);
    __syncthreads();
    for (int k = t; k < W * H; k += BX * BY)
        out[(blockIdx.y * gridDim.x + blockIdx.x) * (W * H) + k] = tile[k];
}

template <int WAY, int BX, int BY, int W, int H, class T>
static void try_fill(const T *image, T *out)
{
    enum { ACROSS = 3, DOWN = 2 };
    for (int shift : {0, 1, 5}) {
        fills<(way)WAY, BX, BY, W, H, T><<<dim3(ACROSS, DOWN), dim3(BX, BY)>>>(image, out, shift);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        for (int b = 0; b < ACROSS * DOWN; b++) {
            std::vector<T> tile(W * H, T(77));
            for (int y = 0; y < BY; y++)
                for (int x = 0; x < BX; x++)
                    fill<(way)WAY, BX, BY, W, H, T>(tile.data(), image, x, y, b % ACROSS * BX,
                                                    b / ACROSS * BY, shift);
            for (int k = 0; k < W * H; k++)
                wrong += out[b * W * H + k] != tile[k];
        }
        if (wrong != 0)
            printf("way %d, blocks %d by %d, tiles %d by %d, %zu bytes: %d are wrong\n", WAY, BX,
                   BY, W, H, sizeof(T), wrong);
        CHECK_EQ_INT(wrong, 0);
    }
    if constexpr (WAY > 0)
        try_fill<WAY - 1, BX, BY, W, H, T>(image, out);
}

template <class T> static void try_shapes(void)
{
    T *image, *out;
    cudaMallocManaged(&image, COLUMNS * LINES * sizeof(T));
    cudaMallocManaged(&out, 6 * 96 * 48 * sizeof(T));
    for (int n = 0; n < COLUMNS * LINES; n++)
        image[n] = (T)((unsigned)n * 2654435761u >> 13);
    try_fill<WAYS - 1, 16, 16, 20, 20, T>(image, out);
    try_fill<WAYS - 1, 32, 8, 36, 12, T>(image, out);
    try_fill<WAYS - 1, 8, 8, 20, 9, T>(image, out);
    try_fill<WAYS - 1, 24, 3, 50, 5, T>(image, out);
    try_fill<WAYS - 1, 64, 2, 66, 4, T>(image, out);
    cudaFree(image);
    cudaFree(out);
}

int main()
{
    try_shapes<unsigned char>();
    try_shapes<short>();
    try_shapes<float>();
    return check_done();
}
