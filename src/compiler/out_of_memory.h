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

/* Has LLVM and the C++ library come here when they find no memory, or give up; once. (Private to
 * out_of_memory*.) */
void compile_catch(void (*gave_up)(const char *why));

#ifdef __cplusplus
}
#endif

#endif
