/* K2.10, headers: cuda_awbarrier_primitives.h and __pipeline_arrive_on: phases, tokens, dropping,
 * copies that a barrier tells. */
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include "check.h"

#define N 64

/* out[0..N): each thread's neighbour's value, by the token, the parity and with a time limit;
 * out[N..]: counts seen by one thread. */
static __global__ void phases(int *out)
{
    __shared__ __mbarrier_t bar;
    __shared__ int value[N];
    int t = (int)threadIdx.x;
    if (t == 0)
        __mbarrier_init(&bar, N);
    __syncthreads();
    value[t] = t + 1;
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    int sum = value[(t + 1) % N];
    token = __mbarrier_arrive(&bar);
    while (!__mbarrier_try_wait(&bar, token, 1000)) {
    }
    value[t] = 100 * (t + 1);
    token = __mbarrier_arrive(&bar); /* the third phase: parity 0 again */
    while (!__mbarrier_test_wait_parity(&bar, false) || !__mbarrier_test_wait(&bar, token)) {
    }
    sum += value[(t + 1) % N];
    out[t] = sum;
    __syncthreads();
    /* the upper half drops out; the next phase expects N / 2 */
    if (t >= N / 2)
        token = __mbarrier_arrive_and_drop(&bar);
    else
        token = __mbarrier_arrive(&bar);
    while (!__mbarrier_try_wait_parity(&bar, true, 1000)) {
    }
    __syncthreads();
    if (t < N / 2) {
        token = __mbarrier_arrive(&bar);
        while (!__mbarrier_test_wait(&bar, token)) {
        }
    }
    if (t == 0)
        out[N] = (int)__mbarrier_maximum_count();
    __syncthreads();
    if (t == 0)
        __mbarrier_inval(&bar);
}

/* What the first of three arrivals still lacks. */
static __global__ void pending(int *out)
{
    __shared__ __mbarrier_t bar;
    __mbarrier_init(&bar, 3);
    for (int i = 0; i < 3; i++)
        out[i] = (int)__mbarrier_token_pending_count(__mbarrier_arrive(&bar));
    out[3] = __mbarrier_test_wait_parity(&bar, false);
    out[4] = __mbarrier_test_wait_parity(&bar, true);
}

/* Copies whose end the barrier tells. */
static __global__ void copies(int *out, const int *in)
{
    __shared__ __mbarrier_t bar;
    __shared__ int staged[N];
    int t = (int)threadIdx.x;
    if (t == 0)
        __mbarrier_init(&bar, N);
    __syncthreads();
    __pipeline_memcpy_async(&staged[t], &in[t], sizeof(int));
    __pipeline_arrive_on(&bar);
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    out[t] = staged[N - 1 - t];
}

int main()
{
    int *out, *in;
    CHECK_EQ_INT(cudaMallocManaged(&out, (N + 1) * sizeof(int)), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&in, N * sizeof(int)), cudaSuccess);
    phases<<<1, N>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int t = 0; t < N; t++)
        CHECK_EQ_INT(out[t], 101 * ((t + 1) % N + 1));
    CHECK_EQ_INT(out[N], (1 << 14) - 1);

    pending<<<1, 1>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_INT(out[i], 3 - i);
    CHECK_EQ_INT(out[3], 1);
    CHECK_EQ_INT(out[4], 0);

    for (int t = 0; t < N; t++)
        in[t] = 7 * t;
    copies<<<1, N>>>(out, in);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int t = 0; t < N; t++)
        CHECK_EQ_INT(out[t], 7 * (N - 1 - t));
    CHECK_EQ_INT(cudaFree(out), cudaSuccess);
    CHECK_EQ_INT(cudaFree(in), cudaSuccess);
    return check_done();
}
