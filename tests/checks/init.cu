/* Reads of what nothing has written. */
// CHECK: init
#include "checks.h"

enum { N = 256 };

__global__ void add(const int *a, int *out) { out[threadIdx.x] = a[threadIdx.x] + 1; }
__global__ void fill(int *p) { p[threadIdx.x] = 1; }
__global__ void copy(const int4 *from, int4 *to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void choose(const int *a, int *out)
{
    if (a[threadIdx.x] > 0)
        *out = 1;
}

struct Padded {
    char small;
    double large;
};

__global__ void make(Padded *p)
{
    p[threadIdx.x].small = 1;
    p[threadIdx.x].large = 2;
}

__global__ void move(const Padded *from, Padded *to)
{
    to[threadIdx.x] = from[threadIdx.x];
}

__global__ void use(const Padded *from, double *out)
{
    out[threadIdx.x] = from[threadIdx.x].small + from[threadIdx.x].large;
}

__global__ void shared_right(int *out)
{
    __shared__ int s[N];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[N - 1 - threadIdx.x] + 1;
}

__global__ void shared_wrong(int *out)
{
    __shared__ int s[N];
    if (threadIdx.x > 0)
        s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1; // of shared_unwritten
}

__global__ void bulk_out(int *p)
{
    __shared__ alignas(16) int s[N];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("fence.proxy.async.shared::cta;\n"
                     "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                     "cp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group 0;" ::"l"(p),
                     "r"((unsigned)__cvta_generic_to_shared(s)), "r"((unsigned)sizeof s)
                     : "memory");
}

__global__ void count(int *p) { atomicAdd(p, 1); }

static int *ints(int n)
{
    int *p;
    DO(cudaMalloc(&p, n * sizeof *p));
    return p;
}

CASE(written)
{
    int *a = ints(N), *b = ints(N), *c = ints(N), h[N] = {0};
    fill<<<1, N>>>(a);
    add<<<1, N>>>(a, b);
    DO(cudaMemset(c, 0, N * sizeof *c));
    add<<<1, N>>>(c, b);
    DO(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
    DO(cudaMemcpy(c, a, sizeof h, cudaMemcpyDeviceToDevice));
    add<<<1, N>>>(c, b);
    copy<<<1, N / 4>>>((int4 *)a, (int4 *)c);
    add<<<1, N>>>(c, b);
    shared_right<<<2, N>>>(b);
    int *d = ints(N);
    bulk_out<<<1, N>>>(d);
    add<<<1, N>>>(d, b);
    DO(cudaMemset(a, 0, sizeof *a));
    count<<<4, 32>>>(a);
    DO(cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost));
}

/* Padding is copied by a kernel and by a copy, and decides nothing. */
CASE(padding)
{
    Padded *a, *b, h[32];
    double *out;
    DO(cudaMalloc(&a, sizeof h));
    DO(cudaMalloc(&b, sizeof h));
    DO(cudaMalloc(&out, 32 * sizeof *out));
    make<<<1, 32>>>(a);
    move<<<1, 32>>>(a, b);
    use<<<1, 32>>>(b, out);
    DO(cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost));
}

CASE(unwritten)
{
    int *a = ints(N), *b = ints(N); // EXPECT uninitialised read: in kernel add\(int const\*, int\*\), block \(0,0,0\), thread \(0,0,0\) at \S*init.cu:7: read of 4 bytes that nothing has written: 0x\w+ is byte 0 of the 1,024-byte allocation
    add<<<1, N>>>(a, b);
    DO(cudaDeviceSynchronize());
}

CASE(unwritten_half)
{
    int *a = ints(N), *b = ints(N); // EXPECT uninitialised read: in kernel add.*thread \(128,0,0\).*byte 512 of
    DO(cudaMemset(a, 0, N / 2 * sizeof *a));
    add<<<1, N>>>(a, b);
    DO(cudaDeviceSynchronize());
}

CASE(unwritten_branch)
{
    int *a = ints(N), *b = ints(1); // EXPECT uninitialised read: in kernel choose
    choose<<<1, N>>>(a, b);
    DO(cudaDeviceSynchronize());
}

/* What a kernel or a copy takes along is found where it is used. */
CASE(unwritten_through_copies)
{
    int *a = ints(N), *b = ints(N), *c = ints(N), *d = ints(N); // EXPECT uninitialised read: in kernel add.*thread \(4,0,0\)
    fill<<<1, 4>>>(a);
    copy<<<1, N / 4>>>((int4 *)a, (int4 *)b);
    DO(cudaMemcpy(c, b, N * sizeof *c, cudaMemcpyDeviceToDevice));
    add<<<1, N>>>(c, d);
    DO(cudaDeviceSynchronize());
}

CASE(unwritten_atomic)
{
    int *a = ints(1); // EXPECT uninitialised read: in kernel count
    count<<<1, 32>>>(a);
    DO(cudaDeviceSynchronize());
}

CASE(shared_unwritten)
{
    int *a = ints(N); // EXPECT uninitialised read: in kernel shared_wrong\(int\*\), block \(0,0,0\), thread \(0,0,0\) at \S*init.cu:51: read of 4 bytes that nothing has written: byte 0 of the block's shared memory
    shared_wrong<<<1, N>>>(a);
    DO(cudaDeviceSynchronize());
}

CASE(copied_to_the_host)
{
    int *a = ints(N), h[N]; // EXPECT uninitialised copy: 512 of 1024 bytes that a copy takes to the host were never written: 0x\w+ is byte 512 of .*; the copy was enqueued at .*LINE+2 \(cudaMemcpy\)
    DO(cudaMemset(a, 0, N / 2 * sizeof *a));
    DO(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost));
}

CASE(of_pools)
{
    int *a, *b; // EXPECT uninitialised read: in kernel add
    DO(cudaMallocAsync((void **)&a, N * sizeof *a, 0));
    DO(cudaMallocAsync((void **)&b, N * sizeof *b, 0));
    fill<<<1, N>>>(a);
    add<<<1, N>>>(a, b);
    DO(cudaFreeAsync(a, 0));
    DO(cudaMallocAsync((void **)&a, N * sizeof *a, 0)); /* new memory, whatever was there */
    add<<<1, N>>>(a, b);
    DO(cudaDeviceSynchronize());
}

/* Warps may have instructions of their own for one line: it is told once. */
__global__ void two_warps(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]);
}
CASE(one_line_of_two_warps)
{
    int *p, *result;
    DO(cudaMalloc(&p, 64 * sizeof *p));
    DO(cudaMalloc(&result, sizeof *result));
    DO(cudaMemset(result, 0, sizeof *result));
    two_warps<<<1, 64>>>(p, result); // EXPECT uninitialised read: in kernel two_warps
    DO(cudaDeviceSynchronize());
}
