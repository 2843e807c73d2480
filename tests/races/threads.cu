// CHECK: races
/* Which thread of a kernel it was that something in another stream races with: that of the first
 * byte, however the kernel goes through memory. */
#include "races.h"

static int *large; /* for all threads of the cases */
static void prepare() { DO(cudaMalloc(&large, 1 << 20)); }

__global__ void by_word(int *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] = i; // @1 kernel write
}
CASE(a_word_each)
{
    prepare();
    by_word<<<100, 200, 0, a>>>(large); // SAYS first: .*block \(61,0,0\), thread \(145,0,0\)
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(h, large + 12345, 4, cudaMemcpyDeviceToHost, b)); // @2 copy read
}

__global__ void by_double(double *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] = i; // @1 kernel write
}
CASE(two_words_each)
{
    prepare();
    by_double<<<100, 200, 0, a>>>((double *)large); // SAYS first: .*block \(61,0,0\), thread \(145,0,0\)
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(h, (double *)large + 12345, 8, cudaMemcpyDeviceToHost, b)); // @2 copy read
}

__global__ void by_stride(const int *p, int n, int *result)
{
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += p[i]; // @1 kernel read
    atomicAdd(result, s);
}
CASE(a_grid_stride_loop)
{
    prepare();
    by_stride<<<7, 96, 0, a>>>(large, 100000, out); // SAYS first: .*block \(5,0,0\), thread \(81,0,0\)
    if (repaired)
        order(a, b);
    DO(cudaMemsetAsync(large + 54321, 0, 4, b)); // @2 set write
}

__global__ void scattered(int *p)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i * 2654435761u % 4099] = 1; // @1 kernel write
}
CASE(scattered_words)
{
    prepare();
    scattered<<<dim3(4, 4), 64, 0, a>>>(large); // SAYS first: .*thread \(9,0,0\)
    if (repaired)
        order(a, b);
    DO(cudaMemsetAsync(large + 9u * 2654435761u % 4099u, 0, 4, b)); // @2 set write
}

/* The second side is told likewise. */
__global__ void in_a_block(int *p, int n)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y +
            threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = 2; // @2 kernel write
}
CASE(two_dimensions)
{
    prepare();
    DO(cudaMemsetAsync(large + 900, 0, 4, a)); // @1 set write
    if (repaired)
        order(a, b);
    in_a_block<<<dim3(3, 5), dim3(8, 8), 0, b>>>(large, 901); // SAYS second: .*block \(2,4,0\), thread \(4,0,0\)
}
