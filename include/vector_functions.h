/* vector_functions.h: make_float4(x, y, z, w) and its kin, one per vector type. */
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__

#ifndef __CUDACC_RTC__
#include "builtin_types.h"
#endif
#include "vector_types.h"

#define WEIR_MAKE1(name, T)                                                                        \
    static __inline__ __host__ __device__ name##1 make_##name##1(T x)                              \
    {                                                                                              \
        name##1 t;                                                                                 \
        t.x = x;                                                                                   \
        return t;                                                                                  \
    }
#define WEIR_MAKE2(name, T)                                                                        \
    static __inline__ __host__ __device__ name##2 make_##name##2(T x, T y)                         \
    {                                                                                              \
        name##2 t;                                                                                 \
        t.x = x;                                                                                   \
        t.y = y;                                                                                   \
        return t;                                                                                  \
    }
#define WEIR_MAKE3(name, T)                                                                        \
    static __inline__ __host__ __device__ name##3 make_##name##3(T x, T y, T z)                    \
    {                                                                                              \
        name##3 t;                                                                                 \
        t.x = x;                                                                                   \
        t.y = y;                                                                                   \
        t.z = z;                                                                                   \
        return t;                                                                                  \
    }
#define WEIR_MAKE4(type, T)                                                                        \
    static __inline__ __host__ __device__ type make_##type(T x, T y, T z, T w)                     \
    {                                                                                              \
        type t;                                                                                    \
        t.x = x;                                                                                   \
        t.y = y;                                                                                   \
        t.z = z;                                                                                   \
        t.w = w;                                                                                   \
        return t;                                                                                  \
    }
#define WEIR_MAKE(name, T)                                                                         \
    WEIR_MAKE1(name, T) WEIR_MAKE2(name, T) WEIR_MAKE3(name, T) WEIR_MAKE4(name##4, T)
#define WEIR_MAKE_WIDE(name, T)                                                                    \
    WEIR_MAKE(name, T) WEIR_MAKE4(name##4_16a, T) WEIR_MAKE4(name##4_32a, T)

/* clang-format off */
WEIR_MAKE(char, signed char)
WEIR_MAKE(uchar, unsigned char)
WEIR_MAKE(short, short)
WEIR_MAKE(ushort, unsigned short)
WEIR_MAKE(int, int)
WEIR_MAKE(uint, unsigned int)
WEIR_MAKE_WIDE(long, long int)
WEIR_MAKE_WIDE(ulong, unsigned long int)
WEIR_MAKE_WIDE(longlong, long long int)
WEIR_MAKE_WIDE(ulonglong, unsigned long long int)
WEIR_MAKE(float, float)
WEIR_MAKE_WIDE(double, double)
/* clang-format on */

#undef WEIR_MAKE1
#undef WEIR_MAKE2
#undef WEIR_MAKE3
#undef WEIR_MAKE4
#undef WEIR_MAKE
#undef WEIR_MAKE_WIDE

#endif
