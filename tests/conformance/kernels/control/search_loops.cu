/* K2: loops and chains of tests that threads leave one by one, as what they read decides: how far
 * each has come, what it has summed up and which way it has left are its own, however many of a
 * warp are left. What no thread reads must have no effect: where all have left there may be no
 * memory, but null pointers.
 */
// RUN narrow: WEIR_VECTORS=256
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { N = 700, MORE = 80, PITCH = 48 };

struct data {
    unsigned char text[N + MORE], word[MORE];
    short small[N + MORE], bound[MORE];
    int number[N + MORE], step[MORE];
    float real[N + MORE];
    long long far[N + MORE];
    const unsigned char *place[MORE]; /* of letters of the word; then NULL */
    int length;
    long long out[N][4];
};

/* How far, and whether to the end. */
BOTH static void counted(data *d, int t)
{
    int k = 0;
    while (k < d->length && d->text[t + k] == d->word[k])
        k++;
    d->out[t][0] = k;
    d->out[t][1] = k == d->length ? t : -1;
}

/* The length may be 0, and is not asked first; and it changes. */
BOTH static int until(const data *d, int t, int length)
{
    int k = 0;
    do {
        if (d->text[t + k] != d->word[k])
            break;
        k++;
    } while (k != length);
    return k == length;
}

BOTH static void asked_late(data *d, int t)
{
    long long all = 0;
    int length = d->length;
    d->out[t][1] = until(d, t, length);
    d->out[t][2] = until(d, t, 3);
    for (int r = 0; r < 4; r++) {
        if (length < 1) {
            all += 7;
            length = 1;
            continue;
        }
        length = d->step[r] & 3;
        all = all * 5 + until(d, t, length);
    }
    d->out[t][0] = all;
}

/* The same, not counted: whether the last ones were the same. */
BOTH static void told(data *d, int t)
{
    bool same = true;
    int length = d->length;
    for (int k = 0; k < length && same; k++)
        same = d->text[t + k] == d->word[k];
    d->out[t][0] = same;
}

BOTH static void chained(data *d, int t)
{
    const unsigned char *a = d->text + t, *b = d->word;
    if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2] || a[3] != b[3] || a[4] != b[4] ||
        a[5] != b[5] || a[6] != b[6] || a[7] != b[7] || a[8] != b[8] || a[9] != b[9])
        return;
    d->out[t][0] = 1;
}

/* The letters are read by pointers, of which those are NULL that nobody needs. */
BOTH static void pointed(data *d, int t)
{
    int k = 0;
    while (d->text[t + k] == *d->place[k])
        k++;
    d->out[t][0] = k;
}

/* Ends with either string; two ways to leave. */
BOTH static void ended(data *d, int t)
{
    int k = 0, how = 0;
    for (;; k++) {
        unsigned char a = d->text[t + k], b = d->word[k];
        if (a != b) {
            how = a < b ? -1 : 1;
            break;
        }
        if (b == 0)
            break;
    }
    d->out[t][0] = how;
    d->out[t][1] = k;
}

/* What is summed up before and after the test, of small numbers, floats and wide ones. */
BOTH static void summed(data *d, int t)
{
    int sum = 0, k;
    float product = 1;
    long long wide = 0;
    for (k = 0; k < 40; k++) {
        sum += d->step[k];
        if (d->small[t + k] > d->bound[k])
            break;
        product += d->real[t + k];
        wide ^= d->far[t + k] << (k & 7);
    }
    d->out[t][0] = sum;
    d->out[t][1] = k;
    d->out[t][2] = (long long)(product * 16);
    d->out[t][3] = wide;
}

/* In a loop that begins anew; threads leave the whole function within. */
BOTH static void repeated(data *d, int t)
{
    long long all = 0;
    for (int from = 0; from < 6; from++) {
        int k = 0;
        while (k < 6 && d->text[t + from + k] == d->word[k])
            k++;
        all = all * 7 + k;
        if (k == 6) {
            d->out[t][1] = from;
            break;
        }
        if (d->number[t + from] < d->step[from + k]) {
            d->out[t][2] = all;
            return;
        }
    }
    d->out[t][0] = all;
}

/* Rows of 16 threads. */
BOTH static void by_rows(data *d, int t)
{
    int x = t % 16, y = t / 16 % 8, k = 0, last = 0;
    const int *row = d->number + y * PITCH + x;
    while (k < 16 && row[k] % 4 != d->step[k] % 4) {
        last = row[k] + d->step[k];
        k++;
    }
    d->out[t][0] = k;
    d->out[t][1] = last;
}

typedef void (*function)(data *, int);
#define EACH(X)                                                                                    \
    X(counted) X(asked_late) X(told) X(chained) X(pointed) X(ended) X(summed) X(repeated) X(by_rows)
#define KERNEL(name)                                                                               \
    __global__ void run_##name(data *d)                                                            \
    {                                                                                              \
        int t = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;                \
        if (t < N)                                                                                 \
            name(d, t);                                                                            \
    }
EACH(KERNEL)

static data *want, *got;

static void run(const char *name, void (*kernel)(data *), function host, const data *from)
{
    static const dim3 shapes[] = {128, 48, dim3(16, 8)};
    for (dim3 shape : shapes) {
        memcpy(want, from, sizeof *want);
        memcpy(got, from, sizeof *got);
        for (int t = 0; t < N; t++)
            host(want, t);
        int size = (int)(shape.x * shape.y);
        kernel<<<(N + size - 1) / size, shape>>>(got);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        int wrong = 0;
        for (int t = 0; t < N; t++)
            wrong += memcmp(want->out[t], got->out[t], sizeof got->out[t]) != 0;
        if (wrong != 0)
            printf("%s, blocks of %u × %u: %d rows differ\n", name, shape.x, shape.y, wrong);
        CHECK_EQ_INT(wrong, 0);
    }
}

/* letters: of how many the text is; alike: threads in a row with the same. */
static void fill(data *d, int letters, int alike, int length)
{
    unsigned state = 9;
    memset(d, 0, sizeof *d);
    for (int i = 0; i < N + MORE; i++) {
        if (i % alike == 0)
            state = state * 1664525u + 1013904223u;
        d->text[i] = (unsigned char)('a' + (state >> 20) % (unsigned)letters);
        d->small[i] = (short)(state >> 12 & 1023);
        d->number[i] = (int)(state >> 9);
        d->real[i] = (float)(state >> 26);
        d->far[i] = (long long)state << 16 | i;
    }
    for (int k = 0; k < MORE; k++) {
        state = state * 1664525u + 1013904223u;
        d->word[k] = k < 40 ? (unsigned char)('a' + (state >> 20) % (unsigned)letters) : 0;
        d->bound[k] = (short)(900 - k * 10);
        d->step[k] = (int)(state >> 9);
    }
    d->length = length;
}

int main()
{
    data *d;
    cudaMallocManaged(&d, sizeof *d);
    cudaMallocManaged(&got, sizeof *got);
    want = new data();
    for (int letters = 1; letters < 5; letters++)
        for (int alike : {1, 7, 64})
            for (int length : {0, 1, 4, 9, 30}) {
                fill(d, letters, alike, length);
                int most = 0;
                for (int t = 0; t < N; t++) {
                    int k = 0;
                    while (k < MORE && d->text[t + k] == d->word[k])
                        k++;
                    most = k > most ? k : most;
                }
                for (int k = 0; k <= most && k < MORE; k++)
                    d->place[k] = &d->word[k];
#define RUN(name) run(#name, run_##name, name, d);
                EACH(RUN)
            }
    return check_done();
}
