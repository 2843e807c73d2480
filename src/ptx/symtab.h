/* symtab.h: names to what they stand for, with nested scopes. Used by the parser (names and
 * labels), by a finished module for its lookups, and by the linker. */
#ifndef WEIR_PTX_SYMTAB_H
#define WEIR_PTX_SYMTAB_H

#include "ptx/ptx.h"

enum ptx_sym_kind {
    SYM_NONE,
    SYM_VAR,     /* var */
    SYM_FUNC,    /* func */
    SYM_REG,     /* index: a register; count: how many components a vector register has, else 1 */
    SYM_RANGE,   /* %r<count>: the name without its number; index of number 0 */
    SYM_LABEL,   /* index of the instruction it stands before */
    SYM_TARGETS, /* targets: .branchtargets */
    SYM_PROTO,   /* func: .callprototype */
    SYM_CALLEES, /* callees: .calltargets */
};

/* A list of functions that an indirect call may reach. */
struct ptx_callees {
    struct ptx_func **funcs;
    int32_t count;
};

struct ptx_sym {
    const char *name;
    uint32_t length, hash;
    int32_t next;  /* next symbol of the same bucket, -1 at the end */
    int16_t depth; /* of the scope it was declared in */
    uint8_t kind;  /* enum ptx_sym_kind */
    int32_t index, count;
    union {
        struct ptx_var *var;
        struct ptx_func *func;
        struct ptx_targets *targets;
        struct ptx_callees *callees;
    };
};

/* Start with {0}; release with ptx_symtab_free. */
struct ptx_symtab {
    struct ptx_sym *items; /* in order of declaration, so that a scope is a tail */
    size_t count, cap;
    int32_t *buckets; /* heads of chains, newest symbol first */
    size_t nbuckets;
};

/* The innermost symbol of that name and namespace (ranges have their own), or NULL. Pointers are
 * good until the next addition. */
struct ptx_sym *ptx_symtab_find(const struct ptx_symtab *t, const char *name, size_t n, bool range);

/* Adds without looking for an older one. The name must outlive the table. */
struct ptx_sym *ptx_symtab_add(struct ptx_symtab *t, const char *name, size_t n,
                               enum ptx_sym_kind kind, int depth);

/* Forgets everything declared after the first `count` symbols. */
void ptx_symtab_cut(struct ptx_symtab *t, size_t count);
void ptx_symtab_free(struct ptx_symtab *t);

/* Builds the table of ptx_find_func and ptx_find_var. */
void ptx_index(struct ptx_module *m);

#endif
