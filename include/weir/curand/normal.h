/* Normal and log-normal distributions: of pseudorandom numbers two at a time by the method of Box
 * and Muller, of Sobol sequences by the inverse of the distribution, one from one.
 *
 * In single precision the sine and cosine are the fast ones of the device, whose last bits are the
 * hardware's own. */
#ifndef WEIR_CURAND_NORMAL_H
#define WEIR_CURAND_NORMAL_H

namespace weir
{
namespace curand
{

/* What a state's extra number is. */
enum extra_kind { extra_none = 0, extra_normal = 1, extra_log_normal = 2 };

WEIR_CURAND void fast_sincos(float x, float *s, float *c)
{
#if defined(__CUDA_ARCH__)
    *s = __sinf(x);
    *c = __cosf(x);
#else
    *s = sinf(x);
    *c = cosf(x);
#endif
}

WEIR_CURAND float2 polar(float radius2, float angle)
{
    float r = sqrtf(-2.0f * logf(radius2)), s, c;
    fast_sincos(angle, &s, &c);
    return make_float2(r * s, r * c);
}
WEIR_CURAND double2 polar_double(double radius2, double half_turns)
{
    double r = sqrt(-2.0 * log(radius2)), s, c;
    sincospi(half_turns, &s, &c);
    return make_double2(r * s, r * c);
}

WEIR_CURAND float2 box_muller(unsigned x, unsigned y)
{
    constexpr float turn = inverse_2_32 * 6.2831855f;
    return polar(uniform(x), fmaf((float)y, turn, turn / 2.0f));
}
WEIR_CURAND double2 box_muller_double(unsigned x0, unsigned x1, unsigned y0, unsigned y1)
{
    return polar_double(uniform_double(x0, x1), 2.0 * uniform_double(y0, y1));
}

/* Two numbers of each pseudorandom generator. */
template <typename State> WEIR_CURAND float2 normal2(State *state)
{
    unsigned x = ::curand(state);
    return box_muller(x, ::curand(state));
}
template <typename State> WEIR_CURAND double2 normal2_double(State *state)
{
    unsigned x0 = ::curand(state), x1 = ::curand(state), y0 = ::curand(state);
    return box_muller_double(x0, x1, y0, ::curand(state));
}
WEIR_CURAND float2 normal2(curandStateMRG32k3a_t *state)
{
    float x = curand_uniform(state);
    return polar(x, curand_uniform(state) * 6.2831855f);
}
WEIR_CURAND double2 normal2_double(curandStateMRG32k3a_t *state)
{
    double x = curand_uniform_double(state);
    return polar_double(x, curand_uniform_double(state) * 2.0);
}

WEIR_CURAND float2 exp_of(float2 v, float mean, float deviation)
{
    return make_float2(expf(mean + deviation * v.x), expf(mean + deviation * v.y));
}
WEIR_CURAND double2 exp_of(double2 v, double mean, double deviation)
{
    return make_double2(exp(mean + deviation * v.x), exp(mean + deviation * v.y));
}

/* The quantile of the distribution at (x + 1/2) / 2^32. The upper half is the mirrored lower one,
 * where a float is more exact. */
WEIR_CURAND float normal_quantile(unsigned x)
{
    float s = -1.4142135623730951f;
    if (x > 0x80000000u) {
        x = 0xffffffffu - x;
        s = -s;
    }
    return s * erfcinvf(2.0f * uniform(x));
}
WEIR_CURAND double normal_quantile_double(unsigned x)
{
    double s = -1.4142135623730951;
    if (x >= 0x80000000u) {
        x = 0xffffffffu - x;
        s = -s;
    }
    return s * erfcinv(2.0 * fma((double)x, inverse_2_32_double, inverse_2_32_double / 2.0));
}
WEIR_CURAND float normal_quantile(unsigned long long x)
{
    return normal_quantile((unsigned)(x >> 32));
}
WEIR_CURAND double normal_quantile_double(unsigned long long x)
{
    const unsigned long long middle = 1ull << 52, last = (1ull << 53) - 1;
    double s = -1.4142135623730951;
    x >>= 11;
    if (x > middle) {
        x = last - x;
        s = -s;
    }
    return s * erfcinv(2.0 * fma((double)x, inverse_2_53, inverse_2_53 / 2.0));
}

} // namespace curand
} // namespace weir

/* Single numbers keep the second of a pair for the next call of the same kind. */
#define WEIR_NORMAL_SINGLE(State)                                                                  \
    WEIR_CURAND float curand_normal(State *state)                                                  \
    {                                                                                              \
        if (state->boxmuller_flag == weir::curand::extra_normal) {                                 \
            state->boxmuller_flag = weir::curand::extra_none;                                      \
            return state->boxmuller_extra;                                                         \
        }                                                                                          \
        float2 v = weir::curand::normal2(state);                                                   \
        state->boxmuller_extra = v.y;                                                              \
        state->boxmuller_flag = weir::curand::extra_normal;                                        \
        return v.x;                                                                                \
    }                                                                                              \
    WEIR_CURAND double curand_normal_double(State *state)                                          \
    {                                                                                              \
        if (state->boxmuller_flag_double == weir::curand::extra_normal) {                          \
            state->boxmuller_flag_double = weir::curand::extra_none;                               \
            return state->boxmuller_extra_double;                                                  \
        }                                                                                          \
        double2 v = weir::curand::normal2_double(state);                                           \
        state->boxmuller_extra_double = v.y;                                                       \
        state->boxmuller_flag_double = weir::curand::extra_normal;                                 \
        return v.x;                                                                                \
    }                                                                                              \
    WEIR_CURAND float curand_log_normal(State *state, float mean, float stddev)                    \
    {                                                                                              \
        if (state->boxmuller_flag == weir::curand::extra_log_normal) {                             \
            state->boxmuller_flag = weir::curand::extra_none;                                      \
            return state->boxmuller_extra;                                                         \
        }                                                                                          \
        float2 v = weir::curand::exp_of(weir::curand::normal2(state), mean, stddev);               \
        state->boxmuller_extra = v.y;                                                              \
        state->boxmuller_flag = weir::curand::extra_log_normal;                                    \
        return v.x;                                                                                \
    }                                                                                              \
    WEIR_CURAND double curand_log_normal_double(State *state, double mean, double stddev)          \
    {                                                                                              \
        if (state->boxmuller_flag_double == weir::curand::extra_log_normal) {                      \
            state->boxmuller_flag_double = weir::curand::extra_none;                               \
            return state->boxmuller_extra_double;                                                  \
        }                                                                                          \
        double2 v = weir::curand::exp_of(weir::curand::normal2_double(state), mean, stddev);       \
        state->boxmuller_extra_double = v.y;                                                       \
        state->boxmuller_flag_double = weir::curand::extra_log_normal;                             \
        return v.x;                                                                                \
    }

#define WEIR_NORMAL_PAIR(State)                                                                    \
    WEIR_CURAND float2 curand_normal2(State *state) { return weir::curand::normal2(state); }       \
    WEIR_CURAND double2 curand_normal2_double(State *state)                                        \
    {                                                                                              \
        return weir::curand::normal2_double(state);                                                \
    }                                                                                              \
    WEIR_CURAND float2 curand_log_normal2(State *state, float mean, float stddev)                  \
    {                                                                                              \
        return weir::curand::exp_of(weir::curand::normal2(state), mean, stddev);                   \
    }                                                                                              \
    WEIR_CURAND double2 curand_log_normal2_double(State *state, double mean, double stddev)        \
    {                                                                                              \
        return weir::curand::exp_of(weir::curand::normal2_double(state), mean, stddev);            \
    }

#define WEIR_NORMAL_SOBOL(State)                                                                   \
    WEIR_CURAND float curand_normal(State *state)                                                  \
    {                                                                                              \
        return weir::curand::normal_quantile(curand(state));                                       \
    }                                                                                              \
    WEIR_CURAND double curand_normal_double(State *state)                                          \
    {                                                                                              \
        return weir::curand::normal_quantile_double(curand(state));                                \
    }                                                                                              \
    WEIR_CURAND float curand_log_normal(State *state, float mean, float stddev)                    \
    {                                                                                              \
        return expf(mean + stddev * curand_normal(state));                                         \
    }                                                                                              \
    WEIR_CURAND double curand_log_normal_double(State *state, double mean, double stddev)          \
    {                                                                                              \
        return exp(mean + stddev * curand_normal_double(state));                                   \
    }

WEIR_NORMAL_SINGLE(curandStateXORWOW_t)
WEIR_NORMAL_PAIR(curandStateXORWOW_t)
WEIR_NORMAL_SINGLE(curandStatePhilox4_32_10_t)
WEIR_NORMAL_PAIR(curandStatePhilox4_32_10_t)
WEIR_NORMAL_SINGLE(curandStateMRG32k3a_t)
WEIR_NORMAL_PAIR(curandStateMRG32k3a_t)
WEIR_NORMAL_SOBOL(curandStateSobol32_t)
WEIR_NORMAL_SOBOL(curandStateScrambledSobol32_t)
WEIR_NORMAL_SOBOL(curandStateSobol64_t)
WEIR_NORMAL_SOBOL(curandStateScrambledSobol64_t)
#undef WEIR_NORMAL_SINGLE
#undef WEIR_NORMAL_PAIR
#undef WEIR_NORMAL_SOBOL

/* ---- four at a time, of Philox ---- */

WEIR_CURAND float4 curand_normal4(curandStatePhilox4_32_10_t *state)
{
    uint4 x = curand4(state);
    float2 a = weir::curand::box_muller(x.x, x.y), b = weir::curand::box_muller(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
WEIR_CURAND double4 curand_normal4_double(curandStatePhilox4_32_10_t *state)
{
    double2 a = weir::curand::normal2_double(state), b = weir::curand::normal2_double(state);
    return make_double4(a.x, a.y, b.x, b.y);
}
WEIR_CURAND float4 curand_log_normal4(curandStatePhilox4_32_10_t *state, float mean, float stddev)
{
    float4 v = curand_normal4(state);
    return make_float4(expf(mean + stddev * v.x), expf(mean + stddev * v.y),
                       expf(mean + stddev * v.z), expf(mean + stddev * v.w));
}
WEIR_CURAND double4 curand_log_normal4_double(curandStatePhilox4_32_10_t *state, double mean,
                                              double stddev)
{
    double4 v = curand_normal4_double(state);
    return make_double4(exp(mean + stddev * v.x), exp(mean + stddev * v.y),
                        exp(mean + stddev * v.z), exp(mean + stddev * v.w));
}

#endif
