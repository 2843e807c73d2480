/* debug.h: what the files share that leave debug data in compiled code. */
#ifndef WEIR_COMPILER_DEBUG_H
#define WEIR_COMPILER_DEBUG_H

#include <llvm-c/DebugInfo.h>

#include "compiler/codegen/instructions.h"

enum {
    DW_OP_ADDR = 0x03,
    DW_OP_DEREF = 0x06,
    DW_OP_CONSTU = 0x10,
    DW_OP_DUP = 0x12,
    DW_OP_OVER = 0x14,
    DW_OP_SWAP = 0x16,
    DW_OP_MUL = 0x1e,
    DW_OP_PLUS = 0x22,
    DW_OP_PLUS_UCONST = 0x23,
    DW_OP_DEREF_SIZE = 0x94
};
enum { DW_ATE_FLOAT = 4, DW_ATE_SIGNED = 5, DW_ATE_UNSIGNED = 7 };

struct debug_lines {
    LLVMDIBuilderRef b;
    LLVMMetadataRef *files; /* by index into the module's file table; 0: the PTX */
    LLVMMetadataRef unit;
    LLVMMetadataRef function; /* scope of the function being emitted */
    LLVMMetadataRef *scopes;  /* by file, within that function */
    bool *library;            /* by file: nobody looks for a fault there */
    int nfiles;
    bool variables; /* those of the source are declared, of one function at least */
};

/* A variable of the function that is at the address which the operations make of the block's. */
void debug_declare(struct codegen *cg, const char *name, LLVMMetadataRef type, uint64_t *ops,
                   size_t count);
/* The source's variables of the function, as the PTX's debug data has them, for the lane that
 * `lane` (abi/kernel_abi.h) names. False: it has none of this function. */
bool debug_variables(struct codegen *cg);

#endif
