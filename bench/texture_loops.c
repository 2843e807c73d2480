/* texture_loops: bilinear reads as a C programmer writes them by hand for AVX2, with the arithmetic
 * of textures: positions rounded to 1/256, weights that are shared out in whole 1/256, sums exact
 * and rounded once. Left out is what images of usual numbers do not need: elements cut off below 28
 * bits of the largest, ties away from zero, infinities, NaN, coordinates of any size. Eight readers
 * side by side, as the kernels of api.cu read. */
#include "texture_loops.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

enum { LANES = 8 };

/* Of eight positions on an axis: the elements beside, inside 0..last, and the weight of the second.
 */
struct place {
    __m256i near, far, weight;
};

static inline struct place place_of(__m256 x, int last)
{
    const __m256i zero = _mm256_setzero_si256(), most = _mm256_set1_epi32(last);
    x = _mm256_mul_ps(x, _mm256_set1_ps(256));
    __m256 low = _mm256_floor_ps(x);
    __m256 up = _mm256_cmp_ps(_mm256_sub_ps(x, low), _mm256_set1_ps(0.5f), _CMP_GE_OQ);
    __m256i at = _mm256_sub_epi32(_mm256_cvttps_epi32(low), _mm256_castps_si256(up));
    at = _mm256_sub_epi32(at, _mm256_set1_epi32(128));
    __m256i near = _mm256_srai_epi32(at, 8);
    __m256i far = _mm256_add_epi32(near, _mm256_set1_epi32(1));
    return (struct place){_mm256_min_epi32(_mm256_max_epi32(near, zero), most),
                          _mm256_min_epi32(_mm256_max_epi32(far, zero), most),
                          _mm256_and_si256(at, _mm256_set1_epi32(255))};
}

static inline __m256i shared(__m256i whole, __m256i part)
{
    __m256i product = _mm256_mullo_epi32(whole, part);
    return _mm256_srai_epi32(_mm256_add_epi32(product, _mm256_set1_epi32(128)), 8);
}

/* Of the four elements around: their numbers and weights. */
static inline void corners(__m256 x, __m256 y, int side, __m256i *at, __m256i *w)
{
    struct place a = place_of(x, side - 1), b = place_of(y, side - 1);
    const __m256i one = _mm256_set1_epi32(256), pitch = _mm256_set1_epi32(side);
    __m256i far = a.weight, near = _mm256_sub_epi32(one, far);
    __m256i top = _mm256_mullo_epi32(b.near, pitch), bottom = _mm256_mullo_epi32(b.far, pitch);
    w[3] = shared(far, b.weight);
    w[0] = shared(near, _mm256_sub_epi32(one, b.weight));
    w[1] = _mm256_sub_epi32(far, w[3]);
    w[2] = _mm256_sub_epi32(near, w[0]);
    at[0] = _mm256_add_epi32(top, a.near);
    at[1] = _mm256_add_epi32(top, a.far);
    at[2] = _mm256_add_epi32(bottom, a.near);
    at[3] = _mm256_add_epi32(bottom, a.far);
}

static inline __m256 sum_floats(const float *texels, const __m256i *at, const __m256i *w)
{
    __m256d low = _mm256_setzero_pd(), high = low;
    for (int k = 0; k < 4; k++) {
        __m256 t = _mm256_i32gather_ps(texels, at[k], 4);
        low = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(t)),
                              _mm256_cvtepi32_pd(_mm256_castsi256_si128(w[k])), low);
        high = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(t, 1)),
                               _mm256_cvtepi32_pd(_mm256_extracti128_si256(w[k], 1)), high);
    }
    const __m256d scale = _mm256_set1_pd(1.0 / 256);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high, scale)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(low, scale)));
}

static inline __m256 sum_bytes(const unsigned char *texels, const __m256i *at, const __m256i *w)
{
    __m256i sum = _mm256_setzero_si256();
    for (int k = 0; k < 4; k++) {
        __m256i t = _mm256_i32gather_epi32((const int *)texels, at[k], 1);
        t = _mm256_and_si256(t, _mm256_set1_epi32(255));
        sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(t, w[k]));
    }
    sum = _mm256_mullo_epi32(sum, _mm256_set1_epi32(257));
    sum = _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(128)), 8);
    return _mm256_div_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(65535));
}

/* `of_bytes` is a constant where this is inlined. */
static inline void loop(int of_bytes, const void *texels, int side, int readers, int reads,
                        float *out)
{
    const __m256 count = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int r = 0; r < readers; r += LANES) {
        __m256 x =
            _mm256_mul_ps(_mm256_add_ps(_mm256_set1_ps((float)r), count), _mm256_set1_ps(1.3f));
        __m256 y = _mm256_set1_ps(0.7f), sum = _mm256_setzero_ps();
        for (int i = 0; i < reads; i++) {
            __m256i at[4], w[4];
            corners(x, y, side, at, w);
            sum =
                _mm256_add_ps(sum, of_bytes ? sum_bytes(texels, at, w) : sum_floats(texels, at, w));
            x = _mm256_add_ps(x, _mm256_set1_ps(0.21f));
            y = _mm256_add_ps(y, _mm256_set1_ps(0.17f));
        }
        _mm256_storeu_ps(out + r, sum);
    }
}

int texture_loop(int of_bytes, const void *texels, int side, int readers, int reads, float *out)
{
    if (of_bytes)
        loop(1, texels, side, readers, reads, out);
    else
        loop(0, texels, side, readers, reads, out);
    return 1;
}
#else
int texture_loop(int of_bytes, const void *texels, int side, int readers, int reads, float *out)
{
    (void)of_bytes, (void)texels, (void)side, (void)readers, (void)reads, (void)out;
    return 0;
}
#endif
