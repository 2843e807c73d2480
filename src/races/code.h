/* code: instructions of x86-64, as far as those need them who look at the code of host functions.
 */
#ifndef WEIR_RACES_CODE_H
#define WEIR_RACES_CODE_H

#include "base/base.h"

enum { RSP = 4, RBP = 5, NONE = -1 };

struct instruction {
    const uint8_t *next;
    uint8_t rex, map, op; /* map 0: opcodes of one byte; 1: after 0f; 2, 3: after 0f 38, 0f 3a */
    bool wide16, vector;  /* prefixes 66; VEX or EVEX */
    bool has_modrm, memory;
    uint8_t reg, rm;
    int base, index;  /* of an address in memory; NONE: there is none */
    bool relative;    /* the address is relative to `next` */
    int32_t distance; /* of the address */
};

/* False: not known. */
bool code_decode(struct instruction *i, const uint8_t *p);
/* Reads memory to compare it or to put it in a register. */
bool code_is_load(const struct instruction *i);
/* A variable of the function; `frame`: rbp is where they are. */
bool code_is_of_stack(const struct instruction *i, bool frame);
/* Makes rbp that. */
bool code_sets_frame(const struct instruction *i);
/* The place to which an instruction jumps; NULL: it does not. */
const uint8_t *code_jumps_to(const struct instruction *i);

#endif
