// SANITIZERS: barriers (src/exec/barrier.c)
/* K2: barriers between code in which lanes part, end early, meet again, or use indices that wrap
 * around within a warp. The host computes the same step by step. */
#include <cstdio>
#include <vector>

#include "check.h"

enum { STEPS = 6, MOST = 256 };

/* What a thread does between two barriers: `other` is its neighbour's value. */
__host__ __device__ static unsigned step(unsigned v, unsigned other, int t, int r)
{
    if ((t + r) % 5 < 3)
        v += other;
    for (int k = 0; k < t % (r + 2); k++)
        v = v * 3 + k;
    unsigned u = (unsigned)t + 0xfffffff0u - (unsigned)(r * 16);
    unsigned long long far = u * 4ull;
    v ^= (unsigned)(far >> 17);
    if (t < 32 * (r & 1) + 40)
        v += (unsigned)(far % 101);
    return v;
}

/* Threads from `last` on end before the first barrier. */
__global__ void regions(unsigned *out, int last)
{
    __shared__ unsigned shared[MOST];
    int t = threadIdx.x, n = blockDim.x;
    if (t >= last)
        return;
    unsigned v = t + blockIdx.x;
    for (int r = 0; r < STEPS; r++) {
        shared[t] = v;
        __syncthreads();
        unsigned other = shared[(t + r) % last];
        __syncthreads();
        v = step(v, other, t, r);
    }
    out[blockIdx.x * n + t] = v;
}

static std::vector<unsigned> expected(int threads, int blocks, int last)
{
    std::vector<unsigned> out(threads * blocks, 7), now(threads), next(threads);
    for (int b = 0; b < blocks; b++) {
        for (int t = 0; t < last; t++)
            now[t] = t + b;
        for (int r = 0; r < STEPS; r++, now = next)
            for (int t = 0; t < last; t++)
                next[t] = step(now[t], now[(t + r) % last], t, r);
        for (int t = 0; t < last; t++)
            out[b * threads + t] = now[t];
    }
    return out;
}

int main()
{
    const int blocks = 5;
    const struct {
        int threads, last;
    } cases[] = {{256, 256}, {256, 250}, {256, 64}, {256, 1}, {48, 48}, {48, 40}, {32, 32}, {7, 7}};
    for (auto &c : cases) {
        std::vector<unsigned> got(c.threads * blocks, 7),
            want = expected(c.threads, blocks, c.last);
        unsigned *out;
        size_t bytes = got.size() * sizeof(unsigned);
        CHECK_EQ_INT(cudaMalloc(&out, bytes), cudaSuccess);
        CHECK_EQ_INT(cudaMemcpy(out, got.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
        regions<<<blocks, c.threads>>>(out, c.last);
        CHECK_EQ_INT(cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
        int bad = 0;
        for (size_t k = 0; k < got.size(); k++)
            if (got[k] != want[k] && bad++ == 0)
                printf("%d threads, %d to the end: element %zu is %u, not %u\n", c.threads, c.last,
                       k, got[k], want[k]);
        CHECK_EQ_INT(bad, 0);
        cudaFree(out);
    }
    return check_done();
}
