/* K2: loops in which all warps of a block read the same rows, in blocks of several shapes: each
 * warp goes its own number of iterations, or all of them the same, and sums do not depend on how the
 * warps are interleaved. Rows of a block narrower than a warp stand in it several times. */
#include <cstdio>
#include <vector>

#include "check.h"

enum { MOST = 40, WIDTH = 64 };

/* Each thread a column's sum, weighed by what its row of the block reads. */
__global__ void product(const int *a, const int *b, int *c, int n)
{
    int x = threadIdx.x, y = threadIdx.y + blockDim.y * threadIdx.z;
    int sum = x;
    for (int k = 0; k < n; k++)
        sum += a[y * MOST + k] * b[k * WIDTH + x];
    c[y * WIDTH + x] = sum;
}

/* The number of iterations is the row's own; the position read moves on by what was read. */
__global__ void uneven(const int *a, const int *b, int *c, int n)
{
    int x = threadIdx.x, y = threadIdx.y + blockDim.y * threadIdx.z;
    int sum = 0, at = x;
    for (int k = 0; k < (n + y) % MOST; k++) {
        sum = sum * 3 + b[at];
        at = (at + WIDTH + (a[k] & 1)) % (MOST * WIDTH);
    }
    c[y * WIDTH + x] = sum;
}

/* A way out in the middle, at which all threads leave; a second loop after. */
__global__ void twice(const int *a, const int *b, int *c, int n)
{
    int x = threadIdx.x, y = threadIdx.y + blockDim.y * threadIdx.z, sum = 0, k = 0;
    const int *row = b + x;
    for (;; k += 2) {
        if (k + 1 >= n)
            break;
        sum += row[0] - a[y * MOST + k];
        row += WIDTH;
        if (k > 2 * n / 3)
            break;
        sum ^= row[0];
    }
    for (int i = 0; i < k; i++)
        sum += b[i * WIDTH + (x ^ 1)] * (y + 1);
    c[y * WIDTH + x] = sum;
}

static void expect(int which, const std::vector<int> &a, const std::vector<int> &b,
                   std::vector<int> &c, int w, int h, int n)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            unsigned sum = which == 0 ? (unsigned)x : 0;
            int at = x, k = 0;
            if (which == 0)
                for (; k < n; k++)
                    sum += (unsigned)(a[y * MOST + k] * b[k * WIDTH + x]);
            if (which == 1)
                for (; k < (n + y) % MOST; k++) {
                    sum = sum * 3 + (unsigned)b[at];
                    at = (at + WIDTH + (a[k] & 1)) % (MOST * WIDTH);
                }
            for (; which == 2 && k + 1 < n; k += 2) {
                sum += (unsigned)(b[at] - a[y * MOST + k]);
                at += WIDTH;
                if (k > 2 * n / 3)
                    break;
                sum ^= (unsigned)b[at];
            }
            for (int i = 0; which == 2 && i < k; i++)
                sum += (unsigned)(b[i * WIDTH + (x ^ 1)] * (y + 1));
            c[y * WIDTH + x] = (int)sum;
        }
}

int main()
{
    const dim3 shapes[] = {{16, 16, 1}, {8, 32, 1}, {32, 8, 1}, {64, 4, 1}, {64, 16, 1},
                           {64, 5, 1},  {16, 4, 4}, {8, 4, 5},  {24, 8, 1}, {16, 9, 1}};
    const int iterations[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 39};
    std::vector<int> a(32 * MOST), b((MOST + 1) * WIDTH), got(32 * WIDTH), want(32 * WIDTH);
    unsigned seed = 1;
    for (int &v : a)
        v = (int)((seed = seed * 1664525u + 1013904223u) >> 20);
    for (int &v : b)
        v = (int)((seed = seed * 1664525u + 1013904223u) >> 20);
    int *da, *db, *dc;
    size_t bytes = got.size() * sizeof(int);
    CHECK_EQ_INT(cudaMalloc(&da, a.size() * sizeof(int)), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&db, b.size() * sizeof(int)), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&dc, bytes), cudaSuccess);
    cudaMemcpy(da, a.data(), a.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(int), cudaMemcpyHostToDevice);
    void (*const kernels[])(const int *, const int *, int *, int) = {product, uneven, twice};
    for (int which = 0; which < 3; which++)
        for (const dim3 &shape : shapes)
            for (int n : iterations) {
                int w = (int)shape.x, h = (int)(shape.y * shape.z), bad = 0;
                expect(which, a, b, want, w, h, n);
                kernels[which]<<<1, shape>>>(da, db, dc, n);
                CHECK_EQ_INT(cudaMemcpy(got.data(), dc, bytes, cudaMemcpyDeviceToHost),
                             cudaSuccess);
                for (int y = 0; y < h; y++)
                    for (int x = 0; x < w; x++)
                        if (got[y * WIDTH + x] != want[y * WIDTH + x] && bad++ == 0)
                            printf("kernel %d, %dx%d, %d iterations: (%d, %d) is %d, not %d\n", which, w,
                                   h, n, x, y, got[y * WIDTH + x], want[y * WIDTH + x]);
                CHECK_EQ_INT(bad, 0);
            }
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    return check_done();
}
