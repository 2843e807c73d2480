/* M1: variables that are const are in global memory, and those that are marked __constant__ in
 * constant memory: what kernels read, where it is, and the host's view of it. 80 000 bytes of such
 * variables are no more than others. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const __device__ int plain[4] = {10, 20, 30, 40};
__device__ const float large[20000] = {0.5f, 1.5f};
__device__ constexpr short expression[3] = {7, 8, 9};
namespace
{
const __device__ double hidden[2] = {0.25, 0.75};
}
struct span {
    const int *begin;
    int count;
};
const __device__ span spans[2] = {{plain + 1, 3}, {plain, 2}};
const __device__ int *const pointers[2] = {plain, plain + 3};
__constant__ int marked[4] = {1, 2, 3, 4};
static const __constant__ int marked_const[2] = {5, 6};
__constant__ const int *marked_pointer = plain + 2;

enum { RESULTS = 24 };

/* 1: global memory, 2: constant memory */
template <class T> __device__ int where(const T *p) { return __isGlobal(p) + 2 * __isConstant(p); }

__global__ void look(double *out, int i)
{
    static const int local[3] = {11, 12, 13};
    static constexpr int local_expression[2] = {14, 15};
    static __constant__ int local_marked[2] = {16, 17};
    double results[] = {
        (double)plain[i],
        large[i],
        (double)expression[i],
        hidden[i],
        (double)spans[i].count,
        (double)*spans[i - 1].begin,
        (double)*pointers[i],
        (double)marked[i],
        (double)marked_const[i],
        (double)*marked_pointer,
        (double)local[i],
        (double)local_expression[i],
        (double)local_marked[i],
        (double)where(plain),
        (double)where(large + i),
        (double)where(hidden),
        (double)where(local + i),
        (double)where(marked + i),
        (double)where(marked_const + i),
        (double)where(marked_pointer),
        (double)__ldg(plain + i),
        (double)where(spans),
        (double)where(local_marked + i),
        (double)*(const int *)__cvta_global_to_generic(__cvta_generic_to_global(plain + i + 1))};
    static_assert(sizeof results == RESULTS * sizeof(double), "one for each result");
    for (int n = 0; n < RESULTS; n++)
        out[n] = results[n];
}

int main()
{
    static const double expected[RESULTS] = {20, 1.5, 8, 0.75, 2, 20, 40, 2, 6,  30, 12, 15,
                                             17, 1,   1, 1,    1, 2,  2,  1, 20, 1,  2,  30};
    double *out;
    int part[4], fresh[2] = {300, 400};
    size_t size;
    void *address;
    cudaPointerAttributes attributes;

    OK(cudaMallocManaged(&out, RESULTS * sizeof *out));
    look<<<1, 1>>>(out, 1);
    OK(cudaDeviceSynchronize());
    for (int n = 0; n < RESULTS; n++)
        CHECK_EQ_INT(1000 * out[n], 1000 * expected[n]);

    OK(cudaGetSymbolSize(&size, large));
    CHECK_EQ_INT(size, 80000);
    OK(cudaMemcpyFromSymbol(part, plain, sizeof part));
    CHECK(part[0] == 10 && part[3] == 40);
    OK(cudaGetSymbolAddress(&address, plain));
    OK(cudaPointerGetAttributes(&attributes, address));
    CHECK_EQ_INT(attributes.type, cudaMemoryTypeDevice);
    OK(cudaMemcpyToSymbol(marked, fresh, sizeof fresh, sizeof fresh));
    OK(cudaMemcpyFromSymbol(part, marked, sizeof part));
    CHECK(part[1] == 2 && part[2] == 300 && part[3] == 400);
    look<<<1, 1>>>(out, 1);
    OK(cudaDeviceSynchronize());
    CHECK(out[7] == 2);
    OK(cudaFree(out));
    return check_done();
}
