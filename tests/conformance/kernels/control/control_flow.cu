// SANITIZERS: the compiler on control flow of any shape (src/compiler)
/* K2: control flow of any shape. Each function below runs for every thread on the device and, as
 * the same source, on the host: the results must be equal. Block sizes that do and do not fill
 * their last warp, one and more dimensions. */
#include <cstdio>
#include <vector>

#include "check.h"

#define BOTH __host__ __device__

/* Values that leave a loop in different iterations. */
BOTH static int leave_late(int t)
{
    int i = 0, sum = 0;
    while (i < (t * 7) % 23) {
        sum += i * t;
        i++;
    }
    return sum * 100 + i;
}

BOTH static int breaks(int t)
{
    int hits = 0;
    for (int i = 0; i < 40; i++) {
        if ((i * t) % 11 == 3)
            continue;
        if (i > t % 30 + 5)
            break;
        for (int k = i; k < 40; k += 3) {
            if ((k ^ t) % 13 == 0)
                break;
            hits += k & 3;
        }
        hits ^= i;
    }
    return hits;
}

BOTH static int switches(int t)
{
    int v = 0;
    for (int i = 0; i < 9; i++)
        switch ((t + i) % 7) {
        case 0: v += 3; break;
        case 1: v ^= 0x55; /* falls through */
        case 2: v += i; break;
        case 4: v = v * 3 + 1; break;
        case 5:
            if (t & 8)
                return v - 1000;
            break;
        default: v -= 2;
        }
    return v;
}

/* Two entries into one loop. */
BOTH static int irreducible(int t)
{
    int n = t % 19, v = 1;
    if (t & 1)
        goto middle;
top:
    v += n;
middle:
    v = v * 5 % 1009;
    if (--n > 0) {
        if (v & 4)
            goto top;
        goto middle;
    }
    return v;
}

BOTH static int early(int t)
{
    if (t % 3 == 0)
        return -t;
    if (t % 5 == 0 && t > 40)
        return t * t;
    int v = t;
    do {
        if (v % 17 == 9)
            return v + 7;
        v = v * 3 + 1;
    } while (v < 5000);
    return v;
}

BOTH static int collatz(int t)
{
    unsigned long long n = (unsigned)t + 1;
    int steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

BOTH static int nested(int t)
{
    int v = 0;
    for (int i = 0; i < t % 5 + 1; i++)
        for (int k = t % 7; k >= 0; k--) {
            int m = k;
            while (m > 0) {
                v += (m & 1) ? i : -k;
                m >>= 1;
                if (v > 60)
                    break;
            }
            if (v < -60)
                return v;
        }
    return v;
}

/* Arrays indexed by the thread's own values. */
BOTH static int arrays(int t)
{
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = i * t;
    for (int i = 0; i < 50; i++) {
        int x = (i * 5 + t) & 15, y = (i * 3) & 15;
        int swap = a[x];
        a[x] = a[y] + 1;
        a[y] = swap;
    }
    int v = 0;
    for (int i = 0; i < 16; i++)
        v = v * 31 + a[(i + t) & 15];
    return v;
}

struct pair {
    char tag;
    double weight;
    short list[3];
};

BOTH static pair make(int t)
{
    pair p = {(char)(t & 31), t * 0.5, {(short)t, (short)(t + 1), (short)(t * 2)}};
    return p;
}

BOTH static int structs(int t)
{
    pair p = make(t), q = make(t + 3);
    if (t & 2)
        p = q;
    return p.tag + (int)(p.weight * 4) + p.list[t % 3] * 100;
}

BOTH static long long widths(int t)
{
    unsigned char c = (unsigned char)(t * 37);
    short s = (short)(t * 1021);
    unsigned u = (unsigned)t * 2654435761u;
    long long l = (long long)t * t * t - 77777;
    return c + s + (u >> 7) + (l >> 3) + (u % (c + 1u)) + l / (s | 1);
}

BOTH static int wide_low(int t) { return (int)widths(t); }
BOTH static int wide_high(int t) { return (int)(widths(t) >> 32); }

/* Unsigned indices that wrap around below zero. */
BOTH static int wraps(int t)
{
    unsigned before = (unsigned)t - 1u;
    unsigned long long far = before;
    return (int)(far >> 20) + (int)(before % 1000);
}

/* Lanes part and meet again in a loop whose index wraps around within some warps. */
BOTH static int meets(int t)
{
    int sum = 0;
    for (int i = 0; i < 7; i++) {
        unsigned u = (unsigned)t + 0xffffff00u + (unsigned)i * 40u;
        unsigned long long far = u * 8ull;
        if ((t >> i) % 3 == 1)
            sum += (int)(far >> 20);
        sum ^= (int)(far % 1009);
        for (int k = 0; k < (t + i) % 4; k++)
            sum += k * (int)(far >> 33);
    }
    return sum;
}

#define EACH(F)                                                                                    \
    F(leave_late)                                                                                  \
    F(breaks)                                                                                      \
    F(switches)                                                                                    \
    F(irreducible)                                                                                 \
    F(early)                                                                                       \
    F(collatz)                                                                                     \
    F(nested)                                                                                      \
    F(arrays)                                                                                      \
    F(structs)                                                                                     \
    F(wide_low)                                                                                    \
    F(wide_high)                                                                                   \
    F(wraps)                                                                                       \
    F(meets)

#define KERNEL(name)                                                                               \
    __global__ void k_##name(int *out, int n)                                                      \
    {                                                                                              \
        int in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;        \
        int t = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + in_block;                      \
        if (t < n)                                                                                 \
            out[t] = name(t);                                                                      \
    }
EACH(KERNEL)

typedef void (*kernel)(int *, int);
static const struct {
    const char *name;
    kernel run;
    int (*host)(int);
} table[] = {
#define ROW(name) {#name, k_##name, name},
    EACH(ROW)};

int main()
{
    const int n = 2000;
    const dim3 blocks[] = {dim3(256), dim3(33), dim3(16, 16), dim3(8, 4, 2), dim3(5, 7), dim3(1)};
    std::vector<int> got(n);
    int *out;
    CHECK_EQ_INT(cudaMalloc(&out, n * sizeof(int)), cudaSuccess);
    for (auto &row : table)
        for (auto &b : blocks) {
            int threads = b.x * b.y * b.z, bad = 0;
            cudaMemset(out, 0xee, n * sizeof(int));
            row.run<<<(n + threads - 1) / threads, b>>>(out, n);
            CHECK_EQ_INT(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost),
                         cudaSuccess);
            for (int t = 0; t < n; t++)
                if (got[t] != row.host(t) && bad++ == 0)
                    printf("%s, block %u,%u,%u: thread %d has %d, not %d\n", row.name, b.x, b.y,
                           b.z, t, got[t], row.host(t));
            CHECK_EQ_INT(bad, 0);
        }
    cudaFree(out);
    return check_done();
}
