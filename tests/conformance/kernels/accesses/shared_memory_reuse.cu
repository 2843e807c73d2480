/* K2: what a block has stored into shared memory and uses again, after barriers, after other
 * threads have written there or beside it: more values than a CPU has registers, at the same
 * place, one further, and where another half of the block has theirs. */
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { MOST = 512 };

__device__ int mixed(int v, int k) { return (v ^ k * 77) * 5 + k; }

/* Each value is used in the end, though its place is overwritten half way, once or not at all. */
template <int N> __global__ void kept(const int *in, int *out)
{
    __shared__ int a[N], b[N + 1];
    int t = threadIdx.x, v = in[blockIdx.x * N + t], u = mixed(v, 1), w = mixed(v, 2);
    a[t] = u;
    b[t] = w;
    if (t == 0)
        b[N] = 7;
    __syncthreads();
    int x = a[N - 1 - t], y = b[t + 1];
    __syncthreads();
    if (t % 64 < 32) /* these warps' places change, the others' do not */
        a[t] = x + u;
    b[(t + 32) % N] = y - w;
    __syncthreads();
    int z = a[t] + b[t];
    __syncthreads();
    a[(t + 1) % N] = z;
    __syncthreads();
    out[blockIdx.x * N + t] = (a[t] + u) ^ (w + x) ^ (y - z);
}

/* A scan in one buffer, with what was there at the beginning added in the end. */
template <int N> __global__ void scan(const int *in, int *out)
{
    __shared__ int row[N];
    int t = threadIdx.x, v = in[blockIdx.x * N + t];
    row[t] = v;
    __syncthreads();
#pragma unroll
    for (int distance = 1; distance < N; distance *= 2) {
        int sum = row[t] + (t >= distance ? row[t - distance] : 0);
        __syncthreads();
        row[t] = sum;
        __syncthreads();
    }
    out[blockIdx.x * N + t] = row[t] * 3 + v;
}

template <int N> static void test(int blocks)
{
    std::vector<int> in(N * blocks), got(N * blocks);
    for (size_t k = 0; k < in.size(); k++)
        in[k] = (int)((unsigned)k * 2654435761u >> 16);
    int *from, *to;
    OK(cudaMalloc(&from, in.size() * 4));
    OK(cudaMalloc(&to, in.size() * 4));
    OK(cudaMemcpy(from, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
    kept<N><<<blocks, N>>>(from, to);
    OK(cudaMemcpy(got.data(), to, in.size() * 4, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int block = 0; block < blocks; block++) {
        int u[N], w[N], x[N], y[N], z[N], a[N], b[N];
        auto mix = [](int v, int k) { return (int)((unsigned)(v ^ k * 77) * 5u + (unsigned)k); };
        for (int t = 0; t < N; t++) {
            u[t] = mix(in[block * N + t], 1);
            w[t] = mix(in[block * N + t], 2);
        }
        for (int t = 0; t < N; t++) {
            x[t] = u[N - 1 - t];
            y[t] = t + 1 < N ? w[t + 1] : 7;
        }
        for (int t = 0; t < N; t++) {
            a[t] = t % 64 < 32 ? x[t] + u[t] : u[t];
            b[(t + 32) % N] = y[t] - w[t];
        }
        for (int t = 0; t < N; t++)
            z[t] = a[t] + b[t];
        for (int t = 0; t < N; t++) {
            int next = z[(t + N - 1) % N];
            wrong += got[block * N + t] != ((next + u[t]) ^ (w[t] + x[t]) ^ (y[t] - z[t]));
        }
    }
    CHECK_EQ_INT(wrong, 0);
    scan<N><<<blocks, N>>>(from, to);
    OK(cudaMemcpy(got.data(), to, in.size() * 4, cudaMemcpyDeviceToHost));
    wrong = 0;
    for (int block = 0; block < blocks; block++)
        for (int t = 0, sum = 0; t < N; t++) {
            sum += in[block * N + t];
            wrong += got[block * N + t] != sum * 3 + in[block * N + t];
        }
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(from));
    OK(cudaFree(to));
}

int main()
{
    test<64>(3);
    test<256>(2);
    test<MOST>(2);
    return check_done();
}
