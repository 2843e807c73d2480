/* plane_avx2: filtered reads by vectors of 8 lanes (plane_lanes.h), for CPUs with AVX2. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "texture/axis.h"
#include "texture/convert.h"
#include "texture/plane.h"

#pragma clang attribute push(__attribute__((target("avx2,bmi2"))), apply_to = function)

enum { WIDTH = 8 };
typedef int32_t ints __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef uint16_t shorts __attribute__((vector_size(32)));
typedef uint64_t longs __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));
typedef int32_t half_ints __attribute__((vector_size(16)));
typedef float half_floats __attribute__((vector_size(16)));
#define LOW(v)     __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define HIGH(v)    __builtin_shufflevector(v, v, 4, 5, 6, 7)
#define JOIN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)

#define LANES_INLINE static inline __attribute__((always_inline))

/* The second where one is no number. */
LANES_INLINE floats max_floats(floats a, floats b)
{
    return (floats)_mm256_max_ps((__m256)a, (__m256)b);
}
LANES_INLINE floats min_floats(floats a, floats b)
{
    return (floats)_mm256_min_ps((__m256)a, (__m256)b);
}
LANES_INLINE floats absolute(floats x) { return (floats)((ints)x & INT32_MAX); }

/* Of two pairs of signed numbers of 16 bits, the sum of both products. */
LANES_INLINE ints times_pairs(ints a, ints b)
{
    return (ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

/* Pairs of a's and b's 16 bits. */
LANES_INLINE ints lower_halves(ints a, ints b)
{
    return (ints)_mm256_blend_epi16((__m256i)a, (__m256i)(b << 16), 0xaa);
}
LANES_INLINE ints upper_halves(ints a, ints b)
{
    return (ints)_mm256_blend_epi16((__m256i)(a >> 16), (__m256i)b, 0xaa);
}

/* 0 where the weight is; no weight is negative. */
LANES_INLINE ints where_counted(ints weight, ints x)
{
    return (ints)_mm256_sign_epi32((__m256i)x, (__m256i)weight);
}

/* ---- memory ---- */

#define AT(l) ((const void *)(base + at[l]))

LANES_INLINE __m256 two_fours(__m128 low, __m128 high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

LANES_INLINE __m128 two_twos(const uint8_t *base, const uint32_t *at, int l)
{
    return _mm_loadh_pi(_mm_castpd_ps(_mm_load_sd(AT(l))), AT(l + 1));
}

/* Pairs of neighbours of four bytes. */
LANES_INLINE void load_twos(const uint8_t *base, const uint32_t *at, ints *near, ints *far)
{
    __m256 a = two_fours(two_twos(base, at, 0), two_twos(base, at, 4));
    __m256 b = two_fours(two_twos(base, at, 2), two_twos(base, at, 6));
    *near = (ints)_mm256_shuffle_ps(a, b, 0x88);
    *far = (ints)_mm256_shuffle_ps(a, b, 0xdd);
}

/* Four words in a row. */
LANES_INLINE void load_fours(const uint8_t *base, const uint32_t *at, ints *to)
{
    __m256 v[4];
    for (int l = 0; l < 4; l++)
        v[l] = two_fours(_mm_loadu_ps(AT(l)), _mm_loadu_ps(AT(l + 4)));
    __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    to[0] = (ints)_mm256_shuffle_ps(a, c, 0x44);
    to[1] = (ints)_mm256_shuffle_ps(a, c, 0xee);
    to[2] = (ints)_mm256_shuffle_ps(b, d, 0x44);
    to[3] = (ints)_mm256_shuffle_ps(b, d, 0xee);
}

/* Pairs of neighbours of one byte, as numbers of 16 bits. */
LANES_INLINE ints load_bytes_in_pairs(const uint8_t *base, const uint32_t *at)
{
    short pair[8];
    for (int l = 0; l < 8; l++)
        memcpy(&pair[l], AT(l), sizeof pair[l]);
    __m128i v =
        _mm_setr_epi16(pair[0], pair[1], pair[2], pair[3], pair[4], pair[5], pair[6], pair[7]);
    return (ints)_mm256_cvtepu8_epi16(v);
}

#undef AT

#define PLANE_FETCH plane_fetch_avx2
#include "texture/plane_lanes.h"

#pragma clang attribute pop
#endif
