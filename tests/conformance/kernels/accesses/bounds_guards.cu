// SANITIZERS: faults of kernels (src/exec/fault.c)
/* K2: guards of indices, up to where these wrap around: counting up and down, strides of a grid,
 * neighbours at any distance, exchanges between places at all distances. What is read and written
 * must be what the same source, or a plain loop, gives on the host. At last a fault beyond a guard.
 */
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

static unsigned state = 12345;

static int draw(int below)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)below);
}

enum { GUARDS = 14 };

/* Indices count up or down from any number on, and wrap around as they like. */
BOTH static void guards(unsigned *out, unsigned base, int n, int y, unsigned t)
{
    int i = (int)(base + t), down = (int)(base - t), twice = (int)(base + 2 * t);
    unsigned u = base + t, back = base - t;
    long long wide = (long long)base * 65536 + t;
    int larger = i > y ? i : y, smaller = down < y ? down : y;
    if (i < n)
        out[0] += 1;
    if (n >= 0 && u < (unsigned)n) /* else nvcc 13 compares with a sign */
        out[1] += 1;
    if (down >= n)
        out[2] += 1;
    if (back > (unsigned)n)
        out[3] += 1;
    if (i < 1 || y < 1)
        out[4] += 1;
    if (i >= y && i <= n)
        out[5] += 1;
    if (!(larger >= n))
        out[6] += 1;
    if (smaller <= n)
        out[7] += 1;
    if (twice < n)
        out[8] += 1;
    if (wide > (long long)n * 65536)
        out[9] += 1;
    if (n < i || down < y)
        out[10] += 1;
    if (n < i && down < y)
        out[11] += 1;
    if (t < (unsigned)y && i < n)
        out[12] += 1;
    if (larger < n && smaller > (int)(0 - (unsigned)n))
        out[13] += 1;
}

__global__ void run_guards(unsigned *out, unsigned base, int n, int y)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    guards(out + t * GUARDS, base, n, y, t);
}

static void all_guards()
{
    static const int numbers[] = {INT_MIN, INT_MIN + 40, -1, 0, 2, 33, 64, 100000, INT_MAX - 70};
    enum { THREADS = 128, COUNT = sizeof numbers / sizeof numbers[0] };
    unsigned *out;
    cudaMallocManaged(&out, THREADS * GUARDS * 4);
    for (int base = 0; base < COUNT; base++)
        for (int n = 0; n < COUNT; n++)
            for (int y = 0; y < COUNT; y++) {
                cudaMemset(out, 0, THREADS * GUARDS * 4);
                run_guards<<<2, 64>>>(out, (unsigned)numbers[base], numbers[n], numbers[y]);
                if (cudaDeviceSynchronize() != cudaSuccess) {
                    CHECK(!"guards run");
                    return;
                }
                int wrong = 0;
                for (unsigned t = 0; t < THREADS; t++) {
                    unsigned want[GUARDS] = {};
                    guards(want, (unsigned)numbers[base], numbers[n], numbers[y], t);
                    for (int g = 0; g < GUARDS; g++)
                        wrong += want[g] != out[t * GUARDS + (unsigned)g];
                }
                if (wrong != 0)
                    printf("guards from %d, %d, %d: %d wrong\n", numbers[base], numbers[n],
                           numbers[y], wrong);
                CHECK_EQ_INT(wrong, 0);
            }
    cudaFree(out);
}

/* A loop whose stride is the grid's, with a bound, over all counts. */
__global__ void grid_loop(unsigned *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] += (unsigned)i * 3 + 1;
}

static void grid_loops()
{
    unsigned *out;
    cudaMallocManaged(&out, 2000 * 4);
    for (int n = 1; n < 2000; n += 37) {
        memset(out, 0, 2000 * 4);
        grid_loop<<<3, 96>>>(out, n);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        int wrong = 0;
        for (int i = 0; i < 2000; i++)
            wrong += out[i] != (i < n ? (unsigned)i * 3 + 1 : 0);
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(out);
}

/* Neighbours at unsigned distances: indices wrap around where the guard keeps lanes away. */
__global__ void shifted(const int *in, const unsigned char *bytes, long long *out, unsigned n,
                        unsigned by)
{
    __shared__ int row[128];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    row[t] = i < n ? in[i] : -1;
    __syncthreads();
    long long sum = 0;
    if (t >= by)
        sum += row[t - by];
    if (i >= by && i - by < n)
        sum += in[i - by] * 3ll + bytes[i - by] * 1000000ll;
    if (i + by < n)
        sum += in[i + by] * 5ll;
    for (unsigned k = i - by; k < n; k += 64 * by + 7)
        sum += in[k] * 7ll;
    if (i < n)
        out[n + i] = sum;
}

static void shifts()
{
    enum { COUNT = 512 };
    int *in;
    unsigned char *bytes;
    long long *out;
    cudaMallocManaged(&in, COUNT * 4);
    cudaMallocManaged(&bytes, COUNT);
    cudaMallocManaged(&out, COUNT * 16);
    for (int i = 0; i < COUNT; i++) {
        in[i] = draw(1000);
        bytes[i] = (unsigned char)draw(256);
    }
    static const unsigned distances[] = {0, 1, 2, 5, 16, 31, 32, 33, 64, 100, 127, 130};
    for (unsigned by : distances)
        for (unsigned n : {(unsigned)COUNT, (unsigned)COUNT - 5, 37u}) {
            memset(out, 0, COUNT * 16);
            shifted<<<1, 128>>>(in, bytes, out, n, by);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            int wrong = 0;
            for (unsigned t = 0; t < 128 && t < n; t++) {
                long long sum = 0;
                if (t >= by)
                    sum += t - by < n ? in[t - by] : -1;
                if (t >= by && t - by < n)
                    sum += in[t - by] * 3ll + bytes[t - by] * 1000000ll;
                if (t + by < n)
                    sum += in[t + by] * 5ll;
                for (unsigned k = t - by; k < n; k += 64 * by + 7)
                    sum += in[k] * 7ll;
                wrong += out[n + t] != sum;
            }
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(in);
    cudaFree(bytes);
    cudaFree(out);
}

/* Exchanges at all distances, in shared and in global memory, by any number of threads. */
template <class T> BOTH static void exchange(T *keys, unsigned t, unsigned step, unsigned size)
{
    unsigned at = 2 * t - (t & (step - 1));
    T a = keys[at], b = keys[at + step];
    if ((a > b) == ((at & size) == 0)) {
        keys[at] = b;
        keys[at + step] = a;
    }
}

template <class T, unsigned COUNT> __global__ void sort_shared(T *keys)
{
    __shared__ T part[COUNT];
    for (unsigned t = threadIdx.x; t < COUNT; t += blockDim.x)
        part[t] = keys[t];
    for (unsigned size = 2; size <= COUNT; size *= 2)
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            exchange(part, threadIdx.x, step, size);
        }
    __syncthreads();
    for (unsigned t = threadIdx.x; t < COUNT; t += blockDim.x)
        keys[t] = part[t];
}

template <class T> __global__ void exchange_some(T *keys, unsigned n, unsigned step, unsigned size)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n)
        exchange(keys, t, step, size);
}

/* SORTED keys are sorted by half as many threads, in code that is all unrolled. */
template <class T, unsigned SORTED> static void exchanges()
{
    enum { COUNT = 256 };
    T *keys, want[COUNT];
    cudaMallocManaged(&keys, COUNT * sizeof(T));
    for (int k = 0; k < COUNT; k++)
        keys[k] = (T)draw(1000);
    sort_shared<T, SORTED><<<1, SORTED / 2>>>(keys);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int wrong = 0;
    for (unsigned k = 1; k < SORTED; k++)
        wrong += keys[k - 1] > keys[k];
    CHECK_EQ_INT(wrong, 0);
    for (unsigned step = 1; step <= 64; step *= 2)
        for (unsigned n : {128u, 100u, 33u, 7u}) {
            for (int k = 0; k < COUNT; k++)
                want[k] = keys[k] = (T)draw(50);
            exchange_some<T><<<2, 64>>>(keys, n, step, 2 * step);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            for (unsigned t = 0; t < n; t++)
                exchange(want, t, step, 2 * step);
            CHECK(memcmp(want, keys, sizeof want) == 0);
        }
    cudaFree(keys);
}

/* ---- addresses of 32 bits ---- */

/* Shared addresses of 32 bits, as nvcc has them, that lie below 0 in lanes whose guard is false:
 * loads, stores, pairs, atomics and copies, forwards and backwards. */
__global__ void narrow_addresses(unsigned *out, unsigned by, const unsigned *from)
{
    __shared__ __align__(16) unsigned row[128];
    __shared__ __align__(16) unsigned other[128];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(row), got = 0, high = 0;
    unsigned beside = (unsigned)__cvta_generic_to_shared(other);

    row[t] = t + 1;
    other[t] = 1000;
    __syncthreads();
    if (t >= by) {
        unsigned p = at + (t - by) * 4;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(p) : "memory");
    }
    out[t] = got;
    got = 0;
    if (t <= by) {
        unsigned p = at + (by - t) * 4;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(p) : "memory");
    }
    out[128 + t] = got;
    got = 0;
    if (t >= by && t < 64) {
        unsigned p = at + (t - by) * 8;
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(got), "=r"(high)
                     : "r"(p)
                     : "memory");
    }
    out[256 + t] = got * 1000 + high;
    if (t >= by) {
        unsigned p = beside + (t - by) * 4, t2 = t * 2;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(p), "r"(t2) : "memory");
    }
    __syncthreads();
    if (t >= by) {
        unsigned p = beside + (t - by) * 4;
        asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(p), "r"(7) : "memory");
    }
    __syncthreads();
    out[384 + t] = other[t];
    __syncthreads();
    if (t >= by) {
        unsigned p = at + (t - by) * 4;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(p), "l"(from + t) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[512 + t] = row[t];
}

static void narrow()
{
    unsigned *out, *from;
    cudaMallocManaged(&out, 640 * 4);
    cudaMallocManaged(&from, 128 * 4);
    for (unsigned t = 0; t < 128; t++)
        from[t] = 5000 + t;
    for (unsigned by : {0u, 1u, 5u, 31u, 33u, 100u, 127u}) {
        narrow_addresses<<<1, 128>>>(out, by, from);
        if (cudaDeviceSynchronize() != cudaSuccess) {
            CHECK(!"no lane outside its guard accesses memory");
            return;
        }
        unsigned wrong = 0;
        for (unsigned t = 0; t < 128; t++) {
            unsigned k = t - by, pair = t >= by && t < 64 ? (2 * k + 1) * 1000 + 2 * k + 2 : 0;
            wrong += out[t] != (t >= by ? k + 1 : 0);
            wrong += out[128 + t] != (t <= by ? by - t + 1 : 0);
            wrong += t < 64 && out[256 + t] != pair;
            wrong += out[384 + t] != (t + by < 128 ? (t + by) * 2 + 7 : 1000);
            wrong += out[512 + t] != (t + by < 128 ? 5000 + t + by : t + 1);
        }
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(out);
    cudaFree(from);
}

/* ---- a fault ---- */

__global__ void misread(const char *bytes, const int *start, int *out)
{
    int sum = 0;
    for (int i = start[threadIdx.x]; i < start[threadIdx.x + 1]; i++)
        sum += *(const int *)(bytes + i * 4 + (i == 77 ? 2 : 0));
    out[threadIdx.x] = sum;
}

static void fault()
{
    char *bytes;
    int *start, *out, own[129];
    cudaMalloc(&bytes, 4096);
    cudaMalloc(&start, sizeof own);
    cudaMalloc(&out, 128 * 4);
    for (int t = 0; t < 129; t++)
        own[t] = t * 3 + t % 3;
    cudaMemset(bytes, 1, 4096);
    cudaMemcpy(start, own, sizeof own, cudaMemcpyHostToDevice);
    misread<<<1, 128>>>(bytes, start, out);
    CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
}

int main()
{
    all_guards();
    grid_loops();
    shifts();
    exchanges<unsigned, 64>();
    exchanges<float, 16>();
    exchanges<long long, 32>();
    exchanges<short, 16>();
    narrow();
    fault();
    return check_done();
}
