/* K2: sums of floats that very many threads add to few places are right: each is a sequence of
 * additions that are rounded one by one, with subnormal numbers taken for zeros; several kernels
 * may add to the same places at once, and a thread finds at an address what it has added itself.
 */
#include <vector>

#include "check.h"

enum { BLOCK = 256, GRID = 512, THREADS = BLOCK * GRID, TABLE = 16384, STREAMS = 3 };

static unsigned *keys; /* random */
static float *all;

static unsigned key_of(unsigned t, unsigned run, unsigned most) { return keys[t - t % run] % most; }

/* Numbers from 1 to 5: sums of them are exact in any order. */
__global__ void add(const unsigned *key, float *places, unsigned run, unsigned most)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&places[key[t - t % run] % most], (float)(t % 5 + 1));
}
__global__ void add_some(const unsigned *key, float *places, unsigned run, unsigned most)
{
    for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < THREADS;
         t += gridDim.x * blockDim.x)
        if (key[t] & 8)
            atomicAdd(&places[key[t - t % run] % most], (float)(t % 5 + 1));
}
__global__ void add_four(const unsigned *key, float *places, unsigned run, unsigned most)
{
    unsigned t = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
#pragma unroll
    for (unsigned n = 0; n < 4; n++, t++)
        atomicAdd(&places[key[t - t % run] % most], (float)(t % 5 + 1));
}
__global__ void add_number(const unsigned *key, float *places, unsigned most, float x, float y)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&places[key[t] % most], key[t] & 64 ? x : y);
}

static int differ(const std::vector<float> &want)
{
    int wrong = 0;
    for (unsigned n = 0; n < TABLE; n++)
        wrong += all[n] != want[n];
    return wrong;
}

/* Tables of several sizes, at several distances from where a page begins. */
static void check_tables(int kind)
{
    static const unsigned mosts[] = {1, 16, 1000, 5000, 9000};
    for (unsigned most : mosts)
        for (unsigned run = 1; run <= 8; run += 7)
            for (unsigned from = 0; from < 3000; from += 1331) {
                std::vector<float> want(TABLE, 7);
                for (unsigned n = 0; n < TABLE; n++)
                    all[n] = 7;
                for (unsigned t = 0; t < THREADS; t++)
                    if (kind != 1 || (keys[t] & 8))
                        want[from + key_of(t, run, most)] += (float)(t % 5 + 1);
                if (kind == 0)
                    add<<<GRID, BLOCK>>>(keys, all + from, run, most);
                else if (kind == 1)
                    add_some<<<5, BLOCK>>>(keys, all + from, run, most);
                else
                    add_four<<<GRID / 4, BLOCK>>>(keys, all + from, run, most);
                CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
                CHECK_EQ_INT(differ(want), 0);
            }
}

/* Kernels that add to the same places. */
static void check_streams()
{
    cudaStream_t stream[STREAMS];
    std::vector<float> want(TABLE, 0);
    for (unsigned n = 0; n < TABLE; n++)
        all[n] = 0;
    for (cudaStream_t &s : stream)
        CHECK_EQ_INT(cudaStreamCreate(&s), cudaSuccess);
    for (int round = 0; round < 4; round++)
        for (cudaStream_t s : stream)
            add<<<GRID, BLOCK, 0, s>>>(keys, all, 1, 700);
    for (unsigned t = 0; t < THREADS; t++)
        want[key_of(t, 1, 700)] += 4 * STREAMS * (float)(t % 5 + 1);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(differ(want), 0);
    for (cudaStream_t s : stream)
        cudaStreamDestroy(s);
}

static float after_adding(unsigned most, float old, float x, float y)
{
    for (unsigned n = 0; n < most; n++)
        all[n] = old;
    add_number<<<GRID, BLOCK>>>(keys, all, most, x, y);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned n = 1; n < most; n++)
        if (all[n] != all[0])
            return -1;
    return all[0];
}

/* Each addition is rounded, and flushes what is subnormal. */
static void check_rounding()
{
    for (unsigned most = 1; most < 5000; most = most * 9 + 5) {
        CHECK(after_adding(most, 16777216.0f, 1.0f, 1.0f) == 16777216.0f);
        CHECK(after_adding(most, 16777216.0f, 1.0f, 0.0f) == 16777216.0f);
        CHECK(after_adding(most, 1.0f, 0x1p-126f, 0.0f) == 1.0f);
        CHECK(after_adding(most, 0.0f, 0x1p-127f, 0x1.8p-128f) == 0.0f);
        CHECK(after_adding(most, 0x1p-127f, 0x1p-130f, 0.0f) == 0.0f);
        CHECK(after_adding(most, 0x1p-127f, 0.0f, 0.0f) == 0.0f);
        CHECK(after_adding(most, INFINITY, 1.0f, 3.0f) == INFINITY);
    }
}

/* Places of a thread's own, next to each other, to which it adds and which it reads. */
__global__ void add_and_read(const unsigned *place, float *table, unsigned *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, right = 0;
    for (int n = 0; n < 8; n++) {
        right += table[place[t]] == (float)n * 2;
        atomicAdd(&table[place[t]], 2.0f);
    }
    right += atomicExch(&table[place[t]], 5.0f) == 16.0f;
    out[t] = right;
}
static void check_reading()
{
    unsigned *place, *out;
    float *table;
    CHECK_EQ_INT(cudaMallocManaged(&place, THREADS * sizeof *place), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, THREADS * sizeof *out), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&table, THREADS * sizeof *table), cudaSuccess);
    for (unsigned t = 0; t < THREADS; t++) {
        place[t] = (t & ~127u) + (t * 77 + 31) % 128;
        table[t] = 0;
    }
    add_and_read<<<GRID, BLOCK>>>(place, table, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (unsigned t = 0; t < THREADS; t++)
        wrong += out[t] != 9 || table[t] != 5;
    CHECK_EQ_INT(wrong, 0);
    cudaFree(place);
    cudaFree(out);
    cudaFree(table);
}

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&keys, THREADS * sizeof *keys), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&all, TABLE * sizeof *all), cudaSuccess);
    for (unsigned t = 0; t < THREADS; t++)
        keys[t] = (t * 2654435761u) ^ (t * 40503u >> 7);
    for (int kind = 0; kind < 3; kind++)
        check_tables(kind);
    check_streams();
    check_rounding();
    check_reading();
    return check_done();
}
