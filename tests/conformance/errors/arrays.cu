/* E1: wrong arguments of the functions on arrays, and of textures and surfaces. */
#include "errors.h"

static char text[4096];
static const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost,
                            above = (cudaMemcpyKind)5;

static void making()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(), out;
    cudaChannelFormatDesc odd = {3, 0, 0, 0, cudaChannelFormatKindFloat},
                          gap = {32, 0, 32, 0, cudaChannelFormatKindFloat},
                          mixed = {32, 16, 0, 0, cudaChannelFormatKindFloat},
                          none = {0, 0, 0, 0, cudaChannelFormatKindFloat},
                          kind = {32, 0, 0, 0, (cudaChannelFormatKind)77},
                          bytes = {8, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaExtent extent;
    unsigned flags;
    cudaArray_t a, b, null = nullptr;

    MUST(cudaMallocArray(&a, &desc, 64, 16));
    ROW("no pointer", cudaMallocArray(nullptr, &desc, 64, 16), cudaErrorInvalidValue);
    ROW("no format", cudaMallocArray(&b, nullptr, 64, 16), cudaErrorInvalidValue);
    ROW("width 0", cudaMallocArray(&b, &desc, 0, 16), cudaErrorInvalidValue);
    ROW("width too large", cudaMallocArray(&b, &desc, (size_t)1 << 30, 1), cudaErrorInvalidValue);
    ROW("3 bits", cudaMallocArray(&b, &odd, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("a gap", cudaMallocArray(&b, &gap, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("mixed widths", cudaMallocArray(&b, &mixed, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("no bits", cudaMallocArray(&b, &none, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("unknown kind", cudaMallocArray(&b, &kind, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("float of 8 bits", cudaMallocArray(&b, &bytes, 64, 16), cudaErrorInvalidChannelDescriptor);
    ROW("unknown flags", cudaMallocArray(&b, &desc, 64, 16, 0x1000), cudaErrorInvalidValue);
    ROW("layered", cudaMallocArray(&b, &desc, 64, 16, cudaArrayLayered), cudaErrorInvalidValue);
    ROW("cube map", cudaMallocArray(&b, &desc, 64, 64, cudaArrayCubemap), cudaErrorInvalidValue);
    ROW("no pointer", cudaMalloc3DArray(nullptr, &desc, make_cudaExtent(8, 8, 8)),
        cudaErrorInvalidValue);
    ROW("width 0", cudaMalloc3DArray(&b, &desc, make_cudaExtent(0, 8, 8)), cudaErrorInvalidValue);
    ROW("height 0", cudaMalloc3DArray(&b, &desc, make_cudaExtent(8, 0, 8)), cudaErrorInvalidValue);
    ROW("depth too large", cudaMalloc3DArray(&b, &desc, make_cudaExtent(8, 8, 1 << 20)),
        cudaErrorInvalidValue);
    ROW("cube map of 5", cudaMalloc3DArray(&b, &desc, make_cudaExtent(8, 8, 5), cudaArrayCubemap),
        cudaErrorInvalidValue);
    ROW("cube map not square",
        cudaMalloc3DArray(&b, &desc, make_cudaExtent(8, 4, 6), cudaArrayCubemap),
        cudaErrorInvalidValue);
    ROW("layered, no layers",
        cudaMalloc3DArray(&b, &desc, make_cudaExtent(8, 8, 0), cudaArrayLayered),
        cudaErrorInvalidValue);
    ROW("nothing", cudaFreeArray(nullptr), cudaSuccess);
    ROW_UNDEFINED("no array", cudaFreeArray((cudaArray_t)text), cudaErrorInvalidResourceHandle);
    ROW("nothing", cudaFreeMipmappedArray(nullptr), cudaSuccess);
    ROW("nothing", cudaGetMipmappedArrayLevel(&b, nullptr, 0), cudaErrorInvalidResourceHandle);
    ROW("nothing at all", cudaArrayGetInfo(nullptr, nullptr, nullptr, a), cudaSuccess);
    ROW("no array", cudaArrayGetInfo(&out, &extent, &flags, null), cudaErrorInvalidResourceHandle);
    ROW("no answer", cudaArrayGetPlane(nullptr, a, 0), cudaErrorInvalidValue);
    ROW("no array", cudaArrayGetPlane(&b, null, 0), cudaErrorInvalidResourceHandle);
    ROW("one plane only", cudaArrayGetPlane(&b, a, 0), cudaErrorInvalidValue);
    ROW("no answer", cudaGetChannelDesc(nullptr, a), cudaErrorInvalidValue);
    ROW("no array", cudaGetChannelDesc(&out, null), cudaErrorInvalidResourceHandle);
}

static void mipmaps()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(),
                          odd = {3, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaExtent flat = make_cudaExtent(8, 8, 0);
    cudaMipmappedArray_t m, made;
    cudaArray_t level;
    cudaArrayMemoryRequirements memory;
    cudaArraySparseProperties sparse;
    cudaResourceDesc r = {};
    cudaTextureDesc d = {}, e;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;

    ROW("no pointer", cudaMallocMipmappedArray(nullptr, &desc, flat, 2), cudaErrorInvalidValue);
    ROW("no format", cudaMallocMipmappedArray(&m, nullptr, flat, 2), cudaErrorInvalidValue);
    ROW("width 0", cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(0, 8, 0), 2),
        cudaErrorInvalidValue);
    ROW("3 bits", cudaMallocMipmappedArray(&m, &odd, flat, 2), cudaErrorInvalidChannelDescriptor);
    ROW("unknown flags", cudaMallocMipmappedArray(&m, &desc, flat, 2, 0x1000),
        cudaErrorInvalidValue);
    ROW("cube map of 5",
        cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(8, 8, 5), 2, cudaArrayCubemap),
        cudaErrorInvalidValue);
    ROW("row too wide", cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(40000, 0, 0), 2),
        cudaErrorInvalidValue);
    ROW("no levels: one", cudaMallocMipmappedArray(&m, &desc, flat, 0), cudaSuccess);
    ROW("the second", cudaGetMipmappedArrayLevel(&level, m, 1), cudaErrorInvalidValue);
    ROW("more levels than there are", cudaMallocMipmappedArray(&m, &desc, flat, 9), cudaSuccess);
    ROW("the last", cudaGetMipmappedArrayLevel(&level, m, 3), cudaSuccess);
    ROW("after the last", cudaGetMipmappedArrayLevel(&level, m, 4), cudaErrorInvalidValue);
    MUST(cudaMallocMipmappedArray(&made, &desc, flat, 3, cudaArraySurfaceLoadStore));
    ROW("no answer", cudaGetMipmappedArrayLevel(nullptr, made, 0), cudaErrorInvalidValue);
    MUST(cudaGetMipmappedArrayLevel(&level, made, 1));
    ROW("past the level", cudaMemcpy2DToArray(level, 0, 0, text, 64, 20, 4, to_device),
        cudaErrorInvalidValue);
    ROW("the level", cudaMemcpy2DToArray(level, 0, 0, text, 64, 16, 4, to_device), cudaSuccess);
    ROW("no answer", cudaMipmappedArrayGetMemoryRequirements(nullptr, made, 0),
        cudaErrorInvalidValue);
    ROW("no array", cudaMipmappedArrayGetMemoryRequirements(&memory, nullptr, 0),
        cudaErrorInvalidValue);
    ROW("not deferred", cudaMipmappedArrayGetMemoryRequirements(&memory, made, 0),
        cudaErrorInvalidValue);
    ROW("unknown device", cudaMipmappedArrayGetMemoryRequirements(&memory, made, 77),
        cudaErrorInvalidValue);
    ROW("no answer", cudaMipmappedArrayGetSparseProperties(nullptr, made), cudaErrorInvalidValue);
    ROW("no array", cudaMipmappedArrayGetSparseProperties(&sparse, nullptr), cudaErrorInvalidValue);
    ROW("not sparse", cudaMipmappedArrayGetSparseProperties(&sparse, made), cudaErrorInvalidValue);
    r.resType = cudaResourceTypeMipmappedArray;
    d.normalizedCoords = 1;
    ROW("no array", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidResourceHandle);
    r.res.mipmap.mipmap = made;
    ROW("fine", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaSuccess);
    ROW("a surface of all levels", cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidValue);
    e = d;
    e.normalizedCoords = 0;
    ROW("coordinates in elements", cudaCreateTextureObject(&t, &r, &e, nullptr), cudaSuccess);
    e = d;
    e.mipmapFilterMode = (cudaTextureFilterMode)77;
    ROW("unknown filter", cudaCreateTextureObject(&t, &r, &e, nullptr), cudaErrorInvalidValue);
    e = d;
    e.readMode = cudaReadModeNormalizedFloat;
    ROW("floats as normalized floats", cudaCreateTextureObject(&t, &r, &e, nullptr),
        cudaErrorInvalidNormSetting);
    ROW("a level: nothing ends", cudaFreeArray(level), cudaSuccess);
    ROW("the level again", cudaArrayGetInfo(nullptr, nullptr, nullptr, level), cudaSuccess);
    ROW("all levels", cudaFreeMipmappedArray(made), cudaSuccess);
    ROW_UNDEFINED("again", cudaFreeMipmappedArray(made), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("a level that is gone", cudaFreeArray(level), cudaErrorInvalidResourceHandle);
}

static void copying()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t a, b, null = nullptr;
    cudaMemcpy3DParms v;

    MUST(cudaMallocArray(&a, &desc, 64, 16));
    MUST(cudaMallocArray(&b, &desc, 64, 16));
    ROW("no array", cudaMemcpy2DToArray(null, 0, 0, text, 64, 64, 4, to_device),
        cudaErrorInvalidResourceHandle);
    ROW("no source", cudaMemcpy2DToArray(a, 0, 0, nullptr, 64, 64, 4, to_device),
        cudaErrorInvalidValue);
    ROW("pitch", cudaMemcpy2DToArray(a, 0, 0, text, 32, 64, 4, to_device),
        cudaErrorInvalidPitchValue);
    ROW("kind 5", cudaMemcpy2DToArray(a, 0, 0, text, 64, 64, 4, above),
        cudaErrorInvalidMemcpyDirection);
    ROW("to host", cudaMemcpy2DToArray(a, 0, 0, text, 64, 64, 4, to_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("past the row", cudaMemcpy2DToArray(a, 252, 0, text, 64, 64, 4, to_device),
        cudaErrorInvalidValue);
    ROW("past the rows", cudaMemcpy2DToArray(a, 0, 13, text, 64, 64, 4, to_device),
        cudaErrorInvalidValue);
    ROW("part of an element", cudaMemcpy2DToArray(a, 2, 0, text, 64, 64, 4, to_device),
        cudaSuccess);
    ROW("width 0", cudaMemcpy2DToArray(a, 0, 0, text, 64, 0, 4, to_device), cudaSuccess);
    ROW("no array", cudaMemcpy2DFromArray(text, 64, null, 0, 0, 64, 4, to_host),
        cudaErrorInvalidResourceHandle);
    ROW("no target", cudaMemcpy2DFromArray(nullptr, 64, a, 0, 0, 64, 4, to_host),
        cudaErrorInvalidValue);
    ROW("pitch", cudaMemcpy2DFromArray(text, 32, a, 0, 0, 64, 4, to_host),
        cudaErrorInvalidPitchValue);
    ROW("to device", cudaMemcpy2DFromArray(text, 64, a, 0, 0, 64, 4, to_device),
        cudaErrorInvalidMemcpyDirection);
    ROW("past the rows", cudaMemcpy2DFromArray(text, 64, a, 0, 13, 64, 4, to_host),
        cudaErrorInvalidValue);
    ROW("no array", cudaMemcpy2DArrayToArray(null, 0, 0, a, 0, 0, 64, 4), cudaErrorInvalidValue);
    ROW("to host", cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 64, 4, to_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("past the rows", cudaMemcpy2DArrayToArray(b, 0, 14, a, 0, 0, 64, 4), cudaErrorInvalidValue);
    ROW("no array", cudaMemcpyToArray(null, 0, 0, text, 64, to_device),
        cudaErrorInvalidResourceHandle);
    ROW("past the end", cudaMemcpyToArray(a, 0, 0, text, 64 * 16 * 4 + 4, to_device),
        cudaErrorInvalidValue);
    ROW("no array", cudaMemcpyFromArray(text, null, 0, 0, 64, to_host),
        cudaErrorInvalidResourceHandle);
    ROW("no array", cudaMemcpyArrayToArray(null, 0, 0, a, 0, 0, 64),
        cudaErrorInvalidResourceHandle);
    memset(&v, 0, sizeof v);
    v.srcPtr = make_cudaPitchedPtr(text, 64, 64, 4);
    v.dstArray = a;
    v.extent = make_cudaExtent(16, 4, 1);
    v.kind = to_device;
    ROW("fine", cudaMemcpy3D(&v), cudaSuccess);
    v.kind = to_host;
    ROW("to host", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v.kind = to_device;
    v.dstPtr = v.srcPtr;
    ROW("two targets", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    memset(&v.dstPtr, 0, sizeof v.dstPtr);
    v.extent.width = 65;
    ROW("past the row", cudaMemcpy3D(&v), cudaErrorInvalidPitchValue);
    v.extent.width = 17;
    ROW("past the source's row", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v.extent.width = 16;
    v.extent.depth = 2;
    ROW("past the depth", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v.extent.depth = 1;
    v.dstPos.x = (size_t)1 << 62; /* times 4 bytes: 0 */
    ROW_UNDEFINED("a place that wraps", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v.dstPos.x = 0;
    v.extent = make_cudaExtent((size_t)1 << 62, 1, 1);
    ROW_UNDEFINED("a width that wraps", cudaMemcpy3D(&v), cudaErrorInvalidValue);
}

static cudaResourceDesc linear(void *p)
{
    cudaResourceDesc r;

    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = 1024;
    return r;
}

static cudaResourceDesc pitched(void *p)
{
    cudaResourceDesc r;

    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = 32;
    r.res.pitch2D.height = 8;
    r.res.pitch2D.pitchInBytes = 512;
    return r;
}

static void textures()
{
    char *p;
    cudaArray_t a;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaTextureObject_t t, made;
    cudaResourceDesc r, array;
    cudaTextureDesc d, e;
    cudaResourceViewDesc view;

    MUST(cudaMalloc(&p, 65536));
    MUST(cudaMallocArray(&a, &desc, 64, 16));
    memset(&array, 0, sizeof array);
    array.resType = cudaResourceTypeArray;
    array.res.array.array = a;
    memset(&d, 0, sizeof d);
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
    r = linear(p);
    MUST(cudaCreateTextureObject(&made, &array, &d, nullptr));
    ROW("no answer", cudaCreateTextureObject(nullptr, &r, &d, nullptr), cudaErrorInvalidValue);
    array.res.array.array = nullptr;
    ROW("no array, no answer", cudaCreateTextureObject(nullptr, &array, &d, nullptr),
        cudaErrorInvalidResourceHandle);
    array.res.array.array = a;
    ROW("no resource", cudaCreateTextureObject(&t, nullptr, &d, nullptr), cudaErrorInvalidValue);
    ROW("no description", cudaCreateTextureObject(&t, &r, nullptr, nullptr),
        cudaErrorInvalidResourceHandle);
    ROW("fine", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaSuccess);
    r = linear(nullptr);
    ROW("no memory", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = linear(p + 4);
    ROW("not aligned", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = linear(p);
    r.res.linear.sizeInBytes = (size_t)1 << 40;
    ROW("too large", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = linear(p);
    r.res.linear.desc.x = 3;
    ROW("3 bits", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidChannelDescriptor);
    r = linear(p);
    r.resType = (cudaResourceType)77;
    ROW("unknown resource", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = pitched(p);
    ROW("rows", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaSuccess);
    r.res.pitch2D.pitchInBytes = 64;
    ROW("pitch below the row", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaSuccess);
    r.res.pitch2D.pitchInBytes = 132;
    ROW("pitch not aligned", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = pitched(p);
    r.res.pitch2D.width = 1 << 20;
    ROW("too wide", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidValue);
    r = array;
    r.res.array.array = nullptr;
    ROW("no array", cudaCreateTextureObject(&t, &r, &d, nullptr), cudaErrorInvalidResourceHandle);
    e = d;
    e.addressMode[0] = (cudaTextureAddressMode)77;
    ROW("unknown addressing", cudaCreateTextureObject(&t, &array, &e, nullptr),
        cudaErrorInvalidValue);
    e = d;
    e.filterMode = (cudaTextureFilterMode)77;
    ROW("unknown filter", cudaCreateTextureObject(&t, &array, &e, nullptr), cudaErrorInvalidValue);
    e = d;
    e.readMode = cudaReadModeNormalizedFloat;
    ROW("floats as normalized floats", cudaCreateTextureObject(&t, &array, &e, nullptr),
        cudaErrorInvalidNormSetting);
    e = d;
    e.maxAnisotropy = 99;
    ROW("anisotropy 99", cudaCreateTextureObject(&t, &array, &e, nullptr), cudaSuccess);
    memset(&view, 0, sizeof view);
    view.format = (cudaResourceViewFormat)9999;
    ROW("unknown view", cudaCreateTextureObject(&t, &array, &d, &view), cudaErrorInvalidValue);
    ROW("nothing", cudaDestroyTextureObject(0), cudaSuccess);
    ROW_UNDEFINED("no texture", cudaDestroyTextureObject(0x123456), cudaErrorInvalidValue);
    ROW("no answer", cudaGetTextureObjectResourceDesc(nullptr, made), cudaErrorInvalidValue);
    ROW("no answer", cudaGetTextureObjectTextureDesc(nullptr, made),
        cudaErrorInvalidResourceHandle);
    ROW("no answer", cudaGetTextureObjectResourceViewDesc(nullptr, made), cudaSuccess);
    ROW("made without view", cudaGetTextureObjectResourceViewDesc(&view, made), cudaSuccess);
    ROW("nothing", cudaGetTextureObjectResourceDesc(&r, 0), cudaErrorInvalidValue);
    ROW("nothing", cudaGetTextureObjectTextureDesc(&e, 0), cudaErrorInvalidValue);
}

static void surfaces()
{
    void *p;
    cudaArray_t plain, loads;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaSurfaceObject_t s, made;
    cudaResourceDesc r, array;

    MUST(cudaMalloc(&p, 65536));
    MUST(cudaMallocArray(&plain, &desc, 64, 16));
    MUST(cudaMallocArray(&loads, &desc, 64, 16, cudaArraySurfaceLoadStore));
    memset(&array, 0, sizeof array);
    array.resType = cudaResourceTypeArray;
    array.res.array.array = loads;
    MUST(cudaCreateSurfaceObject(&made, &array));
    ROW("no answer", cudaCreateSurfaceObject(nullptr, &array), cudaErrorInvalidValue);
    ROW("no resource", cudaCreateSurfaceObject(&s, nullptr), cudaErrorInvalidValue);
    r = array;
    r.res.array.array = plain;
    ROW("array not for surfaces", cudaCreateSurfaceObject(&s, &r), cudaSuccess);
    r.res.array.array = nullptr;
    ROW("no array", cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidResourceHandle);
    r = linear(p);
    ROW("linear memory", cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidValue);
    ROW("nothing", cudaDestroySurfaceObject(0), cudaSuccess);
    ROW_UNDEFINED("no surface", cudaDestroySurfaceObject(0x123456), cudaErrorInvalidValue);
    ROW("no answer", cudaGetSurfaceObjectResourceDesc(nullptr, made), cudaErrorInvalidDevice);
    ROW("nothing", cudaGetSurfaceObjectResourceDesc(&r, 0), cudaErrorInvalidValue);
}

static void rows()
{
    making();
    mipmaps();
    copying();
    textures();
    surfaces();
}

ERROR_TABLE_MAIN(rows)
