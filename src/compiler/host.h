/* host: the machine that kernels are compiled for, as LLVM knows it: this one. */
#ifndef WEIR_COMPILER_HOST_H
#define WEIR_COMPILER_HOST_H

#include <llvm-c/TargetMachine.h>

#include "base/base.h"

/* Asks LLVM, once; before what follows. Leaves the compiler (memory_escape) if memory runs out. */
void host_init(void);

/* The CPU's name, for people. Calls host_init. */
const char *host_cpu_text(void);

/* LLVM's names of the machine and of the features to compile with ("+avx2,-avx512f,..."). */
const char *host_triple(void);
const char *host_features(void);

/* Whether lanes read by a load for each in place of a gather: WEIR_VECTORS says so, or such loads
 * take less time here. After host_init. */
bool host_loads_lanes(void);

/* What generates code: quickly, for the baseline tier, or well. NULL, and why not: LLVM has none.
 */
LLVMTargetMachineRef host_machine(bool baseline, struct diag *d);

#endif
