/* text: a line of the case table ("vadd.s32.u32.u32.sat d, a.b0, b, c") as an instruction. It needs
 * no registers: every operand that is not an immediate is one, and its values come from the test.
 */
#ifndef WEIR_TEST_ALU_TEXT_H
#define WEIR_TEST_ALU_TEXT_H

#include "ptx/ptx.h"

struct text_instr {
    struct ptx_instr instr;
    struct ptx_operand operands[10];
    bool uniform[10]; /* operand `u`: the same in all lanes, and known to be */
};
bool text_read(const char *text, struct text_instr *out);

/* What NVIDIA's assembler refuses for sm_90a, so that the whole module would not load on a GPU:
 * saturating conversions between integers that cannot overflow, bytes from and to bf16,
 * saturation to tf32, and set to f16 of bf16. */
bool text_beyond_gpu(const struct ptx_instr *i);

#endif
