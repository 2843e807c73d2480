/* out_of_memory: what the compiler does when memory runs out, in it or in LLVM. */
#ifndef WEIR_COMPILER_OUT_OF_MEMORY_H
#define WEIR_COMPILER_OUT_OF_MEMORY_H

#include <stdbool.h>

struct diag;

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `call`, and returns true; false and a message, which begins with `what`, when memory ran
 * out in it or LLVM gave up. Then all that LLVM had allocated is lost: where it was is not known.
 * Any number of threads. */
bool compile_guarded(void (*call)(void *arg), void *arg, const char *what, struct diag *d);

/* Whether a call of this thread was abandoned inside LLVM. Lists of LLVM's then lead into the
 * thread's stack, below the frame of compile_guarded: nothing may use that part of it again. */
bool compile_abandoned(void);

/* As memory_guarded, and what is called begins so far down the stack that its frames survive what
 * its caller does after it was abandoned. (For compile.c.) */
bool compile_guarded_below(void (*call)(void *arg), void *arg);

/* Has LLVM and the C++ library call these when they find no memory, or give up; once. (Private to
 * out_of_memory*.) */
void compile_catch(void (*no_memory)(void), void (*gave_up)(const char *why));

#ifdef __cplusplus
}
#endif

#endif
