/* unsupported: the functions that this version refuses: each exists, so that programs that hold it
 * but do not need it run, and says so when it is called. The headers with their arguments are not
 * included here: no argument is looked at. */
typedef int cudaError_t;

cudaError_t rt_error_keep(cudaError_t error);

enum { cudaErrorNotSupported = 801 };

#define RT_UNSUPPORTED(name, family)                                                               \
    __attribute__((visibility("default"))) cudaError_t name(void);                                 \
    cudaError_t name(void) { return rt_error_keep(cudaErrorNotSupported); }
#include "runtime/unsupported.def"
#undef RT_UNSUPPORTED
