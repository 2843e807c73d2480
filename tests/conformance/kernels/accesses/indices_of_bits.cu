/* K2: indices made of bits, by `|` and `^`, where the parts overlap and where they do not, in 32
 * bits and widened to 64, up to where they wrap around. Compilers write `y * 2048 + x` so. */
#include <cstdint>
#include <vector>

#include "check.h"

enum { ROWS = 4, COLUMNS = 256 };

struct parts {
    unsigned column, factor, start, shift, row_bits;
};

#define BOTH __host__ __device__ static inline

BOTH unsigned column_of(parts p, unsigned x) { return (x + p.column) * p.factor + p.start; }
BOTH unsigned row_of(parts p, unsigned y) { return (y << p.shift) | p.row_bits; }

/* The constants of `P` are known when the kernel is compiled, so that lanes are known to be
 * neighbours. */
template <int P> BOTH parts constants()
{
    switch (P) {
    case 0: return {0, 1, 0, 11, 0}; /* no bit in common */
    case 1: return {0, 1, 0, 5, 0};  /* overlap above the lanes of a warp */
    case 2: return {0, 1, 0, 4, 0};  /* ... and inside of a warp */
    case 3: return {0, 1, 0, 3, 0};
    case 4: return {0, 4, 0, 7, 0}; /* strides */
    case 5: return {0, 4, 0, 6, 0};
    case 6: return {0, 3, 0, 7, 0};
    case 7: return {0, 1, 1, 11, 0}; /* first lanes at odd places */
    case 8: return {0, 1, 16, 11, 0};
    case 9: return {0, 1, 0xffffff00u, 11, 0}; /* beyond the sign, to where they wrap around */
    case 10: return {0, 1, 0x7fffff80u, 9, 0};
    case 11: return {0, 1, 0xffffff90u, 9, 0};
    case 12: return {0, 0xffffffffu, 0, 9, 0}; /* backwards */
    case 13: return {0, 1, 0, 9, 0x80000000u};
    case 14: return {0, 1, 0, 9, 0x10}; /* low bits of the row are not 0 */
    case 15: return {0, 1, 0, 9, 0x20};
    case 16: return {0, 64, 0, 11, 0};
    default: return {3, 8, 0, 8, 0};
    }
}

template <int P> BOTH void values(unsigned x, unsigned y, uint64_t out[4])
{
    parts p = constants<P>();
    unsigned a = row_of(p, y), b = column_of(p, x);
    out[0] = (uint64_t)(a | b) * 4;
    out[1] = (uint64_t)(int64_t)(int)(a | b);
    out[2] = (uint64_t)(b ^ a) + (b | y << 20);
    out[3] = (uint64_t)(int64_t)(int)(a ^ b) * 3 + (uint16_t)(a | b);
}

/* The indices as values, and the same indices say what is read and written: neighbours at once, or
 * each lane on its own. */
template <int P> __global__ void indexed(uint64_t *out, const unsigned *from, unsigned *to)
{
    parts p = constants<P>();
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= COLUMNS || y >= ROWS)
        return;
    values<P>(x, y, out + 4 * (y * COLUMNS + x));
    unsigned a = row_of(p, y), b = column_of(p, x);
    to[(y * COLUMNS) | x] =
        from[(a | b) & 4095] + from[(a ^ b) % 4096] * 3 + from[((y << 10) | x) ^ 1];
}

template <int P> static void test()
{
    static const dim3 shapes[] = {{32, 4}, {16, 4}, {24, 2}};
    uint64_t *out;
    unsigned *from, *to;
    cudaMallocManaged(&out, ROWS * COLUMNS * 4 * sizeof *out);
    cudaMallocManaged(&from, 4096 * sizeof *from);
    cudaMallocManaged(&to, ROWS * COLUMNS * sizeof *to);
    for (unsigned n = 0; n < 4096; n++)
        from[n] = n * 2654435761u;
    for (dim3 block : shapes) {
        dim3 grid((COLUMNS + block.x - 1) / block.x, (ROWS + block.y - 1) / block.y);
        cudaMemset(out, 0, ROWS * COLUMNS * 4 * sizeof *out);
        cudaMemset(to, 0, ROWS * COLUMNS * sizeof *to);
        indexed<P><<<grid, block>>>(out, from, to);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong_values = 0, wrong_moves = 0;
        parts p = constants<P>();
        for (unsigned y = 0; y < ROWS; y++)
            for (unsigned x = 0; x < COLUMNS; x++) {
                uint64_t want[4];
                values<P>(x, y, want);
                for (int n = 0; n < 4; n++)
                    wrong_values += out[4 * (y * COLUMNS + x) + n] != want[n];
                unsigned a = row_of(p, y), b = column_of(p, x);
                wrong_moves += to[y * COLUMNS + x] != from[(a | b) & 4095] +
                                                          from[(a ^ b) % 4096] * 3 +
                                                          from[((y << 10) | x) ^ 1];
            }
        CHECK_EQ_INT(wrong_values, 0);
        CHECK_EQ_INT(wrong_moves, 0);
    }
    cudaFree(out);
    cudaFree(from);
    cudaFree(to);
}

template <int P> static void test_all()
{
    test<P>();
    if constexpr (P > 0)
        test_all<P - 1>();
}

int main()
{
    test_all<17>();
    return check_done();
}
