/* Uniform distributions: from a generator's bits to (0, 1]. A float takes 32 bits, a double 53 of
 * two numbers (XORWOW and Philox in pairs) or of one that has 64, else one number. */
#ifndef WEIR_CURAND_UNIFORM_H
#define WEIR_CURAND_UNIFORM_H

namespace weir
{
namespace curand
{

constexpr float inverse_2_32 = 2.3283064365386963e-10f; /* 2^-32 */
constexpr double inverse_2_32_double = 2.3283064365386963e-10;
constexpr double inverse_2_53 = 1.1102230246251565e-16; /* 2^-53 */
constexpr double inverse_mrg_modulus = 1.0 / mrg_modulus1;

/* The middle of the interval that the bits stand for. */
WEIR_CURAND float uniform(unsigned int x)
{
    return fmaf((float)x, inverse_2_32, inverse_2_32 / 2.0f);
}
WEIR_CURAND double uniform_double(unsigned int x, unsigned int y)
{
    unsigned long long z = (unsigned long long)x ^ ((unsigned long long)y << 21);
    return fma((double)z, inverse_2_53, inverse_2_53 / 2.0);
}
WEIR_CURAND double uniform_double(unsigned int x)
{
    return fma((double)x, inverse_2_32_double, inverse_2_32_double);
}
WEIR_CURAND float4 uniform4(uint4 x)
{
    return make_float4(uniform(x.x), uniform(x.y), uniform(x.z), uniform(x.w));
}

} // namespace curand
} // namespace weir

WEIR_CURAND float curand_uniform(curandStateXORWOW_t *state)
{
    return weir::curand::uniform(curand(state));
}
WEIR_CURAND double curand_uniform_double(curandStateXORWOW_t *state)
{
    unsigned x = curand(state);
    return weir::curand::uniform_double(x, curand(state));
}

WEIR_CURAND float curand_uniform(curandStatePhilox4_32_10_t *state)
{
    return weir::curand::uniform(curand(state));
}
WEIR_CURAND float4 curand_uniform4(curandStatePhilox4_32_10_t *state)
{
    return weir::curand::uniform4(curand4(state));
}
WEIR_CURAND double curand_uniform_double(curandStatePhilox4_32_10_t *state)
{
    return weir::curand::uniform_double(curand(state));
}
WEIR_CURAND double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state)
{
    uint4 x = curand4(state);
    return make_double2(weir::curand::uniform_double(x.x, x.y),
                        weir::curand::uniform_double(x.z, x.w));
}
WEIR_CURAND double4 curand_uniform4_double(curandStatePhilox4_32_10_t *state)
{
    double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);
    return make_double4(a.x, a.y, b.x, b.y);
}

WEIR_CURAND double curand_uniform_double(curandStateMRG32k3a_t *state)
{
    return (double)weir::curand::mrg_step(state) * weir::curand::inverse_mrg_modulus;
}
WEIR_CURAND float curand_uniform(curandStateMRG32k3a_t *state)
{
    return (float)curand_uniform_double(state);
}

#define WEIR_SOBOL32(State)                                                                        \
    WEIR_CURAND float curand_uniform(State *state)                                                 \
    {                                                                                              \
        return weir::curand::uniform(curand(state));                                               \
    }                                                                                              \
    WEIR_CURAND double curand_uniform_double(State *state)                                         \
    {                                                                                              \
        return weir::curand::uniform_double(curand(state));                                        \
    }
WEIR_SOBOL32(curandStateSobol32_t)
WEIR_SOBOL32(curandStateScrambledSobol32_t)
#undef WEIR_SOBOL32

#define WEIR_SOBOL64(State)                                                                        \
    WEIR_CURAND float curand_uniform(State *state)                                                 \
    {                                                                                              \
        return weir::curand::uniform((unsigned)(curand(state) >> 32));                             \
    }                                                                                              \
    WEIR_CURAND double curand_uniform_double(State *state)                                         \
    {                                                                                              \
        constexpr double unit = weir::curand::inverse_2_53;                                        \
        return fma((double)(curand(state) >> 11), unit, unit / 2.0);                               \
    }
WEIR_SOBOL64(curandStateSobol64_t)
WEIR_SOBOL64(curandStateScrambledSobol64_t)
#undef WEIR_SOBOL64

#endif
