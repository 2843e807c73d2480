/* options: what compute-sanitizer is asked for. */
#ifndef WEIR_SANITIZER_OPTIONS_H
#define WEIR_SANITIZER_OPTIONS_H

#include "base/base.h"

struct sanitizer_options {
    const char *check;     /* as weir run --check= names it */
    bool leaks;            /* --leak-check full */
    bool api_errors;       /* --report-api-errors all or explicit */
    bool only_first;       /* --target-processes application-only: not those that it starts */
    int error_exitcode;    /* 0: the program's own */
    long limit;            /* --print-limit; 0: all */
    const char *log;       /* --log-file; NULL: stdout */
    const char *prefix;    /* of each line */
    bool quiet;            /* only what is found */
    struct strbuf kernels; /* for WEIR_CHECK_KERNELS */
    bool help, version;
    int first; /* index of the program in argv; argc when there is none */
};

/* False and a message that names what is not known or not supported. */
bool sanitizer_read(int argc, char **argv, struct sanitizer_options *o, struct diag *d);

#endif
