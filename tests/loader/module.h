/* A module, a resolver and a cache directory for the tests of the loader. */
#ifndef WEIR_TESTS_JITLOAD_MODULE_H
#define WEIR_TESTS_JITLOAD_MODULE_H

#include "loader/loader.h"

enum { FAKE_KERNELS = 40 };

/* A loaded module: variables 0 and 1, function 1 of `module.funcs` as a pointer. */
struct fake {
    struct ptx_module module;
    struct ptx_var vars[2], *var_list[2];
    struct ptx_func funcs[FAKE_KERNELS], *func_list[FAKE_KERNELS];
    int32_t ints[4]; /* variable 0 */
    uint64_t count;  /* variable 1 */
    uint64_t notes;  /* calls of the helper "note" */
    struct jit_resolver resolver;
};

/* `number` makes the module's hash. */
void fake_init(struct fake *f, uint64_t number);

/* Adds a kernel of that name. */
const struct ptx_func *fake_kernel(struct fake *f, const char *name);

/* Runs code with `out` as its parameter and returns its status. */
uint32_t fake_run(const struct jit_code *code, void *out);

/* Points the plugin at its objects, the log at `directory`/log, the cache at `directory`/cache. */
void fake_environment(const char *directory);

/* A new directory under $TMPDIR or /tmp, removed by remove_directory. */
char *make_directory(void);
void remove_directory(char *directory);

/* Lines of `directory`/log that begin with `what`. */
int log_count(const char *directory, const char *what);

/* One line of text per notice, for jit_set_notice; self is a struct strbuf. */
void collect_notice(void *self, const char *text);

#endif
