/* unsupported: every call of the API that this version does not have says so, by name. */
#include "driver/driver.h"

#undef cuGraphicsResourceGetMappedPointer
#undef cuGraphicsResourceSetMapFlags

static CUresult refuse(const char *name)
{
    return driver_error(CUDA_ERROR_NOT_SUPPORTED, "%s is not supported", name);
}

/* The calling convention lets a function ignore arguments that it does not know of: so one
 * function does for all signatures. The symbol differs from the C name, whose declaration in cuda.h
 * has the call's own parameters. */
#define STUB(name, symbol)                                                                         \
    WEIR_API CUresult unsupported_stub##symbol(void) __asm__(#symbol);                             \
    WEIR_API CUresult unsupported_stub##symbol(void) { return refuse(#name); }
#define UNSUPPORTED(name)      STUB(name, name)
#define UNSUPPORTED_PTSZ(name) STUB(name, name) STUB(name, name##_ptsz)
#define UNDECLARED(name)       STUB(name, name)
#define REFUSED(name)          /* a function of its own, which knows more to say */
#include "driver/names/unsupported.def"
#undef UNSUPPORTED
#undef UNSUPPORTED_PTSZ
#undef UNDECLARED

/* The others are calls that cuda.h declares: a misspelt one does not compile. */
#define UNSUPPORTED(name)      _Static_assert(sizeof(&(name)) == sizeof(void *), #name);
#define UNSUPPORTED_PTSZ(name) UNSUPPORTED(name)
#define UNDECLARED(name)
#include "driver/names/unsupported.def"
