/* C1: header_cpp.cpp: cuda.h alone in C++: the same as header_c.c, and the calls have C linkage. */
#include <cuda.h>
#include <cudaProfiler.h>

#include "check.h"

#ifndef WEIR_CU_BASE_H
#error "another cuda.h was found first"
#endif

#define ABI(condition) static_assert(condition, #condition)
#define ABI_ALIGNOF    alignof
#include "header_abi.h"
#include "header_values.h"

extern "C" CUresult cuInit(unsigned int flags);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);
extern "C" CUresult cuProfilerStart(void);

int main()
{
    CUuuid uuid = {};
    CHECK_EQ_INT(sizeof uuid, 16);
    return check_done();
}
