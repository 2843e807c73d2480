/* print.h: what the two halves of the printer share. */
#ifndef WEIR_PTX_PRINT_H
#define WEIR_PTX_PRINT_H

#include "ptx/names.h"

void ptx_print_operand(const struct ptx_func *f, const struct ptx_operand *o, struct strbuf *out);

#endif
