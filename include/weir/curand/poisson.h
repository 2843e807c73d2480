/* The Poisson distribution. Pseudorandom generators: below a mean of 64 by multiplying uniform
 * numbers (Knuth), above 4000 by rounding normal ones; both give what the real library gives, except
 * from the last bits of functions. Between them the real method is not published; here it is
 * Hörmann's transformed rejection ("The transformed rejection method for generating Poisson random
 * variables", 1993), which is exact but gives other numbers. Sobol sequences: the inverse of the
 * distribution, one from one, from a mean of 1000 on by rounding normal numbers. */
#ifndef WEIR_CURAND_POISSON_H
#define WEIR_CURAND_POISSON_H

namespace weir
{
namespace curand
{

template <typename State> WEIR_CURAND unsigned poisson_knuth(State *state, double lambda)
{
    unsigned k = 0;
    float p = expf((float)lambda);
    do {
        k++;
        p *= curand_uniform(state);
    } while (p > 1.0f);
    return k - 1;
}

/* PTRS; for means of 10 and more. */
template <typename State> WEIR_CURAND unsigned poisson_rejection(State *state, double lambda)
{
    const double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
    for (;;) {
        double u = (double)curand_uniform(state) - 0.5, v = (double)curand_uniform(state);
        double us = 0.5 - fabs(u), k = floor((2.0 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= v_r)
            return (unsigned)k;
        if (k < 0.0 || (us < 0.013 && v > us))
            continue;
        if (log(v * inverse_alpha / (a / (us * us) + b)) <=
            k * log(lambda) - lambda - lgamma(k + 1.0))
            return (unsigned)k;
    }
}

WEIR_CURAND unsigned poisson_of_normal(double lambda, double normal)
{
    double r = sqrt(lambda) * normal + lambda + 0.5;
    return r <= 0.0 ? 0u : r >= 4294967295.0 ? 0xffffffffu : (unsigned)r;
}

template <typename State> WEIR_CURAND unsigned poisson(State *state, double lambda)
{
    if (lambda < 64.0)
        return poisson_knuth(state, lambda);
    if (lambda > 4000.0)
        return poisson_of_normal(lambda, curand_normal_double(state));
    return poisson_rejection(state, lambda);
}

/* The least k whose distribution function reaches u, by adding up from where the sum is still
 * nothing. */
WEIR_CURAND unsigned poisson_inverse(double u, double lambda)
{
    double first = lambda < 700.0 ? 0.0 : floor(lambda - 12.0 * sqrt(lambda));
    double p = exp(first * log(lambda) - lambda - lgamma(first + 1.0)), sum = p, k = first;
    if (first == 0.0)
        sum = p = exp(-lambda);
    while (u > sum && k < 4000.0) {
        k += 1.0;
        p *= lambda / k;
        sum += p;
    }
    return (unsigned)k;
}

template <typename State> WEIR_CURAND unsigned poisson_sobol(State *state, double lambda)
{
    return lambda < 1000.0 ? poisson_inverse(curand_uniform_double(state), lambda)
                           : poisson_of_normal(lambda, curand_normal_double(state));
}

} // namespace curand
} // namespace weir

#define WEIR_POISSON(State, how)                                                                   \
    WEIR_CURAND unsigned int curand_poisson(State *state, double lambda)                           \
    {                                                                                              \
        return weir::curand::how(state, lambda);                                                   \
    }
WEIR_POISSON(curandStateXORWOW_t, poisson)
WEIR_POISSON(curandStatePhilox4_32_10_t, poisson)
WEIR_POISSON(curandStateMRG32k3a_t, poisson)
WEIR_POISSON(curandStateSobol32_t, poisson_sobol)
WEIR_POISSON(curandStateScrambledSobol32_t, poisson_sobol)
WEIR_POISSON(curandStateSobol64_t, poisson_sobol)
WEIR_POISSON(curandStateScrambledSobol64_t, poisson_sobol)
#undef WEIR_POISSON

WEIR_CURAND uint4 curand_poisson4(curandStatePhilox4_32_10_t *state, double lambda)
{
    if (lambda > 4000.0) {
        double4 v = curand_normal4_double(state);
        return make_uint4(weir::curand::poisson_of_normal(lambda, v.x),
                          weir::curand::poisson_of_normal(lambda, v.y),
                          weir::curand::poisson_of_normal(lambda, v.z),
                          weir::curand::poisson_of_normal(lambda, v.w));
    }
    uint4 r;
    r.x = curand_poisson(state, lambda);
    r.y = curand_poisson(state, lambda);
    r.z = curand_poisson(state, lambda);
    r.w = curand_poisson(state, lambda);
    return r;
}

#endif
