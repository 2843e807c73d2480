/* warp_jamming.h: unroll-and-jam of the loops over a block's warps, in four files:
 * warp_jamming.c finds the loops and what they do on their usual path, jam_cost.c for which of them
 * it pays, jam_guards.c where that path's guards are tested, and jammed_loops.c makes the loops
 * that do that for several warps at a time. */
#ifndef WEIR_COMPILER_WARP_JAMMING_H
#define WEIR_COMPILER_WARP_JAMMING_H

#include "compiler/codegen/codegen.h"

enum {
    JAM_MOST = 8,      /* warps at a time */
    JAM_PHIS = 32,     /* of a header */
    JAM_BLOCKS = 256,  /* of a loop */
    JAM_INSTRS = 4000, /* of a loop */
};

/* An instruction of the loop. */
struct jam_instr {
    LLVMValueRef v;
    int32_t block;             /* its number */
    bool varies;               /* from warp to warp, or it acts: it is done for each warp */
    bool faults;               /* an access that may fault */
    bool writes;               /* memory, other than the index of the warp */
    LLVMValueRef of[JAM_MOST]; /* what it is for each of the warps in the jammed loop */
};

struct jam_block {
    LLVMBasicBlockRef bb;
    LLVMBasicBlockRef made, end; /* in the jammed loop: where it begins, and its branch */
    int32_t first, count;        /* instructions */
    bool hot;                    /* on the usual path */
    int8_t guard;                /* at its end: the successor that stays on the path; -1: both do */
    int32_t order;               /* in the reverse postorder of hot blocks; -1: none */
    int32_t next; /* the block that this one alone goes to and that is come to from here alone, with
                     which it is one stretch; -1: none */
    bool follows; /* ... it is such a block */
    int32_t tested; /* where the guard is tested: here, or at the end of a block before a loop */
};

/* A phi of the header. */
struct jam_phi {
    LLVMValueRef phi, from, next; /* at the start; in the next iteration */
    bool counts;                  /* it grows by `step`; else it is what the last warp leaves */
    uint64_t step;
    LLVMValueRef made; /* in the jammed loop */
};

/* A loop over warps. */
struct jam {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn, turn; /* the phi that counts the warps, from 0 */
    unsigned warps, at_a_time;
    unsigned simd_bits, prof, scope; /* bits of a register; kinds of metadata */
    uint64_t shared_bytes;
    LLVMBasicBlockRef preheader, header, latch, exit;
    struct jam_block *blocks;
    int32_t nblocks, *path, npath; /* hot blocks in reverse postorder */
    struct jam_instr *instrs;
    int32_t ninstrs;
    struct jam_phi phis[JAM_PHIS];
    int nphis;
    LLVMValueRef index_store; /* of the warp's index, one of them; NULL: there is none */
    void **keys;              /* blocks and instructions -> numbers, by address */
    int32_t *numbers;
    size_t slots;
};

/* The number of a block or an instruction of the loop; -1: it is none. */
int32_t jam_number(const struct jam *j, const void *key);
/* The instruction of the loop's hot blocks that a value is; NULL: none. */
struct jam_instr *jam_instr_of(const struct jam *j, LLVMValueRef v);
/* Does a value vary from warp to warp? */
bool jam_varies(const struct jam *j, LLVMValueRef v);
/* Is it a store of the index of the warp that runs (codegen/control/warp_index.c)? */
bool jam_is_index_store(const struct jam *j, LLVMValueRef v);

/* How many warps at a time, a divisor of their number; 0: it does not pay. `always`: as many as can
 * be, whether it pays or not. */
unsigned jam_choose(const struct jam *j, bool always);

/* The successors of a hot block that are hot, other than those of the latch; their number. */
int jam_successors(const struct jam *j, int32_t b, int32_t to[2]);
/* Finds stretches of hot blocks, and moves tests of guards to blocks before loops that do not
 * change what they test: next, follows and tested of the blocks. */
void jam_place_guards(struct jam *j);

/* Makes the jammed loop in front of the original one, which goes on where the former leaves the
 * usual path. */
void jam_make(struct jam *j);

#endif
