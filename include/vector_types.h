/* vector_types.h: the vector types of CUDA, char1 to double4, and dim3.
 *
 * Each is a plain struct; two and four element forms are aligned to their size (at most 16 bytes,
 * except the _32a forms), which is what lets a load of one become a single vector load. */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

#include "host_defines.h"

/* The four sizes of one element type: T is the element, A2 and A4 the alignments of 2 and 4. */
#define WEIR_VECTOR_TYPES(name, T, A2, A4)                                                         \
    struct name##1 { T x; };                                                                       \
    struct __align__(A2) name##2 { T x, y; };                                                      \
    struct name##3 { T x, y, z; };                                                                 \
    struct __align__(A4) name##4 { T x, y, z, w; };                                                \
    typedef struct name##1 name##1;                                                                \
    typedef struct name##2 name##2;                                                                \
    typedef struct name##3 name##3;                                                                \
    typedef struct name##4 name##4;

/* Four elements of 8 bytes, with the alignment in the name (CUDA 13). */
#define WEIR_VECTOR_WIDE(name, T)                                                                  \
    struct __align__(16) name##4_16a { T x, y, z, w; };                                            \
    struct __align__(32) name##4_32a { T x, y, z, w; };                                            \
    typedef struct name##4_16a name##4_16a;                                                        \
    typedef struct name##4_32a name##4_32a;

/* clang-format off */
WEIR_VECTOR_TYPES(char, signed char, 2, 4)
WEIR_VECTOR_TYPES(uchar, unsigned char, 2, 4)
WEIR_VECTOR_TYPES(short, short, 4, 8)
WEIR_VECTOR_TYPES(ushort, unsigned short, 4, 8)
WEIR_VECTOR_TYPES(int, int, 8, 16)
WEIR_VECTOR_TYPES(uint, unsigned int, 8, 16)
WEIR_VECTOR_TYPES(long, long int, 16, 16)
WEIR_VECTOR_TYPES(ulong, unsigned long int, 16, 16)
WEIR_VECTOR_TYPES(longlong, long long int, 16, 16)
WEIR_VECTOR_TYPES(ulonglong, unsigned long long int, 16, 16)
WEIR_VECTOR_TYPES(float, float, 8, 16)
WEIR_VECTOR_TYPES(double, double, 16, 16)
WEIR_VECTOR_WIDE(long, long int)
WEIR_VECTOR_WIDE(ulong, unsigned long int)
WEIR_VECTOR_WIDE(longlong, long long int)
WEIR_VECTOR_WIDE(ulonglong, unsigned long long int)
WEIR_VECTOR_WIDE(double, double)
/* clang-format on */

#undef WEIR_VECTOR_TYPES
#undef WEIR_VECTOR_WIDE

/* Extents of a grid or a block: what is not given is 1. */
struct dim3 {
    unsigned int x, y, z;
#if defined(__cplusplus)
#if __cplusplus >= 201103L
    __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1,
                                       unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3(void) const { return uint3{x, y, z}; }
#else
    __host__ __device__ dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
    __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ operator uint3(void) const
    {
        uint3 t;
        t.x = x;
        t.y = y;
        t.z = z;
        return t;
    }
#endif
#endif
};
typedef struct dim3 dim3;

#endif
