/* K2: what two or four rows of a warp read alike: columns of a matrix at a pitch that is known where
 * the kernel is compiled or is not, elements of all sizes, after branches and loops in which lanes
 * go different ways, in whole and partial warps. What is read must be what the host reads. */
#include <cstdio>

#include "check.h"

#define BOTH __host__ __device__

enum { COLUMNS = 16, ROWS = 16, PITCH = 37, SUMS = 8 };

template <class T>
BOTH static void sums(long long *out, const T *m, int pitch, int n, unsigned x, unsigned y,
                      unsigned width)
{
    long long sum[SUMS] = {};
    for (int k = 0; k < n; k++) {
        sum[0] += (long long)m[x * (unsigned)pitch + (unsigned)k] * (long long)(k + 1);
        sum[1] += (long long)m[x * PITCH + (unsigned)k];
        sum[2] += (long long)m[(x + y) * (unsigned)pitch + (unsigned)k];
        sum[3] += (long long)m[(x ^ 1) * (unsigned)pitch + (unsigned)(k ^ 1)];
    }
    unsigned column = x, turns = 1 + (x + y) % 3;
    if (y % 2)
        column = width - 1 - x; /* in some rows */
    sum[4] = (long long)m[column * (unsigned)pitch];
    for (unsigned k = 0; k < turns; k++)
        column = (column * 5 + 1) % width; /* as often as the lane likes */
    sum[5] = (long long)m[column * (unsigned)pitch];
    if (x + 2 * y < width)
        sum[6] = (long long)m[x * (unsigned)pitch + 1];
    column = x * 3 % width;
    if (n > 4) /* all lanes or none */
        column = (x * 7 + 2) % width;
    sum[7] = (long long)m[column * (unsigned)pitch];
    for (int s = 0; s < SUMS; s++)
        out[s] = sum[s];
}

template <class T> __global__ void run(long long *out, const T *m, int pitch, int n, unsigned rows)
{
    unsigned x = threadIdx.x, y = threadIdx.y;
    if (y >= rows)
        return;
    sums(out + (y * blockDim.x + x) * SUMS, m, pitch, n, x, y, blockDim.x);
}

/* The same without lanes that leave. */
template <class T> __global__ void run_all(long long *out, const T *m, int pitch, int n)
{
    unsigned x = threadIdx.x, y = threadIdx.y;
    sums(out + (y * blockDim.x + x) * SUMS, m, pitch, n, x, y, blockDim.x);
}

/* Reads what the block writes meanwhile, into shared memory. */
__global__ void written(int *out, int pitch)
{
    __shared__ int tile[COLUMNS * PITCH];
    unsigned x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < 4; k++) {
        tile[x * (unsigned)pitch + y] = (int)(x * 100 + y) + k;
        __syncthreads();
        out[(y * blockDim.x + x) * 4 + (unsigned)k] = tile[x * (unsigned)pitch + (unsigned)k];
        __syncthreads();
    }
}

template <class T> static void all_sums(unsigned width, unsigned height)
{
    T *m;
    long long *out;
    unsigned threads = width * height;
    cudaMallocManaged(&m, 2 * COLUMNS * PITCH * sizeof *m);
    cudaMallocManaged(&out, threads * SUMS * sizeof *out);
    for (int i = 0; i < 2 * COLUMNS * PITCH; i++)
        m[i] = (T)(i * 29 % 97);
    for (int pitch : {1, 4, (int)PITCH})
        for (unsigned rows : {height, height - 1, 1u, 0u}) {
            if (rows > 0)
                run<<<1, dim3(width, height)>>>(out, m, pitch, 6, rows);
            else
                run_all<<<1, dim3(width, height)>>>(out, m, pitch, 4);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            int wrong = 0;
            for (unsigned t = 0; t < threads && (rows == 0 || t / width < rows); t++) {
                long long want[SUMS];
                sums(want, m, pitch, rows > 0 ? 6 : 4, t % width, t / width, width);
                for (unsigned s = 0; s < SUMS; s++)
                    if (want[s] != out[t * SUMS + s] && wrong++ == 0)
                        printf("%u×%u, pitch %d, rows %u: thread %u, sum %u\n", width, height, pitch,
                               rows, t, s);
            }
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(m);
    cudaFree(out);
}

static void all_written(unsigned width, unsigned height)
{
    int *out, wrong = 0;
    cudaMallocManaged(&out, width * height * 4 * sizeof *out);
    written<<<1, dim3(width, height)>>>(out, PITCH);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned t = 0; t < width * height; t++)
        for (unsigned k = 0; k < 4; k++)
            wrong += out[t * 4 + k] != (int)(t % width * 100 + k + k);
    CHECK_EQ_INT(wrong, 0);
    cudaFree(out);
}

int main()
{
    for (unsigned width : {16u, 8u, 4u})
        for (unsigned height : {16u, 5u}) {
            all_sums<int>(width, height);
            all_sums<unsigned char>(width, height);
            all_sums<double>(width, height);
            all_sums<short>(width, height);
            if (height >= 5)
                all_written(width, height);
        }
    return check_done();
}
