/* options: the command line of ptxas. */
#ifndef WEIR_PTXAS_OPTIONS_H
#define WEIR_PTXAS_OPTIONS_H

#include "base/base.h"

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

#endif
