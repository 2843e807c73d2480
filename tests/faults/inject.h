/* inject (E2.5): what the preloaded library (inject.c) offers to the programs that it makes calls fail in.
 * Declared weak: without the library the functions are NULL. */
#ifndef WEIR_TEST_INJECT_H
#define WEIR_TEST_INJECT_H

#include <stdbool.h>

/* Kinds of calls. */
enum inject_kind {
    INJECT_MEMORY = 1, /* malloc and its kin */
    INJECT_MAP = 2,    /* mmap, mprotect */
    INJECT_FILE = 4,   /* open, write, ftruncate, memfd_create, mkdir, rename, opendir */
    INJECT_THREAD = 8, /* pthread_create, fork */
};

/* From now on calls of these kinds are counted, and call `at` (from 1 on) fails: only that one, or
 * with `persist` all from there on. Counted are calls made by Weir's libraries, or with `everyone`
 * all. 0: none fails. */
__attribute__((weak)) void inject_begin(unsigned kinds, unsigned long at, bool persist,
                                        bool everyone);
/* Calls are as ever again. Returns how many were counted. */
__attribute__((weak)) unsigned long inject_end(void);
/* How many failed since inject_begin. */
__attribute__((weak)) unsigned long inject_failed(void);

#endif
