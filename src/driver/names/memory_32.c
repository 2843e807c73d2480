/* names/memory_32: allocations, arrays, variables and texture references as CUDA 2.0 to 3.1 had
 * them, with addresses and sizes of 32 bits. Programs reach them by dlsym or cuGetProcAddress
 * alone.
 *
 * Device memory has addresses beyond 32 bits here, so an allocation by these calls fails as one for
 * which there is no memory. Page-locked memory that the program has placed low works. */
#include "driver/error/site.h"
#include "driver/names/types_32.h"

#undef cuDeviceTotalMem
#undef cuModuleGetGlobal
#undef cuMemGetInfo
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemFree
#undef cuMemGetAddressRange
#undef cuMemAllocHost
#undef cuMemHostGetDevicePointer
#undef cuArrayCreate
#undef cuArrayGetDescriptor
#undef cuArray3DCreate
#undef cuArray3DGetDescriptor
#undef cuTexRefSetAddress
#undef cuTexRefSetAddress2D
#undef cuTexRefGetAddress

CUresult address_narrow(CUdeviceptr at, const char *call, address_32 *out)
{
    if (at > UINT32_MAX)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "%s: the address 0x%llx does not fit in the 32 bits of the version of "
                            "CUDA 2; %s_v2 takes all addresses",
                            call, (unsigned long long)at, call);
    *out = (address_32)at;
    return CUDA_SUCCESS;
}

/* ---- sizes ---- */

WEIR_API CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev);
WEIR_API CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    size_t all = 0;
    CU_TRY(cuDeviceTotalMem_v2(bytes != NULL ? &all : NULL, dev));
    *bytes = size_narrow(all);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total);
WEIR_API CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total)
{
    size_t unused = 0, all = 0;
    CU_TRY(cuMemGetInfo_v2(free_bytes != NULL ? &unused : NULL, total != NULL ? &all : NULL));
    if (free_bytes != NULL)
        *free_bytes = size_narrow(unused);
    if (total != NULL)
        *total = size_narrow(all);
    return CUDA_SUCCESS;
}

/* ---- allocations ---- */

/* Gives an allocation back that the caller cannot be told of. */
static CUresult too_high(CUdeviceptr at, const char *call)
{
    cuMemFree_v2(at);
    return driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                        "%s, as it was in CUDA 2, needs memory with an address of 32 bits, and the "
                        "device has none; %s_v2 takes all addresses",
                        call, call);
}

WEIR_API CUresult cuMemAlloc(address_32 *out, unsigned int bytes);
WEIR_API CUresult cuMemAlloc(address_32 *out, unsigned int bytes)
{
    CALLED(cuMemAlloc);
    CUdeviceptr at = 0;
    CU_TRY(cuMemAlloc_v2(out != NULL ? &at : NULL, bytes));
    if (at > UINT32_MAX)
        return too_high(at, "cuMemAlloc");
    *out = (address_32)at;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemAllocPitch(address_32 *out, unsigned int *pitch, unsigned int width,
                                  unsigned int height, unsigned int element);
WEIR_API CUresult cuMemAllocPitch(address_32 *out, unsigned int *pitch, unsigned int width,
                                  unsigned int height, unsigned int element)
{
    CALLED(cuMemAllocPitch);
    CUdeviceptr at = 0;
    size_t row = 0;
    CU_TRY(cuMemAllocPitch_v2(out != NULL ? &at : NULL, pitch != NULL ? &row : NULL, width, height,
                              element));
    if (at > UINT32_MAX || row > UINT32_MAX)
        return too_high(at, "cuMemAllocPitch");
    *out = (address_32)at;
    *pitch = (unsigned int)row;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemFree(address_32 at);
WEIR_API CUresult cuMemFree(address_32 at)
{
    CALLED(cuMemFree);
    return cuMemFree_v2(at);
}

WEIR_API CUresult cuMemAllocHost(void **out, unsigned int bytes);
WEIR_API CUresult cuMemAllocHost(void **out, unsigned int bytes)
{
    CALLED(cuMemAllocHost);
    return cuMemAllocHost_v2(out, bytes);
}

WEIR_API CUresult cuMemHostGetDevicePointer(address_32 *out, void *p, unsigned int flags);
WEIR_API CUresult cuMemHostGetDevicePointer(address_32 *out, void *p, unsigned int flags)
{
    CUdeviceptr at = 0;
    CU_TRY(cuMemHostGetDevicePointer_v2(out != NULL ? &at : NULL, p, flags));
    return address_narrow(at, "cuMemHostGetDevicePointer", out);
}

WEIR_API CUresult cuMemGetAddressRange(address_32 *base, unsigned int *bytes, address_32 at);
WEIR_API CUresult cuMemGetAddressRange(address_32 *base, unsigned int *bytes, address_32 at)
{
    CUdeviceptr from = 0;
    size_t size = 0;
    address_32 narrow = 0;
    CU_TRY(cuMemGetAddressRange_v2(&from, &size, at));
    CU_TRY(address_narrow(from, "cuMemGetAddressRange", &narrow));
    if (base != NULL)
        *base = narrow;
    if (bytes != NULL)
        *bytes = size_narrow(size);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuModuleGetGlobal(address_32 *out, unsigned int *bytes, CUmodule m,
                                    const char *name);
WEIR_API CUresult cuModuleGetGlobal(address_32 *out, unsigned int *bytes, CUmodule m,
                                    const char *name)
{
    CUdeviceptr at = 0;
    size_t size = 0;
    CU_TRY(cuModuleGetGlobal_v2(&at, &size, m, name));
    if (out != NULL)
        CU_TRY(address_narrow(at, "cuModuleGetGlobal", out));
    if (bytes != NULL)
        *bytes = size_narrow(size);
    return CUDA_SUCCESS;
}

/* ---- arrays ---- */

WEIR_API CUresult cuArrayCreate(CUarray *out, const struct array_32 *d);
WEIR_API CUresult cuArrayCreate(CUarray *out, const struct array_32 *d)
{
    CALLED(cuArrayCreate);
    if (d == NULL)
        return cuArrayCreate_v2(out, NULL);
    CUDA_ARRAY_DESCRIPTOR wide = {d->width, d->height, d->format, d->channels};
    return cuArrayCreate_v2(out, &wide);
}

WEIR_API CUresult cuArrayGetDescriptor(struct array_32 *out, CUarray a);
WEIR_API CUresult cuArrayGetDescriptor(struct array_32 *out, CUarray a)
{
    CUDA_ARRAY_DESCRIPTOR d;
    CU_TRY(cuArrayGetDescriptor_v2(out != NULL ? &d : NULL, a));
    *out = (struct array_32){size_narrow(d.Width), size_narrow(d.Height), d.Format, d.NumChannels};
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuArray3DCreate(CUarray *out, const struct array_3d_32 *d);
WEIR_API CUresult cuArray3DCreate(CUarray *out, const struct array_3d_32 *d)
{
    CALLED(cuArray3DCreate);
    if (d == NULL)
        return cuArray3DCreate_v2(out, NULL);
    CUDA_ARRAY3D_DESCRIPTOR wide = {d->width,  d->height,   d->depth,
                                    d->format, d->channels, d->flags};
    return cuArray3DCreate_v2(out, &wide);
}

WEIR_API CUresult cuArray3DGetDescriptor(struct array_3d_32 *out, CUarray a);
WEIR_API CUresult cuArray3DGetDescriptor(struct array_3d_32 *out, CUarray a)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CU_TRY(cuArray3DGetDescriptor_v2(out != NULL ? &d : NULL, a));
    *out = (struct array_3d_32){size_narrow(d.Width), size_narrow(d.Height),
                                size_narrow(d.Depth), d.Format,
                                d.NumChannels,        d.Flags};
    return CUDA_SUCCESS;
}

/* ---- texture references ---- */

WEIR_API CUresult cuTexRefSetAddress(unsigned int *offset, CUtexref t, address_32 at,
                                     unsigned int bytes);
WEIR_API CUresult cuTexRefSetAddress(unsigned int *offset, CUtexref t, address_32 at,
                                     unsigned int bytes)
{
    size_t past = 0;
    CU_TRY(cuTexRefSetAddress_v2(offset != NULL ? &past : NULL, t, at, bytes));
    if (offset != NULL)
        *offset = (unsigned int)past;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuTexRefSetAddress2D(CUtexref t, const struct array_32 *d, address_32 at,
                                       unsigned int pitch);
WEIR_API CUresult cuTexRefSetAddress2D(CUtexref t, const struct array_32 *d, address_32 at,
                                       unsigned int pitch)
{
    if (d == NULL)
        return cuTexRefSetAddress2D_v3(t, NULL, at, pitch);
    CUDA_ARRAY_DESCRIPTOR wide = {d->width, d->height, d->format, d->channels};
    return cuTexRefSetAddress2D_v3(t, &wide, at, pitch);
}

/* CUDA 3.2's, with addresses of the machine. */
WEIR_API CUresult cuTexRefSetAddress2D_v2(CUtexref t, const CUDA_ARRAY_DESCRIPTOR *d,
                                          CUdeviceptr at, size_t pitch);
WEIR_API CUresult cuTexRefSetAddress2D_v2(CUtexref t, const CUDA_ARRAY_DESCRIPTOR *d,
                                          CUdeviceptr at, size_t pitch)
{
    return cuTexRefSetAddress2D_v3(t, d, at, pitch);
}

WEIR_API CUresult cuTexRefGetAddress(address_32 *out, CUtexref t);
WEIR_API CUresult cuTexRefGetAddress(address_32 *out, CUtexref t)
{
    CUdeviceptr at = 0;
    CU_TRY(cuTexRefGetAddress_v2(out != NULL ? &at : NULL, t));
    return address_narrow(at, "cuTexRefGetAddress", out);
}
