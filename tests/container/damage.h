/* damage: whole inputs of every kind that device code comes in, and ways to damage them. For the
 * fuzzers of the readers (fuzz.c here) and of the driver's calls (tests/driver/load_fuzz.c). */
#ifndef WEIR_TEST_DAMAGE_H
#define WEIR_TEST_DAMAGE_H

#include "base/base.h"

enum { WHOLE_INPUTS = 9 };

/* The n-th kind of input, whole: PTX, containers, fat binaries with entries packed in every way,
 * objects with such sections, an archive of them, a vendor's cubin. */
void damage_whole(unsigned n, struct strbuf *out);

/* A number below n. */
uint64_t damage_below(uint64_t *seed, uint64_t n);

/* Damages it: bytes, fields set to what sizes and offsets go wrong at, parts that are missing,
 * twice there, moved, or taken from `other`. */
void damage_once(struct strbuf *input, const struct strbuf *other, uint64_t *seed);

#endif
