/* compilation: one source file on its way, and running clang's front end on it (compilation.c).
 * compile.c does what comes around that. */
#ifndef WEIRCC_COMPILATION_H
#define WEIRCC_COMPILATION_H

#include "weircc/driver/driver.h"
#include "weircc/messages/messages.h"
#include "weircc/source/mend.h"

/* The last source that was preprocessed. */
struct preprocessed {
    char *command; /* by which */
    char *text;    /* NULL: none */
    size_t size;
    struct strbuf messages; /* what was said */
};

/* The host half, begun beside the device half (early_host.h). */
struct early_host {
    bool begun;
    struct work_child compiler;
    struct strlist command;
    char *rule;         /* for make, that the compiler writes, or NULL */
    char *pipe;         /* the FIFO from which it reads the fat binary */
    const char *fatbin; /* what there is to be read, NULL: not yet known */
};

/* One source file on its way. */
struct compilation {
    struct driver *dr;
    const struct job *job;
    struct messages messages;
    struct strlist prerequisites; /* of the rule for make */
    bool mend;                    /* the source is compiled by way of mend */
    struct mend_plan plan;        /* what is mended */
    bool launches;                /* and by way of launches: device code launches kernels */
    bool bodies;                  /* kernels have no bodies in the host pass (kernel_bodies.h) */
    bool atomics;                 /* cooperative_groups.h is to bring cuda::atomic */
    bool clusters;                /* kernels have __cluster_dims__ (clusters.h) */
    struct strlist constants;     /* of the device that host code names (named_constants.h) */
    struct strbuf *host_messages; /* where the host compiler's go, NULL: to the user */
    struct preprocessed preprocessed;
    struct early_host early;
    char *device_llvm; /* the LLVM text of the device pass, NULL: there is none */
    char *gpu_ptx;     /* the second form of the device code, NULL: it needs none */
};

/* One run of clang on it. */
struct run {
    const char *mode;   /* the option that says what is wanted: -S, -c ... */
    const char *phase;  /* for the --time table */
    const char *output; /* NULL: none */
};

/* The path of an intermediate file; NULL and the driver's message when there can be none. */
char *intermediate(struct driver *dr, const char *source, const char *suffix);

/* Adds input, output and, where one is wanted, a rule for make to a compiler's command. The rule's
 * path, NULL: there is none, or the driver has a message. */
char *complete_command(struct compilation *c, struct strlist *argv, const char *output);

/* Runs one compiler on the input. `output` NULL: it writes none, or to standard output. `errors`
 * NULL: it speaks for itself. */
int run_compiler(struct compilation *c, struct strlist *argv, const char *phase, const char *output,
                 struct strbuf *errors);

/* Shows messages and frees them. */
void show(struct compilation *c, struct strbuf *errors);

/* The same for warnings that nvcc has numbers for, by what the command line and the source say of
 * them (severities.h). Returns the status, or STATUS_FRONT_END instead of 0 where some are errors.
 */
int show_warnings(struct compilation *c, struct strbuf *errors, int status);

/* Code in which a call may be a launch: a copy of a kernel for certain arguments would be no
 * kernel, and lines are for warnings (launch_ptx.h). */
void add_launch_options(struct strlist *argv, const struct cmdline *options);

/* All errors at once, of which much may be learnt; messages_limit leaves clang's own number of
 * those to show. */
void add_error_limit(const struct compilation *c, struct strlist *argv);

/* Runs a pass of clang. What clang refuses, but may take when it is rewritten, is tried again. When
 * it refuses mended text, too, the messages are those of that (mended_messages.h). */
int run_pass(struct compilation *c, enum pass pass, const struct strlist *command,
             const struct run *run);

/* Warns of host code that accesses variables of the device (host_accesses.h), for which the host
 * half of a file that has any is read once more. Files that are rewritten are left out. Exit
 * status. */
int warn_host_accesses(struct compilation *c);

#endif
