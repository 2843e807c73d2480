/* gen_state: what the files of the generator share: the text so far, the random numbers, and where
 * in the kernel's structure they are. */
#ifndef WEIR_TEST_FUZZ_GEN_STATE_H
#define WEIR_TEST_FUZZ_GEN_STATE_H

#include "gen.h"
#include "ptx/ptx.h"

/* Classes of registers. Loose ones hold floats whose NaNs have any payload. */
enum class {
    C_P, /* predicates */
    C_H, /* 16 bits */
    C_R, /* 32 bits, untyped */
    C_U, /* .u32 */
    C_S, /* .s32 */
    C_D, /* 64 bits */
    C_L, /* .s64 */
    C_I, /* 32-bit indices: mostly affine in the thread's number */
    C_A, /* 64-bit ones */
    C_F, /* loose from here on: .f32 */
    C_X, /* .f64 */
    C_G, /* f16 */
    C_Q, /* f16x2 */
    C_B, /* bf16 */
    C_C, /* bf16x2 */
    CLASSES
};

struct class_info {
    const char *prefix, *declared;
    unsigned type; /* enum ptx_type */
    int most;      /* registers in use at first, at most */
    int limit;     /* registers at all */
    bool loose;
};
extern const struct class_info gen_classes[CLASSES];

/* Who may touch a region (shared memory, or the block's part of work) until the next barrier. */
enum owning { READ_ONLY, ELEMENTS, WORDS };

struct region {
    enum owning owning;
    bool shared;      /* else global */
    const char *base; /* register with the address of the region */
    const char *own;  /* register with the number of this thread's element */
};

struct gen {
    struct strbuf *out;
    uint64_t state;
    struct gen_shape shape;
    uint32_t threads;   /* of a block */
    int count[CLASSES]; /* registers that have a value */
    int pending; /* class of which one more has a value after this instruction, or less than 0 */
    int labels;
    int budget;     /* statements that may still be written */
    int depth;      /* of nested statements */
    int loops;      /* of nested loops */
    bool together;  /* all live lanes of `mask` are here */
    char mask[16];  /* register or constant: the lanes that are here, if together */
    bool uniform;   /* the whole block is here: barriers may stand */
    bool function;  /* not the entry */
    bool recursive; /* the function may call itself */
    bool left;      /* threads may have exited */
    bool tiny;      /* of indices alone */
    int functions;  /* how many can be called */
    struct region regions[2];
    int break_to[8], continue_to[8]; /* labels of the loops */
    int weights[16];
};

uint32_t gen_random(struct gen *g, uint32_t below);
static inline bool gen_chance(struct gen *g, uint32_t percent)
{
    return gen_random(g, 100) < percent;
}
uint64_t gen_bits(struct gen *g);
void gen_put(struct gen *g, const char *fmt, ...) WEIR_PRINTF(2, 3);

struct name {
    char text[24];
};
/* A register of a class at random; a source or result of a type among all classes that can be. */
struct name gen_reg(struct gen *g, enum class c);
struct name gen_exact(struct gen *g, unsigned bits); /* of 16, 32 or 64 bits, for untyped use */
struct name gen_source(struct gen *g, unsigned type, char kind, bool strict);
struct name gen_result(struct gen *g, unsigned type);
/* May a register of the class be written that had no value before? What is written only once keeps
 * its shape in the compiler's eyes, so much is. */
bool gen_may_begin(struct gen *g, enum class c);

/* One instruction of the case table (tests/arithmetic/cases.def); guard: "" or "@%p0 ". */
void gen_arithmetic(struct gen *g, const char *guard);
/* A chain of additions with carry. */
void gen_carry(struct gen *g);
/* An offset: mostly small, or where numbers of some width wrap around. */
long long gen_offset(struct gen *g);
/* Something about indices: affine values, and what wraps around. */
void gen_index(struct gen *g);
/* Copies a loose register's value to one of fixed bits. */
void gen_fix(struct gen *g, enum class c, int n, const char *to);
void gen_fix_random(struct gen *g);
/* A predicate with a new value. */
struct name gen_condition(struct gen *g);

/* Accesses to memory. */
void gen_read(struct gen *g);
void gen_own(struct gen *g);
void gen_local(struct gen *g);
void gen_atomic(struct gen *g);
/* Who owns what from here on, after a barrier or at the start. */
void gen_regions(struct gen *g);

/* Copies a module with a register of its own for each value of a helper register. */
void gen_names(const char *text, struct strbuf *out);

/* What a warp's threads do together. */
void gen_warp(struct gen *g);

#endif
