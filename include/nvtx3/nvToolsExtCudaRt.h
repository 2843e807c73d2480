/* nvtx3/nvToolsExtCudaRt.h, where build files look for it. What other directories have goes before
 * Weir's own. */
#if defined(__has_include_next) && __has_include_next(<nvtx3/nvToolsExtCudaRt.h>)
#include_next <nvtx3/nvToolsExtCudaRt.h>
#else
#include "../weir/cccl/nvtx3/nvToolsExtCudaRt.h"
#endif
