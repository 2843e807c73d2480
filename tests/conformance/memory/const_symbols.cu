/* M1: variables that are const are symbols for the host, whatever device code makes of them: those
 * that it only takes the value of, those that it does not mention, templates and those of anonymous
 * namespaces. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static __device__ const int value = 5;
static __device__ const int table[4] = {1, 2, 3, 4};
__device__ const float unmentioned = 2.5f;
__device__ constexpr short expression = 15;
static __constant__ const int marked = 7;
static __device__ int changes = 11;
namespace
{
__device__ const long long hidden = 13;
}
template <typename T> __device__ const T instance = T(17);
extern "C" {
__device__ const int of_c = 19;
}

__global__ void add(int *sum, int i)
{
    *sum = value + table[i] + expression + marked + changes + (int)hidden + instance<int> + of_c;
}

template <typename T> static void look(const T &symbol, T expected)
{
    T now{}, other{};
    void *address = NULL;
    size_t size = 0;
    OK(cudaMemcpyFromSymbol(&now, symbol, sizeof now));
    CHECK(now == expected);
    OK(cudaGetSymbolAddress(&address, symbol));
    OK(cudaMemcpy(&other, address, sizeof other, cudaMemcpyDeviceToHost));
    CHECK(other == expected);
    OK(cudaGetSymbolSize(&size, symbol));
    CHECK(size == sizeof(T));
    now = T(3);
    OK(cudaMemcpyToSymbol(symbol, &now, sizeof now));
    OK(cudaMemcpyFromSymbol(&other, symbol, sizeof other));
    CHECK(other == T(3));
}

int main(void)
{
    int *sum, other[4] = {0}, all = 0;
    OK(cudaMalloc(&sum, sizeof *sum));
    add<<<1, 1>>>(sum, 1);
    OK(cudaMemcpy(&all, sum, sizeof all, cudaMemcpyDeviceToHost));
    CHECK(all == 5 + 2 + 15 + 7 + 11 + 13 + 17 + 19);
    look(value, 5);
    look(unmentioned, 2.5f);
    look(expression, (short)15);
    look(marked, 7);
    look(changes, 11);
    look(hidden, 13LL);
    look(instance<int>, 17);
    look(of_c, 19);
    OK(cudaMemcpyFromSymbol(other, table, sizeof other));
    CHECK(other[3] == 4);
    other[1] = 40;
    OK(cudaMemcpyToSymbol(table, other, sizeof other));
    add<<<1, 1>>>(sum, 1);
    OK(cudaMemcpy(&all, sum, sizeof all, cudaMemcpyDeviceToHost));
    CHECK(all == 5 + 40 + 15 + 7 + 3 + 13 + 17 + 19); /* what is const has its value in code */
    OK(cudaFree(sum));
    return check_done();
}
