/* M1, M3: variables of device code: address, size, contents, copies to and from parts of them. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

struct pair {
    int a;
    double b;
};

__device__ int counter = 41;
__device__ int table[64];
__constant__ float coefficients[4] = {1, 2, 3, 4};
__constant__ pair constant_pair;
static __device__ pair file_pair = {1, 2.5};
__device__ int *pointer = table + 8;
namespace space
{
__device__ short inner[3] = {7, 8, 9};
}

__global__ void use(float *out)
{
    counter++;
    for (int i = 0; i < 4; i++)
        out[i] = coefficients[i];
    out[4] = constant_pair.a + constant_pair.b;
    out[5] = file_pair.a + file_pair.b;
    out[6] = space::inner[2];
    *pointer = 99;
}

int main()
{
    float result[7], fresh[2] = {30, 40}, *out;
    int value, part[4] = {1, 2, 3, 4};
    pair p = {10, 0.25};
    size_t size;
    void *address;

    OK(cudaMalloc(&out, sizeof result));
    OK(cudaGetSymbolSize(&size, table));
    CHECK_EQ_INT(size, sizeof(int) * 64);
    OK(cudaGetSymbolSize(&size, constant_pair));
    CHECK_EQ_INT(size, sizeof(pair));
    OK(cudaGetSymbolSize(&size, space::inner));
    CHECK_EQ_INT(size, 6);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK_EQ_INT(value, 41);
    OK(cudaMemcpyToSymbol(coefficients, fresh, sizeof fresh, 2 * sizeof(float)));
    OK(cudaMemcpyToSymbol(constant_pair, &p, sizeof p));
    use<<<1, 1>>>(out);
    OK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result[0] == 1 && result[1] == 2 && result[2] == 30 && result[3] == 40);
    CHECK(result[4] == 10.25f);
    CHECK(result[5] == 3.5f);
    CHECK(result[6] == 9);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK_EQ_INT(value, 42);
    OK(cudaMemcpyFromSymbol(&value, table, sizeof value, 8 * sizeof(int)));
    CHECK_EQ_INT(value, 99);
    OK(cudaMemcpyToSymbolAsync(table, part, sizeof part, 4, cudaMemcpyHostToDevice, 0));
    OK(cudaMemcpyFromSymbolAsync(&value, table, 4, 4 * 4, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    CHECK_EQ_INT(value, 4);
    /* The address is that of ordinary device memory. */
    OK(cudaGetSymbolAddress(&address, counter));
    value = 5;
    OK(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice));
    use<<<1, 1>>>(out);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK_EQ_INT(value, 6);
    OK(cudaMemcpyToSymbol(counter, address, 4, 0, cudaMemcpyDeviceToDevice));
    OK(cudaFree(out));
    return check_done();
}
