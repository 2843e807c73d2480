/* Short names for the files of rows: arguments of launches, data of arrays, grids that cover n. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "harness.h"

#define ARRAY(which)   BENCH_ARRAY(which)
#define INT(value)     BENCH_INT_ARG((int)(value))
#define FLOAT(value)   BENCH_FLOAT_ARG(value)
#define DATA(p, which) ((p)->array[which].data)

/* Blocks of `block` threads that cover n. */
static inline int bench_blocks(long n, int block) { return (int)((n + block - 1) / block); }

#endif
