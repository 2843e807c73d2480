/* Surface reads and writes through surface objects: unformatted, x counted in bytes, as the PTX
 * instructions suld.b and sust.b do it. */
#ifndef WEIR_SURFACE_H
#define WEIR_SURFACE_H

/* if constexpr is understood in older dialects, too. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"

/* One instruction for one geometry, boundary mode and element size; `coordinate` is the coordinate
 * vector of named operands. */
#define WEIR_SULD(geometry, coordinate, mode, ...)                                                      \
    if constexpr (sizeof(T) == 1) {                                                                \
        unsigned short t;                                                                          \
        asm volatile("suld.b." geometry ".b8." mode " %0, [%[o], " coordinate "];"                      \
                     : "=h"(t)                                                                     \
                     : [o] "l"(object), __VA_ARGS__                                                \
                     : "memory");                                                                  \
        __builtin_memcpy(&v, &t, 1);                                                               \
    } else if constexpr (sizeof(T) == 2) {                                                         \
        unsigned short t;                                                                          \
        asm volatile("suld.b." geometry ".b16." mode " %0, [%[o], " coordinate "];"                     \
                     : "=h"(t)                                                                     \
                     : [o] "l"(object), __VA_ARGS__                                                \
                     : "memory");                                                                  \
        __builtin_memcpy(&v, &t, 2);                                                               \
    } else if constexpr (sizeof(T) == 4) {                                                         \
        unsigned t;                                                                                \
        asm volatile("suld.b." geometry ".b32." mode " %0, [%[o], " coordinate "];"                     \
                     : "=r"(t)                                                                     \
                     : [o] "l"(object), __VA_ARGS__                                                \
                     : "memory");                                                                  \
        __builtin_memcpy(&v, &t, 4);                                                               \
    } else if constexpr (sizeof(T) == 8) {                                                         \
        unsigned t[2];                                                                             \
        asm volatile("suld.b." geometry ".v2.b32." mode " {%0, %1}, [%[o], " coordinate "];"            \
                     : "=r"(t[0]), "=r"(t[1])                                                      \
                     : [o] "l"(object), __VA_ARGS__                                                \
                     : "memory");                                                                  \
        __builtin_memcpy(&v, t, 8);                                                                \
    } else {                                                                                       \
        unsigned t[4];                                                                             \
        asm volatile("suld.b." geometry ".v4.b32." mode " {%0, %1, %2, %3}, [%[o], " coordinate "];"    \
                     : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3])                              \
                     : [o] "l"(object), __VA_ARGS__                                                \
                     : "memory");                                                                  \
        __builtin_memcpy(&v, t, 16);                                                               \
    }

#define WEIR_SUST(geometry, coordinate, mode, ...)                                                      \
    if constexpr (sizeof(T) <= 2) {                                                                \
        unsigned short t = 0;                                                                      \
        __builtin_memcpy(&t, &v, sizeof(T));                                                       \
        if constexpr (sizeof(T) == 1)                                                              \
            asm volatile("sust.b." geometry ".b8." mode " [%[o], " coordinate                           \
                         "], %[v];" ::[o] "l"(object),                                             \
                         [v] "h"(t), __VA_ARGS__                                                   \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("sust.b." geometry ".b16." mode " [%[o], " coordinate                          \
                         "], %[v];" ::[o] "l"(object),                                             \
                         [v] "h"(t), __VA_ARGS__                                                   \
                         : "memory");                                                              \
    } else if constexpr (sizeof(T) == 4) {                                                         \
        unsigned t;                                                                                \
        __builtin_memcpy(&t, &v, 4);                                                               \
        asm volatile("sust.b." geometry ".b32." mode " [%[o], " coordinate                              \
                     "], %[v];" ::[o] "l"(object),                                                 \
                     [v] "r"(t), __VA_ARGS__                                                       \
                     : "memory");                                                                  \
    } else if constexpr (sizeof(T) == 8) {                                                         \
        unsigned t[2];                                                                             \
        __builtin_memcpy(t, &v, 8);                                                                \
        asm volatile("sust.b." geometry ".v2.b32." mode " [%[o], " coordinate                           \
                     "], {%[v], %[w]};" ::[o] "l"(object),                                         \
                     [v] "r"(t[0]), [w] "r"(t[1]), __VA_ARGS__                                     \
                     : "memory");                                                                  \
    } else {                                                                                       \
        unsigned t[4];                                                                             \
        __builtin_memcpy(t, &v, 16);                                                               \
        asm volatile("sust.b." geometry ".v4.b32." mode " [%[o], " coordinate                           \
                     "], {%[v], %[w], %[p], %[q]};" ::[o] "l"(object),                             \
                     [v] "r"(t[0]), [w] "r"(t[1]), [p] "r"(t[2]), [q] "r"(t[3]), __VA_ARGS__       \
                     : "memory");                                                                  \
    }

#define WEIR_UNPACK(...) __VA_ARGS__
#define WEIR_SURFACE_SIZE                                                                          \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 ||          \
                      sizeof(T) == 16,                                                             \
                  "a surface's elements have 1, 2, 4, 8 or 16 bytes");

/* Read by value, read through a pointer, write. Outside the surface a read traps unless the mode
 * says otherwise. */
#define WEIR_SURFACE(kind, parameters, arguments, geometry, coordinate, ...)                            \
    template <typename T>                                                                          \
    WEIR_DEVICE T surf##kind##read(cudaSurfaceObject_t object, WEIR_UNPACK parameters,             \
                                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)            \
    {                                                                                              \
        WEIR_SURFACE_SIZE                                                                          \
        T v;                                                                                       \
        if (mode == cudaBoundaryModeZero) {                                                        \
            WEIR_SULD(geometry, coordinate, "zero", __VA_ARGS__)                                        \
        } else if (mode == cudaBoundaryModeClamp) {                                                \
            WEIR_SULD(geometry, coordinate, "clamp", __VA_ARGS__)                                       \
        } else {                                                                                   \
            WEIR_SULD(geometry, coordinate, "trap", __VA_ARGS__)                                        \
        }                                                                                          \
        return v;                                                                                  \
    }                                                                                              \
    template <typename T>                                                                          \
    WEIR_DEVICE void surf##kind##read(T *result, cudaSurfaceObject_t object,                       \
                                      WEIR_UNPACK parameters,                                      \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)         \
    {                                                                                              \
        *result = surf##kind##read<T>(object, WEIR_UNPACK arguments, mode);                        \
    }                                                                                              \
    template <typename T>                                                                          \
    WEIR_DEVICE void surf##kind##write(T v, cudaSurfaceObject_t object, WEIR_UNPACK parameters,    \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)        \
    {                                                                                              \
        WEIR_SURFACE_SIZE                                                                          \
        if (mode == cudaBoundaryModeZero) {                                                        \
            WEIR_SUST(geometry, coordinate, "zero", __VA_ARGS__)                                        \
        } else if (mode == cudaBoundaryModeClamp) {                                                \
            WEIR_SUST(geometry, coordinate, "clamp", __VA_ARGS__)                                       \
        } else {                                                                                   \
            WEIR_SUST(geometry, coordinate, "trap", __VA_ARGS__)                                        \
        }                                                                                          \
    }

WEIR_SURFACE(1D, (int x), (x), "1d", "{%[x]}", [x] "r"(x))
WEIR_SURFACE(2D, (int x, int y), (x, y), "2d", "{%[x], %[y]}", [x] "r"(x), [y] "r"(y))
WEIR_SURFACE(3D, (int x, int y, int z), (x, y, z), "3d",
             "{%[x], %[y], %[z], %[z]}", [x] "r"(x), [y] "r"(y), [z] "r"(z))
WEIR_SURFACE(1DLayered, (int x, int layer), (x, layer), "a1d",
             "{%[l], %[x]}", [x] "r"(x), [l] "r"(layer))
WEIR_SURFACE(2DLayered, (int x, int y, int layer), (x, y, layer), "a2d",
             "{%[l], %[x], %[y], %[y]}", [x] "r"(x), [y] "r"(y), [l] "r"(layer))
/* A cube map's surface is its faces as layers; a layered one counts 6 * layer + face. */
WEIR_SURFACE(Cubemap, (int x, int y, int face), (x, y, face), "a2d",
             "{%[l], %[x], %[y], %[y]}", [x] "r"(x), [y] "r"(y), [l] "r"(face))
WEIR_SURFACE(CubemapLayered, (int x, int y, int layerFace), (x, y, layerFace), "a2d",
             "{%[l], %[x], %[y], %[y]}", [x] "r"(x), [y] "r"(y), [l] "r"(layerFace))

#undef WEIR_SULD
#undef WEIR_SUST
#undef WEIR_SURFACE
#undef WEIR_SURFACE_SIZE
#undef WEIR_UNPACK

#pragma clang diagnostic pop

#endif
