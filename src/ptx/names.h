/* names.h: spellings to enumerators, for the lexer and parser only. The other direction (and the
 * sizes of types) is public, in ptx.h. */
#ifndef WEIR_PTX_NAMES_H
#define WEIR_PTX_NAMES_H

#include "ptx/ptx.h"

/* What a word after a dot may be. */
enum ptx_suffix_kind { PTX_SUFFIX_NONE, PTX_SUFFIX_MOD, PTX_SUFFIX_TYPE, PTX_SUFFIX_SPACE };

struct ptx_suffix {
    uint8_t kind;   /* enum ptx_suffix_kind */
    uint16_t value; /* enum ptx_mod, ptx_type or ptx_space */
};

/* Opcode of that spelling, or PTX_OP_COUNT. */
enum ptx_op ptx_op_find(const char *s, size_t n);

/* True for opcodes of the ISA that are not supported. */
bool ptx_op_refused(const char *s, size_t n);

/* A suffix of an instruction, without its dot. `.cta` and the like are modifiers; `.global`,
 * `.shared::cta` state spaces; `.param::entry` and `.param::func` count as `.param`. */
struct ptx_suffix ptx_suffix_find(const char *s, size_t n);

/* Special register of that spelling without `%`, suffix and number; PTX_SR_COUNT when there is
 * none. `%envreg3` and `%pm7_64` give the number in *index. */
enum ptx_sreg ptx_sreg_find(const char *s, size_t n, unsigned *index);

/* How a special register is read: its width, and whether it has .x .y .z components. */
unsigned ptx_sreg_bits(enum ptx_sreg s);
bool ptx_sreg_is_vector(enum ptx_sreg s);

#endif
