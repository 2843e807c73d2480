/* K2: atomics beyond words: vectors of floats and halves, 128 bits, minima of halves; loads and
 * stores of 128 bits; alloca. */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

enum { THREADS = 64 };

/* Every thread adds to one of four vectors and keeps what was there. */
__global__ void vectors(float *to, float *old)
{
    int t = threadIdx.x;
    float *at = to + t % 4 * 4, *o = old + 8 * t;
    asm volatile("atom.global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"
                 : "=f"(o[0]), "=f"(o[1]), "=f"(o[2]), "=f"(o[3])
                 : "l"(at), "f"(1.f), "f"(2.f), "f"(0.5f), "f"((float)t)
                 : "memory");
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to + 16), "f"(1.f), "f"(-1.f)
                 : "memory");
}

/* Halves: sums, and bounds with a NaN among the operands. */
__global__ void halves(unsigned short *to)
{
    int t = threadIdx.x;
    unsigned one = 0x3c003c00, bf = 0x3f803f80; /* 1, 1 */
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" ::"l"(to), "r"(one) : "memory");
    asm volatile("red.global.add.noftz.v2.bf16x2 [%0], {%1, %1};" ::"l"(to + 8), "r"(bf)
                 : "memory");
    unsigned short h = t == 7 ? 0x7e00 : (unsigned short)(0x4000 + t); /* NaN, or 2 and more */
    asm volatile("red.global.max.noftz.v4.f16 [%0], {%1, %1, %1, %1};" ::"l"(to + 16), "h"(h)
                 : "memory");
    asm volatile("red.global.min.noftz.v2.bf16 [%0], {%1, %1};" ::"l"(to + 24), "h"(h) : "memory");
    asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(to + 28), "h"((unsigned short)0x3c00)
                 : "memory");
}

/* A counter of 128 bits by compare-and-swap, and an exchange that hands a value on. */
__global__ void wide(unsigned long long *to, unsigned long long *out)
{
    int t = threadIdx.x;
    unsigned long long lo = 0, hi = 0, l, h;
    for (bool done = false; !done;) {
        asm volatile("{ .reg .b128 a, b, d; mov.b128 a, {%2, %3}; mov.b128 b, {%4, %5};"
                     " atom.global.cas.b128 d, [%6], a, b; mov.b128 {%0, %1}, d; }"
                     : "=l"(l), "=l"(h)
                     : "l"(lo), "l"(hi), "l"(lo + 1), "l"(hi + 3), "l"(to)
                     : "memory");
        done = l == lo && h == hi;
        lo = l, hi = h;
    }
    asm volatile("{ .reg .b128 a, d; mov.b128 a, {%2, %3}; atom.global.exch.b128 d, [%4], a;"
                 " mov.b128 {%0, %1}, d; }"
                 : "=l"(l), "=l"(h)
                 : "l"((unsigned long long)t + 1), "l"(~(unsigned long long)t), "l"(to + 2)
                 : "memory");
    out[2 * t] = l, out[2 * t + 1] = h;
}

/* 128 bits in one piece, to other lanes' places. */
__global__ void pieces(unsigned long long *to, const unsigned long long *from)
{
    int t = threadIdx.x;
    asm volatile("{ .reg .b128 v; ld.global.b128 v, [%1]; st.global.b128 [%0], v; }" ::"l"(
                     to + 2 * (THREADS - 1 - t)),
                 "l"(from + 2 * t)
                 : "memory");
}

/* A different amount of memory for every thread, given back and taken again. */
__global__ void stack(int *out)
{
    int t = threadIdx.x;
    unsigned long long a, b, sp;
    asm volatile("stacksave.u64 %0;" : "=l"(sp));
    asm volatile("alloca.u64 %0, %1, 16;" : "=l"(a) : "l"((unsigned long long)(t % 8 + 1) * 8));
    asm volatile("st.local.u32 [%0], %1;" ::"l"(a), "r"(t) : "memory");
    asm volatile("alloca.u64 %0, 8;" : "=l"(b));
    asm volatile("st.local.u32 [%0], %1;" ::"l"(b), "r"(-t) : "memory");
    asm volatile("ld.local.u32 %0, [%1];" : "=r"(out[3 * t]) : "l"(a) : "memory");
    out[3 * t + 1] = a % 16 == 0 && a != b;
    asm volatile("stackrestore.u64 %0;" ::"l"(sp));
    asm volatile("alloca.u64 %0, %1, 16;" : "=l"(b) : "l"((unsigned long long)(t % 8 + 1) * 8));
    out[3 * t + 2] = a == b;
}

template <class T> struct buffer {
    T *at;
    std::vector<T> host;
    explicit buffer(size_t n) : host(n) { cudaMalloc(&at, n * sizeof(T)); }
    ~buffer() { cudaFree(at); }
    void put() { cudaMemcpy(at, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice); }
    void get()
    {
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        cudaMemcpy(host.data(), at, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    }
};

static void test_vectors()
{
    buffer<float> to(20), old(8 * THREADS);
    to.put();
    vectors<<<1, THREADS>>>(to.at, old.at);
    to.get();
    old.get();
    float first = 0, last = 0;
    for (int v = 0; v < 4; v++) {
        CHECK(to.host[4 * v] == 16 && to.host[4 * v + 1] == 32 && to.host[4 * v + 2] == 8);
        CHECK(to.host[4 * v + 3] == 480 + 16 * v);
    }
    CHECK(to.host[16] == THREADS && to.host[17] == -THREADS);
    for (int t = 0; t < THREADS; t++)
        first += old.host[8 * t], last += old.host[8 * t + 1];
    CHECK(first == 4 * 120 && last == 4 * 240); /* each sees another sum, in whatever order */
}

static void test_halves()
{
    buffer<unsigned short> to(32);
    for (int i = 16; i < 24; i++)
        to.host[i] = 0xfc00; /* -infinity, and as bf16 a large negative number */
    to.host[24] = to.host[25] = 0x7f80;
    to.put();
    halves<<<1, THREADS>>>(to.at);
    to.get();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_INT(to.host[i], 0x5400);     /* 64 */
        CHECK_EQ_INT(to.host[8 + i], 0x4280); /* 64 */
        CHECK_EQ_INT(to.host[16 + i], 0x4000 + THREADS - 1);
    }
    CHECK_EQ_INT(to.host[24], 0x4000);
    CHECK_EQ_INT(to.host[25], 0x4000);
    CHECK_EQ_INT(to.host[28], 0x5400);
}

static void test_wide()
{
    buffer<unsigned long long> to(2 * THREADS), out(2 * THREADS);
    to.put();
    wide<<<1, THREADS>>>(to.at, out.at);
    to.get();
    out.get();
    CHECK_EQ_INT(to.host[0], THREADS);
    CHECK_EQ_INT(to.host[1], 3 * THREADS);
    /* the values handed on, the first 0 and the last still there, are all there were */
    unsigned long long sum = to.host[2];
    int whole = to.host[3] == ~(to.host[2] - 1);
    for (int t = 0; t < THREADS; t++) {
        sum += out.host[2 * t];
        whole += out.host[2 * t] == 0 ? out.host[2 * t + 1] == 0
                                      : out.host[2 * t + 1] == ~(out.host[2 * t] - 1);
    }
    CHECK_EQ_INT(whole, THREADS + 1);
    CHECK_EQ_INT(sum, THREADS * (THREADS + 1) / 2);
    for (size_t i = 0; i < out.host.size(); i++)
        out.host[i] = i * 0x123456789abcdefull;
    out.put();
    pieces<<<1, THREADS>>>(to.at, out.at);
    to.get();
    int bad = 0;
    for (int t = 0; t < THREADS; t++)
        bad += memcmp(&to.host[2 * (THREADS - 1 - t)], &out.host[2 * t], 16) != 0;
    CHECK_EQ_INT(bad, 0);
}

static void test_stack()
{
    buffer<int> out(3 * THREADS);
    stack<<<1, THREADS>>>(out.at);
    out.get();
    int bad = 0;
    for (int t = 0; t < THREADS; t++)
        bad += out.host[3 * t] != t || !out.host[3 * t + 1] || !out.host[3 * t + 2];
    CHECK_EQ_INT(bad, 0);
}

int main()
{
    test_vectors();
    test_halves();
    test_wide();
    test_stack();
    return check_done();
}
