/* gather_speed: measures a gather against a load for each lane. */
#include "compiler/gather_speed.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdint.h>

#include "base/clock.h"

enum { LANES = 8, TURNS = 128, TRIES = 9, SLOW_PERCENT = 120 };

/* Indices that are all in one or two lines of the cache, and that the C compiler does not know. */
static const int32_t places[LANES] = {9, 2, 15, 4, 11, 6, 1, 12};
static const int32_t words[16];

__attribute__((target("avx2"), noinline)) static uint64_t gathered(void)
{
    __m256i at = _mm256_loadu_si256((const __m256i *)places), sum = _mm256_setzero_si256();
    uint64_t from = clock_ns();
    for (int k = 0; k < TURNS; k++) {
        __asm__ volatile("" : "+x"(at));
        sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32(words, at, 4));
    }
    __asm__ volatile("" ::"x"(sum));
    return clock_ns() - from;
}

__attribute__((target("avx2"))) static inline int32_t word_at(__m128i at, int lane)
{
    switch (lane) {
    case 0: return words[_mm_extract_epi32(at, 0)];
    case 1: return words[_mm_extract_epi32(at, 1)];
    case 2: return words[_mm_extract_epi32(at, 2)];
    default: return words[_mm_extract_epi32(at, 3)];
    }
}

__attribute__((target("avx2"), noinline)) static uint64_t loaded(void)
{
    __m256i at = _mm256_loadu_si256((const __m256i *)places), sum = _mm256_setzero_si256();
    uint64_t from = clock_ns();
    for (int k = 0; k < TURNS; k++) {
        __asm__ volatile("" : "+x"(at));
        __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
        __m256i v = _mm256_setr_epi32(word_at(low, 0), word_at(low, 1), word_at(low, 2),
                                      word_at(low, 3), word_at(high, 0), word_at(high, 1),
                                      word_at(high, 2), word_at(high, 3));
        sum = _mm256_add_epi32(sum, v);
    }
    __asm__ volatile("" ::"x"(sum));
    return clock_ns() - from;
}

bool gathers_are_slow(void)
{
    uint64_t least_gathered = UINT64_MAX, least_loaded = UINT64_MAX;
    if (!__builtin_cpu_supports("avx2"))
        return false;
    for (int k = 0; k < TRIES; k++) {
        uint64_t g = gathered(), l = loaded();
        least_gathered = g < least_gathered ? g : least_gathered;
        least_loaded = l < least_loaded ? l : least_loaded;
    }
    return least_gathered * 100 > least_loaded * SLOW_PERCENT;
}

#else

bool gathers_are_slow(void) { return false; }

#endif
