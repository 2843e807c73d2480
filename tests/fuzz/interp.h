/* interp: runs a PTX kernel thread by thread, as the ISA's text says, to tell what a compiled
 * kernel must have written to memory.
 *
 * It shares the parser with the compiler and nothing else: each thread has a program counter and
 * registers of its own and runs until it exits or waits for others; arithmetic is that of the
 * reference (tests/arithmetic/ref.h). It is strict where a GPU is not: an access out of bounds, a
 * shuffle from a lane that takes no part, an instruction that it does not know, a kernel that waits
 * for ever are errors. Threads run in their order or against it, so that a kernel whose results
 * depend on the order is found by comparing the two. */
#ifndef WEIR_TEST_FUZZ_INTERP_H
#define WEIR_TEST_FUZZ_INTERP_H

#include "ptx/ptx.h"

/* How one operand of an instruction is to be taken, from the form that the instruction fits. */
struct operand_info {
    uint8_t type; /* enum ptx_type, PTX_NONE: as wide as the register */
    char kind;    /* the letter in forms.def */
    bool written;
};

struct instr_info {
    struct operand_info operand[12];
};

/* False: the instruction fits no form. */
bool interp_operands(const struct ptx_instr *i, struct instr_info *info);

/* Memory that the kernel reaches by addresses in its parameters. */
struct interp_memory {
    uint64_t address; /* in the kernel's eyes */
    uint8_t *bytes;
    uint64_t size;
    bool writable;
};

struct interp_launch {
    uint32_t grid[3], block[3];
    const uint64_t *params; /* one for each parameter, whatever its width */
    const struct interp_memory *memory;
    int nmemory;
    bool backwards; /* the last thread first */
    uint64_t steps; /* instructions of all threads at most */
    uint64_t taken; /* out: instructions run */
};

/* Runs the whole grid. False and the reason when the kernel does what it must not. */
bool interp_run(const struct ptx_func *entry, struct interp_launch *l, struct diag *d);

#endif
