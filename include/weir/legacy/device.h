/* Device functions that are no more, for --legacy-api: fetches from texture variables, accesses to
 * surface variables, and the warp's functions without a mask, for the lanes that call them
 * together. */
#ifndef WEIR_LEGACY_DEVICE_H
#define WEIR_LEGACY_DEVICE_H

#define WEIR_LEGACY_FN static __inline__ __attribute__((always_inline)) __device__

namespace weir
{

/* What kernels call the variable by: the handle that an object would be. */
template <class T, int D, enum cudaTextureReadMode M>
WEIR_LEGACY_FN cudaTextureObject_t object_of(texture<T, D, M> tex)
{
    cudaTextureObject_t object;
    asm("mov.b64 %0, %1;" : "=l"(object) : "l"(tex));
    return object;
}
template <class T, int D> WEIR_LEGACY_FN cudaSurfaceObject_t object_of(surface<T, D> surf)
{
    cudaSurfaceObject_t object;
    asm("mov.b64 %0, %1;" : "=l"(object) : "l"(surf));
    return object;
}

/* What a fetch from a variable of T gives. */
template <int count> struct fractions;
template <> struct fractions<1> {
    typedef float1 type;
};
template <> struct fractions<2> {
    typedef float2 type;
};
template <> struct fractions<4> {
    typedef float4 type;
};
template <class T, enum cudaTextureReadMode M, class Element = typename texel<T>::element>
struct reading {
    typedef typename fractions<texel<T>::count>::type type;
};
template <class T> struct reading<T, cudaReadModeNormalizedFloat, T> {
    typedef float type;
};
template <class T, class Element> struct reading<T, cudaReadModeElementType, Element> {
    typedef T type;
};
template <class T> struct reading<T, cudaReadModeElementType, T> {
    typedef T type;
};

} // namespace weir

#define WEIR_UNPACK(...) __VA_ARGS__
#define WEIR_FETCH(name, dimensions, parameters, arguments)                                        \
    template <class T, enum cudaTextureReadMode M>                                                 \
    WEIR_LEGACY_FN typename weir::reading<T, M>::type name(texture<T, dimensions, M> tex,          \
                                                           WEIR_UNPACK parameters)                 \
    {                                                                                              \
        return name<typename weir::reading<T, M>::type>(weir::object_of(tex),                      \
                                                        WEIR_UNPACK arguments);                    \
    }

WEIR_FETCH(tex1Dfetch, cudaTextureType1D, (int x), (x))
WEIR_FETCH(tex1D, cudaTextureType1D, (float x), (x))
WEIR_FETCH(tex1DLod, cudaTextureType1D, (float x, float level), (x, level))
WEIR_FETCH(tex1DGrad, cudaTextureType1D, (float x, float dx, float dy), (x, dx, dy))
WEIR_FETCH(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
WEIR_FETCH(tex1DLayeredLod, cudaTextureType1DLayered, (float x, int layer, float level),
           (x, layer, level))
WEIR_FETCH(tex1DLayeredGrad, cudaTextureType1DLayered, (float x, int layer, float dx, float dy),
           (x, layer, dx, dy))
WEIR_FETCH(tex2D, cudaTextureType2D, (float x, float y), (x, y))
WEIR_FETCH(tex2DLod, cudaTextureType2D, (float x, float y, float level), (x, y, level))
WEIR_FETCH(tex2DGrad, cudaTextureType2D, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy))
WEIR_FETCH(tex2Dgather, cudaTextureType2D, (float x, float y, int component = 0), (x, y, component))
WEIR_FETCH(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer))
WEIR_FETCH(tex2DLayeredLod, cudaTextureType2DLayered, (float x, float y, int layer, float level),
           (x, y, layer, level))
WEIR_FETCH(tex2DLayeredGrad, cudaTextureType2DLayered,
           (float x, float y, int layer, float2 dx, float2 dy), (x, y, layer, dx, dy))
WEIR_FETCH(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
WEIR_FETCH(tex3DLod, cudaTextureType3D, (float x, float y, float z, float level), (x, y, z, level))
WEIR_FETCH(tex3DGrad, cudaTextureType3D, (float x, float y, float z, float4 dx, float4 dy),
           (x, y, z, dx, dy))
WEIR_FETCH(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
WEIR_FETCH(texCubemapLod, cudaTextureTypeCubemap, (float x, float y, float z, float level),
           (x, y, z, level))
WEIR_FETCH(texCubemapLayered, cudaTextureTypeCubemapLayered, (float x, float y, float z, int layer),
           (x, y, z, layer))
WEIR_FETCH(texCubemapLayeredLod, cudaTextureTypeCubemapLayered,
           (float x, float y, float z, int layer, float level), (x, y, z, layer, level))
#undef WEIR_FETCH

#define WEIR_SURFACE(kind, dimensions, parameters, arguments)                                      \
    template <class T, class S>                                                                    \
    WEIR_LEGACY_FN T surf##kind##read(surface<S, dimensions> surf, WEIR_UNPACK parameters,         \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)         \
    {                                                                                              \
        return surf##kind##read<T>(weir::object_of(surf), WEIR_UNPACK arguments, mode);            \
    }                                                                                              \
    template <class T, class S>                                                                    \
    WEIR_LEGACY_FN void surf##kind##read(T *result, surface<S, dimensions> surf,                   \
                                         WEIR_UNPACK parameters,                                   \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)      \
    {                                                                                              \
        *result = surf##kind##read<T>(weir::object_of(surf), WEIR_UNPACK arguments, mode);         \
    }                                                                                              \
    template <class T, class S>                                                                    \
    WEIR_LEGACY_FN void surf##kind##write(T v, surface<S, dimensions> surf,                        \
                                          WEIR_UNPACK parameters,                                  \
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)     \
    {                                                                                              \
        surf##kind##write<T>(v, weir::object_of(surf), WEIR_UNPACK arguments, mode);               \
    }

WEIR_SURFACE(1D, cudaSurfaceType1D, (int x), (x))
WEIR_SURFACE(2D, cudaSurfaceType2D, (int x, int y), (x, y))
WEIR_SURFACE(3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
WEIR_SURFACE(1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer))
WEIR_SURFACE(2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), (x, y, layer))
WEIR_SURFACE(Cubemap, cudaSurfaceTypeCubemap, (int x, int y, int face), (x, y, face))
WEIR_SURFACE(CubemapLayered, cudaSurfaceTypeCubemapLayered, (int x, int y, int layerFace),
             (x, y, layerFace))
#undef WEIR_SURFACE
#undef WEIR_UNPACK

/* ---- warps: functions without a mask, whose instructions these targets do not have ---- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
/* Functions, not macros: CCCL has classes of these names. With enable_if they come before clang's,
 * whose instructions these targets lack. */
#define WEIR_BEFORE_CLANGS __attribute__((enable_if(true, "")))
WEIR_LEGACY_FN int __all(int predicate) WEIR_BEFORE_CLANGS
{
    return __all_sync(__activemask(), predicate);
}
WEIR_LEGACY_FN int __any(int predicate) WEIR_BEFORE_CLANGS
{
    return __any_sync(__activemask(), predicate);
}
WEIR_LEGACY_FN unsigned __ballot(int predicate) WEIR_BEFORE_CLANGS
{
    return __ballot_sync(__activemask(), predicate);
}
/* Those of clang's types, and of all others that have a form with a mask. */
#define WEIR_SHUFFLE_OF(T, name, lane_type, ...)                                                   \
    WEIR_LEGACY_FN T name(T value, lane_type lane, int width = 32) __VA_ARGS__                     \
    {                                                                                              \
        return name##_sync(__activemask(), value, lane, width);                                    \
    }
#define WEIR_SHUFFLE(name, lane_type)                                                              \
    WEIR_SHUFFLE_OF(int, name, lane_type, WEIR_BEFORE_CLANGS)                                      \
    WEIR_SHUFFLE_OF(unsigned, name, lane_type, WEIR_BEFORE_CLANGS)                                 \
    WEIR_SHUFFLE_OF(long, name, lane_type, WEIR_BEFORE_CLANGS)                                     \
    WEIR_SHUFFLE_OF(unsigned long, name, lane_type, WEIR_BEFORE_CLANGS)                            \
    WEIR_SHUFFLE_OF(long long, name, lane_type, WEIR_BEFORE_CLANGS)                                \
    WEIR_SHUFFLE_OF(unsigned long long, name, lane_type, WEIR_BEFORE_CLANGS)                       \
    WEIR_SHUFFLE_OF(float, name, lane_type, WEIR_BEFORE_CLANGS)                                    \
    WEIR_SHUFFLE_OF(double, name, lane_type, WEIR_BEFORE_CLANGS)                                   \
    template <class T> WEIR_SHUFFLE_OF(T, name, lane_type)
WEIR_SHUFFLE(__shfl, int)
WEIR_SHUFFLE(__shfl_up, unsigned)
WEIR_SHUFFLE(__shfl_down, unsigned)
WEIR_SHUFFLE(__shfl_xor, int)
#undef WEIR_SHUFFLE
#undef WEIR_SHUFFLE_OF
#undef WEIR_BEFORE_CLANGS
#endif

#undef WEIR_LEGACY_FN
#endif
