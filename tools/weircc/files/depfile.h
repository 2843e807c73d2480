/* depfile: the rules for make that -M, -MM, -MD and -MMD write.
 *
 * A CUDA file is compiled twice, and the passes need not include the same files: the rule written
 * holds the files of both. The compilers write their own rules to intermediate files; those are
 * read, joined and written anew under the target that the user knows. */
#ifndef WEIRCC_DEPFILE_H
#define WEIRCC_DEPFILE_H

#include "weircc/options/options.h"

/* Appends the prerequisites in a compiler's rule, each once, unescaped. */
bool depfile_read(const char *path, struct strlist *files, struct diag *d);

/* How the rule is written. */
struct depfile_rule {
    const char *target;
    bool as_given;         /* the target: it is written without escapes, and may be several */
    const char *skip_file; /* is left out; NULL: none */
    const char *skip_directories[2]; /* files beneath them are left out; NULL: none */
    bool phony_targets;              /* -MP */
    bool follows;                    /* the file has the rules of other inputs, which stay */
};

/* Writes to `path`, or to standard output when it is NULL. */
bool depfile_write(const char *path, const struct depfile_rule *rule, const struct strlist *files,
                   struct diag *d);

#endif
