/* own_headers: directories of a program's that have headers of their own by the names of CUDA's.
 *
 * Weir's headers come before what -I names, since another toolkit's do not fit its prelude. But a
 * program may have a math_functions.h or mma.h that has nothing to do with CUDA's; nvcc finds
 * those, since its own headers come last. */
#ifndef WEIRCC_OWN_HEADERS_H
#define WEIRCC_OWN_HEADERS_H

#include <stdbool.h>

/* Whether the directory has a header by the name of one in `ours`, and none of these is NVIDIA's.
 */
bool own_headers_in(const char *ours, const char *directory);

#endif
