/* types_32: what CUDA 2.0 to 3.1 called an address, a copy and an array's description. All have 32
 * bits where later versions have as many as the machine. */
#ifndef WEIR_DRIVER_NAMES_TYPES_32_H
#define WEIR_DRIVER_NAMES_TYPES_32_H

#include "driver/driver.h"

typedef unsigned int address_32;

struct copy_2d_32 {
    unsigned int src_x, src_y;
    CUmemorytype src_type;
    const void *src_host;
    address_32 src_device;
    CUarray src_array;
    unsigned int src_pitch;
    unsigned int dst_x, dst_y;
    CUmemorytype dst_type;
    void *dst_host;
    address_32 dst_device;
    CUarray dst_array;
    unsigned int dst_pitch;
    unsigned int width, height;
};

struct copy_3d_32 {
    unsigned int src_x, src_y, src_z, src_lod;
    CUmemorytype src_type;
    const void *src_host;
    address_32 src_device;
    CUarray src_array;
    void *reserved0;
    unsigned int src_pitch, src_height;
    unsigned int dst_x, dst_y, dst_z, dst_lod;
    CUmemorytype dst_type;
    void *dst_host;
    address_32 dst_device;
    CUarray dst_array;
    void *reserved1;
    unsigned int dst_pitch, dst_height;
    unsigned int width, height, depth;
};

struct array_32 {
    unsigned int width, height;
    CUarray_format format;
    unsigned int channels;
};

struct array_3d_32 {
    unsigned int width, height, depth;
    CUarray_format format;
    unsigned int channels, flags;
};

#ifdef __LP64__
_Static_assert(sizeof(struct copy_2d_32) == 96 && sizeof(struct copy_3d_32) == 144, "copies");
#endif
_Static_assert(sizeof(struct array_32) == 16 && sizeof(struct array_3d_32) == 24, "arrays");

/* The address, if it has no more than 32 bits; `call` names whose version needs that. */
CUresult address_narrow(CUdeviceptr at, const char *call, address_32 *out);

/* A size as a call of those versions tells it: what has more than 32 bits is told as the most that
 * there is. */
static inline unsigned int size_narrow(size_t bytes)
{
    return bytes > UINT32_MAX ? UINT32_MAX : (unsigned int)bytes;
}

#endif
