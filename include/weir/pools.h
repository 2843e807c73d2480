/* weir/pools.h: a look inside the memory pools of the stream-ordered allocator. Compiles as C and
 * C++.
 *
 * A program that uses these runs on Weir only; look the names up with dlsym to run on any CUDA. The
 * same statistics are shown by `weir info --pools` for a process that runs, by its number. */
#ifndef WEIR_POOLS_H
#define WEIR_POOLS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an allocation came to its memory. */
enum weir_pool_rule {
    WEIR_POOL_SAME_STREAM,   /* freed on its own stream before */
    WEIR_POOL_SYNCHRONIZED,  /* the host had seen the free pass, or freed by cudaFree */
    WEIR_POOL_EVENT,         /* its stream comes after the free, by events or the default stream */
    WEIR_POOL_OPPORTUNISTIC, /* the free happened to have passed */
    WEIR_POOL_INTERNAL,      /* its stream was made to wait for the free */
    WEIR_POOL_RULES
};

enum { WEIR_POOL_SIZES = 40 };

struct weir_pool_figures {
    unsigned long long reserved, reserved_high; /* bytes taken from the system */
    unsigned long long used, used_high;         /* bytes allocated, as asked for */
    unsigned long long max_size;                /* bytes it may reserve; 0: no limit of its own */
    unsigned long long threshold;               /* bytes it keeps at synchronizations */
    unsigned long long allocations;             /* live ones */
    unsigned long long free_bytes;              /* reserved and not allocated */
    unsigned long long largest_free;            /* bytes of the largest free block */
    unsigned long long
        free_blocks[WEIR_POOL_SIZES];           /* of up to 512 bytes, 1 KiB, 2 KiB, and so on */
    unsigned long long reused[WEIR_POOL_RULES]; /* allocations, over all time */
    unsigned long long fresh;                   /* those of memory never used before */
    unsigned long long taken, released; /* bytes from and back to the system, over all time */
    unsigned long long streams;         /* that have used it */
};

/* Fills in the statistics of a pool (a cudaMemPool_t or CUmemoryPool). Returns 0, or the driver
 * API's error number: CUDA_ERROR_INVALID_VALUE for what is no pool. Any thread. */
int weir_pool_get_figures(void *pool, struct weir_pool_figures *out);

/* The statistics of all pools in words, one paragraph each, as much as fits with a NUL at the end.
 * Returns the length of the whole. */
size_t weir_pools_report(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
