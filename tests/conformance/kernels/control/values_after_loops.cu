/* K2: what lanes take along from a loop that they leave one after the other: counters, places and
 * steps that are the same, or neighbours', in all lanes that are still in it. Also rows that are
 * read from their end, as `a[n - t]` does, with guards that leave some lanes out. Each function
 * runs for every thread on the device and, as the same source, on the host. */
// RUN narrow: WEIR_VECTORS=256
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { N = 500, TEXT = 4096 };

struct data {
    unsigned char text[TEXT];
    short small[TEXT];
    int word[TEXT];
    long long wide[TEXT];
    long long out[N][6];
};

/* Leaves by two conditions; the counter tells by which. */
BOTH static void prefix(data *d, int t, int length)
{
    int k = 0;
    while (k < length && d->text[t + k] == d->text[k])
        k++;
    d->out[t][0] = k;
    d->out[t][1] = k == length;
}

/* Counters of 64 bits and of 16, a pointer, and a step that grows. */
BOTH static void kinds(data *d, int t, int limit)
{
    unsigned long long far = 3;
    unsigned short near = 7;
    int step = 1;
    const int *p = d->word + t;
    do {
        far += 5;
        near += 9000;
        p += step;
        step += 2;
    } while (*p % 7 != 3 && step < limit);
    d->out[t][0] = (long long)far;
    d->out[t][1] = near;
    d->out[t][2] = step;
    d->out[t][3] = p - d->word;
}

/* A loop in a loop: the inner counter is begun anew each time, or goes on where it was. */
BOTH static void nested(data *d, int t, int limit)
{
    int total = 0, on = 0, last = -1, turns = 0;
    for (int row = 0; row < 6; row++) {
        int k = row;
        while (k < limit && d->text[t + k] > 40 + row * 20)
            k += 3;
        total += k;
        while (on < limit && d->small[t + on] > 0)
            on++;
        on++;
        turns++;
        if (d->text[(t + total) & (TEXT - 1)] < 9)
            break;
        last = k;
    }
    d->out[t][0] = total;
    d->out[t][1] = on;
    d->out[t][2] = last;
    d->out[t][3] = turns;
}

/* Left from several places, some of which know the counter, by a switch too; and skipped by some.
 */
BOTH static void exits(data *d, int t, int limit)
{
    int i = 0, found = -5, why = 0;
    if (d->text[t] & 1) {
        for (i = 2; i < limit; i++) {
            int c = d->text[t + i];
            switch (c & 15) {
            case 3:
                found = i;
                why = 1;
                goto out;
            case 7: why = 2; goto out;
            case 9: i += 2; break;
            case 11: found = -i; break;
            default: why = 3;
            }
            if (c > 250)
                break;
        }
    } else {
        i = t & 3;
    }
out:
    d->out[t][0] = i;
    d->out[t][1] = found;
    d->out[t][2] = why;
    d->out[t][3] = d->word[i] + d->text[t + i];
}

/* The value with which the loop begins depends on the way there. */
BOTH static void begins(data *d, int t, int limit)
{
    int k;
    if (limit > 20)
        k = limit / 4;
    else
        k = limit;
    int from = k;
    for (; d->text[t + k] > 30; k++)
        if (k > 60)
            break;
    d->out[t][0] = k;
    d->out[t][1] = k - from;
    for (k = k & 1; k < limit; k++)
        if (d->small[t + k] < -100)
            break;
    d->out[t][2] = k;
}

/* Rows that are read from their end. */
BOTH static void backwards(data *d, int t, int limit)
{
    unsigned u = (unsigned)(limit - 1 - t);
    int end = N + 40 - t;
    long long sum = 0;
    sum += d->text[end] + 3 * d->small[end] + 5 * d->word[end - 3] + 7 * d->wide[end + 1];
    if (u < (unsigned)limit) /* the others' would lie before the row */
        sum += 11 * d->text[u] + 13 * d->word[u] + 17 * d->wide[u] + 19 * d->small[u];
    if (~t + N >= 0)
        sum += 23 * d->word[~t + N];
    for (int k = 0; k < limit; k++)
        if (k - t >= 0 && k - t < 9)
            sum += (k + 1) * d->text[k - t] + d->word[k - t];
    d->out[t][0] = sum;
    d->out[t][1] = d->text[(TEXT - 1 - t) & (TEXT - 1)];
}

typedef void (*function)(data *, int, int);
#define EACH(X) X(prefix) X(kinds) X(nested) X(exits) X(begins) X(backwards)
#define KERNEL(name)                                                                               \
    __global__ void run_##name(data *d, int limit, int n)                                          \
    {                                                                                              \
        int t = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (t < n)                                                                                 \
            name(d, t, limit);                                                                     \
    }
EACH(KERNEL)

/* Blocks that are whole warps and not, and rows of threads shorter than a warp. */
static void run(const char *name, void (*kernel)(data *, int, int), function host, const data *from)
{
    static const int limits[] = {8, 33, 90}, sizes[] = {128, 40};
    data *device, *want = new data(*from), *got = new data();
    cudaMalloc(&device, sizeof *device);
    for (int limit : limits)
        for (int size : sizes) {
            memcpy(want, from, sizeof *want);
            cudaMemcpy(device, from, sizeof *device, cudaMemcpyHostToDevice);
            for (int t = 0; t < N; t++)
                host(want, t, limit);
            kernel<<<(N + size - 1) / size, size>>>(device, limit, N);
            CHECK(cudaMemcpy(got, device, sizeof *got, cudaMemcpyDeviceToHost) == cudaSuccess);
            int wrong = 0;
            for (int t = 0; t < N; t++)
                wrong += memcmp(want->out[t], got->out[t], sizeof got->out[t]) != 0;
            if (wrong != 0)
                printf("%s, limit %d, blocks of %d: %d rows differ\n", name, limit, size, wrong);
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(device);
    delete want;
    delete got;
}

/* Reversed rows of shared memory, which the block's warps meet at in another order. */
template <class T> __global__ void mirrored(const T *in, T *out, int n)
{
    __shared__ T row[128];
    int t = threadIdx.x;
    row[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    T sum = row[127 - t];
    for (int d = 1; d < n; d++) {
        unsigned at = (unsigned)(d - t);
        if (at < 128u)
            sum += row[at];
    }
    out[blockIdx.x * 128 + t] = sum;
}
template <class T> static void mirror(const T *from, int n)
{
    T *in, *out;
    cudaMallocManaged(&in, 512 * sizeof *in);
    cudaMallocManaged(&out, 512 * sizeof *out);
    memcpy(in, from, 512 * sizeof *in);
    mirrored<<<4, 128>>>(in, out, n);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int wrong = 0;
    for (int i = 0; i < 512; i++) {
        int t = i % 128;
        T sum = from[i - t + 127 - t];
        for (int d = 1; d < n; d++)
            if (d >= t && d - t < 128)
                sum += from[i - t + d - t];
        wrong += out[i] != sum;
    }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(in);
    cudaFree(out);
}

int main()
{
    static data d;
    unsigned state = 1;
    for (int i = 0; i < TEXT; i++) {
        state = state * 1664525u + 1013904223u;
        d.text[i] = state >> 24 < 200 ? 'a' + i % 2 : state >> 16;
        d.small[i] = (short)((int)(state >> 12 & 4095) - 300);
        d.word[i] = (int)(state >> 8);
        d.wide[i] = (long long)state * 77777 - 100000000000ll;
    }
#define RUN(name) run(#name, run_##name, name, &d);
    EACH(RUN)
    mirror(d.text, 200);
    mirror(d.small, 130);
    mirror(d.word, 200);
    mirror(d.wide, 255);
    return check_done();
}
