/* toolchain: where everything is. weircc finds its headers and libraries from the path of its own
 * executable (bin/../include, bin/../lib), so that it works in the build tree and installed. */
#ifndef WEIRCC_TOOLCHAIN_H
#define WEIRCC_TOOLCHAIN_H

#include "weircc/options/options.h"

struct toolchain {
    char *self;             /* this executable */
    char *root;             /* the directory that holds bin, include and lib */
    char *include;          /* our headers */
    char *lib;              /* libcudart, libcuda, libcudadevrt */
    char *link_lib;         /* the same for linkers; only by this name build systems see them */
    char *support;          /* lib/weir: what only weircc reads */
    char *gpu_math;         /* LLVM bitcode that defines __nv_* for GPUs; NULL: there is none */
    char *clang;            /* clang++, version 19 */
    char *clang_lib;        /* the libraries that belong to it */
    char *cc;               /* host compiler for C and C++ inputs (-x tells it which) */
    char *cxx;              /* host compiler that links */
    char *ar;               /* archiver */
    struct strlist wrapped; /* directories of headers that a host compiler like mpicxx adds */
    bool older_names;       /* it names templates as gcc before 14 does */
    struct strlist cccl; /* directories of NVIDIA's open libraries of headers (cccl.h), or none */
};

/* Fills it in; false and a message when something is missing. */
bool toolchain_find(struct toolchain *t, const struct cmdline *c, struct diag *d);

#endif
