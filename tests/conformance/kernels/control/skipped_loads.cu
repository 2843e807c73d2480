/* K2: loads and arithmetic that each thread does or skips by what it has read, as `use ? a[t] : 0`:
 * with all threads of a warp, some and none, of neighbours and of one address. What no thread does
 * must have no effect: it may be a load by a null pointer or of a misaligned address. Also
 * quotients and remainders of indices along rows, where a row begins or ends within a warp or not.
 */
// RUN narrow: WEIR_VECTORS=256
#include <climits>
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { N = 700 };

struct data {
    unsigned char flag[N + 64], byte[N + 64];
    short small[N + 64];
    int word[N + 64];
    float real[N + 64];
    double precise[N + 64];
    long long out[N][4];
};

/* One address or neighbours', one after the other, the second by what the first has said. */
BOTH static void chosen(data *d, int t, const int *row, const float *one)
{
    int kind = d->flag[t];
    float sum = 1;
    int x = 0, y = 5;
    if (kind & 1)
        x = row[t];
    if (kind & 2)
        sum += *one * 2;
    if ((kind & 4) && d->byte[t + 3])
        y = d->small[t + 1] ^ x;
    if (kind > 4 ? d->word[t + 2] > 0 : d->byte[t])
        sum += d->real[t];
    d->out[t][0] = x;
    d->out[t][1] = (long long)(sum * 64);
    d->out[t][2] = y;
}

/* In a loop that threads leave at different times. */
BOTH static void looped(data *d, int t, const int *row, const float *)
{
    double sum = 0;
    int hits = 0;
    for (int k = 0; k < d->flag[t] + 2; k++) {
        if (d->byte[t + k] > 100)
            sum += d->precise[t + k];
        if (d->small[t + k] & 1)
            hits += d->flag[t + k] & 2 ? row[t + k] : 1;
    }
    d->out[t][0] = (long long)sum;
    d->out[t][1] = hits;
}

BOTH static void divided(data *d, int t, const int *row, const float *)
{
    int w = row[0], i = t * 3 - 40;
    unsigned u = (unsigned)t + (unsigned)row[1];
    long long far = (long long)t * 5 + ((long long)row[2] << 20);
    d->out[t][0] = (t / w) * 1000ll + t % w;
    d->out[t][1] = (i / w) * 1000ll + i % w;
    d->out[t][2] = (long long)(u / (unsigned)w) * 3 + u % (unsigned)w;
    d->out[t][3] = (far / w) * 7 + far % w + (t - row[3]) / w;
}

typedef void (*function)(data *, int, const int *, const float *);
#define EACH(X) X(chosen) X(looped) X(divided)
#define KERNEL(name)                                                                               \
    __global__ void run_##name(data *d, const int *row, const float *one)                          \
    {                                                                                              \
        int t = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (t < N)                                                                                 \
            name(d, t, row, one);                                                                  \
    }
EACH(KERNEL)

static data *want, *got;

static void run(const char *name, void (*kernel)(data *, const int *, const float *), function host,
                const data *from, const int *row, const float *one)
{
    for (int size : {128, 48}) {
        memcpy(want, from, sizeof *want);
        memcpy(got, from, sizeof *got);
        for (int t = 0; t < N; t++)
            host(want, t, row, one);
        kernel<<<(N + size - 1) / size, size>>>(got, row, one);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        int wrong = 0;
        for (int t = 0; t < N; t++)
            wrong += memcmp(want->out[t], got->out[t], sizeof got->out[t]) != 0;
        if (wrong != 0)
            printf("%s, blocks of %d: %d rows differ\n", name, size, wrong);
        CHECK_EQ_INT(wrong, 0);
    }
}

int main()
{
    data *d;
    int *row;
    float *one;
    cudaMallocManaged(&d, sizeof *d);
    cudaMallocManaged(&row, (N + 64) * sizeof *row);
    cudaMallocManaged(&one, sizeof *one);
    want = new data();
    cudaMallocManaged(&got, sizeof *got);
    memset(d, 0, sizeof *d);
    *one = 3.5f;
    unsigned state = 5;
    for (int i = 0; i < N + 64; i++) {
        state = state * 1664525u + 1013904223u;
        d->byte[i] = state >> 24 & (i % 90 < 40 ? 0xff : 0);
        d->small[i] = (short)(state >> 9);
        d->word[i] = (int)state;
        d->real[i] = (float)(state >> 20);
        d->precise[i] = state >> 10;
        row[i] = (int)(state >> 7);
    }
    /* flags: of some threads, of whole warps, of none */
    for (int mode = 0; mode < 4; mode++) {
        for (int i = 0; i < N + 64; i++)
            d->flag[i] = mode == 0   ? row[i] >> 3 & 7
                         : mode == 1 ? (i / 32 % 3 == 1) * 7
                         : mode == 2 ? (i % 100 == 9) * (i & 7)
                                     : 0;
        run("chosen", run_chosen, chosen, d, row, one);
        run("looped", run_looped, looped, d, row, one);
    }
    /* no flag is set: nothing is read by these */
    run("chosen, null", run_chosen, chosen, d, nullptr, nullptr);
    run("chosen, misaligned", run_chosen, chosen, d, (const int *)((const char *)row + 1),
        (const float *)((const char *)one + 2));

    static const int widths[] = {1, 2, 31, 32, 33, 64, 100, 1000, 1 << 30, -1, -7, -64, INT_MAX};
    static const int starts[] = {0, 5, INT_MAX - 300, INT_MIN + 20, -600};
    for (int w : widths)
        for (int start : starts) {
            row[0] = w, row[1] = start, row[2] = start, row[3] = start < 0 ? 700 : start & 0xffff;
            run("divided", run_divided, divided, d, row, one);
        }
    return check_done();
}
