/* names/copy_32: copies and sets as CUDA 2.0 to 3.1 had them, with addresses and sizes of 32 bits:
 * each widens its arguments and calls the later version. They know the legacy default stream only.
 */
#include "driver/names/types_32.h"

#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyDtoD
#undef cuMemcpyDtoA
#undef cuMemcpyAtoD
#undef cuMemcpyHtoA
#undef cuMemcpyAtoH
#undef cuMemcpyAtoA
#undef cuMemcpyHtoAAsync
#undef cuMemcpyAtoHAsync
#undef cuMemcpy2D
#undef cuMemcpy2DUnaligned
#undef cuMemcpy3D
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemcpyDtoDAsync
#undef cuMemcpy2DAsync
#undef cuMemcpy3DAsync
#undef cuMemsetD8
#undef cuMemsetD16
#undef cuMemsetD32
#undef cuMemsetD2D8
#undef cuMemsetD2D16
#undef cuMemsetD2D32

/* name and name_v2 with the same arguments. */
#define WIDEN(name, params, ...)                                                                   \
    WEIR_API CUresult name params;                                                                 \
    WEIR_API CUresult name params { return name##_v2(__VA_ARGS__); }

WIDEN(cuMemcpyHtoD, (address_32 to, const void *from, unsigned int bytes), to, from, bytes)
WIDEN(cuMemcpyDtoH, (void *to, address_32 from, unsigned int bytes), to, from, bytes)
WIDEN(cuMemcpyDtoD, (address_32 to, address_32 from, unsigned int bytes), to, from, bytes)
WIDEN(cuMemcpyDtoA, (CUarray to, unsigned int at, address_32 from, unsigned int bytes), to, at,
      from, bytes)
WIDEN(cuMemcpyAtoD, (address_32 to, CUarray from, unsigned int at, unsigned int bytes), to, from,
      at, bytes)
WIDEN(cuMemcpyHtoA, (CUarray to, unsigned int at, const void *from, unsigned int bytes), to, at,
      from, bytes)
WIDEN(cuMemcpyAtoH, (void *to, CUarray from, unsigned int at, unsigned int bytes), to, from, at,
      bytes)
WIDEN(cuMemcpyAtoA,
      (CUarray to, unsigned int to_at, CUarray from, unsigned int from_at, unsigned int bytes), to,
      to_at, from, from_at, bytes)
WIDEN(cuMemcpyHtoAAsync,
      (CUarray to, unsigned int at, const void *from, unsigned int bytes, CUstream stream), to, at,
      from, bytes, stream)
WIDEN(cuMemcpyAtoHAsync,
      (void *to, CUarray from, unsigned int at, unsigned int bytes, CUstream stream), to, from, at,
      bytes, stream)
WIDEN(cuMemcpyHtoDAsync, (address_32 to, const void *from, unsigned int bytes, CUstream stream), to,
      from, bytes, stream)
WIDEN(cuMemcpyDtoHAsync, (void *to, address_32 from, unsigned int bytes, CUstream stream), to, from,
      bytes, stream)
WIDEN(cuMemcpyDtoDAsync, (address_32 to, address_32 from, unsigned int bytes, CUstream stream), to,
      from, bytes, stream)

WIDEN(cuMemsetD8, (address_32 to, unsigned char value, unsigned int n), to, value, n)
WIDEN(cuMemsetD16, (address_32 to, unsigned short value, unsigned int n), to, value, n)
WIDEN(cuMemsetD32, (address_32 to, unsigned int value, unsigned int n), to, value, n)
WIDEN(cuMemsetD2D8,
      (address_32 to, unsigned int pitch, unsigned char value, unsigned int width,
       unsigned int height),
      to, pitch, value, width, height)
WIDEN(cuMemsetD2D16,
      (address_32 to, unsigned int pitch, unsigned short value, unsigned int width,
       unsigned int height),
      to, pitch, value, width, height)
WIDEN(cuMemsetD2D32,
      (address_32 to, unsigned int pitch, unsigned int value, unsigned int width,
       unsigned int height),
      to, pitch, value, width, height)

/* ---- boxes ---- */

static CUDA_MEMCPY2D widen_2d(const struct copy_2d_32 *c)
{
    return (CUDA_MEMCPY2D){.srcXInBytes = c->src_x,
                           .srcY = c->src_y,
                           .srcMemoryType = c->src_type,
                           .srcHost = c->src_host,
                           .srcDevice = c->src_device,
                           .srcArray = c->src_array,
                           .srcPitch = c->src_pitch,
                           .dstXInBytes = c->dst_x,
                           .dstY = c->dst_y,
                           .dstMemoryType = c->dst_type,
                           .dstHost = c->dst_host,
                           .dstDevice = c->dst_device,
                           .dstArray = c->dst_array,
                           .dstPitch = c->dst_pitch,
                           .WidthInBytes = c->width,
                           .Height = c->height};
}

static CUDA_MEMCPY3D widen_3d(const struct copy_3d_32 *c)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = c->src_x,
                           .srcY = c->src_y,
                           .srcZ = c->src_z,
                           .srcLOD = c->src_lod,
                           .srcMemoryType = c->src_type,
                           .srcHost = c->src_host,
                           .srcDevice = c->src_device,
                           .srcArray = c->src_array,
                           .reserved0 = c->reserved0,
                           .srcPitch = c->src_pitch,
                           .srcHeight = c->src_height,
                           .dstXInBytes = c->dst_x,
                           .dstY = c->dst_y,
                           .dstZ = c->dst_z,
                           .dstLOD = c->dst_lod,
                           .dstMemoryType = c->dst_type,
                           .dstHost = c->dst_host,
                           .dstDevice = c->dst_device,
                           .dstArray = c->dst_array,
                           .reserved1 = c->reserved1,
                           .dstPitch = c->dst_pitch,
                           .dstHeight = c->dst_height,
                           .WidthInBytes = c->width,
                           .Height = c->height,
                           .Depth = c->depth};
}

#define BOX(name, dims, call)                                                                      \
    {                                                                                              \
        if (c == NULL)                                                                             \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        CUDA_MEMCPY##dims wide = (name)(c);                                                        \
        return call;                                                                               \
    }

WEIR_API CUresult cuMemcpy2D(const struct copy_2d_32 *c);
WEIR_API CUresult cuMemcpy2D(const struct copy_2d_32 *c)
    BOX(widen_2d, 2D, cuMemcpy2D_v2(&wide)) WEIR_API CUresult
    cuMemcpy2DUnaligned(const struct copy_2d_32 *c);
WEIR_API CUresult cuMemcpy2DUnaligned(const struct copy_2d_32 *c)
    BOX(widen_2d, 2D, cuMemcpy2DUnaligned_v2(&wide)) WEIR_API CUresult
    cuMemcpy2DAsync(const struct copy_2d_32 *c, CUstream stream);
WEIR_API CUresult cuMemcpy2DAsync(const struct copy_2d_32 *c, CUstream stream)
    BOX(widen_2d, 2D, cuMemcpy2DAsync_v2(&wide, stream)) WEIR_API CUresult
    cuMemcpy3D(const struct copy_3d_32 *c);
WEIR_API CUresult cuMemcpy3D(const struct copy_3d_32 *c)
    BOX(widen_3d, 3D, cuMemcpy3D_v2(&wide)) WEIR_API CUresult
    cuMemcpy3DAsync(const struct copy_3d_32 *c, CUstream stream);
WEIR_API CUresult cuMemcpy3DAsync(const struct copy_3d_32 *c, CUstream stream)
    BOX(widen_3d, 3D, cuMemcpy3DAsync_v2(&wide, stream))
