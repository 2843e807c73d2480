/* gather_speed: measures a gather against a load for each lane. */
#include "compiler/gather_speed.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdint.h>

#include "base/clock.h"

/* A gather of all lanes must be this much faster than loads: these go on beside other instructions,
 * while gathers that are microcode let nothing else begin. Loads under a mask are many
 * instructions, which count only once they are clearly faster. In percent of the loads' time. */
enum { LANES = 8, TURNS = 128, TRIES = 9, SLOW_PERCENT = 80, SLOW_MASKED_PERCENT = 120 };

/* Indices that are all in one or two lines of the cache, and words; the C compiler knows neither,
 * as it sees no address come back from `hidden`. */
static int32_t places[LANES] = {9, 2, 15, 4, 11, 6, 1, 12};
static int32_t words[16], none[2];

static const int32_t *hidden(const int32_t *p)
{
    __asm__ volatile("" : "+r"(p)::"memory");
    return p;
}

struct gathered {
    const int32_t *words, *none;
    __m256i at, mask;
};

__attribute__((target("avx2"), always_inline)) static inline __m256i
gather(const struct gathered *g)
{
    return _mm256_i32gather_epi32(g->words, g->at, 4);
}

__attribute__((target("avx2"), always_inline)) static inline __m256i
gather_masked(const struct gathered *g)
{
    return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), g->words, g->at, g->mask, 4);
}

/* As llvm/gather_scalarization.c does it: two indices at a time. */
__attribute__((target("avx2"), always_inline)) static inline __m256i load(const struct gathered *g)
{
    int64_t a = _mm256_extract_epi64(g->at, 0), b = _mm256_extract_epi64(g->at, 1),
            c = _mm256_extract_epi64(g->at, 2), d = _mm256_extract_epi64(g->at, 3);
    const int32_t *w = g->words;
    return _mm256_setr_epi32(w[(int32_t)a], w[a >> 32], w[(int32_t)b], w[b >> 32], w[(int32_t)c],
                             w[c >> 32], w[(int32_t)d], w[d >> 32]);
}

__attribute__((target("avx2"), always_inline)) static inline __m256i
addresses(const struct gathered *g, __m128i at, __m128i mask)
{
    __m256i base = _mm256_set1_epi64x((int64_t)g->words);
    __m256i wide = _mm256_add_epi64(base, _mm256_slli_epi64(_mm256_cvtepi32_epi64(at), 2));
    return _mm256_blendv_epi8(_mm256_set1_epi64x((int64_t)g->none), wide,
                              _mm256_cvtepi32_epi64(mask));
}

#define WORD_AT(v, lane) (*(const int32_t *)_mm256_extract_epi64(v, lane))
__attribute__((target("avx2"), always_inline)) static inline __m256i
load_masked(const struct gathered *g)
{
    __m256i low = addresses(g, _mm256_castsi256_si128(g->at), _mm256_castsi256_si128(g->mask));
    __m256i high =
        addresses(g, _mm256_extracti128_si256(g->at, 1), _mm256_extracti128_si256(g->mask, 1));
    return _mm256_setr_epi32(WORD_AT(low, 0), WORD_AT(low, 1), WORD_AT(low, 2), WORD_AT(low, 3),
                             WORD_AT(high, 0), WORD_AT(high, 1), WORD_AT(high, 2),
                             WORD_AT(high, 3));
}

/* A function that measures one of the ways. */
#define DEFINE_TIME(way)                                                                           \
    __attribute__((target("avx2"), noinline)) static uint64_t time_of_##way(void)                  \
    {                                                                                              \
        struct gathered g = {hidden(words), hidden(none),                                          \
                             _mm256_loadu_si256((const __m256i *)hidden(places)),                  \
                             _mm256_set1_epi32(-1)};                                               \
        __m256i sum = _mm256_setzero_si256();                                                      \
        uint64_t from = clock_ns();                                                                \
        for (int k = 0; k < TURNS; k++) {                                                          \
            __asm__ volatile("" : "+x"(g.at), "+x"(g.mask)::"memory");                             \
            sum = _mm256_add_epi32(sum, way(&g));                                                  \
        }                                                                                          \
        __asm__ volatile("" ::"x"(sum));                                                           \
        return clock_ns() - from;                                                                  \
    }
DEFINE_TIME(gather)
DEFINE_TIME(load)
DEFINE_TIME(gather_masked)
DEFINE_TIME(load_masked)

static void keep_least(uint64_t *least, uint64_t time) { *least = time < *least ? time : *least; }

struct slow_gathers find_slow_gathers(void)
{
    uint64_t gathers = UINT64_MAX, loads = UINT64_MAX, gathers_masked = UINT64_MAX,
             loads_masked = UINT64_MAX;
    if (!__builtin_cpu_supports("avx2"))
        return (struct slow_gathers){false, false};
    for (int k = 0; k < TRIES; k++) {
        keep_least(&gathers, time_of_gather());
        keep_least(&loads, time_of_load());
        keep_least(&gathers_masked, time_of_gather_masked());
        keep_least(&loads_masked, time_of_load_masked());
    }
    return (struct slow_gathers){gathers * 100 > loads * SLOW_PERCENT,
                                 gathers_masked * 100 > loads_masked * SLOW_MASKED_PERCENT};
}

#else

struct slow_gathers find_slow_gathers(void) { return (struct slow_gathers){false, false}; }

#endif
