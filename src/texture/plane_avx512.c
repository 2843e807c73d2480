/* plane_avx512: filtered reads by vectors of 16 lanes (plane_lanes.h), for CPUs with AVX-512 as
 * servers have it. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "texture/axis.h"
#include "texture/convert.h"
#include "texture/plane.h"

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2"))),   \
                             apply_to = function)

enum { WIDTH = 16 };
typedef int32_t ints __attribute__((vector_size(64)));
typedef uint32_t words __attribute__((vector_size(64)));
typedef uint16_t shorts __attribute__((vector_size(64)));
typedef uint64_t longs __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));
typedef double doubles __attribute__((vector_size(64)));
typedef int32_t half_ints __attribute__((vector_size(32)));
typedef float half_floats __attribute__((vector_size(32)));
#define LOW(v)  __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH(v) __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)
#define JOIN(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

#define LANES_INLINE static inline __attribute__((always_inline))

/* The second where one is no number. */
LANES_INLINE floats max_floats(floats a, floats b)
{
    return (floats)_mm512_max_ps((__m512)a, (__m512)b);
}
LANES_INLINE floats min_floats(floats a, floats b)
{
    return (floats)_mm512_min_ps((__m512)a, (__m512)b);
}
LANES_INLINE floats absolute(floats x) { return (floats)((ints)x & INT32_MAX); }

/* Of two pairs of signed numbers of 16 bits, the sum of both products. */
LANES_INLINE ints times_pairs(ints a, ints b)
{
    return (ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}

/* Pairs of a's and b's 16 bits. */
LANES_INLINE ints lower_halves(ints a, ints b)
{
    return (ints)_mm512_mask_blend_epi16(0xaaaaaaaa, (__m512i)a, (__m512i)(b << 16));
}
LANES_INLINE ints upper_halves(ints a, ints b)
{
    return (ints)_mm512_mask_blend_epi16(0xaaaaaaaa, (__m512i)(a >> 16), (__m512i)b);
}

/* 0 where the weight is. */
LANES_INLINE ints where_counted(ints weight, ints x)
{
    __mmask16 counts = _mm512_test_epi32_mask((__m512i)weight, (__m512i)weight);
    return (ints)_mm512_maskz_mov_epi32(counts, (__m512i)x);
}

/* ---- memory ---- */

#define AT(l) ((const void *)(base + at[l]))

LANES_INLINE __m256 two_fours(__m128 low, __m128 high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

LANES_INLINE __m512 two_eights(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

LANES_INLINE __m256 four_twos(const uint8_t *base, const uint32_t *at, int l)
{
    __m128 low = _mm_loadh_pi(_mm_castpd_ps(_mm_load_sd(AT(l))), AT(l + 1));
    __m128 high = _mm_loadh_pi(_mm_castpd_ps(_mm_load_sd(AT(l + 4))), AT(l + 5));
    return two_fours(low, high);
}

/* Pairs of neighbours of four bytes. */
LANES_INLINE void load_twos(const uint8_t *base, const uint32_t *at, ints *near, ints *far)
{
    __m512 a = two_eights(four_twos(base, at, 0), four_twos(base, at, 8));
    __m512 b = two_eights(four_twos(base, at, 2), four_twos(base, at, 10));
    *near = (ints)_mm512_shuffle_ps(a, b, 0x88);
    *far = (ints)_mm512_shuffle_ps(a, b, 0xdd);
}

/* Four words in a row. */
LANES_INLINE void load_fours(const uint8_t *base, const uint32_t *at, ints *to)
{
    __m512 v[4];
    for (int l = 0; l < 4; l++)
        v[l] = two_eights(two_fours(_mm_loadu_ps(AT(l)), _mm_loadu_ps(AT(l + 4))),
                          two_fours(_mm_loadu_ps(AT(l + 8)), _mm_loadu_ps(AT(l + 12))));
    __m512 a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    __m512 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    to[0] = (ints)_mm512_shuffle_ps(a, c, 0x44);
    to[1] = (ints)_mm512_shuffle_ps(a, c, 0xee);
    to[2] = (ints)_mm512_shuffle_ps(b, d, 0x44);
    to[3] = (ints)_mm512_shuffle_ps(b, d, 0xee);
}

/* Pairs of neighbours of one byte, as numbers of 16 bits. */
LANES_INLINE __m128i eight_pairs(const uint8_t *base, const uint32_t *at)
{
    short pair[8];
    for (int l = 0; l < 8; l++)
        memcpy(&pair[l], AT(l), sizeof pair[l]);
    return _mm_setr_epi16(pair[0], pair[1], pair[2], pair[3], pair[4], pair[5], pair[6], pair[7]);
}
LANES_INLINE ints load_bytes_in_pairs(const uint8_t *base, const uint32_t *at)
{
    return (ints)_mm512_cvtepu8_epi16(
        _mm256_set_m128i(eight_pairs(base, at + 8), eight_pairs(base, at)));
}

#undef AT

#define PLANE_FETCH plane_fetch_avx512
#include "texture/plane_lanes.h"

#pragma clang attribute pop
#endif
