/* compile: the options of a compilation, and the facts that it returns about a kernel. Shared by
 * the compiler and all that load or run its code. */
#ifndef WEIR_ABI_COMPILE_H
#define WEIR_ABI_COMPILE_H

#include "abi/kernel_abi.h"
#include "ptx/ptx.h"

/* How well to compile. What kernels compute does not depend on it, nor do the block's frame and the
 * numbers of its resume points: a block may begin with one code and go on with another. */
enum jit_tier {
    JIT_TIER_OPTIMIZING, /* optimized: what the disk cache holds */
    JIT_TIER_FIRST, /* the same, but baseline where that would take long; not where blocks loop over
                  barriers and cannot change to optimized code there: such a block may be as
                  long as its grid. The code says which it is */
    JIT_TIER_FIRST_OF_MANY, /* as JIT_TIER_FIRST for a grid of so many blocks that each is little of
                               it */
    JIT_TIER_BASELINE,      /* in a fraction of the time; the code is many times slower */
};

/* What compiled code asks or tells before it accesses memory: bits. */
enum jit_checks {
    JIT_CHECKS_NONE = 0,
    JIT_CHECKS_MEMORY = 1,  /* weir_rt_check at each access to global memory */
    JIT_CHECKS_DEVICES = 2, /* the same, where the address may be another device's memory */
    JIT_CHECKS_TOUCHED = 4, /* weir_rt_touch, likewise: which bytes a grid reads and writes */
    JIT_CHECKS_THREADS = 8, /* weir_rt_thread_access at each access to global and shared memory, and
                               weir_rt_thread_order at what orders the threads of a grid */
    JIT_CHECKS_DEFINED = 0x100, /* weir_rt_defined_*: which bytes were never written */
    JIT_CHECKS_SYNC = 0x200,    /* weir_rt_sync_*: who comes to barriers and warp operations */
};

/* Orders that CUDA leaves open, other than the usual ones (base/schedule.h). */
enum jit_order {
    JIT_ORDER_WARPS = 1,  /* the last warp of a block runs first */
    JIT_ORDER_LANES = 2,  /* of a warp that has diverged, lanes that would run first run last */
    JIT_ORDER_TURNED = 4, /* another warp of each block runs first, the others follow it in turn */
};

/* What one compilation is specialised on. Part of the cache key: keep it plain data, zero padding.
 */
struct jit_options {
    uint32_t ntid[3];    /* block shape; 0,0,0: any shape (slower code) */
    uint32_t grid_small; /* 1: nctaid.x * ntid.x <= JIT_GRID_SMALL_MAX: indices cannot wrap */
    uint32_t tier;       /* enum jit_tier */
    uint32_t checked;    /* bits of enum jit_checks */
    uint32_t lineinfo;   /* keep source lines */
    uint32_t order;      /* enum jit_order, together */
    uint32_t joined;     /* that many neighbouring blocks in x are one of shape ntid, each of whose
                            rows has a row of each of them; needs grid_small. 0: none; never 1, which
                            would be another key of the same code */
};

/* The most memory that PTX may declare: for a block as many bytes as any GPU's has (227 KiB, which
 * is what NVIDIA's driver refuses by); for a thread what can be counted in 32 bits, so that no
 * offset wraps around. The driver launches no kernel with more than a GPU has. */
#define JIT_STATIC_SHARED_MAX ((uint64_t)227 << 10)
#define JIT_LOCAL_MAX         ((uint64_t)UINT32_MAX)

/* For which launches neighbouring blocks are run side by side (options: joined). */
enum jit_joins {
    JIT_JOINS_NEVER,
    JIT_JOINS_TO_FILL, /* where a block is less than a warp */
    JIT_JOINS_512,     /* and with vectors of 512 bits, where it is more */
    JIT_JOINS          /* everywhere */
};

/* Facts about a kernel that do not depend on how it is compiled. */
struct jit_kernel_info {
    uint64_t static_shared; /* bytes */
    uint64_t local_bytes;   /* per thread: .local variables of the kernel and of what it calls;
                               the call stack is added by the runner when `recursive` */
    uint32_t shared_align;  /* of the window of shared memory: at least 128; */
    uint32_t local_align;   /* and of each thread's local window: at least 16 */
    uint64_t param_bytes;
    uint64_t const_bytes;                 /* of the module */
    uint32_t max_threads;                 /* from .maxntid/.reqntid, else 1024 */
    uint32_t num_regs;                    /* an estimate of 32-bit registers per thread, 16..255 */
    uint32_t ptx_version, binary_version; /* 10 * major + minor, as cudaFuncAttributes gives */
    bool uses_barriers, recursive;
    uint32_t joins; /* enum jit_joins */
};

enum jit_flag {
    JIT_CODE_BASELINE =
        1u << 16, /* as JIT_TIER_BASELINE gives it: optimized code is to be had, by jit_tier_up */
    JIT_CODE_OSR_ENTRY =
        1u << 17, /* blocks that have left baseline code may go on in it (JIT_OSR_EXIT) */
    JIT_CODE_STREAMS = 1u << 18,  /* a call runs all of its blocks row by row of their threads */
    JIT_CODE_PANELS = 1u << 19,   /* blocks are at work for long: their order is worth something */
    JIT_CODE_COLLECTS = 1u << 20, /* a call adds to memory at its end what its blocks have summed */
    JIT_CODE_ABREAST = 1u << 21,  /* a call's blocks go through loops side by side */
};

/* Stages to print (`weir dump`): text of each requested stage is appended to out. */
enum jit_stage {
    JIT_STAGE_UNIFORMITY = 1,
    JIT_STAGE_IR = 2,
    JIT_STAGE_ASM = 4,
    JIT_STAGE_IR_RAW = 8,
    JIT_STAGE_TIMES = 16, /* how large the kernel is, and how long each stage takes */
};

#endif
