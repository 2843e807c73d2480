/* defined: which bytes of device memory nothing has written since they were allocated, a bit for
 * each. Kept only while someone looks for reads of such bytes (defined_open). Managed and host
 * memory, which the host writes unseen, always counts as written. */
#ifndef WEIR_MEMORY_DEFINED_H
#define WEIR_MEMORY_DEFINED_H

#include "base/base.h"

/* From now on that is kept; once, after mem_open. False: there are not enough addresses
 * (d->out_of_memory), and it may be asked for again. */
bool defined_open(struct diag *d);
extern bool defined_on WEIR_OWN;

/* Memory is allocated, and has been written by no one; memory is gone. */
void defined_fresh(uint64_t address, uint64_t bytes);
void defined_gone(uint64_t address, uint64_t bytes);
/* Bytes are written; are copied with what they are, from anywhere to anywhere. */
void defined_written(uint64_t address, uint64_t bytes);
void defined_copied(uint64_t to, uint64_t from, uint64_t bytes);
/* Whether all of the bytes were written. */
bool defined_all(uint64_t address, uint64_t bytes);
/* How many of the bytes were never written, and in *first the first of them. */
uint64_t defined_missing(uint64_t address, uint64_t bytes, uint64_t *first);

/* For an element of at most 8 bytes: a bit for each byte that was never written. */
uint8_t defined_bits(uint64_t address, uint32_t bytes);
void defined_set_bits(uint64_t address, uint32_t bytes, uint8_t missing);

#endif
