/* The one way tests assert. Each check counts; a failed one prints its place and both values, and
 * the test goes on. A test's main ends with `return check_done();`, which prints "N passed, N
 * failed" and is the exit status. Checks may be made by several threads at once; arguments are
 * evaluated once. C and CUDA C++ both include this file. */
#ifndef WEIR_CHECK_H
#define WEIR_CHECK_H

#include <stdio.h>
#include <string.h>

static unsigned checks_passed, checks_failed;

/* Counts one check and returns its outcome. For checks whose failure a test words itself:
 * if (!check_count(good)) printf(...). */
static inline int check_count(int ok)
{
    __atomic_fetch_add(ok ? &checks_passed : &checks_failed, 1, __ATOMIC_RELAXED);
    return ok;
}

/* A condition holds. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!check_count(!!(cond)))                                                                \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                              \
    } while (0)

/* Two integers of any type up to 64 bits are equal. */
#define CHECK_EQ_INT(a, b)                                                                         \
    do {                                                                                           \
        long long check_a = (long long)(a), check_b = (long long)(b);                              \
        if (!check_count(check_a == check_b))                                                      \
            printf("%s:%d: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a, check_a, #b,         \
                   check_b);                                                                       \
    } while (0)

/* Two strings are equal, or both are NULL. */
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *check_a = (a), *check_b = (b);                                                 \
        int check_same = check_a == check_b ||                                                     \
                         (check_a != NULL && check_b != NULL && strcmp(check_a, check_b) == 0);    \
        if (!check_count(check_same))                                                              \
            printf("%s:%d: %s is \"%s\", %s is \"%s\"\n", __FILE__, __LINE__, #a,                  \
                   check_a != NULL ? check_a : "(null)", #b,                                       \
                   check_b != NULL ? check_b : "(null)");                                          \
    } while (0)

/* Prints the counts and returns the exit status: 0 when no check has failed. */
static inline int check_done(void)
{
    printf("%u passed, %u failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

#endif
