/* stack: how much of a thread's stack is left, and calls on another one where that is little.
 *
 * A thread of the program may have 16 KiB of stack, and what it asks us for may need a megabyte:
 * parsing, compiling, and kernels, which a thread that waits runs itself. Such calls are made on a
 * stack of ours. The thread stays the same, with all its thread-local words. */
#ifndef WEIR_BASE_STACK_H
#define WEIR_BASE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What code needs that parses, compiles or runs kernels. */
enum { STACK_WANTED = 2 << 20 };

/* Calls it, on the stack at hand if STACK_WANTED bytes of it are left, or if there is no memory for
 * another one. The call must return: no jump leads out of it. A thread that the program cancels
 * meanwhile goes on until it has, since the call may hold locks and share what lies on the stack
 * with other threads. */
void stack_call(void (*call)(void *arg), void *arg);

/* The same for what needs `wanted` bytes, however many. False: there is no memory for them, and
 * nothing was called. */
bool stack_call_of(size_t wanted, void (*call)(void *arg), void *arg);

/* Whether the address is where a thread arrives that has used up its stack, or the stack of ours
 * that it is on. For signal handlers; false where nothing was called on this thread before that
 * asks for its stack. */
bool stack_ends_at(uintptr_t address);

/* Looks where this thread's stack ends, if nobody has yet. */
void stack_look(void);

/* A stack with a page without access at its low end. */
struct stack_memory {
    uint8_t *low;
    size_t bytes;
};

/* 8 MiB, which are taken from the machine as they are touched; more where a call wants more than
 * that, and less where there is no memory and it is content with less (0: with what there is).
 * False: no memory. */
bool stack_map(struct stack_memory *s, size_t wanted);
/* Whether a call that wants so much can be made on it. */
bool stack_suffices(const struct stack_memory *s, size_t wanted);
void stack_unmap(struct stack_memory *s);

#endif
