/* division: integer quotients and remainders that cannot fault. Private to this directory. */
#ifndef WEIR_COMPILER_DIVISION_H
#define WEIR_COMPILER_DIVISION_H

#include "compiler/arithmetic/build.h"

/* Truncated quotient or remainder. Where the divisor is 0: quotient of all ones, remainder the
 * dividend. The smallest integer by -1 gives itself, remainder 0. */
val alu_int_div(struct alu *a, val x, val y, bool is_signed, bool remainder);

/* High half of the product of vectors of 64 bits, without sign, from four products of 32 bits,
 * which vector units have. */
val alu_mul_hi_64(struct alu *a, val x, val y);

#endif
