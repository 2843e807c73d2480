/* K2: guards of indices in blocks whose rows are shorter than a warp, up to where indices wrap
 * around: what differs by column, by row and by both, comparisons for equality, loops that begin
 * and end elsewhere in each row. What is read and written must be what the same source gives on the
 * host. */
#include <climits>
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { GUARDS = 14, ROWS = 24, COLUMNS = 20 };

BOTH static void guards(unsigned *out, unsigned base, int n, int m, unsigned x, unsigned y)
{
    int column = (int)(base + x), row = (int)(base + y), back = (int)(base - x);
    unsigned u = base + x, both = base + 3 * y + x;
    long long wide = (long long)base * 65536 + x;
    if (column < n)
        out[0] += 1;
    if (row < n)
        out[1] += 1;
    if (column < n && row < m)
        out[2] += 1;
    if (column < 1 || row < 1 || column >= n - 1 || row >= m - 1)
        out[3] += 1;
    if (row == n)
        out[4] += 1;
    if (row != m && column <= n)
        out[5] += 1;
    if (back >= n)
        out[6] += 1;
    if (u >= (unsigned)n)
        out[7] += 1;
    if (both < (unsigned)m)
        out[8] += 1;
    if (wide > (long long)n * 65536)
        out[9] += 1;
    if (!(row > n) && back <= m)
        out[10] += 1;
    if (y > 3)
        out[11] += column < n ? 2 : 1;
    if (column < row)
        out[12] += 1;
    if ((row < n) != (y < 5))
        out[13] += 1;
}

__global__ void run_guards(unsigned *out, unsigned base, int n, int m)
{
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
    guards(out + t * GUARDS, base, n, m, threadIdx.x, threadIdx.y);
}

static void all_guards(dim3 block)
{
    static const int numbers[] = {INT_MIN, INT_MIN + 9, -1, 0, 2, 11, 64, INT_MAX - 7};
    enum { COUNT = sizeof numbers / sizeof numbers[0] };
    unsigned *out, threads = block.x * block.y;
    cudaMallocManaged(&out, threads * GUARDS * 4);
    for (int base = 0; base < COUNT; base++)
        for (int n = 0; n < COUNT; n++)
            for (int m = 0; m < COUNT; m++) {
                cudaMemset(out, 0, threads * GUARDS * 4);
                run_guards<<<1, block>>>(out, (unsigned)numbers[base], numbers[n], numbers[m]);
                if (cudaDeviceSynchronize() != cudaSuccess) {
                    CHECK(!"guards run");
                    return;
                }
                int wrong = 0;
                for (unsigned t = 0; t < threads; t++) {
                    unsigned want[GUARDS] = {};
                    guards(want, (unsigned)numbers[base], numbers[n], numbers[m], t % block.x,
                           t / block.x);
                    for (int g = 0; g < GUARDS; g++)
                        wrong += want[g] != out[t * GUARDS + (unsigned)g];
                }
                if (wrong != 0)
                    printf("guards of %u×%u from %d, %d, %d: %d wrong\n", block.x, block.y,
                           numbers[base], numbers[n], numbers[m], wrong);
                CHECK_EQ_INT(wrong, 0);
            }
    cudaFree(out);
}

/* Elimination in a tile of its own: each step begins one row and one column later. */
template <int X, int Y> __global__ void eliminate(unsigned *all, int rows, int columns)
{
    __shared__ unsigned a[ROWS][COLUMNS + 1];
    for (int r = threadIdx.y; r < rows; r += Y)
        for (int c = threadIdx.x; c < columns; c += X)
            a[r][c] = all[r * columns + c];
    __syncthreads();
    for (int k = 0; k < rows - 1 && k < columns; k++) {
        for (int r = k + 1 + threadIdx.y; r < rows; r += Y)
            for (int c = k + 1 + threadIdx.x; c < columns; c += X)
                a[r][c] = a[r][c] * 3 - a[r][k] * a[k][c];
        __syncthreads();
    }
    for (int r = threadIdx.y; r < rows; r += Y)
        for (int c = threadIdx.x; c < columns; c += X)
            all[r * columns + c] = a[r][c];
}

template <int X, int Y> static void elimination()
{
    unsigned *all, want[ROWS][COLUMNS];
    cudaMallocManaged(&all, sizeof want);
    for (int rows : {(int)ROWS, 17, 5})
        for (int columns : {(int)COLUMNS, 16, 7}) {
            for (int i = 0; i < rows * columns; i++)
                want[i / columns][i % columns] = all[i] = (unsigned)(i * 7 % 11 - 5);
            for (int k = 0; k < rows - 1 && k < columns; k++)
                for (int r = k + 1; r < rows; r++)
                    for (int c = k + 1; c < columns; c++)
                        want[r][c] = want[r][c] * 3 - want[r][k] * want[k][c];
            eliminate<X, Y><<<1, dim3(X, Y)>>>(all, rows, columns);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            int wrong = 0;
            for (int i = 0; i < rows * columns; i++)
                wrong += all[i] != want[i / columns][i % columns];
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(all);
}

int main()
{
    for (dim3 block : {dim3(16, 16), dim3(8, 8), dim3(4, 16), dim3(16, 3), dim3(32, 2)})
        all_guards(block);
    elimination<16, 16>();
    elimination<8, 8>();
    elimination<16, 3>();
    elimination<32, 4>();
    return check_done();
}
