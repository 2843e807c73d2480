/* jit: compiles an instruction or a math function as a warp of 32 lanes and as a scalar, with
 * LLVM's ORC JIT. */
#ifndef WEIR_TEST_ALU_JIT_H
#define WEIR_TEST_ALU_JIT_H

#include "compiler/arithmetic/arithmetic.h"

enum { LANES = 32, SLOT = LANES * 16 /* bytes of one source's or result's lanes */ };

/* in and out: one SLOT after the other, each lane in the smallest whole number of bytes. */
typedef void (*warp_fn)(const void *in, void *out);
typedef void (*lane_fn)(const void *in, void *out, uint32_t lane);

struct compiled {
    struct alu_sig sig;
    warp_fn warp;
    lane_fn lane;
};

/* "host", "avx2" or "sse2": which CPU to pretend. */
void jit_init(const char *simd);
const char *jit_features(void);

/* For functions that call compiled code: the sanitizer would look for a type before its start. */
#define CALLS_COMPILED __attribute__((no_sanitize("function")))

/* Adds a function to the batch; jit_finish compiles the batch and fills what was added. i is kept
 * until then; uniform (by operand, may be NULL) says which sources are broadcast from lane 0. False
 * when the emitter refuses. */
bool jit_add(const struct ptx_instr *i, const bool *uniform, const char *math, struct compiled *out,
             struct diag *d);
void jit_finish(void);
void jit_exit(void); /* releases everything */

unsigned lane_bytes(unsigned type); /* of a PTX type in a SLOT */

#endif
