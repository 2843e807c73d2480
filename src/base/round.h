/* round: numbers rounded up to a multiple. */
#ifndef WEIR_BASE_ROUND_H
#define WEIR_BASE_ROUND_H

#include <stdint.h>

/* The least multiple of `unit` that is at least n. `unit` is positive, and n + unit - 1 does not
 * overflow. */
static inline uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

#endif
