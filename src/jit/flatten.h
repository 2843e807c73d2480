/* flatten, private to its files: one function and all it calls on their way to one flat list. */
#ifndef WEIR_JIT_FLATTEN_H
#define WEIR_JIT_FLATTEN_H

#include "jit/kernel.h"

/* A map from pointers to pointers; {0} is empty. */
struct ptr_map {
    const void **keys;
    void **values;
    size_t cap, count;
};
void *ptr_map_get(const struct ptr_map *m, const void *key); /* NULL when absent */
void ptr_map_put(struct ptr_map *m, const void *key, void *value);
void ptr_map_free(struct ptr_map *m);

/* One access pattern of an argument area: `bytes` at `offset`, kept in a register. */
struct slot {
    int64_t offset;
    uint32_t bytes;
    int32_t reg;
};

/* An argument area of one activation (a clone of the PTX variable). */
struct area {
    struct ptx_var var; /* the clone that rewritten operands name */
    struct slot *slots;
    size_t nslots, slots_cap;
    bool in_memory; /* its address is taken, or accesses overlap: a .local variable instead */
};

/* One activation of a function being flattened. */
struct activation {
    const struct ptx_func *func;
    struct activation *caller;
    int32_t reg_base;
    struct ptr_map vars; /* the function's .param and .local variables -> clones */
    int32_t *new_index;  /* instruction index -> flattened index, ninstrs + 1 entries */
    int32_t fixup_first; /* flattened instructions of this activation start here */
};

struct flattener {
    struct jkernel *k;
    struct ptr_map area_of; /* clone ptx_var* -> struct area* */
    struct area **areas;
    size_t nareas, areas_cap;
    int32_t cc; /* the carry flag's register, -1 until used */
    int32_t sp; /* the register of alloca's stack, -1 until used */
    int depth;
};

/* ---- building (flatten.c) -------------------------------------------------------------------- */

int32_t flat_reg(struct jkernel *k, const char *name, uint8_t type);
struct ptx_instr *flat_push(struct jkernel *k); /* an empty, unguarded instruction at the end */
struct ptx_operand flat_reg_operand(int32_t reg);
/* mov dst, src of the register's own type, placed where `at` stands in the source. */
void flat_push_mov(struct jkernel *k, const struct ptx_instr *at, int32_t dst,
                   struct ptx_operand src, uint8_t type);
/* A new argument area, a clone of `from`. */
struct area *flat_area(struct flattener *f, const struct ptx_var *from);

/* The last instruction pushed becomes the simpler ones that it stands for, if it does
 * (flatten_lower.c). */
bool flat_lower(struct flattener *f);
/* Where the stack of alloca stands, as an offset behind the kernel's local variables; its register
 * is made when first asked for. */
int32_t flat_stack(struct flattener *f);

/* ---- argument areas (flatten_areas.c) -------------------------------------------------------- */

/* Once everything is inlined: areas become registers, or memory; calls that stay get their
 * arguments moved to where the callee looks for them. */
bool flat_lower_areas(struct flattener *f);
/* A function that is compiled on its own: its arguments lie at the start of its frame; its
 * register-style results go there at the end. */
void flat_place_formals(struct flattener *f, struct activation *act);
void flat_store_results(struct flattener *f, struct activation *act);
/* Offsets of .shared and .local variables in their windows. */
void flat_place_variables(struct jkernel *k);

#endif
