/* What a generated program (generate.py) is written in, and what runs it twice.
 *
 * The kernels are functions for host and device alike. On the device, the names below are CUDA's
 * built-ins. On the host, each thread of a block is a fiber, and barriers and warp operations are
 * rendezvous of the threads that they name: this is the oracle, written from what CUDA and PTX
 * promise, and from what GPUs do where they leave it open (a shuffle from a lane that does not take
 * part gives 0). The host runs each kernel twice, its threads in opposite orders. A difference
 * between the two is a race in the program, a rendezvous that cannot complete is a deadlock in it:
 * both are errors of the generator.
 *
 * The program compares what both sides wrote, byte by byte, and names kernel, seed, block and
 * thread. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef unsigned long long u64;
typedef long long s64;
typedef float f32;
typedef double f64;

#define HD     __host__ __device__
#define FULL   0xffffffffu
#ifndef INPUTS
#define INPUTS 1024u /* words of args.in, a power of two */
#define FLOATS 0u    /* of which the last are floats */
#endif
#define WORDS  24u   /* words of args.out that a thread owns */

/* What atomics update. Every element takes one operation only, so the order does not matter;
 * floating-point sums are of small integers and so are exact. */
struct sums {
    u32 add[8], and_[8], or_[8], xor_[8], min[8], max[8], cas[8], inc[8];
    s32 smin[8], smax[8];
    u64 add64[8], max64[8];
    f32 addf[8];
    f64 addd[8];
};

/* The arguments of every kernel. */
struct args {
    u32 *out;
    const u32 *in;
    struct sums *sums;
    u32 a;
    u64 q;
    f32 f;
    f64 d;
    s16 h;
    u8 c;
    bool flag;
};

#include "program_values.h"
#ifndef __CUDA_ARCH__
#include "program_fibers.h"
#endif
#include "program_lanes.h"

/* A kernel of the program: its name and seed, its shape, and both of its forms. */
struct kernel {
    const char *name;
    u64 seed;
    dim3 grid, block;
    u32 dynamic; /* bytes of dynamic shared memory */
    u32 rows; /* of the output, of WORDS words each: one a thread, and those of launched kernels */
    const void *symbol;
    void (*host)(struct args);
    struct args args; /* the pointers are filled in */
};

#ifndef __CUDA_ARCH__
#include "program_main.h"
#endif
#endif
