/* host: the machine that kernels are compiled for, as LLVM knows it: this one. */
#ifndef WEIR_COMPILER_HOST_H
#define WEIR_COMPILER_HOST_H

#include <llvm-c/TargetMachine.h>

#include "base/base.h"
#include "compiler/gather_speed.h"

/* Asks LLVM, once; before what follows. Leaves the compiler (memory_escape) if memory runs out. */
void host_init(void);

/* The CPU's name, for people. Calls host_init. */
const char *host_cpu_text(void);

/* LLVM's names of the machine and of the features to compile with ("+avx2,-avx512f,..."). */
const char *host_triple(void);
const char *host_features(void);

/* Which gathers become a load for each lane: those that WEIR_VECTORS says, or those that take
 * longer here. After host_init. */
struct slow_gathers host_slow_gathers(void);

/* What generates code: quickly, for the baseline tier, or well. NULL, and why not: LLVM has none.
 */
LLVMTargetMachineRef host_machine(bool baseline, struct diag *d);

#endif
