/* Sobol sequences of 32 and 64 bits in the order of Gray codes (Antonov and Saleev, 1979): each
 * number is the last one exclusive-or one direction number; scrambled ones begin with the scramble.
 * The program brings the direction numbers of each dimension. */
#ifndef WEIR_CURAND_SOBOL_H
#define WEIR_CURAND_SOBOL_H

/* A sequence: how many numbers came, the next one, what it began with, and the direction numbers.
 */
struct curandStateSobol32 {
    unsigned int i, x, c;
    unsigned int direction_vectors[32];
};
struct curandStateScrambledSobol32 {
    unsigned int i, x, c;
    unsigned int direction_vectors[32];
};
struct curandStateSobol64 {
    unsigned long long i, x, c;
    unsigned long long direction_vectors[64];
};
struct curandStateScrambledSobol64 {
    unsigned long long i, x, c;
    unsigned long long direction_vectors[64];
};
typedef struct curandStateSobol32 curandStateSobol32_t;
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef struct curandStateSobol64 curandStateSobol64_t;
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

namespace weir
{
namespace curand
{

/* The sequence's number i, by the Gray code of i. */
template <typename State> WEIR_CURAND void sobol_seek(State *state)
{
    auto gray = state->i ^ state->i >> 1;
    auto x = state->c;
    for (int k = 0; gray != 0; k++, gray >>= 1)
        if (gray & 1)
            x ^= state->direction_vectors[k];
    state->x = x;
}

template <typename State, typename Word>
WEIR_CURAND void sobol_init(State *state, const Word *directions, Word scramble, Word offset)
{
    for (int k = 0; k < 8 * (int)sizeof(Word); k++)
        state->direction_vectors[k] = directions[k];
    state->i = offset;
    state->c = scramble;
    sobol_seek(state);
}

/* The number now, and the sequence one further: the direction of the lowest zero of i. After the
 * last one comes the first direction missing: none. */
template <typename State> WEIR_CURAND auto sobol_next(State *state) -> decltype(state->x)
{
    constexpr int bits = 8 * sizeof(state->x);
    auto r = state->x;
    auto zeros = ~state->i;
    int k = 0;
    while (k < bits - 1 && !(zeros & 1)) {
        zeros >>= 1;
        k++;
    }
    state->x = r ^ state->direction_vectors[k];
    state->i++;
    return r;
}

} // namespace curand
} // namespace weir

#define WEIR_SOBOL(State, Word)                                                                    \
    WEIR_CURAND Word curand(State *state) { return weir::curand::sobol_next(state); }
WEIR_SOBOL(curandStateSobol32_t, unsigned int)
WEIR_SOBOL(curandStateScrambledSobol32_t, unsigned int)
WEIR_SOBOL(curandStateSobol64_t, unsigned long long)
WEIR_SOBOL(curandStateScrambledSobol64_t, unsigned long long)
#undef WEIR_SOBOL

WEIR_CURAND void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int offset,
                             curandStateSobol32_t *state)
{
    weir::curand::sobol_init(state, direction_vectors, 0u, offset);
}
WEIR_CURAND void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int scramble_c,
                             unsigned int offset, curandStateScrambledSobol32_t *state)
{
    weir::curand::sobol_init(state, direction_vectors, scramble_c, offset);
}
WEIR_CURAND void curand_init(curandDirectionVectors64_t direction_vectors,
                             unsigned long long offset, curandStateSobol64_t *state)
{
    weir::curand::sobol_init(state, direction_vectors, 0ull, offset);
}
WEIR_CURAND void curand_init(curandDirectionVectors64_t direction_vectors,
                             unsigned long long scramble_c, unsigned long long offset,
                             curandStateScrambledSobol64_t *state)
{
    weir::curand::sobol_init(state, direction_vectors, scramble_c, offset);
}

/* n numbers ahead: `State` is a pointer to one of the states of that width. */
template <typename State> WEIR_CURAND void skipahead(unsigned int n, State state)
{
    state->i += n;
    weir::curand::sobol_seek(state);
}
template <typename State> WEIR_CURAND void skipahead(unsigned long long n, State state)
{
    state->i += n;
    weir::curand::sobol_seek(state);
}

#endif
