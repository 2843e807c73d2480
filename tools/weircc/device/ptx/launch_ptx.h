/* launch_ptx: what is left to do for PTX whose kernels launch kernels.
 *
 * Rewritten kernels (launches.h) are functions for clang, so it does not give the static ones the
 * names by which the host side registers them: that is made good here. And PTX shows what pointers
 * a launch passes on: those to local and shared memory are private to the parent, and a child that
 * follows one fails ("CUDA C++ Programming Guide", dynamic parallelism, local and shared memory),
 * so the user is warned. Structs that are passed are in local memory, which is said of the loads.
 */
#ifndef WEIRCC_LAUNCH_PTX_H
#define WEIRCC_LAUNCH_PTX_H

#include "base/base.h"

/* Finishes PTX text that was compiled from rewritten source with line directives; appends the
 * result to `out` and a warning, as clang would word it, to `warnings` for each private pointer
 * that is passed. `keep_lines`: line directives stay. False and a message when it is no PTX. */
bool launch_ptx_finish(const char *ptx, bool keep_lines, struct strbuf *out,
                       struct strbuf *warnings, struct diag *d);

#endif
