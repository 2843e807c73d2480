/* compiler_library: finds, identifies and opens libweir-jit.so. */
#ifndef WEIR_LOADER_COMPILER_LIBRARY_H
#define WEIR_LOADER_COMPILER_LIBRARY_H

#include "abi/plugin.h"

/* The compiler's table; opens the library the first time. NULL and a message when it cannot.
 *
 * To be called before plugin_call, by the thread that asks for something: when that is a constructor
 * of a library which is being opened, the dynamic linker lets no other thread open one. */
const struct jit_plugin *plugin_open(struct diag *d);

bool plugin_is_open(void);

/* Adds to a key what tells one build of the library from another, read from the file without
 * opening the library. */
void plugin_hash(struct hash128 *h);

/* Whether memory ran out inside LLVM in this thread: see abandoned in abi/plugin.h. */
bool plugin_abandoned(void);

/* ---- compiler_call.c ---- */

/* Runs call(arg) on a stack large enough for LLVM, with signals blocked, and waits for it. The
 * program's threads may have small stacks, and its signal handlers have no business there. `arg`
 * says that nothing was done until the call changes it: a call that never ends is given up. */
void plugin_call(void (*call)(void *arg), void *arg);
/* This thread's stack is, and its signals are blocked: plugin_call need not make another. Where
 * plugin_abandoned is true afterwards, the thread may not call the compiler again. */
void plugin_stack_is_large(void);
/* Whether memory ran out inside LLVM in any thread. Then nothing is compiled in the background. */
bool plugin_abandoned_once(void);
/* False and a message: no more calls are made, since memory ran out inside LLVM at a bad moment. */
bool plugin_usable(struct diag *d);

/* For how long a thread may wait in LLVM, after memory ran out there, until it is given up; less in
 * tests. */
extern unsigned plugin_patience_ms;

/* Whether that is the address of code of the compiler's or of LLVM. For signal handlers, too. */
bool plugin_has_code(uintptr_t pc);

#endif
