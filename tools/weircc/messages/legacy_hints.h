/* legacy_hints: what a program of an earlier CUDA misses, and --legacy-api has. */
#ifndef WEIRCC_LEGACY_HINTS_H
#define WEIRCC_LEGACY_HINTS_H

/* The head line of a message, plain, with that option; NULL where it would not help. The caller's to
 * free. */
char *legacy_hint(const char *plain);

#endif
