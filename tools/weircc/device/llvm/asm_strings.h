/* asm_strings: operands of asm statements that are texts ("C"), which stand in the template as they
 * are. clang 19 does not know them. In a file that has them mend.h writes "X", by which clang hands
 * over the address of the text; in the LLVM text the text takes the place of the operand. */
#ifndef WEIRCC_ASM_STRINGS_H
#define WEIRCC_ASM_STRINGS_H

#include "base/base.h"

/* Appends the LLVM text, rewritten: that of clang's front end. */
void asm_strings_rewrite(const char *llvm, struct strbuf *out);

#endif
