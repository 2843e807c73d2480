/* K2: sums of floats by lanes that are sorted, so that neighbours add to one element and the next
 * ones to the next: each is a sequence of additions in lane order, subnormals among them become
 * zeros, and what lies beside the elements keeps its bits. Several blocks that add to the same
 * elements lose nothing.
 */
#include <cmath>
#include <cstdint>
#include <cstring>

#include "check.h"

enum { CASES = 6000, WARP = 32, ELEMENTS = 64, BLOCKS = 48, BLOCK = 256, ROUNDS = 20 };

struct work {
    int first, last; /* lanes that add */
    int place[WARP];
    float value[WARP];
};

/* A fence, so that the sums are made at once. */
__global__ void add(const work *w, float *sums)
{
    const work *mine = &w[blockIdx.x];
    int lane = threadIdx.x;
    if (lane >= mine->first && lane < mine->last)
        atomicAdd(&sums[blockIdx.x * ELEMENTS + mine->place[lane]], mine->value[lane]);
    __threadfence();
}

__global__ void add_all(float *sums, int length)
{
    for (int n = 0; n < ROUNDS; n++)
        atomicAdd(&sums[threadIdx.x / length], 1.0f);
    __threadfence();
}

static uint32_t state = 1;
static uint32_t next(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static float some_float(bool plain)
{
    uint32_t kind = plain ? 99 : next(24);
    float x = (float)next(1 << 20) / 997 * (next(2) ? 1 : -1);
    switch (kind) {
    case 0: return ldexpf(x, -140);
    case 1: return ldexpf(x, -125);
    case 2: return -0.0f;
    case 3: return INFINITY;
    case 4: return ldexpf(x, 100);
    default: return x;
    }
}

static float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

/* A NaN that was computed may have any bits. */
static bool same(float a, float want)
{
    uint32_t bits;
    memcpy(&bits, &want, sizeof bits);
    bool computed = std::isnan(want) && (bits & 0x00400000) != 0;
    return computed ? std::isnan(a) : memcmp(&a, &want, sizeof a) == 0;
}

static void make_case(work *w, float *have, float *want)
{
    bool plain = next(3) != 0;
    for (int n = 0; n < ELEMENTS; n++) {
        have[n] = some_float(plain);
        uint32_t odd = 0x7fa00001u + (uint32_t)n; /* a signaling NaN */
        if (next(4) == 0)
            memcpy(&have[n], &odd, sizeof odd);
    }
    w->first = next(2) ? 0 : (int)next(8);
    w->last = next(2) ? WARP : w->first + 1 + (int)next((uint32_t)(WARP - w->first));
    int at = (int)next(9), longest = 1 + (int)next(12), gap = next(4) == 0;
    for (int lane = 0, left = 0; lane < WARP; lane++) {
        if (left == 0) {
            at += lane > 0 ? 1 + (gap && next(5) == 0) : 0;
            left = 1 + (int)next((uint32_t)longest);
        }
        left--;
        w->place[lane] = at < ELEMENTS ? at : ELEMENTS - 1;
        w->value[lane] = some_float(plain);
    }
    for (int lane = w->first; lane < w->last; lane++)
        if (std::isnan(have[w->place[lane]]))
            have[w->place[lane]] = 1;
    memcpy(want, have, ELEMENTS * sizeof *have);
    for (int lane = w->first; lane < w->last; lane++) {
        float *sum = &want[w->place[lane]];
        *sum = flushed(flushed(*sum) + flushed(w->value[lane]));
    }
}

static void check_cases(work *w, float *sums, float *want)
{
    for (int n = 0; n < CASES; n++)
        make_case(&w[n], sums + n * ELEMENTS, want + n * ELEMENTS);
    add<<<CASES, WARP>>>(w, sums);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int n = 0; n < CASES * ELEMENTS; n++) {
        if (same(sums[n], want[n]))
            continue;
        if (wrong++ < 5)
            printf("case %d, element %d: %a, not %a\n", n / ELEMENTS, n % ELEMENTS, sums[n], want[n]);
    }
    CHECK_EQ_INT(wrong, 0);
}

static void check_blocks(float *sums, int length)
{
    for (int n = 0; n < BLOCK; n++)
        sums[n] = 0;
    add_all<<<BLOCKS, BLOCK>>>(sums, length);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int n = 0; n < BLOCK; n++) {
        int lanes = BLOCK - n * length;
        lanes = lanes < 0 ? 0 : lanes < length ? lanes : length;
        wrong += sums[n] != (float)(lanes * BLOCKS * ROUNDS);
    }
    CHECK_EQ_INT(wrong, 0);
}

int main()
{
    work *w;
    float *sums, *want = new float[CASES * ELEMENTS];
    CHECK_EQ_INT(cudaMallocManaged(&w, CASES * sizeof *w), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&sums, CASES * ELEMENTS * sizeof *sums), cudaSuccess);
    check_cases(w, sums, want);
    check_blocks(sums, 8);
    check_blocks(sums, 5);
    check_blocks(sums + 1, 3);
    check_blocks(sums + 2, 32);
    delete[] want;
    cudaFree(w);
    cudaFree(sums);
    return check_done();
}
