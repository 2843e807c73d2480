/* flatten, private to its files: one function and all it calls on their way to one flat list. */
#ifndef WEIR_COMPILER_FRONT_FLATTEN_H
#define WEIR_COMPILER_FRONT_FLATTEN_H

#include "compiler/kernel.h"

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
};

/* Parts of a launch configuration: grid x, y, z; block x, y, z; bytes of shared memory; stream. */
enum { FLAT_CONFIG = 8 };

struct flattener {
    struct jkernel *k;
    struct ptr_map area_of; /* clone ptx_var* -> struct area* */
    struct area **areas;
    size_t nareas, areas_cap;
    int32_t cc;     /* the carry flag's register, -1 until used */
    int32_t sp;     /* the register of alloca's stack, -1 until used */
    bool allocates; /* some function of the module uses alloca */
    int depth;
    struct ptr_map kept; /* functions whose calls stay (kept_calls.c) */
    int8_t ends_threads; /* may calls of the module's functions end threads? -1: not known yet */
    int32_t config[FLAT_CONFIG]; /* 1 + the registers of the launch configuration; 0 until used */
    struct ptx_var *launch_area; /* where arguments of launches lie, NULL until used */
};

/* ---- building (flatten.c) ---- */

bool flat_once(struct jkernel *k); /* the pass, for what runs on fibers or does not */

int32_t flat_reg(struct jkernel *k, const char *name, uint8_t type);
struct ptx_instr *flat_push(struct jkernel *k); /* an empty, unguarded instruction at the end */
struct ptx_operand flat_reg_operand(int32_t reg);
/* Copies of operands, with name[r] in place of register r; NULL: with their own names. */
struct ptx_operand *flat_renamed(struct jkernel *k, const struct ptx_operand *from, int count,
                                 const int32_t *name);
/* mov dst, src of the register's own type, with the location of `at` in the source. */
void flat_push_mov(struct jkernel *k, const struct ptx_instr *at, int32_t dst,
                   struct ptx_operand src, uint8_t type);
/* In an instruction, which gets operands of its own: another register in place of `reg`. */
void flat_rename(struct jkernel *k, struct ptx_instr *i, int32_t reg, int32_t to);
/* A branch, at the place of `at` in the source, to an instruction as the list under way numbers
 * them; with target -1 it is for the caller to say. Guard -1: always. */
struct ptx_instr *flat_push_branch(struct jkernel *k, const struct ptx_instr *at, int32_t guard,
                                   bool neg, int32_t target);
/* A new argument area, a clone of `from`. */
struct area *flat_area(struct flattener *f, const struct ptx_var *from);

/* The last instruction pushed becomes the simpler ones that it stands for, if it does
 * (lower.c). */
bool flat_lower(struct flattener *f);
/* How many bytes alloca has taken from the end of the thread's window, downwards: frames of
 * functions grow from its start. The register is made when first asked for. */
int32_t flat_stack(struct flattener *f);

/* ---- argument areas (arguments.c) ---- */

/* Once everything is inlined: areas become registers, or memory; calls that stay get their
 * arguments moved to where the callee looks for them. */
bool flat_lower_areas(struct flattener *f);
/* Branches go to where what they went to has moved: moved[n] is where instruction n was put. */
void flat_retarget(struct jkernel *k, const int32_t *moved);

/* A list that is made anew from the one before: instruction n went to moved[n]. */
struct rebuilt {
    struct ptx_instr *old; /* of the kernel's arena */
    size_t count;
    int32_t *moved;
};
/* Begins an empty list. */
struct rebuilt flat_rebuild(struct jkernel *k);
/* All are there: branches go to where what they went to has moved. */
void flat_rebuilt(struct jkernel *k, struct rebuilt *r);
/* A function that is compiled on its own: its arguments lie at the start of its frame; its
 * register-style results go there at the end. */
void flat_add_formals(struct flattener *f, struct activation *act);
void flat_store_results(struct flattener *f, struct activation *act);
/* The kernel is made of that function, too: what it declares in .shared memory counts. */
void flat_declared(struct jkernel *k, const struct ptx_func *f);
/* Offsets of .shared and .local variables in their windows. */
void flat_layout_variables(struct jkernel *k);
/* The area that an operand names, or NULL. */
struct area *flat_area_of(struct flattener *f, const struct ptx_operand *o);
/* Moves one argument or result (`load`) between where the caller has it, `o`, and `offset` of the
 * .local variable `memory`. */
void flat_transfer(struct flattener *f, const struct ptx_instr *at, struct ptx_var *memory,
                   bool load, const struct ptx_operand *o, const struct ptx_var *formal,
                   uint64_t offset);

/* ---- copies (struct_copies.c) ---- */

/* In the flat code: structures that are copied word by word are copied by one instruction. */
void flat_copies(struct jkernel *k);

/* ---- constants (copied_constants.c) ---- */

/* In the flat code: copies of registers that hold a constant are moves of the constant. */
void flat_copied_constants(struct jkernel *k);

/* ---- indices (kept_indices.c) ---- */

/* In the flat code: what reads a thread's index alone, in a register that a loop counts with
 * later, has a register of its own. */
void flat_kept_indices(struct jkernel *k);

/* ---- neighbouring blocks (joined_blocks.c) ---- */

/* In the flat code of a kernel that is compiled for several blocks side by side (options: joined):
 * indices of threads and blocks are those that the program is to see. */
void flat_join_blocks(struct jkernel *k);

/* ---- tests that blocks decide (unswitching.c) ---- */

/* In the flat code: what follows a test that is the same for all threads of a block, and is made
 * again and again, is there for either outcome. */
void flat_unswitch(struct jkernel *k);
/* The same of the test at instruction n, which is the block's; false: it cannot be. */
bool flat_unswitch_at(struct jkernel *k, int32_t n);

/* ---- guards (whole_blocks.c) ---- */

/* In the flat code, if whole_blocks asks for it: what follows guards at the kernel's start is there
 * once more, without them, for blocks none of whose threads they send away; makes has_whole. */
void flat_whole_blocks(struct jkernel *k);

/* ---- loops over the threads' own indices (thread_loops.c) ---- */

/* In the flat code: loops that the threads go through once or a few times, as follows from their
 * indices, are their trips, one after the other. */
void flat_thread_loops(struct jkernel *k);

/* ---- calls that stay (kept_calls.c) ---- */

/* Puts the functions into the map that are called and not inlined where the root, a kernel or a
 * function, would be too large otherwise. */
void flat_keep_calls(const struct ptx_func *root, struct ptr_map *kept);
/* Sets the kernel's kept_bytes: all frames of the functions that it calls by name, one beside the
 * other, as none is there twice where there is no recursion. */
bool flat_count_frames(struct jkernel *k);

/* ---- calls of functions that wait (spinning_calls.c) ---- */

/* In the flat code: a kernel's calls of functions that may spin become loops around calls that may
 * come back unfinished. */
void flat_spinning_calls(struct jkernel *k);
/* For each function that the kernel's calls may reach, in the order of the module. */
void flat_each_callee(struct jkernel *k, void (*each)(struct jkernel *k, const struct ptx_func *f));

/* ---- launches (cdp_launch.c) ---- */

extern const char *const JIT_LAUNCH_CONFIGURE; /* sets the thread's launch configuration */

/* Can code of this module launch by calling kernels? */
bool flat_launches(const struct jkernel *k);
/* FLAT_CONFIG operands: the registers of the configuration. */
struct ptx_operand *flat_launch_config(struct flattener *f);
/* The call of JIT_LAUNCH_CONFIGURE: moves to those registers. */
bool flat_configure(struct flattener *f, const struct ptx_instr *src);
/* The call of a kernel: arguments to local memory, then a call of the helper `launch`. */
bool flat_launch(struct flattener *f, const struct ptx_instr *src);
/* In the flat code: a configuration is not lost to launches between it and the launch it is for.
 * False and a message: too many in each other. */
bool flat_separate_launches(struct flattener *f);
/* Gives a helper's call its arguments in rows of up to 8 bytes. */
bool flat_helper_operands(struct flattener *f, struct ptx_instr *call);

#endif
