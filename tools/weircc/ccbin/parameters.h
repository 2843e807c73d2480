/* parameters: the names of a function's parameters, where some may have none. */
#ifndef WEIRCC_CCBIN_PARAMETERS_H
#define WEIRCC_CCBIN_PARAMETERS_H

#include "weircc/source/cuda_text.h"

struct parameter {
    int name;  /* the token that is its name, CUDA_TEXT_NONE: it has none */
    int end;   /* where a name would be written: before this token */
    bool pack; /* T... x */
};

struct parameters {
    struct parameter *items;
    size_t count, cap;
    int unclear; /* the first token of one that can be given no name, CUDA_TEXT_NONE if all can */
};

/* Reads the parameters in the parenthesis at token `open`. The items are freed by the caller. */
void parameters_read(struct parameters *p, const struct cuda_text *x, int open);

#endif
