/* host_text: the host half of a CUDA file, made into what a C++ compiler takes that knows no CUDA.
 *
 * The text is what that compiler's preprocessor made of the file, with CUDA's words as attributes.
 *
 * - A launch `f<<<c>>>(a)` becomes `(::__cudaPushCallConfiguration(c) ? (void)0 : f(a))`.
 * - The body of a kernel becomes one that launches it (KERNEL_STUB of crt/ccbin.h). Each stub has a
 *   static variable, whose mangled name is made of the kernel's: so host_records.h learns from the
 *   compiler's output which stub belongs to which kernel, whatever it is instantiated with.
 * - Functions of the device alone keep their declarations and lose their bodies, unless the body
 *   says what type they are.
 * - A variable of the device is kept: its address stands for it.
 *
 * All else stays as it is, and so do the numbers of lines. */
#ifndef WEIRCC_CCBIN_HOST_TEXT_H
#define WEIRCC_CCBIN_HOST_TEXT_H

#include "base/base.h"

/* The variable in each stub. */
#define HOST_TEXT_KEY "__weir_kernel"

/* Rewrites preprocessed text; appends the result. False and a message when a kernel's parameters
 * cannot be named. */
bool host_text_rewrite(const char *text, struct strbuf *out, struct diag *d);

/* The same for files. */
bool host_text_rewrite_file(const char *input, const char *output, struct diag *d);

#endif
