/* Cases of the disk cache's tests: each runs in a process and a directory of its own, since a
 * process chooses its cache directory once. */
#ifndef WEIR_TEST_CACHE_CASES_H
#define WEIR_TEST_CACHE_CASES_H

#include "base/base.h"
#include "loader/cache.h"

/* What the case was told (jit_set_notice), a line each. */
extern struct strbuf case_notices;

/* The key, the file and the content of the n-th record. */
struct hash128 key_of(uint64_t n);
char *case_path(uint64_t n);
void case_store(uint64_t n, const void *data, size_t size);

/* Loads the n-th record and checks what comes. */
void case_expect(uint64_t n, enum cache_result want);
void case_expect_hit(uint64_t n, const char *want, size_t bytes);

/* Runs a case; WEIR_CACHE_DIR is `directory`/cache. */
#define case_run(name, test) case_run_counted(name, test, check_done)
/* `done`: check_done of the file that the case is in; checks are counted by file. */
void case_run_counted(const char *name, void (*test)(const char *directory), int (*done)(void));
int cases_done(void);

#endif
