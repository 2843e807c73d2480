/* reach: how much code a kernel comes with. */
#ifndef WEIR_PTX_REACH_H
#define WEIR_PTX_REACH_H

#include "ptx/ptx.h"

/* Instructions of the function and of all that it reaches, each function once: what they call, and
 * what they may call through pointers, because they, or variables that they name, hold its address.
 */
int64_t ptx_reached_instructions(const struct ptx_func *f);

/* What a function reaches in that way, itself included, each once. */
struct ptx_reach {
    bool all; /* also functions that have no body, and variables whose values hold no addresses */
    struct {
        const struct ptx_func **items;
        size_t count, cap;
    } funcs;
    struct {
        const struct ptx_var **items;
        size_t count, cap;
    } vars;
};

void ptx_reach(struct ptx_reach *r, const struct ptx_func *f);
void ptx_reach_free(struct ptx_reach *r);

#endif
