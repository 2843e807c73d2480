/* jit: a PTX kernel in, machine code that runs one block out.
 *
 * Two halves. The compiler (LLVM behind it) lives in a shared library of its own, libweir-jit.so,
 * and is loaded only when something must be compiled; the loader and the on-disk cache are part of
 * libcuda and need no LLVM, so that a program whose kernels are cached starts in milliseconds.
 *
 * What is compiled is keyed by module, kernel, block shape, options, processor and version, and is
 * an ELF relocatable object: the cache stores it as it is, the loader maps it and binds its names
 * to module variables, other functions and helpers. */
#ifndef WEIR_JIT_H
#define WEIR_JIT_H

#include "jit/abi.h"
#include "ptx/ptx.h"

/* How well to compile. What kernels compute does not depend on it, nor do the block's frame and the
 * numbers of its resume points: a block may begin with one code and go on with another. */
enum jit_tier {
    JIT_BEST,          /* optimised: what the disk cache holds */
    JIT_FIRST,         /* the same, but quick where that would take long; not where blocks go round
                          barriers and cannot change to better code there: such a block may be as long
                          as its grid. The code says which it is */
    JIT_FIRST_OF_MANY, /* as JIT_FIRST for a grid of so many blocks that each is little of it */
    JIT_QUICK,         /* in a fraction of the time; the code is many times slower */
};

/* What one compilation is specialised on. Part of the cache key: keep it plain data, zero padding.
 */
struct jit_options {
    uint32_t ntid[3];    /* block shape; 0,0,0: any shape (slower code) */
    uint32_t grid_small; /* 1: nctaid.x * ntid.x <= 2^31 - 1, so thread indices cannot wrap */
    uint32_t tier;       /* enum jit_tier */
    uint32_t checked;    /* 1: ask weir_rt_check before each access to global memory */
    uint32_t lineinfo;   /* keep source lines */
    uint32_t reserved;
};

/* Facts about a kernel that do not depend on how it is compiled. */
struct jit_kernel_info {
    uint64_t static_shared; /* bytes */
    uint64_t local_bytes;   /* per thread: .local variables of the kernel and of what it calls;
                               the call stack is added by the runner when `recursive` */
    uint64_t param_bytes;
    uint64_t const_bytes;                 /* of the module */
    uint32_t max_threads;                 /* from .maxntid/.reqntid, else 1024 */
    uint32_t num_regs;                    /* an estimate of 32-bit registers per thread, 16..255 */
    uint32_t ptx_version, binary_version; /* 10 * major + minor, as cudaFuncAttributes gives */
    bool uses_barriers, recursive, device_launch, cooperative;
};

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

enum jit_flag {
    JIT_CODE_QUICK = 1u << 16, /* as JIT_QUICK gives it: there is better to be had, by jit_later */
    JIT_CODE_ENTERED = 1u << 17, /* blocks that have left quick code may go on in it (JIT_MOVED) */
    JIT_CODE_STREAMS = 1u << 18, /* a call goes through its blocks row by row of their threads */
};

/* Compiled and mapped code. */
struct jit_code {
    jit_block_fn run;
    uint32_t frame_bytes; /* per warp */
    uint32_t pc_count;    /* resume points */
    uint64_t local_bytes; /* per thread, fixed part */
    uint32_t can_suspend; /* has polling loops */
    uint32_t flags;       /* set of enum jit_flag */
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
 * quick code so far. What it has compiled goes to the disk cache; then it calls better(self, code),
 * which takes over `code`, JIT_BEST for these options. NULL: the process is about to end, or has no
 * thread to spare. The module is kept for as long as it takes, the resolver until jit_later_end. */
struct jit_later;
struct jit_later *jit_later(const struct ptx_func *entry, const struct jit_options *options,
                            const struct jit_resolver *resolver,
                            void (*better)(void *self, struct jit_code *code), void *self);
/* better is not called any more, nor running. What is being compiled may still go to the disk
 * cache. Also when it has been called; NULL is ignored. */
void jit_later_end(struct jit_later *l);

/* Source position of an address in the code; false when unknown. */
bool jit_find_line(const struct jit_code *code, const void *address, const char **file, int *line);

/* Stages to print (`weir dump`): text of each requested stage is appended to out. */
enum jit_stage {
    JIT_STAGE_SHAPES = 1,
    JIT_STAGE_IR = 2,
    JIT_STAGE_ASM = 4,
    JIT_STAGE_IR_RAW = 8,
    JIT_STAGE_TIMES = 16, /* how large the kernel is, and how long each stage takes */
};
bool jit_dump(const struct ptx_func *entry, const struct jit_options *options, unsigned stages,
              struct strbuf *out, struct diag *d);

/* The processor the code is for, and the cache folder in use (NULL: none), for `weir info`. */
const char *jit_cpu(void);
const char *jit_cache_dir(void);

#endif
