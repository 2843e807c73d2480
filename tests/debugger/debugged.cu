// The program that debugger.sh looks at: the numbers of its lines count.
#include <cstdio>
struct place { float x; int tags[2]; const place *next; };
__device__ int twice(int x) { return 2 * x; }
__global__ void work(int *out, int n, float scale)
{
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    place at = {0.5f * i, {i, i + 1}, nullptr};
    tile[threadIdx.x] = i;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += twice(k) + i + at.tags[0] - tile[threadIdx.x]; // line 14
    out[i] = (int)(sum * scale);
}

int main()
{
    int *d, values[256];
    if (cudaMalloc(&d, sizeof values) != cudaSuccess)
        return 1;
    work<<<4, 64>>>(d, 10, 1.5f);
    if (cudaMemcpy(values, d, sizeof values, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    printf("%d\n", values[3]);
    return cudaFree(d);
}
