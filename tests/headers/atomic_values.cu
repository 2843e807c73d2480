/* K2.7, headers: our <cuda/atomic>: atomics of all sizes and scopes, on the device from many
 * threads and on the host, of integers, floats, pointers and plain structs; and what groups do with
 * them. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>

#include "check.h"

struct pair {
    short a, b;
};
struct state {
    cuda::atomic<int, cuda::thread_scope_device> count;
    cuda::atomic<float, cuda::thread_scope_device> sum;
    cuda::atomic<unsigned char, cuda::thread_scope_block> bytes[4];
    cuda::atomic<unsigned long long> wide;
    cuda::atomic<short> least;
    cuda::atomic<int *> pointer;
    cuda::atomic<pair> both;
    cuda::atomic<bool> flag;
    cuda::std::atomic_flag lock;
    double plain;
    int guarded;
};

__global__ void many(state *s)
{
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    s->count.fetch_add(1, cuda::memory_order_relaxed);
    s->sum += 0.5f;
    s->bytes[threadIdx.x & 3].fetch_add(1);
    s->wide.fetch_max((unsigned long long)id << 33);
    s->least.fetch_min((short)-id);
    s->pointer.fetch_add(1);
    cuda::atomic_ref<double, cuda::thread_scope_device> plain(s->plain);
    plain.fetch_add(0.25, cuda::memory_order_relaxed);
    for (pair old = s->both.load();;) {
        pair next = {(short)(old.a + 1), (short)(old.b - 1)};
        if (s->both.compare_exchange_weak(old, next))
            break;
    }
    for (bool done = false; !done;)
        if (!s->lock.test_and_set(cuda::memory_order_acquire)) {
            s->guarded++;
            s->lock.clear(cuda::memory_order_release);
            done = true;
        }
    if (id == 0) {
        cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
        s->flag = true;
    } else if (id == 1)
        s->flag.wait(false);
}

namespace cg = cooperative_groups;

struct group_results {
    cuda::atomic<int, cuda::thread_scope_device> sum, largest, stored, tickets;
    int plain, slot[64];
};
__global__ void by_groups(group_results *r)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = (int)threadIdx.x;
    cg::reduce_update_async(tile, r->sum, t, cg::plus<int>());
    cg::reduce_update_async(tile, r->largest, t, cg::greater<int>());
    cg::reduce_store_async(tile, r->stored, 3, cg::plus<int>());
    cg::reduce_store_async(tile, &r->plain, 1, cg::plus<int>());
    /* every thread takes as many places as its rank is odd: places are given out once */
    int first = cg::exclusive_scan_update(tile, r->tickets, t & 1, cg::plus<int>());
    if (t & 1)
        r->slot[first] = t;
}

static void check_groups()
{
    group_results *r;
    cudaMallocManaged(&r, sizeof(*r));
    memset((void *)r, 0, sizeof(*r));
    by_groups<<<1, 64>>>(r);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(r->sum.load(), 63 * 64 / 2);
    CHECK_EQ_INT(r->largest.load(), 63);
    CHECK_EQ_INT(r->stored.load(), 48);
    CHECK_EQ_INT(r->plain, 16);
    CHECK_EQ_INT(r->tickets.load(), 32);
    int sum = 0;
    for (int i = 0; i < 32; i++)
        sum += r->slot[i];
    CHECK_EQ_INT(sum, 32 * 32);
    cudaFree(r);
}

int main()
{
    check_groups();
    state *s;
    cudaMallocManaged(&s, sizeof(*s));
    memset((void *)s, 0, sizeof(*s));
    many<<<4, 64>>>(s);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(s->count.load(), 256);
    CHECK(s->sum.load() == 128.0f);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(s->bytes[i].load(), 64);
    CHECK_EQ_INT(s->wide.load(), 255ll << 33);
    CHECK_EQ_INT(s->least.load(), -255);
    CHECK_EQ_INT((size_t)s->pointer.load(), 1024);
    CHECK_EQ_INT(s->both.load().a, 256);
    CHECK_EQ_INT(s->both.load().b, -256);
    CHECK(s->plain == 64.0 && s->flag.load());
    CHECK_EQ_INT(s->guarded, 256);

    cuda::atomic<int> a(5);
    CHECK_EQ_INT(a++, 5);
    CHECK_EQ_INT(a.exchange(9), 6);
    int expected = 8;
    CHECK(!a.compare_exchange_strong(expected, 1));
    CHECK_EQ_INT(expected, 9);
    CHECK_EQ_INT(a.fetch_min(3), 9);
    CHECK_EQ_INT(a |= 4, 7);
    return check_done();
}
