/* K2: vectors of up to 16 bytes that blocks hand to each other by relaxed, acquiring or volatile
 * accesses. A lane's vector is moved in one go: what is read was written together. Scans by
 * look-back rely on it, which put a value and its state next to each other. */
#include "check.h"

enum { WRITES = 1000000, READS = 500000, SLOTS = 64 };

__device__ static void put2(uint2 *p, unsigned i)
{
    asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1, %2};" : : "l"(p), "r"(i), "r"(~i) : "memory");
}
__device__ static uint2 get2(const uint2 *p)
{
    uint2 v;
    asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p)
                 : "memory");
    return v;
}
__device__ static void put4(uint4 *p, unsigned i)
{
    asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(i), "r"(~i), "r"(i ^ 0x5555u), "r"(i + 7)
                 : "memory");
}
__device__ static uint4 get4(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
__device__ static bool torn4(uint4 v)
{
    return v.y != ~v.x || v.z != (v.x ^ 0x5555u) || v.w != v.x + 7;
}
/* Bytes and halves in words: four of 16 bits, the same number in each. */
__device__ static void put_halves(unsigned long long *p, unsigned i)
{
    unsigned short h = (unsigned short)i;
    asm volatile("st.release.gpu.v4.u16 [%0], {%1, %1, %1, %1};" : : "l"(p), "h"(h) : "memory");
}
__device__ static bool torn_halves(const unsigned long long *p)
{
    unsigned short a, b, c, d;
    asm volatile("ld.acquire.gpu.v4.u16 {%0, %1, %2, %3}, [%4];"
                 : "=h"(a), "=h"(b), "=h"(c), "=h"(d)
                 : "l"(p)
                 : "memory");
    return a != b || a != c || a != d;
}

__global__ void fill(uint2 *pairs, uint4 *quads, unsigned long long *halves)
{
    put2(&pairs[threadIdx.x], threadIdx.x);
    put4(&quads[threadIdx.x], threadIdx.x);
    put_halves(&halves[threadIdx.x], threadIdx.x);
}

/* Even blocks write, one thread or all of them; odd ones read, in one place or each lane its own,
 * forwards and backwards. */
__global__ void exchange(uint2 *pairs, uint4 *quads, unsigned long long *halves, int *torn)
{
    int t = threadIdx.x, bad = 0;
    if (blockIdx.x % 4 == 0) {
        if (t == 0)
            for (unsigned i = 0; i < WRITES; i++) {
                put2(&pairs[0], i * 0x10001u);
                put4(&quads[0], i * 0x10001u);
                put_halves(&halves[0], i);
            }
        return;
    }
    if (blockIdx.x % 4 == 2) {
        for (unsigned i = 0; i < WRITES / 16; i++) {
            put2(&pairs[t], i * 0x10001u + t);
            put4(&quads[SLOTS - 1 - t], i * 0x10001u + t);
            put_halves(&halves[t], i);
        }
        return;
    }
    for (int i = 0; i < READS / 16; i++) {
        for (int k = 0; k < 8; k++) { /* one place: the loop keeps near it */
            uint2 v = get2(&pairs[0]);
            bad += v.y != ~v.x;
            bad += torn4(get4(&quads[0]));
            bad += torn_halves(&halves[0]);
        }
        uint2 v = get2(&pairs[SLOTS - 1 - t]);
        bad += v.y != ~v.x;
        v = get2(&pairs[t]);
        bad += v.y != ~v.x;
        bad += torn4(get4(&quads[SLOTS - 1 - t]));
        bad += torn4(get4(&quads[t]));
        bad += torn_halves(&halves[t]);
        bad += torn_halves(&halves[t ^ 5]);
    }
    if (bad)
        atomicAdd(torn, bad);
}

int main()
{
    uint2 *pairs;
    uint4 *quads;
    unsigned long long *halves;
    int *torn, count = -1;
    CHECK_EQ_INT(cudaMalloc(&pairs, SLOTS * sizeof *pairs), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&quads, SLOTS * sizeof *quads), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&halves, SLOTS * sizeof *halves), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&torn, sizeof *torn), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(torn, 0, sizeof *torn), cudaSuccess);
    fill<<<1, SLOTS>>>(pairs, quads, halves);
    exchange<<<8, SLOTS>>>(pairs, quads, halves, torn);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(&count, torn, sizeof count, cudaMemcpyDefault), cudaSuccess);
    CHECK_EQ_INT(count, 0);
    return check_done();
}
