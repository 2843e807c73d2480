/* grid_constants: __grid_constant__, an attribute of kernels' parameters that clang 19 does not
 * have.
 *
 * Whose address is taken of a parameter, clang copies to local memory. A parameter with this
 * attribute is not copied: its address is that of the parameter, which all threads of the grid have
 * in common and which instructions for tensor maps take. LLVM knows the attribute, by an entry in
 * the module's !nvvm.annotations. Our headers make it an annotation of the parameter, and in the
 * text of clang's front end that annotation is made into such an entry. */
#ifndef WEIRCC_GRID_CONSTANTS_H
#define WEIRCC_GRID_CONSTANTS_H

#include "base/base.h"

/* As include/host_defines.h has it. */
#define GRID_CONSTANT_ANNOTATION "weir.grid_constant"

/* Appends the LLVM text, rewritten. The text is that of clang's front end, before any pass. */
void grid_constants_rewrite(const char *llvm, struct strbuf *out);

/* LLVM 19 dies of a kernel that writes to such a parameter (a mutable member, a cast). Without its
 * entry the parameter is copied like others, and what is written stays with the thread. */
bool grid_constants_found(const char *llvm);
void grid_constants_drop(const char *llvm, struct strbuf *out);

#endif
