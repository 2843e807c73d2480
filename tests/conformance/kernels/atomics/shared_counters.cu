/* K2: places that threads take from a counter of all (`at = atomicAdd(&length, n)`) are each taken
 * once and without gaps, by all threads or by some, whatever happens before and after; a thread
 * that reads the counter finds its own addition there.
 */
// RUN baseline: WEIR_JIT=baseline
// RUN 256: WEIR_VECTORS=256
#include <map>
#include <vector>

#include "check.h"

enum { MOST = 1 << 16 };

/* What a thread has taken: the value it found, what it added, and others. */
template <class T> struct taken {
    T old, add, before, after;
    int here;
};

struct lists {
    const int *key;
    unsigned *out;
    unsigned *more; /* counters by key */
};

__device__ unsigned thread_of_grid()
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned in = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return block * (blockDim.x * blockDim.y * blockDim.z) + in;
}

/* All threads take one place. */
template <class T> __global__ void all(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    took[t] = {atomicAdd(counter, (T)1), 1, 0, 0, 1};
}

/* Amounts of all kinds, by lane: none and negative ones too. */
template <class T> __global__ void amounts(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    T n = (T)(l.key[t] % 7 - 2);
    took[t] = {atomicAdd(counter, n), n, 0, 0, 1};
}

/* One amount for all that only the launch knows. */
template <class T> __global__ void by_parameter(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    T n = (T)(gridDim.x - 3);
    if (l.key[t] & 1)
        return;
    took[t] = {atomicAdd(counter, n), n, 0, 0, 1};
}

/* Some lanes and some warps end early; others take another path, with a loop and other atomics. */
template <class T> __global__ void some(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    int key = l.key[t];
    if (key % 11 == 3 || t / 32 % 5 == 2)
        return;
    unsigned sum = 0;
    T at = 0;
    if (key % 3 == 0) {
        for (int n = 0; n < key % 40; n++)
            sum += (unsigned)l.key[(t + (unsigned)n * 7) % MOST];
        at = atomicAdd(counter, (T)2);
        took[t] = {at, 2, 0, 0, 1};
    } else {
        atomicAdd(&l.more[key % 64], 1u);
        for (int n = 0; n < key % 9; n++)
            sum ^= (unsigned)l.key[(t + (unsigned)n) % MOST];
    }
    if (at % 2 == 0 && key % 3 == 0)
        sum++;
    l.out[t] = sum + (unsigned)__popc((unsigned)key);
}
static unsigned want_some(const int *keys, unsigned t)
{
    int key = keys[t];
    if (key % 11 == 3 || t / 32 % 5 == 2)
        return 0;
    unsigned sum = 0;
    if (key % 3 == 0)
        for (int n = 0; n < key % 40; n++)
            sum += (unsigned)keys[(t + (unsigned)n * 7) % MOST];
    else
        for (int n = 0; n < key % 9; n++)
            sum ^= (unsigned)keys[(t + (unsigned)n) % MOST];
    return sum + (key % 3 == 0) + (unsigned)__builtin_popcount((unsigned)key);
}

/* One lane asks for its warp and tells the others. */
template <class T> __global__ void leaders(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid(), warp = __activemask();
    unsigned in = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned lane = in % 32;
    bool mine = l.key[t] % 5 == 0;
    unsigned who = __ballot_sync(warp, mine);
    T at = 0;
    if (lane == 0)
        at = atomicAdd(counter, (T)__popc(who));
    at = __shfl_sync(warp, at, 0);
    if (mine)
        took[t] = {(T)(at + (T)__popc(who & ((1u << lane) - 1))), 1, 0, 0, 1};
}

/* The counter is read before and after, by another name after. */
template <class T> __global__ void readers(lists l, taken<T> *took, T *counter, T *alias)
{
    unsigned t = thread_of_grid();
    T before = *counter;
    if (l.key[t] & 2) {
        T old = atomicAdd(counter, (T)1), after = *alias;
        took[t] = {old, 1, before, after, 1};
    }
}

/* ... and others add to it by that name. */
template <class T> __global__ void adders(lists l, taken<T> *took, T *counter, T *alias)
{
    unsigned t = thread_of_grid();
    if (l.key[t] & 4)
        atomicAdd(&alias[l.key[t] % 2 * 0], (T)3);
    T old = atomicAdd(counter, (T)1), after = *alias;
    took[t] = {old, 1, 0, after, 1};
    if (l.key[t] & 8)
        atomicAdd(alias, (T)5);
}

/* Those that are not of this kind: in a loop, several, other operations. */
template <class T> __global__ void in_loop(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    T old = 0, n = 0;
    for (int k = 0; k < l.key[t] % 3 + 1; k++)
        old = atomicAdd(counter, n = (T)(k + 1));
    took[t] = {old, n, 0, 0, 1};
}
template <class T> __global__ void two(lists l, taken<T> *took, T *counter, T *)
{
    unsigned t = thread_of_grid();
    T first = atomicAdd(counter, (T)1), second = atomicAdd(counter, (T)1);
    took[t] = {first, 1, 0, second, 1};
}
__global__ void subtracted(lists l, taken<unsigned> *took, unsigned *counter, unsigned *)
{
    unsigned t = thread_of_grid();
    took[t] = {atomicSub(counter, 2u), (unsigned)-2, 0, 0, 1};
}

/* A place for each, and what is in a list at the end. */
__global__ void filter(lists l, unsigned *length, unsigned n, int limit)
{
    unsigned t = thread_of_grid();
    if (t < n && l.key[t] > limit)
        l.out[atomicAdd(length, 1u)] = t;
}
__global__ void expand(lists l, unsigned *length, unsigned n)
{
    unsigned t = thread_of_grid();
    if (t >= n)
        return;
    unsigned count = (unsigned)l.key[t] % 4;
    unsigned at = atomicAdd(length, count);
    for (unsigned k = 0; k < count; k++)
        l.out[at + k] = t * 4 + k;
}

/* ---- checks ---- */

static int *keys;
static unsigned *out, *more;

/* Could the additions have been made one after the other, and have ended with `last`? They are
 * edges from one value of the counter to the next: there must be a way along all of them, which
 * there is if all can be reached and as many lead to a value as from it. */
template <class T>
static bool one_after_the_other(const taken<T> *took, unsigned threads, T first, T last)
{
    struct value {
        std::vector<T> next;
        int surplus;
    };
    std::map<T, value> values;
    size_t edges = 0, passed = 0;
    values[first].surplus--;
    values[last].surplus++;
    for (unsigned t = 0; t < threads; t++)
        if (took[t].here) {
            T to = (T)(took[t].old + took[t].add);
            values[took[t].old].next.push_back(to);
            values[took[t].old].surplus++;
            values[to].surplus--;
            edges++;
        }
    std::vector<T> way = {first};
    while (!way.empty()) {
        std::vector<T> &next = values[way.back()].next;
        if (next.empty()) {
            way.pop_back();
            continue;
        }
        way.push_back(next.back());
        next.pop_back();
        passed++;
    }
    for (const auto &v : values)
        if (v.second.surplus != 0)
            return false;
    return passed == edges;
}

struct shape {
    dim3 grid, block;
};
static const shape shapes[] = {{{1}, {1024}},          {{70}, {128}}, {{33}, {37}},
                               {{3, 4, 2}, {8, 4, 6}}, {{200}, {64}}, {{64}, {7, 5, 3}}};

template <class T>
static void check(void (*kernel)(lists, taken<T> *, T *, T *), T first,
                  unsigned (*want)(const int *, unsigned) = nullptr, T (*sum)(int) = nullptr)
{
    taken<T> *took;
    T *counter;
    CHECK_EQ_INT(cudaMallocManaged(&took, MOST * sizeof *took), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&counter, sizeof *counter), cudaSuccess);
    for (const shape &s : shapes) {
        unsigned threads = s.grid.x * s.grid.y * s.grid.z * s.block.x * s.block.y * s.block.z;
        CHECK(threads <= MOST);
        memset(took, 0, MOST * sizeof *took);
        memset(out, 0, 4 * MOST * sizeof *out);
        *counter = first;
        kernel<<<s.grid, s.block>>>({keys, out, more}, took, counter, counter);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        T last = first;
        for (unsigned t = 0; t < threads; t++) {
            const taken<T> &k = took[t];
            last += sum != nullptr ? sum(keys[t]) : 0;
            if (k.here && k.after != 0) /* by those that only add, and far from where it wraps */
                wrong += k.before > k.old || k.after < k.old + k.add;
            wrong += want != nullptr && out[t] != want(keys, t);
        }
        CHECK_EQ_INT(wrong, 0);
        CHECK(sum != nullptr ? *counter == last
                             : one_after_the_other(took, threads, first, *counter));
    }
    cudaFree(took);
    cudaFree(counter);
}

template <class T> static T sum_adders(int key)
{
    return (T)(1 + (key & 4 ? 3 : 0) + (key & 8 ? 5 : 0));
}
template <class T> static T sum_in_loop(int key) { return (T)((key % 3 + 1) * (key % 3 + 2) / 2); }
template <class T> static T sum_two(int) { return 2; }

static void check_lists()
{
    unsigned *length;
    CHECK_EQ_INT(cudaMallocManaged(&length, sizeof *length), cudaSuccess);
    for (const shape &s : shapes)
        for (int limit : {-1, 100, 5000, 1 << 30})
            for (int way = 0; way < 2; way++) {
                unsigned n = s.grid.x * s.grid.y * s.grid.z * s.block.x * s.block.y * s.block.z;
                n -= n / 9;
                unsigned base = way == 0 ? 17 : 0, want = 0, wrong = 0;
                std::vector<int> times(4 * MOST, 0);
                memset(out, 0xff, 4 * MOST * sizeof *out);
                *length = base;
                lists l = {keys, out, more};
                if (way == 0)
                    filter<<<s.grid, s.block>>>(l, length, n, limit);
                else
                    expand<<<s.grid, s.block>>>(l, length, n);
                CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
                for (unsigned k = base; k < *length; k++)
                    if (out[k] < 4 * MOST)
                        times[out[k]]++;
                    else
                        wrong++;
                for (unsigned t = 0; t < n; t++)
                    if (way == 0) {
                        wrong += times[t] != (keys[t] > limit);
                        want += keys[t] > limit;
                    } else {
                        for (unsigned k = 0; k < 4; k++)
                            wrong += times[t * 4 + k] != (k < (unsigned)keys[t] % 4);
                        want += (unsigned)keys[t] % 4;
                    }
                CHECK_EQ_INT(wrong, 0);
                CHECK_EQ_INT(*length, base + want);
            }
    cudaFree(length);
}

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&keys, MOST * sizeof *keys), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 4 * MOST * sizeof *out), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&more, 64 * sizeof *more), cudaSuccess);
    memset(more, 0, 64 * sizeof *more);
    unsigned random = 12345;
    for (int n = 0; n < MOST; n++) {
        random = random * 1664525u + 1013904223u;
        keys[n] = (int)(random >> 18);
    }
    check<unsigned>(all<unsigned>, 0xffffff00u);
    check<unsigned>(amounts<unsigned>, 0xffffff00u);
    check<unsigned>(some<unsigned>, 0, want_some);
    check<unsigned>(readers<unsigned>, 1);
    check<int>(amounts<int>, -100);
    check<unsigned long long>(amounts<unsigned long long>, (0xffffull << 32) - 99);
    check<unsigned long long>(some<unsigned long long>, -6ull, want_some);
    check<unsigned>(by_parameter<unsigned>, 5);
    check<int>(leaders<int>, -100);
    check<unsigned>(adders<unsigned>, 1, nullptr, sum_adders<unsigned>);
    check<unsigned>(in_loop<unsigned>, 0, nullptr, sum_in_loop<unsigned>);
    check<unsigned>(two<unsigned>, 1, nullptr, sum_two<unsigned>);
    check<unsigned>(subtracted, 3);
    check_lists();
    return check_done();
}
