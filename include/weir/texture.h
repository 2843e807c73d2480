/* Texture fetches through texture objects: tex1D, tex2D, tex3D, their Lod, Grad and Layered forms,
 * tex1Dfetch, cube maps, tex2Dgather. Each is the PTX instruction tex (or tld4), which always gives
 * four elements of 32 bits; the asked-for type takes what it needs. Those of planes and volumes
 * have a form that also says whether the elements are in memory, as they may not be in a sparse
 * array. */
#ifndef WEIR_TEXTURE_H
#define WEIR_TEXTURE_H

/* if constexpr is understood in older dialects, too. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"

namespace weir
{

/* How a fetch of T is made: the four-element type it comes in. */
template <typename Element> struct texture_element;
#define WEIR_TEXTURE_ELEMENT(type, four)                                                           \
    template <> struct texture_element<type> {                                                     \
        typedef four fetched;                                                                      \
    };
WEIR_TEXTURE_ELEMENT(char, int4)
WEIR_TEXTURE_ELEMENT(signed char, int4)
WEIR_TEXTURE_ELEMENT(unsigned char, uint4)
WEIR_TEXTURE_ELEMENT(short, int4)
WEIR_TEXTURE_ELEMENT(unsigned short, uint4)
WEIR_TEXTURE_ELEMENT(int, int4)
WEIR_TEXTURE_ELEMENT(unsigned, uint4)
WEIR_TEXTURE_ELEMENT(long, int4)
WEIR_TEXTURE_ELEMENT(unsigned long, uint4)
WEIR_TEXTURE_ELEMENT(float, float4)
#undef WEIR_TEXTURE_ELEMENT

/* Scalars, and vectors of one, two or four of them; there is no texture of three. */
template <typename T> struct texel {
    typedef decltype(T::x) element;
    static constexpr int count = sizeof(T) / sizeof(element);
    template <typename Four> WEIR_DEVICE T from(const Four &f)
    {
        T t;
        t.x = (element)f.x;
        if constexpr (count > 1)
            t.y = (element)f.y;
        if constexpr (count > 2)
            t.z = (element)f.z;
        if constexpr (count > 3)
            t.w = (element)f.w;
        return t;
    }
};
#define WEIR_TEXEL(type)                                                                           \
    template <> struct texel<type> {                                                               \
        typedef type element;                                                                      \
        template <typename Four> WEIR_DEVICE type from(const Four &f) { return (type)f.x; }        \
    };
WEIR_TEXEL(char)
WEIR_TEXEL(signed char)
WEIR_TEXEL(unsigned char)
WEIR_TEXEL(short)
WEIR_TEXEL(unsigned short)
WEIR_TEXEL(int)
WEIR_TEXEL(unsigned)
WEIR_TEXEL(long)
WEIR_TEXEL(unsigned long)
WEIR_TEXEL(float)
#undef WEIR_TEXEL

template <typename T> using fetched = typename texture_element<typename texel<T>::element>::fetched;

/* One instruction in its three result types; `op` up to the type, `rest` the type of coordinates
 * and the operands, which are named. */
#define WEIR_FETCH(name, parameters, op, rest, ...)                                                \
    WEIR_DEVICE void name(float4 &r, cudaTextureObject_t object, WEIR_UNPACK parameters)           \
    {                                                                                              \
        asm(op ".f32" rest                                                                         \
            : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)                                           \
            : [o] "l"(object), __VA_ARGS__);                                                       \
    }                                                                                              \
    WEIR_DEVICE void name(int4 &r, cudaTextureObject_t object, WEIR_UNPACK parameters)             \
    {                                                                                              \
        asm(op ".s32" rest                                                                         \
            : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)                                           \
            : [o] "l"(object), __VA_ARGS__);                                                       \
    }                                                                                              \
    WEIR_DEVICE void name(uint4 &r, cudaTextureObject_t object, WEIR_UNPACK parameters)            \
    {                                                                                              \
        asm(op ".u32" rest                                                                         \
            : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)                                           \
            : [o] "l"(object), __VA_ARGS__);                                                       \
    }
#define WEIR_UNPACK(...) __VA_ARGS__

/* The same from what may be a sparse array: also with `resident`, 1 where all elements that the
 * fetch takes are in memory. */
#define WEIR_FETCH_SPARSE(name, parameters, op, rest, ...)                                         \
    WEIR_FETCH(name, parameters, op, ".f32" WEIR_R rest, __VA_ARGS__)                              \
    WEIR_FETCH_RESIDENT(name, float4, "=f", parameters, op ".f32.f32" WEIR_R_RESIDENT rest,        \
                        __VA_ARGS__)                                                               \
    WEIR_FETCH_RESIDENT(name, int4, "=r", parameters, op ".s32.f32" WEIR_R_RESIDENT rest,          \
                        __VA_ARGS__)                                                               \
    WEIR_FETCH_RESIDENT(name, uint4, "=r", parameters, op ".u32.f32" WEIR_R_RESIDENT rest,         \
                        __VA_ARGS__)
#define WEIR_FETCH_RESIDENT(name, four, to, parameters, fetch, ...)                                \
    WEIR_DEVICE void name(four &r, unsigned &resident, cudaTextureObject_t object,                 \
                          WEIR_UNPACK parameters)                                                  \
    {                                                                                              \
        asm("{ .reg .pred in; " fetch " selp.u32 %4, 1, 0, in; }"                                  \
            : to(r.x), to(r.y), to(r.z), to(r.w), "=r"(resident)                                   \
            : [o] "l"(object), __VA_ARGS__);                                                       \
    }

#define WEIR_X   [x] "f"(x)
#define WEIR_XY  [x] "f"(x), [y] "f"(y)
#define WEIR_XYZ [x] "f"(x), [y] "f"(y), [z] "f"(z)
#define WEIR_L   [l] "r"(layer)
#define WEIR_LOD [d] "f"(level)
#define WEIR_D1  [a] "f"(dx), [b] "f"(dy)
#define WEIR_D2  [a] "f"(dx.x), [b] "f"(dx.y), [c] "f"(dy.x), [e] "f"(dy.y)
#define WEIR_D3                                                                                    \
    [a] "f"(dx.x), [b] "f"(dx.y), [c] "f"(dx.z), [e] "f"(dy.x), [f] "f"(dy.y), [g] "f"(dy.z)
#define WEIR_R          " {%0, %1, %2, %3}, [%[o], "
#define WEIR_R_RESIDENT " {%0, %1, %2, %3}|in, [%[o], "
#define WEIR_G3         ", {%[a], %[b], %[c], %[c]}, {%[e], %[f], %[g], %[g]};"

WEIR_FETCH(fetch_1di, (int x), "tex.1d.v4", ".s32" WEIR_R "{%[x]}];", [x] "r"(x))
WEIR_FETCH(fetch_1d, (float x), "tex.1d.v4", ".f32" WEIR_R "{%[x]}];", WEIR_X)
WEIR_FETCH(fetch_1d_lod, (float x, float level), "tex.level.1d.v4", ".f32" WEIR_R "{%[x]}], %[d];",
           WEIR_X, WEIR_LOD)
WEIR_FETCH(fetch_1d_grad, (float x, float dx, float dy), "tex.grad.1d.v4",
           ".f32" WEIR_R "{%[x]}], {%[a]}, {%[b]};", WEIR_X, WEIR_D1)
WEIR_FETCH(fetch_a1d, (float x, int layer), "tex.a1d.v4", ".f32" WEIR_R "{%[l], %[x]}];", WEIR_X,
           WEIR_L)
WEIR_FETCH(fetch_a1d_lod, (float x, int layer, float level), "tex.level.a1d.v4",
           ".f32" WEIR_R "{%[l], %[x]}], %[d];", WEIR_X, WEIR_L, WEIR_LOD)
WEIR_FETCH(fetch_a1d_grad, (float x, int layer, float dx, float dy), "tex.grad.a1d.v4",
           ".f32" WEIR_R "{%[l], %[x]}], {%[a]}, {%[b]};", WEIR_X, WEIR_L, WEIR_D1)
WEIR_FETCH_SPARSE(fetch_2d, (float x, float y), "tex.2d.v4", "{%[x], %[y]}];", WEIR_XY)
WEIR_FETCH_SPARSE(fetch_2d_lod, (float x, float y, float level), "tex.level.2d.v4",
                  "{%[x], %[y]}], %[d];", WEIR_XY, WEIR_LOD)
WEIR_FETCH_SPARSE(fetch_2d_grad, (float x, float y, float2 dx, float2 dy), "tex.grad.2d.v4",
                  "{%[x], %[y]}], {%[a], %[b]}, {%[c], %[e]};", WEIR_XY, WEIR_D2)
WEIR_FETCH_SPARSE(fetch_a2d, (float x, float y, int layer), "tex.a2d.v4",
                  "{%[l], %[x], %[y], %[y]}];", WEIR_XY, WEIR_L)
WEIR_FETCH_SPARSE(fetch_a2d_lod, (float x, float y, int layer, float level), "tex.level.a2d.v4",
                  "{%[l], %[x], %[y], %[y]}], %[d];", WEIR_XY, WEIR_L, WEIR_LOD)
WEIR_FETCH_SPARSE(fetch_a2d_grad, (float x, float y, int layer, float2 dx, float2 dy),
                  "tex.grad.a2d.v4", "{%[l], %[x], %[y], %[y]}], {%[a], %[b]}, {%[c], %[e]};",
                  WEIR_XY, WEIR_L, WEIR_D2)
WEIR_FETCH_SPARSE(fetch_3d, (float x, float y, float z), "tex.3d.v4", "{%[x], %[y], %[z], %[z]}];",
                  WEIR_XYZ)
WEIR_FETCH_SPARSE(fetch_3d_lod, (float x, float y, float z, float level), "tex.level.3d.v4",
                  "{%[x], %[y], %[z], %[z]}], %[d];", WEIR_XYZ, WEIR_LOD)
WEIR_FETCH_SPARSE(fetch_3d_grad, (float x, float y, float z, float4 dx, float4 dy),
                  "tex.grad.3d.v4", "{%[x], %[y], %[z], %[z]}]" WEIR_G3, WEIR_XYZ, WEIR_D3)
WEIR_FETCH(fetch_cube, (float x, float y, float z), "tex.cube.v4",
           ".f32" WEIR_R "{%[x], %[y], %[z], %[z]}];", WEIR_XYZ)
WEIR_FETCH(fetch_cube_lod, (float x, float y, float z, float level), "tex.level.cube.v4",
           ".f32" WEIR_R "{%[x], %[y], %[z], %[z]}], %[d];", WEIR_XYZ, WEIR_LOD)
WEIR_FETCH(fetch_cube_grad, (float x, float y, float z, float4 dx, float4 dy), "tex.grad.cube.v4",
           ".f32" WEIR_R "{%[x], %[y], %[z], %[z]}]" WEIR_G3, WEIR_XYZ, WEIR_D3)
WEIR_FETCH(fetch_acube, (float x, float y, float z, int layer), "tex.acube.v4",
           ".f32" WEIR_R "{%[l], %[x], %[y], %[z]}];", WEIR_XYZ, WEIR_L)
WEIR_FETCH(fetch_acube_lod, (float x, float y, float z, int layer, float level),
           "tex.level.acube.v4", ".f32" WEIR_R "{%[l], %[x], %[y], %[z]}], %[d];", WEIR_XYZ, WEIR_L,
           WEIR_LOD)
WEIR_FETCH(fetch_acube_grad, (float x, float y, float z, int layer, float4 dx, float4 dy),
           "tex.grad.acube.v4", ".f32" WEIR_R "{%[l], %[x], %[y], %[z]}]" WEIR_G3, WEIR_XYZ, WEIR_L,
           WEIR_D3)
WEIR_FETCH_SPARSE(gather_r, (float x, float y), "tld4.r.2d.v4", "{%[x], %[y]}];", WEIR_XY)
WEIR_FETCH_SPARSE(gather_g, (float x, float y), "tld4.g.2d.v4", "{%[x], %[y]}];", WEIR_XY)
WEIR_FETCH_SPARSE(gather_b, (float x, float y), "tld4.b.2d.v4", "{%[x], %[y]}];", WEIR_XY)
WEIR_FETCH_SPARSE(gather_a, (float x, float y), "tld4.a.2d.v4", "{%[x], %[y]}];", WEIR_XY)

#undef WEIR_X
#undef WEIR_XY
#undef WEIR_XYZ
#undef WEIR_L
#undef WEIR_LOD
#undef WEIR_D1
#undef WEIR_D2
#undef WEIR_D3
#undef WEIR_R
#undef WEIR_R_RESIDENT
#undef WEIR_G3
#undef WEIR_FETCH
#undef WEIR_FETCH_SPARSE
#undef WEIR_FETCH_RESIDENT

} // namespace weir

/* The public function in its two forms: the value returned, the value stored through a pointer. */
#define WEIR_TEXTURE(name, parameters, arguments, fetch)                                           \
    template <typename T> WEIR_DEVICE T name(cudaTextureObject_t object, WEIR_UNPACK parameters)   \
    {                                                                                              \
        weir::fetched<T> four;                                                                     \
        weir::fetch(four, object, WEIR_UNPACK arguments);                                          \
        return weir::texel<T>::from(four);                                                         \
    }                                                                                              \
    template <typename T>                                                                          \
    WEIR_DEVICE void name(T *result, cudaTextureObject_t object, WEIR_UNPACK parameters)           \
    {                                                                                              \
        *result = name<T>(object, WEIR_UNPACK arguments);                                          \
    }
/* Those of planes and volumes, also with isResident. */
#define WEIR_TEXTURE_SPARSE(name, parameters, arguments, fetch)                                    \
    WEIR_TEXTURE(name, parameters, arguments, fetch)                                               \
    template <typename T>                                                                          \
    WEIR_DEVICE T name(cudaTextureObject_t object, WEIR_UNPACK parameters, bool *is_resident)      \
    {                                                                                              \
        weir::fetched<T> four;                                                                     \
        unsigned resident;                                                                         \
        weir::fetch(four, resident, object, WEIR_UNPACK arguments);                                \
        *is_resident = resident != 0;                                                              \
        return weir::texel<T>::from(four);                                                         \
    }                                                                                              \
    template <typename T>                                                                          \
    WEIR_DEVICE void name(T *result, cudaTextureObject_t object, WEIR_UNPACK parameters,           \
                          bool *is_resident)                                                       \
    {                                                                                              \
        *result = name<T>(object, WEIR_UNPACK arguments, is_resident);                             \
    }

WEIR_TEXTURE(tex1Dfetch, (int x), (x), fetch_1di)
WEIR_TEXTURE(tex1D, (float x), (x), fetch_1d)
WEIR_TEXTURE(tex1DLod, (float x, float level), (x, level), fetch_1d_lod)
WEIR_TEXTURE(tex1DGrad, (float x, float dx, float dy), (x, dx, dy), fetch_1d_grad)
WEIR_TEXTURE(tex1DLayered, (float x, int layer), (x, layer), fetch_a1d)
WEIR_TEXTURE(tex1DLayeredLod, (float x, int layer, float level), (x, layer, level), fetch_a1d_lod)
WEIR_TEXTURE(tex1DLayeredGrad, (float x, int layer, float dx, float dy), (x, layer, dx, dy),
             fetch_a1d_grad)
WEIR_TEXTURE_SPARSE(tex2D, (float x, float y), (x, y), fetch_2d)
WEIR_TEXTURE_SPARSE(tex2DLod, (float x, float y, float level), (x, y, level), fetch_2d_lod)
WEIR_TEXTURE_SPARSE(tex2DGrad, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy),
                    fetch_2d_grad)
WEIR_TEXTURE_SPARSE(tex2DLayered, (float x, float y, int layer), (x, y, layer), fetch_a2d)
WEIR_TEXTURE_SPARSE(tex2DLayeredLod, (float x, float y, int layer, float level),
                    (x, y, layer, level), fetch_a2d_lod)
WEIR_TEXTURE_SPARSE(tex2DLayeredGrad, (float x, float y, int layer, float2 dx, float2 dy),
                    (x, y, layer, dx, dy), fetch_a2d_grad)
WEIR_TEXTURE_SPARSE(tex3D, (float x, float y, float z), (x, y, z), fetch_3d)
WEIR_TEXTURE_SPARSE(tex3DLod, (float x, float y, float z, float level), (x, y, z, level),
                    fetch_3d_lod)
WEIR_TEXTURE_SPARSE(tex3DGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
                    fetch_3d_grad)
WEIR_TEXTURE(texCubemap, (float x, float y, float z), (x, y, z), fetch_cube)
WEIR_TEXTURE(texCubemapLod, (float x, float y, float z, float level), (x, y, z, level),
             fetch_cube_lod)
WEIR_TEXTURE(texCubemapGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
             fetch_cube_grad)
WEIR_TEXTURE(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer),
             fetch_acube)
WEIR_TEXTURE(texCubemapLayeredLod, (float x, float y, float z, int layer, float level),
             (x, y, z, layer, level), fetch_acube_lod)
WEIR_TEXTURE(texCubemapLayeredGrad, (float x, float y, float z, int layer, float4 dx, float4 dy),
             (x, y, z, layer, dx, dy), fetch_acube_grad)

/* The same component of the four texels that a linear fetch would weigh. */
template <typename T>
WEIR_DEVICE T tex2Dgather(cudaTextureObject_t object, float x, float y, int component = 0)
{
    weir::fetched<T> four;
    switch (component) {
    case 0: weir::gather_r(four, object, x, y); break;
    case 1: weir::gather_g(four, object, x, y); break;
    case 2: weir::gather_b(four, object, x, y); break;
    default: weir::gather_a(four, object, x, y); break;
    }
    return weir::texel<T>::from(four);
}
template <typename T>
WEIR_DEVICE void tex2Dgather(T *result, cudaTextureObject_t object, float x, float y,
                             int component = 0)
{
    *result = tex2Dgather<T>(object, x, y, component);
}
template <typename T>
WEIR_DEVICE T tex2Dgather(cudaTextureObject_t object, float x, float y, bool *is_resident,
                          int component = 0)
{
    weir::fetched<T> four;
    unsigned resident;
    switch (component) {
    case 0: weir::gather_r(four, resident, object, x, y); break;
    case 1: weir::gather_g(four, resident, object, x, y); break;
    case 2: weir::gather_b(four, resident, object, x, y); break;
    default: weir::gather_a(four, resident, object, x, y); break;
    }
    *is_resident = resident != 0;
    return weir::texel<T>::from(four);
}
template <typename T>
WEIR_DEVICE void tex2Dgather(T *result, cudaTextureObject_t object, float x, float y,
                             bool *is_resident, int component = 0)
{
    *result = tex2Dgather<T>(object, x, y, is_resident, component);
}

#undef WEIR_TEXTURE
#undef WEIR_TEXTURE_SPARSE
#undef WEIR_UNPACK

#pragma clang diagnostic pop

#endif
