/* K2: bytes and halves that some lanes of a warp read: at both ends of an allocation, where what
 * the other lanes would read does not exist, at ends of pages, and in tiles with what surrounds
 * them, filled by rows and columns. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

enum { WIDTH = 2048, EDGE = 2 };

/* Lanes from `from` on to `to`, of which the first reads the allocation's first element. */
template <class T> __global__ void part(const T *in, T *out, long from, long to, long shift)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    out[i] = 7;
    if (i >= from && i < to)
        out[i] = in[i - shift];
    if (i % 3 != 1 && i >= from && i < to) /* holes, too */
        out[i] += in[i - shift];
}

/* Tiles of several shapes, filled by rows and columns, the last ones by some lanes. */
template <class T, int BX, int BY> __global__ void sums(const T *in, T *out, int width, int height)
{
    __shared__ T tile[BY + 2 * EDGE][BX + 2 * EDGE];
    int x0 = blockIdx.x * BX - EDGE, y0 = blockIdx.y * BY - EDGE;
    for (int ty = threadIdx.y; ty < BY + 2 * EDGE; ty += BY)
        for (int tx = threadIdx.x; tx < BX + 2 * EDGE; tx += BX)
            tile[ty][tx] =
                in[min(max(y0 + ty, 0), height - 1) * width + min(max(x0 + tx, 0), width - 1)];
    __syncthreads();
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y, sum = 0;
    for (int k = 0; k <= 2 * EDGE; k++)
        sum += (k + 1) * tile[threadIdx.y + k][threadIdx.x + k] -
               k * tile[threadIdx.y][threadIdx.x + k];
    if (x < width && y < height)
        out[y * width + x] = (T)sum;
}

template <class T> struct data {
    std::vector<T> in, out;
    T *d_in, *d_out;
    explicit data(size_t n) : in(n), out(n + 4096)
    {
        for (size_t i = 0; i < n; i++)
            in[i] = (T)(i * 2654435761u >> 11);
        CHECK_EQ_INT(cudaMalloc(&d_in, n * sizeof(T)), cudaSuccess);
        CHECK_EQ_INT(cudaMalloc(&d_out, out.size() * sizeof(T)), cudaSuccess);
        CHECK_EQ_INT(cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyDefault), cudaSuccess);
    }
    void read()
    {
        CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * sizeof(T), cudaMemcpyDefault),
                     cudaSuccess);
    }
    ~data()
    {
        cudaFree(d_in);
        cudaFree(d_out);
    }
};

template <class T> static void try_parts(void)
{
    long n = (2 << 20) / (long)sizeof(T); /* whole pages, and nothing after them */
    data<T> d(n);
    for (long shift : {0L, 1L, 5L, 16L, 19L, 31L}) {
        long to = n + shift, blocks = (to + 127) / 128;
        part<<<(unsigned)blocks, 128>>>(d.d_in, d.d_out, shift, to, shift);
        d.read();
        long wrong = 0;
        for (long i = 0; i < blocks * 128; i++) {
            bool reads = i >= shift && i < to;
            T once = reads ? d.in[i - shift] : T(7);
            wrong += d.out[i] != (T)(reads && i % 3 != 1 ? once + once : once);
        }
        if (wrong)
            printf("%zu bytes an element, shift %ld: %ld wrong\n", sizeof(T), shift, wrong);
        CHECK(wrong == 0);
    }
}

template <class T, int BX, int BY> static void try_tiles(int height)
{
    data<T> d((size_t)WIDTH * height);
    for (int width : {WIDTH - 0, WIDTH - 5, 40}) {
        sums<T, BX, BY><<<dim3((width + BX - 1) / BX, (height + BY - 1) / BY), dim3(BX, BY)>>>(
            d.d_in, d.d_out, width, height);
        d.read();
        int wrong = 0;
        auto at = [&](int x, int y) {
            x = x < 0 ? 0 : x >= width ? width - 1 : x;
            y = y < 0 ? 0 : y >= height ? height - 1 : y;
            return (int)d.in[y * width + x];
        };
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                int sum = 0;
                for (int k = 0; k <= 2 * EDGE; k++)
                    sum +=
                        (k + 1) * at(x + k - EDGE, y + k - EDGE) - k * at(x + k - EDGE, y - EDGE);
                wrong += d.out[y * width + x] != (T)sum;
            }
        if (wrong)
            printf("%d by %d threads, %zu bytes an element, rows of %d: %d wrong\n", BX, BY,
                   sizeof(T), width, wrong);
        CHECK(wrong == 0);
    }
}

template <class T> static void try_type(void)
{
    try_parts<T>();
    try_tiles<T, 16, 16>(37);
    try_tiles<T, 32, 8>(32);
    try_tiles<T, 8, 8>(19);
}

int main()
{
    try_type<unsigned char>();
    try_type<short>();
    return check_done();
}
