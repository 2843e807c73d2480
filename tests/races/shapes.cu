// FLAGS: -O2 -Xcompiler -fno-optimize-sibling-calls,-fno-omit-frame-pointer,-fno-inline
/* Accesses of all shapes by kernels, in as much memory as makes the code record them by itself
 * (src/exec/touch.c), and what lies right beside them: to the byte. */
#include "races.h"

enum { LARGE = 1 << 18, HOLE = 5 };

/* `large` elements of memory that only the case uses. */
template <typename T> static T *large()
{
    T *p;
    DO(cudaMalloc(&p, LARGE * sizeof(T)));
    DO(cudaMemset(p, 0, LARGE * sizeof(T)));
    DO(cudaDeviceSynchronize());
    return p;
}

template <typename T> __global__ void write_all(T *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = T(i);
}
template <typename T> __global__ void read_one(const T *p, int *result)
{
    if (*p == T(77))
        *result = 1;
}
template <typename T> __global__ void write_one(T *p) { *p = T(1); }

/* One element further than the grid writes: before its first, after its last. */

CASE(words_first)
{
    auto *p = large<int>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 1, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 0 : 1), out); // @2 kernel read
}

CASE(words_last)
{
    auto *p = large<int>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 1, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 1 + LARGE / 2 : LARGE / 2), out); // @2 kernel read
}

CASE(words_at_a_region)
{
    auto *p = large<int>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 7, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 6 : 1 << 15), out); // @2 kernel read
}

CASE(pairs)
{
    auto *p = large<double>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 3, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 3 + LARGE / 2 : 2 + LARGE / 2), out); // @2 kernel read
}

CASE(halves)
{
    auto *p = large<short>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 1, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 1 + LARGE / 2 : LARGE / 2), out); // @2 kernel read
}

CASE(bytes)
{
    auto *p = large<signed char>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 1, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 0 : 1), out); // @2 kernel read
}

CASE(bytes_in_words)
{
    auto *p = large<signed char>();
    write_all<<<LARGE / 512, 256, 0, a>>>(p + 4, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? 4 + LARGE / 2 : 3 + LARGE / 2), out); // @2 kernel read
}

/* Lanes that leave some out. */
__global__ void write_but(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (i >> 2) % 8 != HOLE)
        p[i] = i;
}

CASE(lanes_left_out)
{
    int *p = large<int>();
    int hole = LARGE / 4 + 4 * HOLE + 1;
    write_but<<<LARGE / 512, 256, 0, a>>>(p, LARGE / 2); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + (repaired ? hole : hole - 2), out); // @2 kernel read
}

/* Half warps, each a row. */
__global__ void write_tile(int *p, int pitch)
{
    p[(blockIdx.y * 16 + threadIdx.y) * pitch + blockIdx.x * 16 + threadIdx.x] = 1;
}

CASE(rows_of_tiles)
{
    int *p = large<int>(), pitch = 400;
    write_tile<<<dim3(24, 32), dim3(16, 16), 0, a>>>(p + 3, pitch); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + 3 + 300 * pitch + (repaired ? 384 : 383), out); // @2 kernel read
}

/* Loads that are told of together. */
__global__ void read_strides(const int *p, int stride, int rounds, int *result)
{
    int s = 0;
    for (int k = 0; k < rounds; k++, p += 64)
        s += p[threadIdx.x] + p[threadIdx.x + 1024] + p[threadIdx.x + 2048] + p[threadIdx.x + 3072];
    if (s == 77)
        *result = stride;
}

CASE(unrolled)
{
    int *p = large<int>();
    read_strides<<<1, 32, 0, a>>>(p, 1024, 8, out); // @1 kernel read
    write_one<<<1, 1, 0, b>>>(p + 2048 + 64 * 5 + (repaired ? 32 : 31)); // @2 kernel write
}

/* All lanes the same word, of one that is another for each block. */
__global__ void read_of_block(const int *p, int *result)
{
    if (p[2 * blockIdx.x] == 77)
        *result = 1;
}

CASE(one_for_all_lanes)
{
    int *p = large<int>();
    read_of_block<<<2000, 64, 0, a>>>(p, out); // @1 kernel read
    write_one<<<1, 1, 0, b>>>(p + 1001 - (repaired ? 0 : 1)); // @2 kernel write
}

/* What a grid did before is not what the next one does. */
CASE(again_elsewhere)
{
    int *p = large<int>();
    write_all<<<LARGE / 512, 256, 0, b>>>(p, LARGE / 2);
    order(b, a);
    write_all<<<LARGE / 1024, 256, 0, a>>>(p, LARGE / 4); // @1 kernel write
    read_one<<<1, 1, 0, b>>>(p + LARGE / 4 - (repaired ? 0 : 1), out); // @2 kernel read
}

