/* What the loading side of the jit room offers beyond jit.h, to libcuda and to `weir`.
 *
 * jit_get and its kin (jit.h) are implemented by load*.c and cache*.c: find code in this process,
 * else in the disk cache, else have libweir-jit.so compile it; map it; bind its names. */
#ifndef WEIR_JIT_LOAD_H
#define WEIR_JIT_LOAD_H

#include "jit/jit.h"

/* Where things worth telling the user go that are no error of any call: the cache folder cannot be
 * written, the disk is full. Each kind is said at most once per process, as one line without a
 * newline. Without a receiver it is written to stderr as "weir: <text>". */
typedef void (*jit_notice_fn)(void *self, const char *text);
void jit_set_notice(jit_notice_fn fn, void *self);

/* Opens this file instead of weir/libweir-jit.so beside the library that holds this code (or
 * ../lib/weir/libweir-jit.so, for a tool in bin/). Only before the first use of the room. */
void jit_set_plugin_path(const char *path);

/* How often each way was taken so far in this process. */
struct jit_stats {
    uint64_t memory_hits; /* code was already mapped, or being prepared by another thread */
    uint64_t disk_hits;   /* came from the disk cache */
    uint64_t compiled;    /* had to be compiled */
    uint64_t damaged;     /* cache files refused: wrong checksum or header */
    bool plugin_loaded;   /* libweir-jit.so has been opened */
};
void jit_get_stats(struct jit_stats *out);

/* The path of libweir-jit.so, or NULL when there is none where it belongs. */
const char *jit_plugin_path(void);

/* What LLVM compiles for, in its own words; loads the library. NULL and a message without it. */
const char *jit_target(struct diag *d);

#endif
