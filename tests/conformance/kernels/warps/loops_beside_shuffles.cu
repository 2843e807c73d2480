/* K2: a loop in which lanes turn without a warp operation, beside one in which they turn with it,
 * where both have blocks in common: no goto leads into a loop from outside. At the shuffle, the
 * barrier and the vote all lanes must have come. The host does the same for the lanes in step. */
#include <cstdlib>
#include <cstring>

#include "check.h"

#define ALL 0xffffffffu

enum { LANES = 32, ROUNDS = 4 };

/* One lane up to the shuffle: from the head at first, later from the middle. */
#define TURN(entry_at_head)                                                                        \
    if (entry_at_head)                                                                             \
        v = v * 5 + 1;                                                                             \
    for (v ^= a; fuel != 0 && ((v >> 1 & 1) != 0 || fuel > 3); v ^= a) {                           \
        fuel--;                                                                                    \
        v = v * 5 + 1;                                                                             \
    }

__global__ void by_shuffle(const int *m, unsigned *o)
{
    int t = threadIdx.x, round = 0;
    unsigned a = m[t], fuel = a & 7, v = t;
head:
    v = v * 5 + 1;
middle:
    v ^= a;
    if (fuel != 0 && ((v >> 1 & 1) != 0 || fuel > 3)) {
        fuel--;
        goto head;
    }
    v += __shfl_xor_sync(ALL, v, 1);
    if (++round < ROUNDS) {
        fuel += v >> 3 & 3;
        goto middle;
    }
    o[t] = v;
}

__global__ void by_warp_barrier(const int *m, unsigned *o)
{
    __shared__ volatile unsigned shared[LANES];
    int t = threadIdx.x, round = 0;
    unsigned a = m[t], fuel = a & 7, v = t;
head:
    v = v * 5 + 1;
middle:
    v ^= a;
    if (fuel != 0 && ((v >> 1 & 1) != 0 || fuel > 3)) {
        fuel--;
        goto head;
    }
    shared[t] = v;
    __syncwarp();
    v += shared[t ^ 1];
    __syncwarp();
    if (++round < ROUNDS) {
        fuel += v >> 3 & 3;
        goto middle;
    }
    o[t] = v;
}

/* Lanes that need no further round still vote; those that do go back into the middle. */
__global__ void by_vote(const int *m, unsigned *o)
{
    int t = threadIdx.x, round = 0;
    unsigned a = m[t], fuel = a & 7, v = t;
head:
    v = v * 5 + 1;
middle:
    v ^= a;
    if (fuel != 0 && ((v >> 1 & 1) != 0 || fuel > 3)) {
        fuel--;
        goto head;
    }
    v += __ballot_sync(ALL, v >> 4 & 1);
    if (++round < ROUNDS) {
        fuel += v >> 3 & 3;
        goto middle;
    }
    o[t] = v;
}

typedef void kernel(const int *, unsigned *);

static void on_host(bool votes, const int *m, unsigned *o)
{
    unsigned fuels[LANES], was[LANES];
    for (int t = 0; t < LANES; t++) {
        o[t] = t;
        fuels[t] = m[t] & 7;
    }
    for (int round = 0; round < ROUNDS; round++) {
        unsigned vote = 0;
        for (int t = 0; t < LANES; t++) {
            unsigned a = m[t], v = o[t], fuel = fuels[t];
            if (round > 0)
                fuel += v >> 3 & 3;
            TURN(round == 0)
            was[t] = v;
            fuels[t] = fuel;
            vote |= (v >> 4 & 1) << t;
        }
        for (int t = 0; t < LANES; t++)
            o[t] = was[t] + (votes ? vote : was[t ^ 1]);
    }
}

static void check_kernel(kernel *k, bool votes, const int *m, int *device_m, unsigned *device_o)
{
    unsigned o[LANES], expected[LANES];
    k<<<1, LANES>>>(device_m, device_o);
    CHECK_EQ_INT(cudaMemcpy(o, device_o, sizeof o, cudaMemcpyDeviceToHost), cudaSuccess);
    on_host(votes, m, expected);
    for (int t = 0; t < LANES; t++)
        CHECK_EQ_INT(o[t], expected[t]);
}

int main()
{
    int m[LANES], *device_m;
    unsigned *device_o;
    CHECK_EQ_INT(cudaMalloc((void **)&device_m, sizeof m), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc((void **)&device_o, sizeof m), cudaSuccess);
    for (int round = 0; round < 100; round++) {
        for (int t = 0; t < LANES; t++)
            m[t] = rand() >> 4 & 0xffff;
        CHECK_EQ_INT(cudaMemcpy(device_m, m, sizeof m, cudaMemcpyHostToDevice), cudaSuccess);
        check_kernel(by_shuffle, false, m, device_m, device_o);
        check_kernel(by_warp_barrier, false, m, device_m, device_o);
        check_kernel(by_vote, true, m, device_m, device_o);
    }
    return check_done();
}
