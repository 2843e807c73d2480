/* channel_descriptor.h: cudaCreateChannelDesc<T>(): the channel format of a C++ type. */
#ifndef __CHANNEL_DESCRIPTOR_H__
#define __CHANNEL_DESCRIPTOR_H__

#if defined(__cplusplus)

#include "cuda_runtime_api.h"
#include "driver_types.h"

/* A type without a channel format has none: its description is empty. */
template <class T> __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDesc(void)
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

/* Formats of half precision have no C++ type of their own. */
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf(void)
{
    return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf1(void)
{
    return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf2(void)
{
    return cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf4(void)
{
    return cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
}

/* A picture of brightness and, in half its resolution, colour. */
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescNV12(void)
{
    return cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindNV12);
}

#define WEIR_CHANNEL(T, x, y, z, w, kind)                                                          \
    template <> __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDesc<T>(void)           \
    {                                                                                              \
        return cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind);                     \
    }
/* One to four elements (three has no texture format) of `b` bits. */
#define WEIR_CHANNELS(name, b, kind)                                                               \
    WEIR_CHANNEL(name##1, b, 0, 0, 0, kind)                                                        \
    WEIR_CHANNEL(name##2, b, b, 0, 0, kind)                                                        \
    WEIR_CHANNEL(name##4, b, b, b, b, kind)

/* clang-format off */
WEIR_CHANNEL(char, 8, 0, 0, 0, Signed)
WEIR_CHANNEL(signed char, 8, 0, 0, 0, Signed)
WEIR_CHANNEL(unsigned char, 8, 0, 0, 0, Unsigned)
WEIR_CHANNEL(short, 16, 0, 0, 0, Signed)
WEIR_CHANNEL(unsigned short, 16, 0, 0, 0, Unsigned)
WEIR_CHANNEL(int, 32, 0, 0, 0, Signed)
WEIR_CHANNEL(unsigned int, 32, 0, 0, 0, Unsigned)
WEIR_CHANNEL(float, 32, 0, 0, 0, Float)
WEIR_CHANNELS(char, 8, Signed)
WEIR_CHANNELS(uchar, 8, Unsigned)
WEIR_CHANNELS(short, 16, Signed)
WEIR_CHANNELS(ushort, 16, Unsigned)
WEIR_CHANNELS(int, 32, Signed)
WEIR_CHANNELS(uint, 32, Unsigned)
WEIR_CHANNELS(float, 32, Float)
/* clang-format on */

#undef WEIR_CHANNEL
#undef WEIR_CHANNELS

#endif

#endif
