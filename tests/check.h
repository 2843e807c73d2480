/* The one way tests assert. Each check counts; a failed one prints its place and both values, and
 * the test goes on. A test's main ends with `return check_done();`, which prints "N passed, N
 * failed" and is the exit status. Checks may be made by several threads at once; arguments are
 * evaluated once. C and CUDA C++ both include this file. */
#ifndef WEIR_CHECK_H
#define WEIR_CHECK_H

#include <stdio.h>
#include <string.h>

static unsigned check_passed_, check_failed_;

/* Counts one check and returns its outcome. For checks whose failure a test words itself:
 * if (!check_note_(good)) printf(...). */
static inline int check_note_(int ok)
{
    __atomic_fetch_add(ok ? &check_passed_ : &check_failed_, 1, __ATOMIC_RELAXED);
    return ok;
}

/* A condition holds. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!check_note_(!!(cond)))                                                                \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                              \
    } while (0)

/* Two integers of any type up to 64 bits are equal. */
#define CHECK_EQ_INT(a, b)                                                                         \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (!check_note_(a_ == b_))                                                                \
            printf("%s:%d: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a, a_, #b, b_);         \
    } while (0)

/* Two strings are equal, or both are NULL. */
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        int same_ = a_ == b_ || (a_ != NULL && b_ != NULL && strcmp(a_, b_) == 0);                 \
        if (!check_note_(same_))                                                                   \
            printf("%s:%d: %s is \"%s\", %s is \"%s\"\n", __FILE__, __LINE__, #a,                  \
                   a_ != NULL ? a_ : "(null)", #b, b_ != NULL ? b_ : "(null)");                    \
    } while (0)

/* Prints the counts and returns the exit status: 0 when no check has failed. */
static inline int check_done(void)
{
    printf("%u passed, %u failed\n", check_passed_, check_failed_);
    return check_failed_ != 0;
}

#endif
