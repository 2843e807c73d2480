/* K2: loops in which every thread goes its own way over memory: sparse rows, lists, trees,
 * searches. Each function runs for every thread on the device and, as the same source, on the host:
 * results and what is written to memory must be equal. At last a fault in such a loop. */
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

#define BOTH __host__ __device__

enum { N = 1000, LINKS = 9000 };

/* What the functions read, and a row of 8 numbers for each thread to write. */
struct data {
    int start[N + 1], link[LINKS], next[N];
    float weight[LINKS];
    double value[N];
    short small[LINKS];
    unsigned char byte[LINKS];
    long long wide[N];
    long long out[N][8];
};

BOTH static void row(data *d, int t)
{
    float sum = 0;
    double precise = 1;
    for (int i = d->start[t]; i < d->start[t + 1]; i++) {
        sum += d->weight[i] * (float)d->value[d->link[i]];
        precise = precise * 0.5 + d->value[d->link[i]];
    }
    d->out[t][0] = (long long)(sum * 1000);
    d->out[t][1] = (long long)(precise * 1000);
}

/* A walk along pointers that ends for each thread elsewhere, with what was found on the way. */
BOTH static void walk(data *d, int t)
{
    int at = t, steps = 0, last = -1;
    bool odd = false, seen = false;
    while (at >= 0 && steps < 200) {
        odd ^= (d->link[at] & 1) != 0;
        if (d->wide[at] < 0) {
            seen = true;
            last = at;
            if (d->byte[at] > 200)
                break;
        }
        at = d->next[at];
        steps++;
    }
    d->out[t][0] = steps * 4 + odd * 2 + seen;
    d->out[t][1] = last;
    d->out[t][2] = at;
}

/* Loops within loops, left from the middle. */
BOTH static void deep(data *d, int t)
{
    long long sum = 0;
    int hits = 0;
    for (int i = d->start[t]; i < d->start[t + 1]; i++) {
        int to = d->link[i];
        for (int k = d->start[to]; k < d->start[to + 1]; k++) {
            if (d->byte[k] == 7)
                goto out;
            if (d->small[k] < 0)
                continue;
            sum += d->wide[d->link[k]] >> (k & 7);
            hits++;
        }
        switch (d->byte[i] & 3) {
        case 0: sum += 1; break;
        case 1: sum ^= 0x5555; break;
        case 2: continue;
        default: sum -= d->small[i];
        }
        d->out[t][2 + (i & 3)] += i;
    }
out:
    d->out[t][0] = sum;
    d->out[t][1] = hits;
}

BOTH static void search(data *d, int t)
{
    int low = 0, high = N, key = t * 9;
    while (low < high) {
        int middle = (low + high) / 2;
        if (d->start[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    unsigned hash = (unsigned)t * 2654435761u, probes = 0;
    while (d->byte[hash % LINKS] != (t & 15) && probes < 300) {
        hash = hash * 5 + 1 + d->byte[(hash + 1) % LINKS];
        probes++;
    }
    d->out[t][0] = low;
    d->out[t][1] = probes;
    d->out[t][2] = hash;
}

/* What a loop leaves untouched for threads that never enter it. */
BOTH static void leaves(data *d, int t)
{
    long long a = t, b = -t, c = 5;
    float f = (float)t;
    if (d->byte[t] & 1) {
        for (int i = d->start[t]; i != d->start[t + 1]; i++) {
            a += d->wide[d->link[i]];
            if (d->byte[i] > 128) {
                b = d->small[i];
                f = d->weight[i];
            }
            c = 7;
        }
    }
    d->out[t][0] = a;
    d->out[t][1] = b;
    d->out[t][2] = c;
    d->out[t][3] = (long long)(f * 16);
}

typedef void (*function)(data *, int);
#define EACH(X) X(row) X(walk) X(deep) X(search) X(leaves)

#define KERNEL(name)                                                                               \
    __global__ void run_##name(data *d, int n)                                                     \
    {                                                                                              \
        int t = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (t < n)                                                                                 \
            name(d, t);                                                                            \
    }
EACH(KERNEL)

static unsigned state = 12345;

static int draw(int below)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)below);
}

static data *fill()
{
    data *d = new data();
    memset(d, 0, sizeof *d);
    for (int t = 0; t < N; t++) {
        int length = t % 50 == 7 ? 60 : draw(12) < 3 ? 0 : draw(14);
        d->start[t + 1] = d->start[t] + length < LINKS ? d->start[t] + length : LINKS;
        d->next[t] = draw(10) == 0 ? -1 : draw(N);
        d->value[t] = draw(1000);
        d->wide[t] = (long long)draw(1 << 20) * 40000 - 20000000000ll;
    }
    for (int i = 0; i < LINKS; i++) {
        d->link[i] = draw(N);
        d->weight[i] = (float)draw(256);
        d->small[i] = (short)(draw(2000) - 500);
        d->byte[i] = (unsigned char)draw(256);
    }
    return d;
}

/* Whole warps, a last warp that is not, few threads of a warp; blocks of one and two warps' width.
 */
static void run(const char *name, void (*kernel)(data *, int), function host, const data *from)
{
    static const int counts[] = {N, N - 17, 70, 5}, sizes[] = {128, 96, 40};
    data *device, *want = new data(*from), *got = new data();
    cudaMalloc(&device, sizeof *device);
    for (int n : counts)
        for (int size : sizes) {
            memcpy(want, from, sizeof *want);
            cudaMemcpy(device, from, sizeof *device, cudaMemcpyHostToDevice);
            for (int t = 0; t < n; t++)
                host(want, t);
            kernel<<<(n + size - 1) / size, size>>>(device, n);
            CHECK(cudaMemcpy(got, device, sizeof *got, cudaMemcpyDeviceToHost) == cudaSuccess);
            int wrong = 0;
            for (int t = 0; t < N; t++)
                wrong += memcmp(want->out[t], got->out[t], sizeof got->out[t]) != 0;
            if (wrong != 0)
                printf("%s, %d threads in blocks of %d: %d rows differ\n", name, n, size, wrong);
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(device);
    delete want;
    delete got;
}

/* ---- atomics ---- */

/* Lists of who points at whom; how often; the largest and smallest weights. */
__global__ void invert(const data *d, int *head, int *chain, unsigned *count, int *most,
                       unsigned long long *sum, int *odd)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N)
        return;
    for (int i = d->start[t]; i < d->start[t + 1]; i++) {
        int to = d->link[i];
        chain[i] = atomicExch(&head[to], i);
        atomicAdd(&count[to], 1u);
        atomicMax(&most[to], (int)d->small[i]);
        atomicAdd(sum, (unsigned long long)d->byte[i]);
        if (atomicCAS(&odd[to], 0, i + 1) == 0)
            atomicAdd(&odd[N], 1);
    }
}

static void atomics(const data *from)
{
    data *d;
    int *head, *chain, *most, *odd;
    unsigned *count;
    unsigned long long *sum;
    cudaMallocManaged(&d, sizeof *d);
    cudaMallocManaged(&head, N * 4);
    cudaMallocManaged(&chain, LINKS * 4);
    cudaMallocManaged(&most, N * 4);
    cudaMallocManaged(&odd, (N + 1) * 4);
    cudaMallocManaged(&count, N * 4);
    cudaMallocManaged(&sum, 8);
    memcpy(d, from, sizeof *d);
    memset(odd, 0, (N + 1) * 4);
    memset(count, 0, N * 4);
    for (int t = 0; t < N; t++)
        head[t] = -1, most[t] = -10000;
    *sum = 0;
    invert<<<(N + 127) / 128, 128>>>(d, head, chain, count, most, sum, odd);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    std::vector<unsigned> want(N), listed(N);
    std::vector<int> largest(N, -10000);
    unsigned long long all = 0;
    for (int i = 0; i < d->start[N]; i++) {
        want[d->link[i]]++;
        all += d->byte[i];
        if (d->small[i] > largest[d->link[i]])
            largest[d->link[i]] = d->small[i];
    }
    int wrong = 0, reached = 0;
    for (int t = 0; t < N; t++) {
        unsigned n = 0;
        for (int i = head[t]; i >= 0 && n <= LINKS; i = chain[i], n++)
            wrong += d->link[i] != t;
        wrong += n != want[t] || count[t] != want[t] || most[t] != largest[t];
        wrong += (odd[t] != 0) != (want[t] != 0) || (odd[t] != 0 && d->link[odd[t] - 1] != t);
        reached += want[t] != 0;
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(odd[N], reached);
    CHECK_EQ_INT(*sum, all);
    cudaFree(d);
    cudaFree(head);
    cudaFree(chain);
    cudaFree(most);
    cudaFree(odd);
    cudaFree(count);
    cudaFree(sum);
}

/* Updates of shared memory whose old values nobody reads: equal places, other operations and types.
 */
__global__ void tally(const unsigned char *byte, unsigned *out, int n)
{
    __shared__ unsigned adds[64], ors[64], most[64];
    __shared__ float sums[64];
    __shared__ unsigned long long wides[64];
    for (int k = threadIdx.x; k < 64; k += blockDim.x) {
        adds[k] = ors[k] = most[k] = 0;
        sums[k] = 0;
        wides[k] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int k = byte[i] & 63;
        atomicAdd(&adds[k], 1u);
        atomicOr(&ors[k], 1u << (byte[i] >> 3));
        atomicMax(&most[63 - k], (unsigned)i);
        atomicAdd(&sums[k], 0.5f);
        atomicAdd(&wides[k], 1ull << 33 | (unsigned)i);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 64; k += blockDim.x) {
        out[k * 6] = adds[k];
        out[k * 6 + 1] = ors[k];
        out[k * 6 + 2] = most[k];
        out[k * 6 + 3] = (unsigned)(sums[k] * 2);
        out[k * 6 + 4] = (unsigned)wides[k];
        out[k * 6 + 5] = (unsigned)(wides[k] >> 32);
    }
}

static void tallies(const data *from)
{
    static const int counts[] = {4096, 4097, 31, 333};
    unsigned char *byte;
    unsigned *out;
    cudaMallocManaged(&byte, LINKS);
    cudaMallocManaged(&out, 64 * 6 * 4);
    memcpy(byte, from->byte, LINKS);
    for (int n : counts) {
        tally<<<1, 128>>>(byte, out, n);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        unsigned want[64][4] = {};
        unsigned long long wides[64] = {};
        for (int i = 0; i < n; i++) {
            int k = byte[i] & 63;
            want[k][0]++;
            want[k][1] |= 1u << (byte[i] >> 3);
            want[63 - k][2] = (unsigned)i;
            want[k][3]++;
            wides[k] += 1ull << 33 | (unsigned)i;
        }
        int wrong = 0;
        for (int k = 0; k < 64; k++)
            wrong += memcmp(want[k], out + k * 6, 16) != 0 ||
                     wides[k] != ((unsigned long long)out[k * 6 + 5] << 32 | out[k * 6 + 4]);
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(byte);
    cudaFree(out);
}

/* ---- a fault ---- */

/* An odd array, read where `at` says, if anywhere. */
__global__ void misread_at(const char *bytes, const int *start, int *out, int at)
{
    int sum = 0;
    const int *odd = (const int *)(bytes + 2);
    for (int i = start[threadIdx.x]; i < start[threadIdx.x + 1]; i++)
        if (*(const int *)(bytes + i * 4) + i == at)
            sum += odd[i];
    out[threadIdx.x] = sum;
}

static void fault()
{
    char *bytes;
    int *start, *out;
    cudaMalloc(&bytes, 4096);
    cudaMalloc(&start, 129 * 4);
    cudaMalloc(&out, 128 * 4);
    int own[129];
    for (int t = 0; t < 129; t++)
        own[t] = t * 3 + t % 3;
    cudaMemset(bytes, 1, 4096);
    cudaMemcpy(start, own, sizeof own, cudaMemcpyHostToDevice);
    misread_at<<<1, 128>>>(bytes, start, out, 0);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    misread_at<<<1, 128>>>(bytes, start, out, 0x01010101 + 70);
    CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
}

int main()
{
    data *d = fill();
#define RUN(name) run(#name, run_##name, name, d);
    EACH(RUN)
    atomics(d);
    tallies(d);
    fault();
    delete d;
    return check_done();
}
