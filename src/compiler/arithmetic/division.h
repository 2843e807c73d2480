/* division: integer quotients and remainders that cannot fault. Private to this directory. */
#ifndef WEIR_COMPILER_DIVISION_H
#define WEIR_COMPILER_DIVISION_H

#include "compiler/arithmetic/build.h"

/* Truncated quotient or remainder. Where the divisor is 0: quotient of all ones, remainder the
 * dividend. The smallest integer by -1 gives itself, remainder 0. */
val alu_int_div(struct alu *a, val x, val y, bool is_signed, bool remainder);

#endif
