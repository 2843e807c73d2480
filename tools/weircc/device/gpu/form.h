/* form: the second form of device code, for drivers of GPUs.
 *
 * Weir's own driver supplies what PTX leaves open: mathematical functions (__nv_*), launches by a
 * call of the kernel, managed variables at the host's addresses. NVIDIA's assembler takes none of
 * that. So a file that uses some of it is compiled to a second PTX, which the fat binary holds
 * beside the first (fatbin.h):
 *
 * - The mathematical functions come from a library of LLVM bitcode.
 * - A launch is what the device runtime has for it: __cudaCDP2GetParameterBufferV2, the arguments
 *   stored as the kernel's parameters lie, __cudaCDP2LaunchDeviceV2. Its other functions get the
 *   names that libcudadevrt.a has.
 * - A managed variable x is reached through the pointer __weir_managed_x, which the runtime sets to
 *   the host's variable; x itself keeps the initial value.
 * - A static variable x of relocatable code is defined as x__static__<file>, but clang may have
 *   referred to it as x before it knew. Weir takes that; here all of it gets the one name.
 *
 * All but managed variables is done in LLVM's text before its passes, where types tell the layout
 * of arguments also where the kernel is a pointer; those are done in PTX. */
#ifndef WEIRCC_GPU_FORM_H
#define WEIRCC_GPU_FORM_H

#include "base/base.h"

/* Before the name of a managed variable: the name of the pointer to it. */
#define GPU_MANAGED_PREFIX "__weir_managed_"

/* What LLVM's text of a file needs to run on a GPU. */
struct gpu_needs {
    bool math;     /* calls of __nv_* */
    bool launches; /* launches, or calls of the device runtime */
    bool managed;  /* managed variables */
    bool statics;  /* static variables that have two names */
};
struct gpu_needs gpu_form_needs(const char *llvm);

/* Appends the LLVM text with its launches in the standard form, and one name for each variable.
 * False and a message when a launch has an argument that cannot be laid out. */
bool gpu_form_llvm(const char *llvm, struct strbuf *out, struct diag *d);

/* Appends the PTX, compiled from that text, with the managed variables that the LLVM text names
 * reached through pointers. */
void gpu_form_ptx(const char *ptx, const char *llvm, struct strbuf *out);

#endif
