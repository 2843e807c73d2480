/* K2: elements that lie at the same place in words of 4 and 8 bytes: members of small structures,
 * channels of pixels, real and imaginary parts; from the first byte of memory to the last, whole
 * warps and parts, in global, shared and constant memory. */
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.h"

enum { WORDS = 1000, BYTES = WORDS * 8 };

__constant__ unsigned char constants[BYTES];

template <class T> __device__ unsigned long long bits_of(T x)
{
    unsigned long long b = 0;
    memcpy(&b, &x, sizeof x);
    return b;
}

/* Elements of type T at `offset` of words of `WORD` bytes. */
template <class T, int WORD>
__global__ void pick(const unsigned char *from, unsigned long long *to, int offset, int n)
{
    __shared__ __align__(16) unsigned char tile[256 * WORD];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i < n)
        for (int k = 0; k < WORD; k++)
            tile[t * WORD + k] = from[i * WORD + k];
    __syncthreads();
    if (i < n) {
        T a = *(const T *)(from + i * WORD + offset), b = *(const T *)(tile + t * WORD + offset);
        T c = *(const T *)(constants + i * WORD + offset);
        to[i] = bits_of(a) * 3 + bits_of(b) * 5 + bits_of(c) * 7;
    }
}

template <class T, int WORD> static void test()
{
    std::vector<unsigned char> host(BYTES);
    for (int n = 0; n < BYTES; n++)
        host[n] = (unsigned char)(n * 2654435761u >> 13);
    unsigned char *from;
    unsigned long long *to;
    CHECK_EQ_INT(cudaMalloc(&from, BYTES), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&to, WORDS * sizeof *to), cudaSuccess);
    cudaMemcpy(from, host.data(), BYTES, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(constants, host.data(), BYTES);
    static const dim3 shapes[] = {256, 32, 48, 7};
    for (dim3 block : shapes)
        for (int offset = 0; offset + (int)sizeof(T) <= WORD; offset += sizeof(T)) {
            memset(to, 0, WORDS * sizeof *to);
            int n = WORDS - offset;
            pick<T, WORD><<<(n + block.x - 1) / block.x, block>>>(from, to, offset, n);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            int wrong = 0;
            for (int i = 0; i < WORDS; i++) {
                unsigned long long b = 0;
                memcpy(&b, &host[i * WORD + offset], sizeof(T));
                wrong += to[i] != (i < n ? b * 15 : 0);
            }
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(from);
    cudaFree(to);
}

int main()
{
    test<uint8_t, 4>();
    test<uint16_t, 4>();
    test<uchar2, 4>();
    test<uint8_t, 8>();
    test<short, 8>();
    test<uchar4, 8>();
    test<short2, 8>();
    test<float, 8>();
    return check_done();
}
