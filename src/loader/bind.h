/* bind: addresses for the names that compiled code uses and does not define. */
#ifndef WEIR_LOADER_BIND_H
#define WEIR_LOADER_BIND_H

#include "loader/elf.h"
#include "loader/loader.h"

/* The symbols an object leaves undefined. Found once per object; bound once per loaded module. */
struct wants {
    uint32_t *symbols; /* indices into the symbol table, ascending */
    uint32_t count;
};
void wants_find(struct wants *w, const struct elf_object *o);
void wants_free(struct wants *w);

/* Fills values[k] with the address of wants.symbols[k]:
 *   weir_var_<i>, weir_func_<i>  the module's variable or function i, asked of the resolver
 *   weir_rt_<name>               the resolver's helper <name> (without the prefix)
 *   weir_alu_…                   the run time of elementwise instructions (lane_math.h)
 *   Sleef_…                      the vector math library, opened at the first such name
 *   C's math and memory functions, the compiler's run-time functions: those listed in the .c file
 * Anything else is refused: code must not reach into the host program by name. */
bool bind_wants(const struct wants *w, const struct elf_object *o, const struct ptx_module *m,
                const struct jit_resolver *resolver, uint64_t *values, struct diag *d);

#endif
