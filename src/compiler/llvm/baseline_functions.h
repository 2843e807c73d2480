/* baseline_functions: what the parts of baseline code share (baseline.c: a kernel's instructions;
 * baseline_runs.c: operations that follow each other; baseline_functions.c: the functions that they
 * become calls of). Private to these. */
#ifndef WEIR_COMPILER_BASELINE_FUNCTIONS_H
#define WEIR_COMPILER_BASELINE_FUNCTIONS_H

#include "compiler/codegen/codegen.h"
#include "compiler/llvm/baseline.h"

enum {
    BASELINE_FUNCTIONS = 4096 /* slots of the table, of which a half are used */
};

/* What is known of a value; found by its address. */
struct fact {
    LLVMValueRef value;
    LLVMValueRef bits;   /* a mask as an integer; NULL: none */
    LLVMValueRef memory; /* the address of a vector; NULL: none */
    LLVMValueRef slot; /* instruction: the variable it writes by itself, instead of a later store */
    LLVMValueRef shuffled;       /* a mask that is another one's shuffled lanes: that one */
    uint32_t result;             /* a mask that a run leaves in its memory: where; 0: it does not */
    uint32_t at;                 /* an instruction's number in its block, from 1 on */
    uint32_t last;               /* the number of the last instruction that uses it */
    int32_t temp;                /* which of the temporaries `memory` is, or -1 */
    bool variable;               /* an alloca of one vector that is only loaded and stored */
    bool stores_known;           /* an alloca of a scalar: */
    LLVMBasicBlockRef stored_in; /* the block that alone stores it, once; NULL: there is none */
    bool done;                   /* the instruction is to be erased */
};

/* Memory of the function that runs refer to: an alloca, which becomes a part of one of them all. */
struct object {
    LLVMValueRef alloca; /* NULL: memory of the runs' own */
    uint64_t bytes, offset;
    unsigned align;
};

/* The runs of a function, see baseline_runs.c. */
struct runs {
    LLVMValueRef memory, table; /* stand for all objects and for all words until these are known */
    struct {
        struct object *items;
        size_t count, cap;
    } objects;
    struct object_slot {
        LLVMValueRef alloca;
        uint32_t object; /* UINT32_MAX: it cannot be one */
    } *by_alloca;        /* a table of open addresses, of a power of two */
    size_t slots, slots_used;
    struct {
        uint32_t *items;
        size_t count, cap;
    } words;
    struct {
        struct fixup {
            uint32_t word, object;
        } *items;
        size_t count, cap;
    } fixups;           /* words that are offsets into an object */
    LLVMValueRef first; /* the function of the run that is being collected, NULL: none is */
    size_t start;       /* its first word */
    uint32_t arguments, results; /* how many there are */
};

struct baseline {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b, body; /* in the kernel; in functions that are made */
    LLVMTypeRef i8, ptr;
    LLVMValueRef fn;
    struct {
        struct fact *items;
        size_t count, cap; /* cap: a power of two */
    } facts;
    struct made {
        struct hash128 key;
        LLVMValueRef fn;
        uint32_t step; /* of a step of runs: its index in `steps` */
    } *made;           /* functions by key, a table of open addresses */
    size_t nmade;
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } steps;                     /* functions that runs consist of */
    LLVMValueRef step_addresses; /* stands for their addresses until all are known; NULL: none */
    struct runs runs;
    struct {
        struct temp {
            LLVMValueRef memory;
            uint64_t bytes;
            bool used;
        } *items;
        size_t count, cap;
    } temps;
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } block; /* instructions of the current block, before the transformation */
    LLVMTargetDataRef data;
    unsigned md_scope; /* kind of metadata: alias.scope */
};

/* How an operand is given to a function. */
enum given {
    GIVEN_CONSTANT,
    GIVEN_SPLAT,
    GIVEN_MEMORY,
    GIVEN_BITS,
    GIVEN_SHUFFLED_BITS, /* of the mask that is shuffled */
    GIVEN_VALUE
};

/* Where a step finds an operand: the word is the memory's offset, the value itself (two words if it
 * is wider), or the offset of where that is stored. */
enum where { WHERE_MEMORY, WHERE_WORD, WHERE_TWO_WORDS, WHERE_STORED };

enum { MAX_OPERANDS = 48 };
struct operation {
    LLVMValueRef i;
    LLVMTypeRef type; /* of the result */
    bool accesses;    /* memory of the program, which may fault */
    LLVMOpcode op;
    int n;
    enum given how[MAX_OPERANDS];
    LLVMValueRef v[MAX_OPERANDS];
    LLVMTypeRef t[MAX_OPERANDS];
    LLVMValueRef shuffle[MAX_OPERANDS]; /* GIVEN_SHUFFLED_BITS: how they are */
    enum where where[MAX_OPERANDS];     /* in steps */
};

/* ---- baseline.c ---- */

static inline bool baseline_is_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind;
}

/* NULL: nothing is known of it (constants, arguments, what was made here). */
struct fact *baseline_fact(const struct baseline *q, LLVMValueRef v);
/* Lanes of a mask that is an integer here; 0: no such mask. */
unsigned baseline_lanes(LLVMTypeRef t);
/* A vector that is kept in memory. */
bool baseline_in_memory(LLVMTypeRef t);
/* The integer that stands for a mask: a bit for each lane; at least 8 wide, with zeros above. */
LLVMTypeRef baseline_bits_type(const struct baseline *q, LLVMTypeRef mask);
LLVMValueRef baseline_bits(const struct baseline *q, LLVMBuilderRef b, LLVMValueRef mask);
/* And back. */
LLVMValueRef baseline_mask(const struct baseline *q, LLVMBuilderRef b, LLVMValueRef bits,
                           LLVMTypeRef t);

/* The mask as an integer, which a run may have left in memory; NULL: it is not known. */
LLVMValueRef baseline_known_bits(struct baseline *q, struct fact *f);

/* ---- baseline_runs.c ---- */

void runs_open(struct baseline *q);
/* Gives the function its memory and its words. */
void runs_close(struct baseline *q);
/* Adds the operation of the instruction to the run, which computes it later. False: it cannot. */
bool runs_add(struct baseline *q, struct fact *f, struct operation *o);
/* Has what has been added computed before the position of q->b. */
void runs_flush(struct baseline *q);
/* May an instruction that stays depend on what has been added, or the other way round? */
bool runs_end_at(const struct baseline *q, LLVMValueRef i);
/* Is it a call of a function that accesses no memory but what it is given pointers to, which is the
 * caller's? */
bool runs_register_call(LLVMValueRef i);
/* Loads a mask that a run has left. */
LLVMValueRef runs_result(struct baseline *q, const struct fact *f);
/* At the end of a block: nothing that runs left is needed any more. */
void runs_end_block(struct baseline *q);
/* After the last function: the list of steps. */
void runs_close_module(struct baseline *q);

/* ---- baseline_functions.c ---- */

/* The mask that is known as an integer of which this one has the lanes, several times each; NULL:
 * it is no such mask. */
LLVMValueRef baseline_shuffled(const struct baseline *q, LLVMValueRef i);
/* Is the instruction only there for shuffles that splat? */
bool baseline_is_splat_part(LLVMValueRef i);
/* Is it a scalar operation that is cheaper to compile as a call? */
bool baseline_is_slow(LLVMValueRef i);
/* False: it stays an instruction. */
bool baseline_describe(const struct baseline *q, LLVMValueRef i, struct operation *o);
LLVMTypeRef baseline_function_type(const struct baseline *q, const struct operation *o);
/* The function for such an operation: the one there is, or a new one. */
LLVMValueRef baseline_function(struct baseline *q, const struct operation *o, LLVMTypeRef type);
/* The same as a step of a run: void (ptr memory, ptr words), which ends by calling the next one. */
struct made *baseline_step(struct baseline *q, const struct operation *o);
/* The step after which a run ends. */
uint32_t baseline_last_step(struct baseline *q);
LLVMValueRef baseline_load(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef memory);

#endif
