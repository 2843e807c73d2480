/* K2: the atomic functions with an order and a scope (__nv_atomic_load_n and its kin): each
 * operation does to memory, and returns, what its name says, and counts are right when many threads
 * use it.
 */
#include <cuda_runtime.h>

#include "check.h"

namespace
{

struct shared_words {
    unsigned count;
    unsigned long long wide;
    float sum;
    double wide_sum;
    int least, most;
    unsigned bits, turned;
    unsigned lock, guarded;
    unsigned char byte;
    unsigned short half;
    int flag, message, seen;
};

__global__ void many(shared_words *w)
{
    __nv_atomic_add(&w->count, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_add(&w->wide, 3ull, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_fetch_sub(&w->wide, 1ull, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_add(&w->sum, 0.5f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_add(&w->wide_sum, 0.25, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    __nv_atomic_fetch_min(&w->least, -id, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_max(&w->most, id, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_or(&w->bits, 1u << (id & 31), __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_xor(&w->turned, 1u << (id & 7), __NV_ATOMIC_RELAXED,
                          __NV_THREAD_SCOPE_DEVICE);

    /* a lock of compare-exchange and a release store */
    for (bool done = false; !done;) {
        unsigned free = 0;
        if (__nv_atomic_compare_exchange_n(&w->lock, &free, 1u, false, __NV_ATOMIC_ACQUIRE,
                                           __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE)) {
            w->guarded++;
            __nv_atomic_store_n(&w->lock, 0u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
            done = true;
        }
    }
}

__global__ void one(shared_words *w, int *ok)
{
    int n = 0;
    __nv_atomic_store_n(&w->byte, (unsigned char)200, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    ok[n++] = __nv_atomic_load_n(&w->byte, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK) == 200;
    unsigned short half = 60000, got = 0;
    __nv_atomic_store(&w->half, &half, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_load(&w->half, &got, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    ok[n++] = got == 60000;
    w->sum = 1.5f;
    float two = 2.0f, old = 0;
    __nv_atomic_exchange(&w->sum, &two, &old, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
    ok[n++] = old == 1.5f && w->sum == 2.0f;
    unsigned expected = 5, desired = 6;
    w->bits = 4;
    ok[n++] = !__nv_atomic_compare_exchange(&w->bits, &expected, &desired, false,
                                            __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED);
    ok[n++] = expected == 4 && w->bits == 4;
    ok[n++] = __nv_atomic_exchange_n(&w->bits, 7u, __NV_ATOMIC_RELAXED) == 4 && w->bits == 7;
    ok[n++] = __nv_atomic_fetch_and(&w->bits, 5u, __NV_ATOMIC_RELAXED) == 7 && w->bits == 5;
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQUIRE);
}

/* A message published by a release store and taken by an acquire load. */
__global__ void pass(shared_words *w)
{
    if (blockIdx.x == 0) {
        w->message = 42;
        __nv_atomic_store_n(&w->flag, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    } else {
        while (!__nv_atomic_load_n(&w->flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE))
            ;
        w->seen = w->message;
    }
}

} // namespace

int main()
{
    shared_words *w;
    int *ok;
    cudaMallocManaged(&w, sizeof(*w));
    cudaMallocManaged(&ok, 7 * sizeof(int));
    memset(w, 0, sizeof(*w));
    many<<<8, 96>>>(w);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(w->count, 768);
    CHECK_EQ_INT(w->wide, 1536);
    CHECK(w->sum == 384.0f);
    CHECK(w->wide_sum == 192.0);
    CHECK_EQ_INT(w->least, -767);
    CHECK_EQ_INT(w->most, 767);
    CHECK_EQ_INT(w->bits, 0xffffffffu);
    CHECK_EQ_INT(w->turned, 0);
    CHECK_EQ_INT(w->guarded, 768);

    memset(ok, 0, 7 * sizeof(int));
    one<<<1, 1>>>(w, ok);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 7; i++)
        CHECK(ok[i]);

    pass<<<2, 1>>>(w);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(w->seen, 42);
    return check_done();
}
