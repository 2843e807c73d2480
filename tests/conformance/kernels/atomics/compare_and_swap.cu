/* K2: a compare-and-swap gives what was there and stores where that is what it compares with:
 * also where its new value is the same, for some lanes or all, at one address or many, in words of
 * both sizes, with and without an order, in step and in loops of each lane; and atomics that
 * programs make by loops around it lose nothing.
 */
// RUN baseline: WEIR_JIT=baseline
// RUN 256: WEIR_VECTORS=256
#include <cuda/atomic>
#include <vector>

#include "check.h"

enum { BLOCK = 128, GRID = 24, THREADS = BLOCK * GRID, PLACES = 61 };

static unsigned mixed(unsigned t) { return (t * 2654435761u) ^ (t * 40503u >> 7); }

/* An element a thread: what is compared with and the new value, by key, are or are not equal, and
 * are or are not what is there. */
template <class T> __global__ void own(const unsigned *key, T *there, T *found)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, k = key[t];
    if (k & 4)
        return;
    T has = (T)t * 3, compare = k & 1 ? has : has + 1, next = k & 2 ? compare : compare + 7;
    found[t] = atomicCAS(&there[(t * 7) % THREADS], compare, next);
}
template <class T> static T own_after(unsigned k, T has)
{
    return !(k & 4) && (k & 1) && !(k & 2) ? has + 7 : has;
}

/* The same, of which nobody reads what was found. */
template <class T> __global__ void unread(const unsigned *key, T *there)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, k = key[t];
    if (k & 4)
        return;
    T has = (T)t * 3, compare = k & 1 ? has : has + 1, next = k & 2 ? compare : compare + 7;
    atomicCAS(&there[(t * 7) % THREADS], compare, next);
}

/* Minima, maxima and sums of what is scattered to few places. */
template <class T, class Op> __device__ void change(T *to, Op op)
{
    T seen = *(volatile T *)to, before;
    do {
        before = seen;
        seen = atomicCAS(to, before, op(before));
    } while (seen != before);
}
template <class T> __global__ void made(const unsigned *key, T *low, T *high, T *sum)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    T value = key[t] >> 8;
    unsigned to = key[t] % PLACES;
    change(&low[to], [=](T had) { return had < value ? had : value; });
    change(&high[to], [=](T had) { return had > value ? had : value; });
    change(&sum[to], [=](T had) { return had + value; });
}
/* Each thread as often as it likes. */
template <class T> __global__ void made_often(const unsigned *key, T *low, T *high, T *sum)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned n = 0; n < key[t] % 5; n++) {
        T value = (key[t] >> 8) + n;
        unsigned to = (key[t] + n * n) % PLACES;
        change(&low[to], [=](T had) { return had < value ? had : value; });
        change(&high[to], [=](T had) { return had > value ? had : value; });
        change(&sum[to], [=](T had) { return had + value; });
    }
}

/* What one thread has released another one sees that reads by a compare-and-swap. */
__global__ void handed_over(int *flag, int *data, int *seen)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 5;
        __syncthreads();
        if (threadIdx.x == 0)
            f.store(1, cuda::memory_order_release);
        return;
    }
    if (threadIdx.x == 0)
        for (int one = 1; !f.compare_exchange_strong(one, 1, cuda::memory_order_acq_rel); one = 1)
            ;
    __syncthreads();
    atomicAdd(seen, data[threadIdx.x]);
}

static unsigned *keys;

template <class T> static void check_own()
{
    T *there, *found;
    CHECK_EQ_INT(cudaMallocManaged(&there, THREADS * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&found, THREADS * sizeof(T)), cudaSuccess);
    for (int reads = 0; reads < 2; reads++) {
        for (unsigned t = 0; t < THREADS; t++)
            there[(t * 7) % THREADS] = (T)t * 3, found[t] = 1;
        if (reads)
            own<T><<<GRID, BLOCK>>>(keys, there, found);
        else
            unread<T><<<GRID, BLOCK>>>(keys, there);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        for (unsigned t = 0; t < THREADS; t++) {
            wrong += there[(t * 7) % THREADS] != own_after(keys[t], (T)t * 3);
            wrong += reads && found[t] != (keys[t] & 4 ? 1 : (T)t * 3);
        }
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(there);
    cudaFree(found);
}

template <class T> static void check_made(bool often)
{
    T *all;
    CHECK_EQ_INT(cudaMallocManaged(&all, 3 * PLACES * sizeof(T)), cudaSuccess);
    T *low = all, *high = all + PLACES, *sum = all + 2 * PLACES;
    std::vector<T> lows(PLACES, (T)1 << 30), highs(PLACES), sums(PLACES);
    for (int n = 0; n < PLACES; n++)
        low[n] = (T)1 << 30, high[n] = sum[n] = 0;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned n = 0; n < (often ? keys[t] % 5 : 1); n++) {
            T value = (keys[t] >> 8) + n;
            unsigned to = (keys[t] + n * n) % PLACES;
            lows[to] = lows[to] < value ? lows[to] : value;
            highs[to] = highs[to] > value ? highs[to] : value;
            sums[to] += value;
        }
    if (often)
        made_often<T><<<GRID, BLOCK>>>(keys, low, high, sum);
    else
        made<T><<<GRID, BLOCK>>>(keys, low, high, sum);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int n = 0; n < PLACES; n++)
        wrong += low[n] != lows[n] || high[n] != highs[n] || sum[n] != sums[n];
    CHECK_EQ_INT(wrong, 0);
    cudaFree(all);
}

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&keys, THREADS * sizeof *keys), cudaSuccess);
    for (unsigned t = 0; t < THREADS; t++)
        keys[t] = mixed(t);
    check_own<unsigned>();
    check_own<unsigned long long>();
    for (bool often : {false, true}) {
        check_made<unsigned>(often);
        check_made<unsigned long long>(often);
    }
    /* All lanes alike. */
    for (unsigned all : {0u, 1u, 2u, 3u}) {
        for (unsigned t = 0; t < THREADS; t++)
            keys[t] = all;
        check_own<unsigned>();
        check_own<unsigned long long>();
    }
    int *words;
    CHECK_EQ_INT(cudaMallocManaged(&words, (2 + BLOCK) * sizeof *words), cudaSuccess);
    for (int round = 0; round < 20; round++) {
        for (int n = 0; n < 2 + BLOCK; n++)
            words[n] = 0;
        handed_over<<<2, BLOCK>>>(&words[0], &words[2], &words[1]);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        CHECK_EQ_INT(words[1], 5 * BLOCK);
    }
    return check_done();
}
