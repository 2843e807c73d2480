/* options: the command line of ptxas, and what is done by it with a module that is read. */
#ifndef WEIR_PTXCOMPILER_OPTIONS_H
#define WEIR_PTXCOMPILER_OPTIONS_H

#include "ptx/ptx.h"

struct options {
    const char *input, *output;
    const char *text;        /* --input-as-string: PTX itself, instead of a file */
    unsigned sm;             /* --gpu-name; 0: not given */
    const char *gpu;         /* the same as a word: sm_90a */
    uint32_t most_registers; /* --maxrregcount; 0: not given */
    bool verbose, relocatable, help, version, list;
};

/* False and a message where the command line is wrong. */
bool options_read(struct options *out, int argc, char **argv, struct diag *d);

/* sm_90, sm_90a, compute_90: the number; 0: it is none. */
unsigned options_sm(const char *name);

/* Writes the module, whose text that is, as a container (container/container.h). False and a message
 * where the target that the options name is older than the module's. */
bool options_write(const struct options *o, struct ptx_module *m, const char *text, size_t size,
                   struct strbuf *out, struct diag *d);

#endif
