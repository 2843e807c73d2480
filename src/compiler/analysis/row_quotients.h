/* Quotients and remainders of an index by a divisor, however a compiler has written them; a part of
 * row_versions.c. */
#ifndef WEIR_COMPILER_ROW_QUOTIENTS_H
#define WEIR_COMPILER_ROW_QUOTIENTS_H

#include "compiler/kernel.h"

enum { QUOTIENT_PARTS = 4 };

struct jquotient {
    uint8_t type; /* of the division, with its sign */
    bool is_rest; /* the remainder */
    struct ptx_operand index, divisor;
    int32_t parts[QUOTIENT_PARTS]; /* the instructions besides that make it, each of the index and
                                      of those before it; there are no others of their registers */
    int nparts;
};

/* Does an instruction make a quotient or a remainder? Those of powers of two are shifts and masks,
 * which are the division for an index that is not negative. */
bool jit_find_quotient(const struct jkernel *k, int32_t n, struct jquotient *q);

#endif
