/* entry_point: functions of the driver for programs that ask for them by name. */
#include "runtime/internal.h"
#include "runtime/version.h"

static cudaError_t entry_point(const char *symbol, void **function, unsigned version,
                               unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status, bool own_stream)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result;
    int newest;

    RT_CHECK(symbol != NULL && function != NULL && flags <= cudaEnablePerThreadDefaultStream,
             cudaErrorInvalidValue);
    RT_TRY(rt_load());
    CU_TRY(CU(cuDriverGetVersion, &newest));
    RT_CHECK(version <= (unsigned)newest, cudaErrorInvalidValue);
    if (flags == cudaEnableDefault && own_stream)
        flags = cudaEnablePerThreadDefaultStream;
    *function = NULL;
    result = CU(cuGetProcAddress_v2, symbol, function, (int)version, flags, &found);
    if (status != NULL)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    if (result != CUDA_ERROR_NOT_FOUND) /* older drivers' way of saying no function */
        CU_TRY(result);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                           unsigned long long flags,
                                           enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return done(entry_point(symbol, funcPtr, (unsigned)rt_version, flags, driverStatus, false));
}

PUBLIC cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
                                                unsigned long long flags,
                                                enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return done(entry_point(symbol, funcPtr, (unsigned)rt_version, flags, driverStatus, true));
}

PUBLIC cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return done(entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus, false));
}

PUBLIC cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return done(entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus, true));
}
