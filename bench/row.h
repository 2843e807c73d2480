/* Short names for the files of rows: arguments of launches, data of arrays, grids that cover n. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "harness.h"

#define ARRAY(which)   BENCH_ARRAY(which)
#define INT(value)     BENCH_INT_ARG((int)(value))
#define FLOAT(value)   BENCH_FLOAT_ARG(value)
#define DATA(p, which) ((p)->array[which].data)

/* Defines bench_<row>, with make_<inputs>, and device_<code> and native_<code>; then what the
 * spellings are. */
#define BENCH_ROW(row, text, size, quick, how_near, file, inputs, code, ...)                       \
    BENCH_ROW_OUTLIERS(row, text, size, quick, how_near, 0, file, inputs, code, __VA_ARGS__)
/* The same, where a fraction of the elements may be outside of the tolerance. */
#define BENCH_ROW_OUTLIERS(row, text, size, quick, how_near, fraction, file, inputs, code, ...)    \
    const struct bench bench_##row = {                                                             \
        .name = #row,                                                                              \
        .title = text,                                                                             \
        .cl = file,                                                                                \
        .n = size,                                                                                 \
        .quick_n = quick,                                                                          \
        .tolerance = how_near,                                                                     \
        .outliers = fraction,                                                                      \
        .make = make_##inputs,                                                                     \
        .device = device_##code,                                                                   \
        .native = native_##code,                                                                   \
        .spelling = {__VA_ARGS__},                                                                 \
    }

/* Blocks of `block` threads that cover n. */
static inline int bench_blocks(long n, int block) { return (int)((n + block - 1) / block); }

#endif
