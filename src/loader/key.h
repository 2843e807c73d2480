/* key: the keys that compiled code and facts are found by, and counters of what was found. */
#ifndef WEIR_LOADER_KEY_H
#define WEIR_LOADER_KEY_H

#include "loader/loader.h"

/* Of a kernel compiled with these options: module, name, options, CPU, compiler, version. */
void key_of_code(const struct ptx_func *entry, const struct jit_options *options,
                 struct hash128 *key);

/* Of how long that has been tried, and of the launches of a kernel (compile_ahead.h). */
void key_of_attempt(const struct ptx_func *entry, const struct jit_options *options,
                    struct hash128 *key);
void key_of_launches(const struct ptx_func *entry, struct hash128 *key);

/* Of what is known about a module. */
void key_of_facts(const struct ptx_module *m, struct hash128 *key);

enum stat { STAT_DISK, STAT_COMPILED, STAT_DAMAGED, STAT_COUNT };
void stats_add(enum stat which);

#endif
