/* C1: header_c.c: cuda.h alone in C: it compiles without a warning, has the layouts and values
 * binaries rely on, and plain names mean the symbols they should. Built a second time for
 * per-thread default streams. */
#include <cuda.h>

#include "check.h"

#ifndef WEIR_CU_BASE_H
#error "another cuda.h was found first"
#endif

#define ABI(condition) _Static_assert(condition, #condition)
#define ABI_ALIGNOF    _Alignof
#include "header_abi.h"
#include "header_values.h"

#define QUOTED(x) #x
#define TEXT(x)   QUOTED(x)

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define PTDS "_ptds"
#define PTSZ "_ptsz"
#else
#define PTDS
#define PTSZ
#endif

int main(void)
{
#define NAME(call, symbol)  CHECK_STR(TEXT(call), symbol);
#define SYNC(call, symbol)  CHECK_STR(TEXT(call), symbol PTDS);
#define ASYNC(call, symbol) CHECK_STR(TEXT(call), symbol PTSZ);
#include "header_names.h"
    return check_done();
}
