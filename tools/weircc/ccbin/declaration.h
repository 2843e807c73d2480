/* declaration: what is declared where CUDA's attributes stand, as its tokens say. */
#ifndef WEIRCC_CCBIN_DECLARATION_H
#define WEIRCC_CCBIN_DECLARATION_H

#include "weircc/source/cuda_text.h"

struct declaration {
    bool function; /* has parameters; else a variable or something that has none */
    int params;    /* of a function: the parenthesis that opens them */
    int body;      /* the brace that opens its body, CUDA_TEXT_NONE: it has none here */
    bool deduced;  /* its type is known by its body alone */
    bool constant; /* constexpr or consteval */
    bool external; /* declared as extern */
    bool guide;    /* a deduction guide: takes no attributes */
    bool returns;  /* says of what type its result is, which is not void */
};

/* Reads the declaration that begins at token `begin` and in which token `at` is the first attribute
 * of CUDA's. */
struct declaration declaration_read(const struct cuda_text *x, int begin, int at);

/* The > that ends the template argument list which token `open` begins, CUDA_TEXT_NONE if it begins
 * none. */
int declaration_close_angle(const struct cuda_text *x, int open);

#endif
