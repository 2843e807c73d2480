/* nvtx3/nvToolsExt.h, where build files look for it. What other directories have goes before Weir's
 * own. */
#if defined(__has_include_next) && __has_include_next(<nvtx3/nvToolsExt.h>)
#include_next <nvtx3/nvToolsExt.h>
#else
#include "../weir/cccl/nvtx3/nvToolsExt.h"
#endif
