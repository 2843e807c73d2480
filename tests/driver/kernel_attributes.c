/* K1.7: attributes of a library's kernel are a device's: they need no context, those set before
 * contexts load the library are its functions' from the start, those set later are in all contexts
 * at once. */
#include "common.h"

enum { MORE = 100000 }; /* bytes of shared memory, more than a kernel may have unasked */

static const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

static CUfunction function_in(CUcontext c, CUkernel k)
{
    CUfunction f;
    NEED(cuCtxSetCurrent(c));
    NEED(cuKernelGetFunction(&f, k));
    return f;
}

static int of_function(CUfunction f)
{
    int value = -1;
    OK(cuFuncGetAttribute(&value, shared, f));
    return value;
}

static int of_kernel(CUkernel k)
{
    int value = -1;
    OK(cuKernelGetAttribute(&value, shared, k, 0));
    return value;
}

int main(void)
{
    CUcontext primary, other;
    CUlibrary library;
    CUkernel k;
    NEED(cuInit(0));
    NEED(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    NEED(cuLibraryGetKernel(&k, library, "count"));
    int unasked = of_kernel(k);
    CHECK(unasked > 0 && unasked < MORE);
    CHECK_CU(cuKernelSetAttribute(shared, 1 << 30, k, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuKernelSetAttribute(shared, MORE, k, 99), CUDA_ERROR_INVALID_DEVICE);
    CHECK_CU(cuKernelSetAttribute(shared, MORE, (CUkernel)(void *)&unasked, 0),
             CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQ_INT(of_kernel(k), unasked);
    OK(cuKernelSetAttribute(shared, MORE, k, 0));
    CHECK_EQ_INT(of_kernel(k), MORE);

    NEED(cuDevicePrimaryCtxRetain(&primary, 0));
    NEED(cuCtxCreate(&other, NULL, 0, 0));
    CUfunction in_primary = function_in(primary, k), in_other = function_in(other, k);
    CHECK(in_primary != in_other);
    CHECK_EQ_INT(of_function(in_primary), MORE);
    CHECK_EQ_INT(of_function(in_other), MORE);
    CUdeviceptr counter; /* and launches may use it */
    NEED(cuMemAlloc(&counter, 4));
    OK(cuLaunchKernel(in_other, 1, 1, 1, 1, 1, 1, MORE, NULL, (void *[]){&counter}, NULL));
    OK(cuCtxSynchronize());

    OK(cuKernelSetAttribute(shared, MORE + 2, k, 0));
    CHECK_EQ_INT(of_function(in_other), MORE + 2);
    CHECK_EQ_INT(of_function(in_primary), MORE + 2);

    NEED(cuCtxSetCurrent(NULL));
    OK(cuKernelSetAttribute(shared, MORE + 3, k, 0));
    CHECK_EQ_INT(of_function(in_primary), MORE + 3);
    OK(cuCtxDestroy(other)); /* a context that has ended is not asked */
    OK(cuKernelSetAttribute(shared, MORE + 4, k, 0));
    CHECK_EQ_INT(of_function(in_primary), MORE + 4);
    OK(cuLibraryUnload(library));
    CHECK_CU(cuKernelGetAttribute(&unasked, shared, k, 0), CUDA_ERROR_INVALID_HANDLE);
    return check_done();
}
