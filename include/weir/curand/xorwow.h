/* XORWOW: Marsaglia's xorshift generator of 160 bits and a Weyl sequence ("Xorshift RNGs", Journal
 * of Statistical Software 8(14), 2003, section 3.1), the default of cuRAND.
 *
 * The 160 bits are linear: the state n steps ahead is x^n modulo the characteristic polynomial of
 * the step, applied to the state (jumps.h). A jump costs 160 steps whatever its length; sequences
 * and offsets are put together from one jump for each digit of five bits. */
#ifndef WEIR_CURAND_XORWOW_H
#define WEIR_CURAND_XORWOW_H

#include "weir/curand/jumps.h"

struct curandStateXORWOW {
    unsigned int d, v[5];          /* the Weyl sequence; the five words of the xorshift */
    int boxmuller_flag;            /* which kind of number boxmuller_extra is, 0: none */
    int boxmuller_flag_double;     /* the same of boxmuller_extra_double */
    float boxmuller_extra;         /* the second number of a pair, not yet given out */
    double boxmuller_extra_double; /* the same in double precision */
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

namespace weir
{
namespace curand
{

/* The tables of jumps.h, in the memory of whoever runs this. */
#if defined(__CUDA_ARCH__)
static __device__ const unsigned xorwow_steps[] = {WEIR_XORWOW_STEPS};
static __device__ const unsigned xorwow_sequences[] = {WEIR_XORWOW_SEQUENCES};
#else
static const unsigned xorwow_steps[] = {WEIR_XORWOW_STEPS};
static const unsigned xorwow_sequences[] = {WEIR_XORWOW_SEQUENCES};
#endif

WEIR_CURAND void xorwow_step(unsigned (&v)[5])
{
    unsigned t = v[0] ^ v[0] >> 2;
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
}

/* Applies a polynomial of 160 coefficients. Threads side by side as a rule begin with one state and
 * apply polynomials of their own, so that they have the steps in common. */
WEIR_CURAND void xorwow_jump(unsigned (&v)[5], const unsigned *polynomial)
{
    unsigned sum[5] = {0, 0, 0, 0, 0};
#pragma unroll 1
    for (int word = 0; word < 5; word++) {
        unsigned bits = polynomial[word];
#pragma unroll 1
        for (int i = 0; i < 32; i += 8, bits >>= 8)
#pragma unroll
            for (int bit = 0; bit < 8; bit++) {
                unsigned mask = (unsigned)((int)(bits << (31 - bit)) >> 31);
                for (int k = 0; k < 5; k++)
                    sum[k] ^= v[k] & mask;
                xorwow_step(v);
            }
    }
    for (int k = 0; k < 5; k++)
        v[k] = sum[k];
}

/* n units ahead, by the table for that unit. The order of jumps makes no difference: those by the
 * upper digits come first, as threads side by side have them in common, and one jump serves all.
 * What is common gets no register with what is a thread's own, by asm. */
WEIR_CURAND void xorwow_ahead(unsigned (&v)[5], unsigned long long n, const unsigned *table)
{
    unsigned long long rest = n >> 5;
    const unsigned *digits = table + 32 * 5;
#if defined(__CUDA_ARCH__)
    asm("mov.b64 %0, %1;" : "=l"(rest) : "l"(n >> 5));
#endif
#pragma unroll 1
    for (; rest != 0; rest >>= 5, digits += 32 * 5)
        xorwow_jump(v, digits + (rest & 31) * 5);
#if defined(__CUDA_ARCH__)
    for (unsigned &word : v) {
        unsigned own;
        asm("mov.b32 %0, %1;" : "=r"(own) : "r"(word));
        word = own;
    }
#endif
    xorwow_jump(v, table + (n & 31) * 5);
}

constexpr unsigned weyl_step = 362437;

} // namespace curand
} // namespace weir

/* The next 32 bits. */
WEIR_CURAND unsigned int curand(curandStateXORWOW_t *state)
{
    weir::curand::xorwow_step(state->v);
    state->d += weir::curand::weyl_step;
    return state->v[4] + state->d;
}

/* n numbers ahead. What curand_normal has kept stays kept. */
WEIR_CURAND void skipahead(unsigned long long n, curandStateXORWOW_t *state)
{
    if (n != 0)
        weir::curand::xorwow_ahead(state->v, n, weir::curand::xorwow_steps);
    state->d += weir::curand::weyl_step * (unsigned)n;
}

/* n sequences of 2^67 numbers ahead; the Weyl sequence has come around by then. */
WEIR_CURAND void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state)
{
    weir::curand::xorwow_ahead(state->v, n, weir::curand::xorwow_sequences);
}

/* The state that `seed` gives, `subsequence` sequences of 2^67 and `offset` numbers ahead. */
WEIR_CURAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStateXORWOW_t *state)
{
    unsigned a = 1099087573u * ((unsigned)seed ^ 0xaad26b49u);
    unsigned b = 2591861531u * ((unsigned)(seed >> 32) ^ 0xf7dcefddu);
    state->d = 6615241u + b + a;
    state->v[0] = 123456789u + a;
    state->v[1] = 362436069u ^ a;
    state->v[2] = 521288629u + b;
    state->v[3] = 88675123u ^ b;
    state->v[4] = 5783321u + a;
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}

#endif
