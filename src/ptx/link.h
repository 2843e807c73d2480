/* link.h: the linker's two halves: link.c decides which definition each name gets, copy.c copies
 * what is kept. Between them stands the map from objects of the inputs to objects of the result. */
#ifndef WEIR_PTX_LINK_H
#define WEIR_PTX_LINK_H

#include "ptx/symtab.h"

/* An input's variable or function, and what became of it. */
struct ptx_moved {
    const void *from;
    void *to;
};

struct ptx_linker {
    struct ptx_module *out;
    struct arena *a; /* of the result */
    struct diag *diag;
    struct ptx_moved *moved; /* open hash table */
    size_t nmoved, cap;
    int32_t file_base, loc_base; /* what the module now copied adds to its numbers */
};

void ptx_moved_put(struct ptx_linker *l, const void *from, void *to);
void *ptx_moved_get(const struct ptx_linker *l, const void *from); /* NULL when unknown */

/* A copy of a variable without its initial value's references; those need every variable first. */
struct ptx_var *ptx_copy_var(struct ptx_linker *l, const struct ptx_var *v);
void ptx_copy_relocs(struct ptx_linker *l, const struct ptx_var *v, struct ptx_var *to);

/* A copy of a function's header with its parameters; the body needs every function first. */
struct ptx_func *ptx_copy_header(struct ptx_linker *l, const struct ptx_func *f);
void ptx_copy_body(struct ptx_linker *l, const struct ptx_func *f, struct ptx_func *to);

#endif
