/* K2: what neighbours read by quotients of their indices (the windows that a pixel is in), which
 * are a few elements next to each other: from rows whose base is one value for most warps, up to
 * the ends of pages and of memory, by indices at both ends of 32 bits, with lanes that do not take
 * part, the first one among them. What is read must be what the host reads. */
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

#define BOTH __host__ __device__

/* Gradients of pooling: the windows that pixel i of planes of `width` by `width` is in. */
template <class T>
BOTH static T windows(const T *m, int i, int width, int pooled, int step, int size)
{
    int x = i % width, y = i / width % width, plane = i / width / width;
    int px0 = x < 3 ? 0 : (x - 3) / step + 1, px1 = x / step + 1;
    const T *from = m + plane * pooled;
    T sum = 0;
    for (int py = y / step; py < y / step + 2; py++)
        for (int px = px0; px < px1; px++)
            sum = sum * 3 + from[py + px];
    return sum;
}

/* With one base for all lanes, in a loop; `guard` lanes of 32 do not take part, the first ones. */
template <class T>
BOTH static T guarded(const T *m, int i, int guard, int distance, int step, int size)
{
    T sum = 0;
    if (i % 32 >= guard)
        for (int k = 0; k < 3; k++)
            sum = sum * 3 + m[i / step * distance + k];
    return sum;
}

/* Of every other lane, and back from the last element. */
template <class T>
BOTH static T backwards(const T *m, int i, int width, int pooled, int step, int size)
{
    const T *from = m + (size - 1 - i / width);
    T sum = 0;
    for (int k = 0; k < pooled % 3 + 1; k++)
        if ((i ^ k) & 1)
            sum = sum * 3 + from[-(i % width / step)];
    return sum;
}

/* Up to the last element, and no further. */
template <class T>
BOTH static T everywhere(const T *m, int i, int width, int pooled, int step, int size)
{
    int first = i / width * width, more = i % width / step;
    const T *from = m + first;
    T sum = 0;
    for (int k = 0; k < pooled % 3 + 1; k++)
        if (first + more + k < size)
            sum = sum * 3 + from[more + k];
    return sum;
}

template <class T, T (*F)(const T *, int, int, int, int, int)>
__global__ void run(T *out, const T *m, int n, int width, int pooled, int step, int size)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (int)(gridDim.x * blockDim.x))
        out[i] = F(m, i, width, pooled, step, size);
}

/* Maps new memory at an address that is reserved. */
static void map(CUdeviceptr at, size_t size)
{
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle h;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemCreate(&h, size, &prop, 0) == CUDA_SUCCESS);
    CHECK(cuMemMap(at, size, 0, h, 0) == CUDA_SUCCESS);
    CHECK(cuMemSetAccess(at, size, &access, 1) == CUDA_SUCCESS);
    CHECK(cuMemRelease(h) == CUDA_SUCCESS);
}

static size_t granule()
{
    size_t size = 0;
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
          CUDA_SUCCESS);
    return size;
}

/* The end of memory after which there is none. */
static char *end_of_memory(size_t size)
{
    static CUdeviceptr base;
    size_t most = (size + granule() - 1) / granule() * granule();
    if (base == 0) {
        CHECK(cuMemAddressReserve(&base, most + granule(), 0, 0, 0) == CUDA_SUCCESS);
        map(base, most);
    }
    return (char *)base + most;
}

template <class T, T (*F)(const T *, int, int, int, int, int)>
static void check(const char *name, int width, int pooled, int step)
{
    enum { THREADS = 20000, SIZE = 16 * 1024 };
    T *m, *out;
    std::vector<T> host(SIZE);
    m = (T *)end_of_memory(SIZE * sizeof(double)) - SIZE;
    cudaMallocManaged(&out, THREADS * sizeof *out);
    for (int i = 0; i < SIZE; i++)
        host[(size_t)i] = (T)(i * 29 % 101);
    cudaMemcpy(m, host.data(), SIZE * sizeof *m, cudaMemcpyHostToDevice);
    run<T, F><<<5, 128>>>(out, m, THREADS, width, pooled, step, (int)SIZE);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int wrong = 0;
    for (int i = 0; i < THREADS; i++)
        if (out[i] != F(host.data(), i, width, pooled, step, SIZE) && wrong++ == 0)
            printf("%s, width %d, %d, step %d: thread %d\n", name, width, pooled, step, i);
    CHECK_EQ_INT(wrong, 0);
    cudaFree(out);
}

template <class T> static void all()
{
    for (int width : {64, 24, 7})
        for (int step : {1, 2, 3, 9}) {
            check<T, windows<T>>("windows", width, width / step + 3, step);
            check<T, backwards<T>>("backwards", width, step, step);
            check<T, everywhere<T>>("everywhere", width, step, step);
        }
    for (int guard : {0, 1, 9, 31, 32})
        for (int step : {2, 5, 40}) {
            check<T, guarded<T>>("guarded", guard, 1, step);
            check<T, guarded<T>>("guarded", guard, step == 40 ? 30 : 0, step);
        }
}

/* Indices that go from one end of what 32 bits hold to the other. */
__global__ void ends(int *out, const int *low, const int *middle, unsigned first, int step)
{
    unsigned x = threadIdx.x, at = first + (unsigned)((int)x / step);
    out[x * 2] = low[at];
    out[x * 2 + 1] = middle[(int)(at ^ 0x80000000u)];
}

static void all_ends()
{
    enum { WARP = 32, BEFORE = 256 }; /* elements of a page that lie before the ends */
    size_t whole = (size_t)1 << 34, part = granule();
    CUdeviceptr base = 0;
    int *out, wrong = 0;
    CHECK(cuMemAddressReserve(&base, whole + part, 0, 0, 0) == CUDA_SUCCESS);
    std::vector<int> host(2 * BEFORE);
    for (int i = 0; i < 2 * BEFORE; i++)
        host[(size_t)i] = i * 7;
    map(base, part);
    map(base + whole, part);
    cudaMemcpy((void *)(base + whole), &host[0], BEFORE * sizeof(int), cudaMemcpyHostToDevice);
    base += BEFORE * sizeof(int);
    cudaMemcpy((void *)base, &host[BEFORE], BEFORE * sizeof(int), cudaMemcpyHostToDevice);
    cudaMallocManaged(&out, WARP * 2 * sizeof *out);
    for (int step : {3, 1, 40, 2})
        for (unsigned before : {1u, 5u, 32u, 200u}) {
            ends<<<1, WARP>>>(out, (const int *)base, (const int *)(base + whole / 2), 0u - before,
                              step);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            for (int x = 0; x < WARP; x++) {
                int want = host[BEFORE - before + (unsigned)(x / step)];
                wrong += out[x * 2] != want || out[x * 2 + 1] != want;
            }
        }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(out);
}

int main()
{
    cudaFree(nullptr);
    all<int>();
    all<float>();
    all<double>();
    all<unsigned char>();
    all_ends();
    return check_done();
}
