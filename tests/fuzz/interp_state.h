/* interp_state: what the files of the interpreter share: a machine that runs one block at a time,
 * its threads, and how operands are read and written. */
#ifndef WEIR_TEST_FUZZ_INTERP_STATE_H
#define WEIR_TEST_FUZZ_INTERP_STATE_H

#include "interp.h"

#include <setjmp.h>

/* Where each state space begins among generic addresses. Global memory has none of its own. */
#define SHARED_BASE 0x100000000000ull
#define LOCAL_BASE  0x200000000000ull
#define STATIC_BASE 0x300000000000ull /* the module's variables in .global and .const */

enum { LOCAL_BYTES = 1 << 16, SHARED_BYTES = 48 << 10, MAX_WARP = 32, MAX_DST = 2 };

/* One function: the same for all threads. */
struct code {
    const struct ptx_func *f;
    struct instr_info *info;     /* for each instruction */
    const struct ptx_var **vars; /* parameters, results, argument areas and local variables */
    uint64_t *offset;            /* of each in the frame's area, or in local memory */
    int nvars;
    uint64_t area_bytes, local_bytes;
    struct code *next;
};

struct frame {
    struct code *code;
    struct frame *up;
    uint64_t *regs;
    bool *given;         /* has the register been written? */
    uint8_t *area;       /* parameters, results, argument areas */
    uint64_t local_base; /* of its local variables */
    int pc;
    const struct ptx_call *call; /* what the caller waits for */
};

enum wait { RUNS, EXITED, AT_BARRIER, AT_WARP };

struct thread {
    struct frame *top;
    uint8_t *local;
    uint32_t tid[3];
    int index, lane, warp;
    enum wait wait;
    const struct ptx_instr *at; /* what it waits at */
    bool carry;
};

/* A variable in shared or static memory. */
struct placed {
    const struct ptx_var *var;
    uint64_t offset;
};

struct machine {
    struct interp_launch *l;
    struct diag *d;
    jmp_buf fail;
    struct arena arena;
    struct code *codes;
    struct thread *threads;
    int nthreads;
    uint32_t ctaid[3];
    uint8_t *shared, *statics;
    struct placed placed[64];
    int nplaced;
    uint64_t shared_used, statics_used;
};

/* Ends the run with a message that names the instruction. */
_Noreturn void interp_fail(struct machine *m, const struct ptx_instr *i, const char *fmt, ...)
    WEIR_PRINTF(3, 4);

/* The function's code, analysed when it is first seen. */
struct code *interp_code(struct machine *m, const struct ptx_func *f);
const struct instr_info *interp_info(const struct thread *t, const struct ptx_instr *i);

/* The value of a register; it must have one. */
uint64_t interp_reg(struct machine *m, const struct thread *t, const struct ptx_instr *i, int reg);
/* The value of a source, cut down to its type; and a result into its register, extended by its type
 * if the register is wider. */
uint64_t interp_read(struct machine *m, struct thread *t, const struct ptx_instr *i,
                     const struct ptx_operand *o, unsigned type);
void interp_write(struct machine *m, struct thread *t, const struct ptx_instr *i,
                  const struct ptx_operand *o, unsigned type, uint64_t value);

/* Offset of a variable in its window (shared or static). */
uint64_t interp_place(struct machine *m, const struct ptx_var *v);
/* An address operand's value in its own space. */
uint64_t interp_address(struct machine *m, struct thread *t, const struct ptx_instr *i,
                        const struct ptx_operand *o);
/* ld, st, atom, red, cvta, isspacep. False: it is none of these. */
bool interp_memory_op(struct machine *m, struct thread *t, const struct ptx_instr *i);
/* The new value of an atomic operation. */
uint64_t interp_atomic(struct machine *m, const struct ptx_instr *i, unsigned type, bool global,
                       uint64_t old, uint64_t b, uint64_t c);

/* Is this an instruction that a warp's threads do together, once all have come? */
bool interp_is_warp_op(const struct ptx_instr *i);
/* Does what can be done by threads of the warp that begins at `first`; true if anything was. */
bool interp_warp(struct machine *m, int first);
bool interp_is_barrier(const struct ptx_instr *i);
/* The same for barriers of the block. */
bool interp_barrier(struct machine *m);

#endif
