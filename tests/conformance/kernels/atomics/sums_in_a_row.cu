/* K2: sums of floats that a thread makes one after the other, two to nine of them: at one address
 * by all threads, at addresses of the threads' own, in runs that end within a thread's, at random.
 * Each is an addition of its own to what memory has, and subnormals among them become zeros.
 */
#include <vector>

#include "check.h"

enum { BLOCK = 128, GRID = 40, THREADS = BLOCK * GRID, MOST = 9, ELEMENTS = THREADS * MOST };

enum way { ONE, OWN, RUNS, SHORT, RANDOM, COLUMNS, WAYS };

static unsigned place_of(int way, unsigned element, unsigned each)
{
    unsigned r = element * 2654435761u >> 7;
    switch (way) {
    case ONE: return 3;
    case OWN: return element / each;
    case RUNS: return element / 11;
    case SHORT: return element / 3;
    case RANDOM: return r % 500;
    default: return element % each * THREADS + element / each / 8; /* a table for each */
    }
}

template <int EACH>
__global__ void add(const unsigned *place, const float *value, float *sums, unsigned threads)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads)
        return;
    unsigned at[EACH];
    float v[EACH];
    for (int n = 0; n < EACH; n++)
        at[n] = place[t * EACH + n], v[n] = value[t * EACH + n];
    for (int n = 0; n < EACH; n++)
        atomicAdd(&sums[at[n]], v[n]);
}

/* A thread finds what it has added, and what it stores between two sums stays. */
__global__ void add_and_look(float *sums, float *seen)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sums[t], 1.0f);
    atomicAdd(&sums[t], 2.0f);
    float first = sums[t];
    sums[t] = 10;
    atomicAdd(&sums[t], 4.0f);
    atomicAdd(&sums[t], 8.0f);
    seen[t] = first + atomicExch(&sums[t], 5.0f);
}

static unsigned *places;
static float *values, *sums;

template <int EACH> static void check_ways()
{
    for (int way = 0; way < WAYS; way++)
        for (unsigned threads = THREADS; threads > 100; threads = threads * 2 / 5) {
            std::vector<float> want(ELEMENTS);
            for (unsigned n = 0; n < ELEMENTS; n++)
                sums[n] = 0;
            for (unsigned n = 0; n < threads * EACH; n++) {
                places[n] = place_of(way, n, EACH);
                values[n] = (float)(n % 7 + 1); /* so that sums are exact in any order */
                want[places[n]] += values[n];
            }
            add<EACH><<<GRID, BLOCK>>>(places, values, sums, threads);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            int wrong = 0;
            for (unsigned n = 0; n < ELEMENTS; n++)
                wrong += sums[n] != want[n];
            if (wrong != 0)
                printf("way %d, %d each, %u threads: %d are wrong\n", way, EACH, threads, wrong);
            CHECK_EQ_INT(wrong, 0);
        }
}

/* One after the other: 2^24 + 1 is 2^24, and so is the sum of that and of any number of ones. */
template <int EACH> static void check_roundings(int way, float start, float x, float want)
{
    for (unsigned n = 0; n < ELEMENTS; n++)
        sums[n] = start, values[n] = x, places[n] = place_of(way, n, EACH);
    add<EACH><<<GRID, BLOCK>>>(places, values, sums, THREADS);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (unsigned n = 0; n < THREADS * EACH; n++)
        wrong += sums[places[n]] != want;
    CHECK_EQ_INT(wrong, 0);
}

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&places, ELEMENTS * sizeof *places), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&values, ELEMENTS * sizeof *values), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&sums, ELEMENTS * sizeof *sums), cudaSuccess);
    check_ways<2>();
    check_ways<3>();
    check_ways<4>();
    check_ways<7>();
    check_ways<9>();
    for (int way = 0; way < WAYS; way++) {
        check_roundings<4>(way, 0x1p24f, 1.0f, 0x1p24f);
        check_roundings<3>(way, 1.0f, 0x1p-127f, 1.0f);
        check_roundings<4>(way, 0x1p-128f, 0x1p-130f, 0.0f);
    }
    check_roundings<4>(OWN, 0x1p-128f, 0x1p-126f, 0x1p-124f);
    for (unsigned t = 0; t < THREADS; t++)
        sums[t] = 100;
    add_and_look<<<GRID, BLOCK>>>(sums, values);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (unsigned t = 0; t < THREADS; t++)
        wrong += values[t] != 103 + 22 || sums[t] != 5;
    CHECK_EQ_INT(wrong, 0);
    cudaFree(places);
    cudaFree(values);
    cudaFree(sums);
    return check_done();
}
