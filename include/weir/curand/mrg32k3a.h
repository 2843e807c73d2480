/* MRG32k3a: two linear recurrences of order three, combined (L'Ecuyer: "Good Parameters and
 * Implementations for Combined Multiple Recursive Random Number Generators", 1999).
 *
 * The state n steps ahead is x^n modulo the recurrence's polynomial of degree three, applied to the
 * state (jumps.h has it for powers of two). */
#ifndef WEIR_CURAND_MRG32K3A_H
#define WEIR_CURAND_MRG32K3A_H

#include "weir/curand/jumps.h"

struct curandStateMRG32k3a {
    unsigned int s1[3], s2[3]; /* the last three values of each recurrence, the oldest first */
    int boxmuller_flag;        /* as in curandStateXORWOW, as what follows */
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

namespace weir
{
namespace curand
{

constexpr unsigned mrg_modulus1 = 4294967087u; /* 2^32 - 209 */
constexpr unsigned mrg_modulus2 = 4294944443u; /* 2^32 - 22853 */

#if defined(__CUDA_ARCH__)
static __device__ const unsigned mrg_steps[] = {WEIR_MRG32K3A_STEPS};
#else
static const unsigned mrg_steps[] = {WEIR_MRG32K3A_STEPS};
#endif

/* A smaller number that is the same modulo the modulus: 2^32 is what is missing to it. Of less than
 * 2^49 (by the first modulus: 2^54) it makes one below the double of the modulus. */
template <unsigned Modulus> WEIR_CURAND unsigned long long mrg_fold(unsigned long long x)
{
    constexpr unsigned missing = 0u - Modulus;
    return (x & 0xffffffffu) + (x >> 32) * missing;
}
/* x modulo the modulus, if x is below its double. */
template <unsigned Modulus> WEIR_CURAND unsigned mrg_final(unsigned long long x)
{
    return (unsigned)(x >= Modulus ? x - Modulus : x);
}
template <unsigned Modulus> WEIR_CURAND unsigned mrg_times(unsigned a, unsigned b)
{
    unsigned long long product = (unsigned long long)a * b;
    return mrg_final<Modulus>(mrg_fold<Modulus>(mrg_fold<Modulus>(product)));
}

/* The next value of a recurrence: plus * b - minus * a, of values below the modulus. The factors
 * have 21 bits, and the sum is below 2^53. */
WEIR_CURAND unsigned mrg_next1(unsigned a, unsigned b, unsigned)
{
    unsigned long long sum = 1403580ull * b + 810728ull * (mrg_modulus1 - a);
    return mrg_final<mrg_modulus1>(mrg_fold<mrg_modulus1>(sum));
}
WEIR_CURAND unsigned mrg_next2(unsigned a, unsigned, unsigned c)
{
    unsigned long long sum = 527612ull * c + 1370589ull * (mrg_modulus2 - a);
    return mrg_final<mrg_modulus2>(mrg_fold<mrg_modulus2>(mrg_fold<mrg_modulus2>(sum)));
}

/* The next number, from 1 to mrg_modulus1. */
WEIR_CURAND unsigned mrg_step(curandStateMRG32k3a_t *state)
{
    unsigned p = mrg_next1(state->s1[0], state->s1[1], state->s1[2]);
    unsigned q = mrg_next2(state->s2[0], state->s2[1], state->s2[2]);
    state->s1[0] = state->s1[1];
    state->s1[1] = state->s1[2];
    state->s1[2] = p;
    state->s2[0] = state->s2[1];
    state->s2[1] = state->s2[2];
    state->s2[2] = q;
    return p > q ? p - q : p - q + mrg_modulus1;
}

/* One component moved by a polynomial, which serves each of five values in a row. */
template <unsigned Modulus>
WEIR_CURAND void mrg_apply(unsigned (&s)[3], unsigned fourth, unsigned fifth, const unsigned *c)
{
    unsigned all[5] = {s[0], s[1], s[2], fourth, fifth};
    for (int i = 0; i < 3; i++) {
        unsigned long long sum = 0; /* below 2^49 */
        for (int k = 0; k < 3; k++)
            sum += mrg_fold<Modulus>((unsigned long long)all[i + k] * c[k]);
        s[i] = mrg_final<Modulus>(mrg_fold<Modulus>(sum));
    }
}

/* n * 2^first steps ahead. */
WEIR_CURAND void mrg_bits(curandStateMRG32k3a_t *state, unsigned long long n, int first)
{
    const unsigned *c = mrg_steps + 6 * first;
#pragma unroll 1
    for (; n != 0; n >>= 1, c += 6)
        if (n & 1) {
            unsigned a = mrg_next1(state->s1[0], state->s1[1], state->s1[2]);
            unsigned b = mrg_next1(state->s1[1], state->s1[2], a);
            mrg_apply<mrg_modulus1>(state->s1, a, b, c);
            a = mrg_next2(state->s2[0], state->s2[1], state->s2[2]);
            b = mrg_next2(state->s2[1], state->s2[2], a);
            mrg_apply<mrg_modulus2>(state->s2, a, b, c + 3);
        }
}
/* The same. The order of steps makes no difference: those by the upper bits come first, as the
 * threads of a warp have them in common, and one serves all. */
WEIR_CURAND void mrg_ahead(curandStateMRG32k3a_t *state, unsigned long long n, int first)
{
    mrg_bits(state, n >> 5, first + 5);
#if defined(__CUDA_ARCH__) /* what threads have in common so far gets no register with what        \
                              follows */
    for (int k = 0; k < 6; k++) {
        unsigned own, &word = k < 3 ? state->s1[k] : state->s2[k - 3];
        asm("mov.b32 %0, %1;" : "=r"(own) : "r"(word));
        word = own;
    }
#endif
    mrg_bits(state, n & 31, first);
}

} // namespace curand
} // namespace weir

/* Bits: numbers from 1 to the modulus, spread over 32 bits. */
WEIR_CURAND unsigned int curand(curandStateMRG32k3a_t *state)
{
    double d = (double)weir::curand::mrg_step(state) * 1.000000048662;
    return d >= 4294967295.0 ? 0xffffffffu : (unsigned)d;
}

WEIR_CURAND void skipahead(unsigned long long n, curandStateMRG32k3a_t *state)
{
    weir::curand::mrg_ahead(state, n, 0);
}
/* n subsequences of 2^76 numbers ahead. */
WEIR_CURAND void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    weir::curand::mrg_ahead(state, n, 76);
}
/* n sequences of 2^127 numbers ahead. */
WEIR_CURAND void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    weir::curand::mrg_ahead(state, n, 127);
}

WEIR_CURAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStateMRG32k3a_t *state)
{
    const unsigned start = 12345;
    unsigned a = (unsigned)seed ^ 0x55555555u, b = (unsigned)(seed >> 32) ^ 0xaaaaaaaau;
    if (seed == 0)
        a = b = 1;
    state->s1[0] = state->s1[2] = weir::curand::mrg_times<weir::curand::mrg_modulus1>(a, start);
    state->s1[1] = weir::curand::mrg_times<weir::curand::mrg_modulus1>(b, start);
    state->s2[0] = state->s2[2] = weir::curand::mrg_times<weir::curand::mrg_modulus2>(b, start);
    state->s2[1] = weir::curand::mrg_times<weir::curand::mrg_modulus2>(a, start);
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
    skipahead_subsequence(subsequence, state);
    skipahead(offset, state);
}

#endif
