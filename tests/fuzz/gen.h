/* gen: valid kernels of PTX at random.
 *
 * A seed decides everything: the text, the shape of the block and the grid. What the kernel writes
 * to memory is fixed bit for bit by the PTX ISA, whatever order threads run in: threads share
 * memory only by atomics that commute, by barriers, and by what the threads of a warp do together;
 * no approximation is used; a float that may be NaN is never looked at as bits before its payload
 * has been replaced (its registers are of "loose" classes). All indices that may be out of bounds
 * are masked, clamped or guarded.
 *
 * The kernel's parameters: in (u64), IN_BYTES that it may read; out (u64), SLOTS * 8 bytes for each
 * thread of the grid; work (u64), memory to read and write; n (u32), some number. */
#ifndef WEIR_TEST_FUZZ_GEN_H
#define WEIR_TEST_FUZZ_GEN_H

#include "base/base.h"

enum {
    GEN_IN_BYTES = 16384,
    GEN_SLOTS = 96,
    GEN_OWN_BYTES = 32,      /* of work, for each thread */
    GEN_ATOMIC_BYTES = 2048, /* at the start of work: words that all threads add to and so on */
    GEN_MAX_THREADS = 1024,
};

struct gen_shape {
    uint32_t grid[3], block[3];
};

/* Writes the module; its only entry is called `kernel`. */
void gen_kernel(uint64_t seed, struct strbuf *out, struct gen_shape *shape);
/* The same of kernels for grids of two dimensions, whose threads do nothing together. */
void gen_grids(uint64_t seed, struct strbuf *out, struct gen_shape *shape);
/* Writes the kernel of that number that runs instructions in each of their forms. False: there are
 * no more. */
bool gen_forms(unsigned index, struct strbuf *out, struct gen_shape *shape);
/* Bytes of each buffer for a shape. */
uint64_t gen_out_bytes(const struct gen_shape *s);
uint64_t gen_work_bytes(const struct gen_shape *s);
/* Fills `in` and the first state of `work`; the value of n. */
uint32_t gen_fill(uint64_t seed, uint8_t *in, uint8_t *work, uint64_t work_bytes);

#endif
