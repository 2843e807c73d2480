/* Bit sets: arrays of 64-bit words, which the caller allocates (bit_words) and clears. Sets over
 * the same n elements have the same number of words, and bits from n on are 0. */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words and bytes of a set over n elements. */
static inline int32_t bit_words(int32_t n) { return (n + 63) >> 6; }
static inline size_t bit_bytes(int32_t n) { return (size_t)bit_words(n) * 8; }

static inline bool bit_get(const uint64_t *s, int32_t i) { return s[i >> 6] >> (i & 63) & 1; }
static inline void bit_set(uint64_t *s, int32_t i) { s[i >> 6] |= 1ull << (i & 63); }
static inline void bit_clear(uint64_t *s, int32_t i) { s[i >> 6] &= ~(1ull << (i & 63)); }

/* The first element at or after `from` of a set over n elements, -1 when there is none. */
static inline int32_t bit_next(const uint64_t *s, int32_t n, int32_t from)
{
    for (int32_t i = from; i < n; i = (i | 63) + 1) {
        uint64_t w = s[i >> 6] >> (i & 63);
        if (w != 0) {
            i += __builtin_ctzll(w);
            return i < n ? i : -1;
        }
    }
    return -1;
}

/* A loop over the elements, in ascending order, of a set over n elements: `i` is an int32_t that
 * the loop declares. The body may add and remove elements; those after i are seen as they then
 * are. */
#define EACH_BIT(i, set, n)                                                                        \
    for (int32_t i = bit_next(set, n, 0); i >= 0; i = bit_next(set, n, i + 1))

/* Adds the elements of `from`; true when there were new ones. */
static inline bool bit_union(uint64_t *to, const uint64_t *from, int32_t n)
{
    uint64_t added = 0;
    for (int32_t w = 0; w < bit_words(n); w++) {
        added |= from[w] & ~to[w];
        to[w] |= from[w];
    }
    return added != 0;
}

/* Adds the elements of `from` that are not in `except`; true when there were new ones. */
static inline bool bit_union_except(uint64_t *to, const uint64_t *from, const uint64_t *except,
                                    int32_t n)
{
    uint64_t added = 0;
    for (int32_t w = 0; w < bit_words(n); w++) {
        uint64_t v = from[w] & ~except[w];
        added |= v & ~to[w];
        to[w] |= v;
    }
    return added != 0;
}

/* Adds those elements of `from` that are not below `first`; true when there were new ones. */
static inline bool bit_union_above(uint64_t *to, const uint64_t *from, int32_t n, int32_t first)
{
    uint64_t added = 0;
    for (int32_t w = first >> 6; w < bit_words(n); w++) {
        uint64_t v = w > first >> 6 ? from[w] : from[w] & ~0ull << (first & 63);
        added |= v & ~to[w];
        to[w] |= v;
    }
    return added != 0;
}

/* Removes the elements of `from`. */
static inline void bit_subtract(uint64_t *to, const uint64_t *from, int32_t n)
{
    for (int32_t w = 0; w < bit_words(n); w++)
        to[w] &= ~from[w];
}

/* Removes what is not in `with`; true when something was. */
static inline bool bit_intersect(uint64_t *to, const uint64_t *with, int32_t n)
{
    uint64_t removed = 0;
    for (int32_t w = 0; w < bit_words(n); w++) {
        removed |= to[w] & ~with[w];
        to[w] &= with[w];
    }
    return removed != 0;
}

static inline void bit_copy(uint64_t *to, const uint64_t *from, int32_t n)
{
    memcpy(to, from, bit_bytes(n));
}

static inline void bit_clear_all(uint64_t *s, int32_t n) { memset(s, 0, bit_bytes(n)); }

static inline bool bit_empty(const uint64_t *s, int32_t n) { return bit_next(s, n, 0) < 0; }

static inline bool bit_intersects(const uint64_t *a, const uint64_t *b, int32_t n)
{
    for (int32_t w = 0; w < bit_words(n); w++)
        if ((a[w] & b[w]) != 0)
            return true;
    return false;
}

static inline int32_t bit_count(const uint64_t *s, int32_t n)
{
    int32_t count = 0;
    for (int32_t w = 0; w < bit_words(n); w++)
        count += __builtin_popcountll(s[w]);
    return count;
}

/* A count of which 0 stands for 1: heights and depths of copies and arrays. */
static inline uint64_t at_least_one(uint64_t n) { return n > 0 ? n : 1; }

#endif
