/* kernel_bodies: the host's half of a file without what its kernels do.
 *
 * On the host a kernel is only launched, but clang instantiates its body there, too, and evaluates
 * the constants in it and in __launch_bounds__. Those are made for the device: what they are made
 * of may be a constant there alone (__CUDA_ARCH__ chooses it), or have no value for the host. nvcc
 * does without. So a file whose host half clang refuses for a constant is compiled for the host
 * again from its preprocessed text, in which kernels have empty bodies and no launch bounds. So is
 * one in which a call does not fit: a kernel may use functions that are there for the device alone
 * (#ifdef __CUDA_ARCH__). If that does not help, it was a mistake of the host's.
 *
 * Lines keep their numbers. */
#ifndef WEIRCC_KERNEL_BODIES_H
#define WEIRCC_KERNEL_BODIES_H

#include "base/base.h"
#include "weircc/source/cuda_text.h"

/* Whether clang's messages about the host half are of constants. */
bool kernel_bodies_may_be_why(const char *messages);

/* Whether they may be of what only the device has: then it is worth a try. */
bool kernel_bodies_may_use_more(const char *messages);

/* Empties the bodies in preprocessed text; appends the result. */
void kernel_bodies_empty(const char *text, struct strbuf *out);

/* Whether the token is in the body of a kernel. */
bool kernel_bodies_hold(const struct cuda_text *x, int token);

#endif
