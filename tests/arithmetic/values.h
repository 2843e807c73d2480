/* values: operands for tests, as raw bits: the edges of each type, small integers, and random ones.
 */
#ifndef WEIR_TEST_ALU_VALUES_H
#define WEIR_TEST_ALU_VALUES_H

#include <stdint.h>

uint64_t random_bits(void);
/* The n-th value of a PTX type: first all edges, then random ones of several kinds. */
uint64_t value_of(unsigned type, unsigned n);
unsigned edge_count(unsigned type);

#endif
