/* host_records: what the runtime must know of a host half that another compiler than clang has
 * compiled: which function of it stands for which kernel, which variable for which of the device.
 *
 * The compiler's assembler text says which of the PTX's kernels and variables it has: both call
 * them by the same mangled names. Of each kernel there are two records, one for its address and one
 * for the variable by which its stub launches (host_text.h), named after it as C++ names variables
 * of functions. That variable is a list of the sizes of the parameters, which must be those in the
 * PTX: where two compilers lay out a type differently, a program is refused, not run.
 *
 * The records are those of runtime/program/offload.h: in cuda_offloading_entries for relocatable device
 * code, else in a table that crt/ccbin.h registers together with the fat binary. */
#ifndef WEIRCC_CCBIN_HOST_RECORDS_H
#define WEIRCC_CCBIN_HOST_RECORDS_H

#include "base/base.h"

/* Adds the records to assembler text. `ptx` is the device code of the same file, `fatbin` the bytes
 * that hold it, or NULL: it is relocatable. False and a message when a stub has no kernel in the
 * PTX, or one of other parameters. */
bool host_records_add(const char *assembler, const char *ptx, const void *fatbin, size_t size,
                      struct strbuf *out, struct diag *d);

/* The same for files; the assembler file is rewritten in place. */
bool host_records_add_file(const char *fatbin, const char *assembler, bool rdc, struct diag *d);

#endif
