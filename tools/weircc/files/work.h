/* work: running commands, and the intermediate files between them.
 *
 * Every command is listed with --verbose and --dryrun, on standard error as nvcc lists it ("#$ "
 * and the command). --dryrun also writes the commands to standard output as a script for sh, unless
 * that is a terminal. Intermediate files are in a directory of this process alone, which is removed
 * at the end, however the end comes (a signal included); after SIGKILL by a later run
 * (leftovers.h). */
#ifndef WEIRCC_WORK_H
#define WEIRCC_WORK_H

#include <sys/types.h>

#include "weircc/options/options.h"

struct work {
    bool dryrun;           /* list, do not run */
    bool list;             /* list */
    char *directory;       /* of intermediate files; NULL until one is needed */
    bool keep;             /* the directory is the user's: nothing is removed */
    struct strlist files;  /* intermediate files that may exist */
    struct strlist timing; /* lines of the --time table */
    const char *time_file; /* where they go, or NULL */
};

/* Prepares; also takes over the signals that end a process. */
bool work_open(struct work *w, const struct cmdline *c, struct diag *d);

/* The path of an intermediate file made from `source` ("dir/a.cu" and ".ptx": "<directory>/a.ptx").
 */
char *work_file(struct work *w, const char *source, const char *suffix, struct diag *d);

/* Runs a command. Its standard error goes to `errors` if given. The result is its exit status,
 * 127 and a message when it cannot be started, 128 + n when signal n ended it. */
int work_run(struct work *w, const struct strlist *argv, const char *phase, struct strbuf *errors,
             struct diag *d);

/* A command that runs beside others. */
struct work_child {
    pid_t pid;      /* 0: none */
    int start_pipe; /* tells why it did not start */
    int error_pipe; /* its standard error, -1: that is ours */
    double began;   /* milliseconds */
};

/* Starts a command, which nothing lists. False and a message when it cannot be. */
bool work_start(const struct strlist *argv, bool keeps_errors, struct work_child *child,
                struct diag *d);

/* Waits for its end; the rest is as in work_run. `argv` is what the --time table says of it. */
int work_finish(struct work *w, struct work_child *child, const struct strlist *argv,
                const char *phase, struct strbuf *errors, struct diag *d);

/* Ends one that nobody waits for, or that is none. */
void work_end(struct work_child *child);

/* Whether a signal has come that ends the process when the work is closed. */
bool work_interrupted(void);

/* Arguments as one line, each quoted for the shell where it must be. The caller frees it. */
char *work_quoted(const struct strlist *argv);

/* Writes a line into the script that --dryrun makes; otherwise does nothing. */
void work_script(const struct work *w, const char *text);

/* Lists a command that is carried out in this process. True when it is to be carried out. */
bool work_show(const struct work *w, const struct strlist *argv);

/* Removes the intermediate files, writes the --time table. Ends the process by the signal that has
 * come meanwhile, if one has. */
void work_close(struct work *w);

/* "a" for "dir/a.cu". */
char *stem_of(const char *path);

#endif
