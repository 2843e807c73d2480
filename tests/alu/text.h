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

#endif
