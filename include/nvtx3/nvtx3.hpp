/* nvtx3/nvtx3.hpp, where build files look for it. What other directories have goes before Weir's
 * own. */
#if defined(__has_include_next) && __has_include_next(<nvtx3/nvtx3.hpp>)
#include_next <nvtx3/nvtx3.hpp>
#else
#include "../weir/cccl/nvtx3/nvtx3.hpp"
#endif
