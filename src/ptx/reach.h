/* reach: how much code a kernel comes with. */
#ifndef WEIR_PTX_REACH_H
#define WEIR_PTX_REACH_H

#include "ptx/ptx.h"

/* Instructions of the function and of all that it reaches, each function once: what they call, and
 * what they may call through pointers, because they, or variables that they name, hold its address.
 */
int64_t ptx_reached_instructions(const struct ptx_func *f);

#endif
