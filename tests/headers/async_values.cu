/* K2.10, headers: cuda::barrier and cuda::pipeline by value: arrivals and waits as separate calls,
 * changing numbers of threads, producers ahead of consumers. Run on the software device. */
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/type_traits>

#include "check.h"

namespace cg = cooperative_groups;
typedef cuda::barrier<cuda::thread_scope_block> block_barrier;

enum { THREADS = 128, ROUNDS = 20 };

/* Everyone hands a value to a neighbour in another warp, round after round. */
__global__ void neighbours(int *out)
{
    __shared__ block_barrier bar;
    __shared__ int cell[THREADS];
    int i = threadIdx.x;
    if (i == 0)
        init(&bar, THREADS);
    __syncthreads();
    int v = i;
    for (int r = 0; r < ROUNDS; r++) {
        cell[i] = v;
        block_barrier::arrival_token token = bar.arrive();
        int unrelated = r * 2;
        bar.wait(static_cast<block_barrier::arrival_token &&>(token));
        v = cell[(i + 37) % THREADS] + unrelated - 2 * r + 1;
        bar.arrive_and_wait();
    }
    out[i] = v;
}

/* A warp leaves after each round; the others go on without it. */
__global__ void leaving(int *out)
{
    __shared__ block_barrier bar;
    __shared__ int count;
    int i = threadIdx.x, warp = i / 32;
    if (i == 0) {
        init(&bar, THREADS);
        count = 0;
    }
    __syncthreads();
    for (int r = 0; r <= warp; r++) {
        atomicAdd(&count, 1);
        if (r == warp) {
            bar.arrive_and_drop();
        } else {
            bar.arrive_and_wait();
            out[i] = count; /* at least what all had added by then */
        }
    }
}

/* The first warp copies tiles in, the others sum them up, three stages deep. */
template <bool ByRole> __global__ void stages(const int *in, int *out, int tiles)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    __shared__ int buffer[3][32];
    auto block = cg::this_thread_block();
    bool producer = threadIdx.x < 32;
    int sum = 0;
    auto work = [&](cuda::pipeline<cuda::thread_scope_block> &pipe) {
        for (int t = 0; t < tiles; t++) {
            if (producer) {
                pipe.producer_acquire();
                cuda::memcpy_async(&buffer[t % 3][threadIdx.x], &in[t * 32 + threadIdx.x],
                                   cuda::aligned_size_t<4>(4), pipe);
                pipe.producer_commit();
            } else {
                pipe.consumer_wait();
                sum += buffer[t % 3][(threadIdx.x + t) % 32];
                pipe.consumer_release();
            }
        }
    };
    if constexpr (ByRole) {
        auto pipe = cuda::make_pipeline(block, &state,
                                        producer ? cuda::pipeline_role::producer
                                                 : cuda::pipeline_role::consumer);
        work(pipe);
    } else {
        auto pipe = cuda::make_pipeline(block, &state, (size_t)32);
        work(pipe);
    }
    out[threadIdx.x] = sum;
}

/* Every thread fills and empties its own stages. */
__global__ void own(const int *in, int *out)
{
    __shared__ int buffer[THREADS];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    out[threadIdx.x] = buffer[THREADS - 1 - threadIdx.x];
    pipe.consumer_release();
}

int main()
{
    int *in, *out, tiles = 25;
    CHECK_EQ_INT(cudaMallocManaged(&in, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, THREADS * sizeof(int)), cudaSuccess);
    for (int i = 0; i < 1024; i++)
        in[i] = i * i % 97;

    neighbours<<<1, THREADS>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ_INT(out[i], (i + 37 * ROUNDS) % THREADS + ROUNDS);

    leaving<<<1, THREADS>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 96; i < THREADS; i++)
        CHECK(out[i] >= 128 + 96 + 64 && out[i] <= 128 + 96 + 64 + 32);

    for (int kind = 0; kind < 2; kind++) {
        if (kind)
            stages<true><<<1, THREADS>>>(in, out, tiles);
        else
            stages<false><<<1, THREADS>>>(in, out, tiles);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        for (int i = 32; i < THREADS; i++) {
            int sum = 0;
            for (int t = 0; t < tiles; t++)
                sum += in[t * 32 + (i + t) % 32];
            CHECK_EQ_INT(out[i], sum);
        }
    }

    own<<<1, THREADS>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ_INT(out[i], in[THREADS - 1 - i]);
    static_assert(cuda::std::is_same<int, int>::value, "");
    return check_done();
}
