/* Philox4x32-10: a counter, ten times multiplied and mixed with a key (Salmon, Moraes, Dror, Shaw:
 * "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). The seed is the key, the subsequence the
 * upper half of the counter, and each value of the counter gives four numbers. */
#ifndef WEIR_CURAND_PHILOX_H
#define WEIR_CURAND_PHILOX_H

struct curandStatePhilox4_32_10 {
    uint4 ctr;          /* the counter that `output` was made of */
    uint4 output;       /* its four numbers */
    uint2 key;          /* the seed */
    unsigned int STATE; /* how many of `output` are given out, 0 to 3 */
    int boxmuller_flag; /* as in curandStateXORWOW, as what follows */
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace weir
{
namespace curand
{

WEIR_CURAND uint4 philox(uint4 c, uint2 key)
{
    for (int round = 0; round < 10; round++) {
        unsigned long long a = 0xd2511f53ull * c.x, b = 0xcd9e8d57ull * c.z;
        c = make_uint4((unsigned)(b >> 32) ^ c.y ^ key.x, (unsigned)b,
                       (unsigned)(a >> 32) ^ c.w ^ key.y, (unsigned)a);
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return c;
}

/* The counter n ahead, all of its 128 bits. */
WEIR_CURAND void philox_count(curandStatePhilox4_32_10_t *state, unsigned long long n)
{
    unsigned long long low = (unsigned long long)state->ctr.y << 32 | state->ctr.x;
    unsigned long long high = (unsigned long long)state->ctr.w << 32 | state->ctr.z;
    low += n;
    high += low < n;
    state->ctr =
        make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
}
WEIR_CURAND void philox_next(curandStatePhilox4_32_10_t *state)
{
    philox_count(state, 1);
    state->output = philox(state->ctr, state->key);
}

} // namespace curand
} // namespace weir

WEIR_CURAND unsigned int curand(curandStatePhilox4_32_10_t *state)
{
    unsigned r = state->STATE == 0   ? state->output.x
                 : state->STATE == 1 ? state->output.y
                 : state->STATE == 2 ? state->output.z
                                     : state->output.w;
    if (++state->STATE == 4) {
        weir::curand::philox_next(state);
        state->STATE = 0;
    }
    return r;
}

/* The next four numbers. */
WEIR_CURAND uint4 curand4(curandStatePhilox4_32_10_t *state)
{
    uint4 a = state->output;
    weir::curand::philox_next(state);
    uint4 b = state->output;
    switch (state->STATE) {
    case 0: return a;
    case 1: return make_uint4(a.y, a.z, a.w, b.x);
    case 2: return make_uint4(a.z, a.w, b.x, b.y);
    default: return make_uint4(a.w, b.x, b.y, b.z);
    }
}

WEIR_CURAND void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    unsigned rest = state->STATE + (unsigned)(n & 3);
    unsigned long long counts = (n >> 2) + (rest >> 2);
    state->STATE = rest & 3;
    weir::curand::philox_count(state, counts);
    state->output = weir::curand::philox(state->ctr, state->key);
}

/* n subsequences of 2^66 numbers ahead. */
WEIR_CURAND void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    unsigned long long high = (unsigned long long)state->ctr.w << 32 | state->ctr.z;
    high += n;
    state->ctr.z = (unsigned)high;
    state->ctr.w = (unsigned)(high >> 32);
    state->output = weir::curand::philox(state->ctr, state->key);
}

WEIR_CURAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStatePhilox4_32_10_t *state)
{
    state->ctr = make_uint4(0, 0, (unsigned)subsequence, (unsigned)(subsequence >> 32));
    state->key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    state->STATE = 0;
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
    skipahead(offset, state);
}

#endif
