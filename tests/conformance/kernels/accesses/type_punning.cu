/* K2: memory that kernels write as one type and read as another, by casts of pointers, as CUDA
 * programs do everywhere: words as halves, floats as integers, arrays as vectors. What was written
 * last is what is read, whatever the types. */
#include <cstdint>

#include "check.h"

/* The same memory by two names, which the compiler is not told of. */
__global__ void overwritten(int *p, float *f, int *out)
{
    *p = 1;
    *f = 2.0f;
    *out = *p;
}

__global__ void halves_of(unsigned *words, unsigned short *halves, unsigned *out)
{
    int i = threadIdx.x;
    words[i] = 0x20001u + i;
    unsigned short low = halves[2 * i];
    halves[2 * i] = halves[2 * i + 1];
    halves[2 * i + 1] = low;
    out[i] = words[i];
}

/* What another thread wrote as a vector, after a barrier: the loop invites keeping a value. */
__global__ void vectors(float *data, int *out)
{
    __shared__ float tile[4 * 64];
    int i = threadIdx.x, sum = 0;
    for (int turn = 0; turn < 3; turn++) {
        ((float4 *)tile)[i] = ((float4 *)data)[i];
        __syncthreads();
        sum += ((int *)tile)[(i * 4 + turn) % 256];
        ((int *)tile)[(i * 4 + turn) % 256] = turn;
        sum += __float_as_int(tile[(i * 4 + turn) % 256]);
        __syncthreads();
    }
    out[i] = sum;
}

/* A thread's own variables, too. */
__global__ void own(double *in, unsigned long long *out)
{
    double d = in[threadIdx.x];
    *(unsigned long long *)&d ^= 0x8000000000000000ull;
    d *= 2;
    unsigned *word = (unsigned *)&d;
    word[0] = word[1];
    out[threadIdx.x] = *(unsigned long long *)&d;
}

struct pair {
    int first;
    float second;
};

/* The last store wins, through members of structs as well. */
__global__ void members(pair *p, long long *whole, int *out)
{
    p->first = 7;
    p->second = 1.0f;
    *whole = 0x4000000000000009ll;
    out[0] = p->first;
    out[1] = __float_as_int(p->second);
}

int main()
{
    int *data, *out;
    CHECK_EQ_INT(cudaMallocManaged(&data, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 4096), cudaSuccess);

    overwritten<<<1, 1>>>(data, (float *)data, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(out[0], 0x40000000);

    halves_of<<<1, 64>>>((unsigned *)data, (unsigned short *)data, (unsigned *)out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; i++)
        CHECK_EQ_INT(out[i], ((1 + i) << 16) + 2);

    for (int i = 0; i < 256; i++)
        data[i] = i * 10;
    vectors<<<1, 64>>>((float *)data, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; i++)
        CHECK_EQ_INT(out[i], 10 * (12 * i + 3) + 3);

    double *d = (double *)data;
    for (int i = 0; i < 64; i++)
        d[i] = i + 0.25;
    own<<<1, 64>>>(d, (unsigned long long *)out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; i++) {
        double want = -2 * d[i];
        uint64_t bits;
        memcpy(&bits, &want, 8);
        CHECK(((uint64_t *)out)[i] == (bits >> 32 << 32 | bits >> 32));
    }

    members<<<1, 1>>>((pair *)data, (long long *)data, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(out[0], 9);
    CHECK_EQ_INT(out[1], 0x40000000);
    return check_done();
}
