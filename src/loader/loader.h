/* loader: a PTX kernel in, machine code that runs one block out.
 *
 * Code for a kernel is found in this process, else in the disk cache, else compiled by
 * libweir-jit.so (src/compiler), which is opened only then: a program whose kernels are cached
 * starts in milliseconds, without LLVM. Code is keyed by module, kernel, block shape, options, CPU
 * and version. It is an ELF relocatable object: the cache stores it as it is, the loader maps it
 * and binds its names to module variables, other functions and helpers. */
#ifndef WEIR_LOADER_H
#define WEIR_LOADER_H

#include "abi/compile.h"

/* Checks that every instruction of the module can be compiled. False and a message naming line and
 * instruction when not (spec K3). */
bool jit_check(const struct ptx_module *m, struct diag *d);

/* Fills info for one entry. */
bool jit_kernel_info(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d);

/* Resolves what the code refers to and does not define. The object file names module variables
 * "weir_var_<index>", functions whose address is taken "weir_func_<index>" (indices into the
 * module's lists) and helpers "weir_rt_<name>". */
struct jit_resolver {
    /* address of module-scope variable (global, const) `var` in this loaded module */
    uint64_t (*var_address)(void *self, const struct ptx_var *var);
    /* the value of a pointer to function `func` of this module: any unique non-zero address;
     * indirect calls compare against it, so it never has to be code */
    uint64_t (*func_address)(void *self, const struct ptx_func *func);
    /* address of weir_rt_<name>, 0 when there is no such helper */
    void *(*helper)(void *self, const char *name);
    void *self;
};

/* Compiled and mapped code. */
struct jit_code {
    jit_block_fn run;
    uint32_t frame_bytes; /* per warp */
    uint32_t pc_count;    /* resume points */
    uint64_t local_bytes; /* per thread, fixed part */
    uint32_t can_suspend; /* has polling loops */
    uint32_t flags;       /* set of enum jit_flag */
    uint64_t stack_bytes; /* of the machine's stack, if it is much that a call needs, else 0 */
    const uint8_t *text;  /* mapped code, for fault addresses */
    size_t text_bytes;
    struct jit_lines *lines; /* code offset -> source line, may be NULL */
};

/* Gets code for a kernel: from the disk cache, or by compiling. Thread-safe; blocks while it
 * compiles. NULL and a message when it cannot. The code lives until jit_release. */
struct jit_code *jit_get(const struct ptx_func *entry, const struct jit_options *options,
                         const struct jit_resolver *resolver, struct diag *d);
void jit_release(struct jit_code *code);

/* One background thread of the process, of low priority, compiles kernels of which there is only
 * baseline code so far. What it has compiled goes to the disk cache; then it calls replace(self,
 * code), which takes over `code`, JIT_TIER_OPTIMIZING for these options. NULL: the process is about
 * to end, or has no thread to spare. The module is kept for as long as it takes, the resolver until
 * jit_tier_up_end. */
struct jit_tier_up;
struct jit_tier_up *jit_tier_up(const struct ptx_func *entry, const struct jit_options *options,
                                const struct jit_resolver *resolver,
                                void (*replace)(void *self, struct jit_code *code), void *self);
/* replace is not called any more, nor running. What is being compiled may still go to the disk
 * cache. Also when it has been called; NULL is ignored. */
void jit_tier_up_end(struct jit_tier_up *l);

/* Compiles ahead, by the optimizing tier, what a launch with these options would: *found tells that
 * the cache had it. What is compiled goes there. */
bool jit_compile_ahead(const struct ptx_func *entry, const struct jit_options *options, bool *found,
                       struct diag *d);
/* The options for which a kernel has been compiled for launches, of this text and on this CPU, as
 * the cache remembers; their tier is JIT_TIER_OPTIMIZING. Returns how many. */
enum { JIT_LAUNCHED = 32 };
int jit_launched(const struct ptx_func *entry, struct jit_options list[JIT_LAUNCHED]);

/* Source position of an address in the code; false when unknown. */
bool jit_find_line(const struct jit_code *code, const void *address, const char **file, int *line);

/* Prints stages (enum jit_stage) of a compilation: their text is appended to out. */
bool jit_dump(const struct ptx_func *entry, const struct jit_options *options, unsigned stages,
              struct strbuf *out, struct diag *d);

/* The CPU the code is for, and the cache directory in use (NULL: none), for `weir info`. */
const char *jit_cpu(void);
const char *jit_cache_dir(void);

/* ---- for libcuda and `weir` ---- */

/* Where things worth telling the user go that are no error of any call: the cache directory cannot
 * be written, the disk is full. Each kind is said at most once per process, as one line without a
 * newline. Without a receiver it is written to stderr as "weir: <text>". */
typedef void (*jit_notice_fn)(void *self, const char *text);
void jit_set_notice(jit_notice_fn fn, void *self);

/* How kernels are named in what is said: as people write them. Without it as in PTX. The result
 * lives for ever. */
typedef const char *(*jit_name_fn)(const char *name);
void jit_set_names(jit_name_fn fn);

/* Opens this file instead of weir/libweir-jit.so beside the library that holds this code (or
 * ../lib/weir/libweir-jit.so, for a tool in bin/). Only before the loader is used. */
void jit_set_plugin_path(const char *path);

/* How often code was found where, so far in this process. */
struct jit_stats {
    uint64_t disk_hits; /* came from the disk cache */
    uint64_t compiled;  /* had to be compiled */
    uint64_t damaged;   /* cache files refused: wrong checksum or header */
    bool plugin_loaded; /* libweir-jit.so has been opened */
};
void jit_get_stats(struct jit_stats *out);

/* The path of libweir-jit.so, or NULL when there is none where it belongs. */
const char *jit_plugin_path(void);

/* What LLVM compiles for, in its own words; loads the library. NULL and a message without it. */
const char *jit_target(struct diag *d);

#endif
