/* env: every environment variable that Weir reads, in one table: its name, what it means, what
 * holds when it is not set. All layers read their variables through here, and `weir info` prints
 * it, so nothing can be configured that is not documented.
 *
 * A variable is read from the environment each time it is asked for; whoever needs a setting that
 * cannot change while the process runs reads it once and keeps it. In a set-user-id program all
 * variables count as not set. */
#ifndef WEIR_BASE_ENV_H
#define WEIR_BASE_ENV_H

#include "base/base.h"

enum env_variable {
    ENV_WORKERS,
    ENV_CACHE_DIR,
    ENV_DEVICES,
    ENV_MEMORY,
    ENV_COMPUTE_CAPABILITY,
    ENV_CHECK,
    ENV_REPORT,
    ENV_ERROR_EXITCODE,
    ENV_SUPPRESS,
    ENV_CHECK_LOG,
    ENV_CHECK_LIMIT,
    ENV_CHECK_KERNELS,
    ENV_CHECK_PROCESS,
    ENV_KEYS,
    ENV_FAULTS,
    ENV_JIT,
    ENV_VECTORS,
    ENV_PERF,
    ENV_TRACE,
    ENV_STATS,
    ENV_SCHEDULE,
    ENV_LIBRARIES,
    ENV_NVRTC_12,
    ENV_NVRTC_13,
    ENV_DEBUGGER,
    ENV_POOLS_FILE,
    ENV_POOLS_TRACE,
    ENV_CCCL,
    ENV_DRIVER,
    ENV_POOLS,
    ENV_VISIBLE_DEVICES,
    ENV_COUNT
};

struct env_entry {
    const char *name;
    const char *fallback; /* what holds when it is not set, in words */
    const char *meaning;  /* one sentence or two, for people */
};

/* The table, ENV_COUNT entries. */
const struct env_entry *env_entry(enum env_variable v);

/* The value, or NULL when it is not set. An empty value counts as set. */
const char *env_get(enum env_variable v);

/* The checks that ENV_CHECK may name, closed by NULL. */
extern const char *const env_checks[];
/* Whether ENV_CHECK names this check, or "all". */
bool env_check(const char *word);

/* Whether the value, words with commas between them, has that word. */
bool env_lists(enum env_variable v, const char *word);

/* Whether the value, if it is set, has none but these words (closed by NULL); false and a message
 * that names the variable when it has another. */
bool env_words(enum env_variable v, const char *const *words, struct diag *d);

/* The same of a value that is one word: false for a list of several, too. */
bool env_word(enum env_variable v, const char *const *words, struct diag *d);

/* The value as a whole number in min..max. `fallback` when it is not set or empty; false and a
 * message that names the variable when it is set to something else. */
bool env_int(enum env_variable v, int64_t min, int64_t max, int64_t fallback, int64_t *out,
             struct diag *d);

/* Variables that tests and builds may use for themselves begin with this. */
#define ENV_TEST_PREFIX "WEIR_TEST_"

/* Calls tell(self, line) for each variable of the environment that begins with WEIR_ (in any case)
 * and is neither in the table nor a test's: its name is most likely misspelt, and what it asks for
 * would silently not happen. The line, which has no newline, names the variable that is meant if
 * one is near. */
void env_unknown(void (*tell)(void *self, const char *line), void *self);

/* The value as a number of bytes: digits with an optional K, M, G or T (powers of 1024; a
 * following B or iB is allowed). As env_int otherwise. */
bool env_bytes(enum env_variable v, uint64_t fallback, uint64_t *out, struct diag *d);

#endif
