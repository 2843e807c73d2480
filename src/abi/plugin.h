/* The interface between libcuda and the compiler.
 *
 * LLVM is large and slow to start, so all that needs it lives in libweir-jit.so, which the loader
 * (loader.c) opens the first time something is neither in memory nor in the disk cache. The library
 * exports one function, weir_jit_plugin, that returns the table below; nothing else crosses.
 *
 * Both sides are built together. The sizes at the head of the table are there to refuse a library
 * of another build with a message instead of a crash. The loader makes the library's build id part
 * of every cache key: a rebuilt compiler never meets what an older one produced. */
#ifndef WEIR_ABI_PLUGIN_H
#define WEIR_ABI_PLUGIN_H

#include "abi/compile.h"

enum { JIT_PLUGIN_VERSION = 3 };

/* How many opcodes, modifiers and special registers this build's parser knows, in one number. */
#define JIT_VOCABULARY ((PTX_OP_COUNT << 20) + (PTX_M_COUNT << 8) + PTX_SR_COUNT)

/* What the compiler knows about the code and the object file does not say. Stored in the header of
 * the cache file, so plain data without padding; becomes the fields of struct jit_code. */
struct jit_meta {
    uint64_t local_bytes; /* per thread, fixed part */
    uint32_t frame_bytes; /* per warp */
    uint32_t pc_count;    /* resume points */
    uint32_t can_suspend; /* has polling loops */
    uint32_t flags;       /* set of enum jit_flag */
    uint64_t stack_bytes; /* of the machine's stack, if it is much that a call needs, else 0 */
};

/* One compiled kernel: an ELF relocatable object for the host's machine, position-independent
 * (small code model), that defines the function "weir_block" with jit_block_fn's signature. */
struct jit_object {
    void *data; /* from malloc; the caller frees it */
    size_t size;
    struct jit_meta meta;
};

/* The name of the function that runs one block, in every object. */
#define JIT_ENTRY_SYMBOL "weir_block"

/* All functions may be called from any number of threads at once. */
struct jit_plugin {
    uint32_t version;        /* JIT_PLUGIN_VERSION */
    uint32_t abi;            /* JIT_ABI_VERSION */
    uint32_t sizeof_block;   /* sizeof(struct jit_block) */
    uint32_t sizeof_options; /* sizeof(struct jit_options) */
    uint32_t sizeof_info;    /* sizeof(struct jit_kernel_info) */
    uint32_t sizeof_module;  /* sizeof(struct ptx_module) */
    uint32_t vocabulary; /* JIT_VOCABULARY: instructions are numbers, which shift with new ones */

    /* The CPU and features that LLVM compiles for, for people ("sapphirerapids +avx512f…").
     */
    const char *(*cpu)(void);

    /* As jit_check, jit_kernel_info and jit_dump in loader.h. */
    bool (*check)(const struct ptx_module *m, struct diag *d);
    bool (*kernel_info)(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d);
    bool (*dump)(const struct ptx_func *entry, const struct jit_options *options, unsigned stages,
                 struct strbuf *out, struct diag *d);

    /* Compiles one entry (options->tier: any). Fills *out and returns true, or leaves it alone and
     * says why not. */
    bool (*compile)(const struct ptx_func *entry, const struct jit_options *options,
                    struct jit_object *out, struct diag *d);

    /* Whether a call of this thread was abandoned inside LLVM, for want of memory. LLVM's lists
     * lead into the thread's stack then: it must neither be freed nor used by another call. */
    bool (*abandoned)(void);
};

/* The one symbol of libweir-jit.so. */
__attribute__((visibility("default"))) const struct jit_plugin *weir_jit_plugin(void);
typedef const struct jit_plugin *(*jit_plugin_fn)(void);

/* The table of this build's sizes, for the library to start its own from. */
#define JIT_PLUGIN_HEAD                                                                            \
    .version = JIT_PLUGIN_VERSION, .abi = JIT_ABI_VERSION,                                         \
    .sizeof_block = sizeof(struct jit_block), .sizeof_options = sizeof(struct jit_options),        \
    .sizeof_info = sizeof(struct jit_kernel_info), .sizeof_module = sizeof(struct ptx_module),     \
    .vocabulary = JIT_VOCABULARY

#endif
