/* baseline_functions: what the two halves of baseline code share (baseline.c: a kernel's
 * instructions; baseline_functions.c: the functions that they become calls of). Private to these.
 */
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
    uint32_t at;       /* an instruction's number in its block, from 1 on */
    uint32_t last;     /* the number of the last instruction that uses it */
    int32_t temp;      /* which of the temporaries `memory` is, or -1 */
    bool variable;     /* an alloca of one vector that is only loaded and stored */
    bool done;         /* the instruction is to be erased */
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
    } *made; /* functions by key, a table of open addresses */
    size_t nmade;
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
enum given { GIVEN_CONSTANT, GIVEN_SPLAT, GIVEN_MEMORY, GIVEN_BITS, GIVEN_VALUE };

enum { MAX_OPERANDS = 6 };
struct operation {
    LLVMValueRef i;
    LLVMTypeRef type; /* of the result */
    bool accesses;    /* memory of the program, which may fault */
    LLVMOpcode op;
    int n;
    enum given how[MAX_OPERANDS];
    LLVMValueRef v[MAX_OPERANDS];
    LLVMTypeRef t[MAX_OPERANDS];
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

/* ---- baseline_functions.c ---- */

/* Is the instruction only there for shuffles that splat? */
bool baseline_is_splat_part(LLVMValueRef i);
/* Is it a scalar operation that is cheaper to compile as a call? */
bool baseline_is_slow(LLVMValueRef i);
/* False: it stays an instruction. */
bool baseline_describe(const struct baseline *q, LLVMValueRef i, struct operation *o);
LLVMTypeRef baseline_function_type(const struct baseline *q, const struct operation *o);
/* The function for such an operation: the one there is, or a new one. */
LLVMValueRef baseline_function(struct baseline *q, const struct operation *o, LLVMTypeRef type);
LLVMValueRef baseline_load(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef memory);

#endif
