/* cccl: finding NVIDIA's CCCL: Thrust, CUB and the whole of libcu++, which nvcc's users include
 * without a thought. It is open and no part of Weir, but it is on many machines: in a toolkit, in
 * Python's package nvidia-cuda-cccl, where `make` has put it. */
#ifndef WEIRCC_CCCL_H
#define WEIRCC_CCCL_H

#include "weircc/options/options.h"

/* Adds the directories to search for headers, none when there is no CCCL. `support` is the
 * toolkit's lib/weir. WEIR_CCCL names a directory or, as "off", none; false and a message when it
 * names one without CCCL. */
bool cccl_find(const char *support, struct strlist *directories, struct diag *d);

/* Whether a header that was not found is part of it: "cub/cub.cuh". */
bool cccl_has(const char *header);

#endif
