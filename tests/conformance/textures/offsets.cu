// SANITIZERS: offsets of fetches (src/exec/texture.c)
/* K2: tex and tld4 with what may follow the coordinates.
 *
 * An offset moves the place by whole elements before the address mode counts, whatever the
 * geometry, the filter and the coordinates' kind. So a read with an offset is the read at a
 * coordinate that is as many elements further. Coordinates here are such that moving them loses no
 * bit. In linear memory there are no offsets.
 *
 * A value to compare with is for depth textures. No call makes one; others are read as ever. */
#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

enum { SIDE = 16, LAYERS = 4, POINTS = 64 };

struct place {
    float x, y, z;  /* coordinates, in elements */
    int layer;      /* of layered textures */
    int dx, dy, dz; /* offset, -8 to 7 */
};

enum kind {
    T1D,
    T2D,
    T3D,
    TA1D,
    TA2D,
    T2D_LEVEL,
    T2D_GRAD,
    GATHER,
    GATHER_LAYER,
    T1D_INDEX,
    T2D_INDEX,
    T3D_INDEX,
    TA2D_INDEX,
    KINDS
};

#define TO     "{%0, %1, %2, %3}"
#define OUT(r) "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)

/* `unit` is what an element further means in coordinates. */
__device__ float4 moved(kind k, cudaTextureObject_t t, place p, float unit)
{
    float4 r;
    float x = (p.x + p.dx) * unit, y = (p.y + p.dy) * unit, z = (p.z + p.dz) * unit, f = 0;
    int i = (int)p.x + p.dx, j = (int)p.y + p.dy, l = (int)p.z + p.dz;
    switch (k) {
    case T1D:
        asm volatile("tex.1d.v4.f32.f32 " TO ", [%4, {%5}];" : OUT(r) : "l"(t), "f"(x));
        break;
    case T3D:
        asm volatile("tex.3d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}];"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "f"(z));
        break;
    case TA1D:
        asm volatile("tex.a1d.v4.f32.f32 " TO ", [%4, {%5, %6}];"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x));
        break;
    case TA2D:
        asm volatile("tex.a2d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}];"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x), "f"(y));
        break;
    case GATHER:
        asm volatile("tld4.r.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y));
        break;
    case GATHER_LAYER:
        asm volatile("tld4.r.a2d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}];"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x), "f"(y));
        break;
    case T1D_INDEX:
        asm volatile("tex.1d.v4.f32.s32 " TO ", [%4, {%5}];" : OUT(r) : "l"(t), "r"(i));
        break;
    case T2D_INDEX:
        asm volatile("tex.2d.v4.f32.s32 " TO ", [%4, {%5, %6}];" : OUT(r) : "l"(t), "r"(i), "r"(j));
        break;
    case T3D_INDEX:
        asm volatile("tex.3d.v4.f32.s32 " TO ", [%4, {%5, %6, %7, %7}];"
                     : OUT(r)
                     : "l"(t), "r"(i), "r"(j), "r"(l));
        break;
    case TA2D_INDEX:
        asm volatile("tex.a2d.v4.f32.s32 " TO ", [%4, {%5, %6, %7, %7}];"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "r"(i), "r"(j));
        break;
    default:
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "f"(f));
    }
    return r;
}

__device__ float4 offset(kind k, cudaTextureObject_t t, place p, float unit)
{
    float4 r;
    float x = p.x * unit, y = p.y * unit, z = p.z * unit, f = 0;
    int i = (int)p.x, j = (int)p.y, l = (int)p.z;
    switch (k) {
    case T1D:
        asm volatile("tex.1d.v4.f32.f32 " TO ", [%4, {%5}], {%6};"
                     : OUT(r)
                     : "l"(t), "f"(x), "r"(p.dx));
        break;
    case T3D:
        asm volatile("tex.3d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}], {%8, %9, %10, %10};"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "f"(z), "r"(p.dx), "r"(p.dy), "r"(p.dz));
        break;
    case TA1D:
        asm volatile("tex.a1d.v4.f32.f32 " TO ", [%4, {%5, %6}], {%7};"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x), "r"(p.dx));
        break;
    case TA2D:
        asm volatile("tex.a2d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}], {%8, %9};"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x), "f"(y), "r"(p.dx), "r"(p.dy));
        break;
    case T2D_LEVEL:
        asm volatile("tex.level.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], %7, {%8, %9};"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "f"(f), "r"(p.dx), "r"(p.dy));
        break;
    case T2D_GRAD:
        asm volatile("tex.grad.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], {%7, %7}, {%7, %7}, {%8, %9};"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "f"(f), "r"(p.dx), "r"(p.dy));
        break;
    case GATHER:
        asm volatile("tld4.r.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], {%7, %8};"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "r"(p.dx), "r"(p.dy));
        break;
    case GATHER_LAYER:
        asm volatile("tld4.r.a2d.v4.f32.f32 " TO ", [%4, {%5, %6, %7, %7}], {%8, %9};"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "f"(x), "f"(y), "r"(p.dx), "r"(p.dy));
        break;
    case T1D_INDEX:
        asm volatile("tex.1d.v4.f32.s32 " TO ", [%4, {%5}], {%6};"
                     : OUT(r)
                     : "l"(t), "r"(i), "r"(p.dx));
        break;
    case T2D_INDEX:
        asm volatile("tex.2d.v4.f32.s32 " TO ", [%4, {%5, %6}], {%7, %8};"
                     : OUT(r)
                     : "l"(t), "r"(i), "r"(j), "r"(p.dx), "r"(p.dy));
        break;
    case T3D_INDEX:
        asm volatile("tex.3d.v4.f32.s32 " TO ", [%4, {%5, %6, %7, %7}], {%8, %9, %10, %10};"
                     : OUT(r)
                     : "l"(t), "r"(i), "r"(j), "r"(l), "r"(p.dx), "r"(p.dy), "r"(p.dz));
        break;
    case TA2D_INDEX:
        asm volatile("tex.a2d.v4.f32.s32 " TO ", [%4, {%5, %6, %7, %7}], {%8, %9};"
                     : OUT(r)
                     : "l"(t), "r"(p.layer), "r"(i), "r"(j), "r"(p.dx), "r"(p.dy));
        break;
    default:
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], {%7, %8};"
                     : OUT(r)
                     : "l"(t), "f"(x), "f"(y), "r"(p.dx), "r"(p.dy));
    }
    return r;
}

__global__ void both(kind k, cudaTextureObject_t t, const place *places, float unit, float4 *with,
                     float4 *without)
{
    with[threadIdx.x] = offset(k, t, places[threadIdx.x], unit);
    without[threadIdx.x] = moved(k, t, places[threadIdx.x], unit);
}

/* Constant offsets, among a lane's own. */
__global__ void constants(cudaTextureObject_t t, float4 *with, float4 *without)
{
    float x = 0.25f * threadIdx.x, y = 5.5f, x2 = x - 8, y2 = y + 7;
    float4 a, b;
    asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], {-8, 7};"
                 : OUT(a)
                 : "l"(t), "f"(x), "f"(y));
    asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];" : OUT(b) : "l"(t), "f"(x2), "f"(y2));
    with[threadIdx.x] = a;
    without[threadIdx.x] = b;
}

/* A value to compare with, alone and after an offset, read and gathered. */
__global__ void compared(cudaTextureObject_t t, float4 *with, float4 *without)
{
    float x = 0.25f * threadIdx.x, y = 5.75f, x2 = x + 3, y2 = y - 2, v = 100.0f * threadIdx.x;
    float4 a, b;
    switch (threadIdx.x % 4) {
    case 0:
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], %7;"
                     : OUT(a)
                     : "l"(t), "f"(x), "f"(y), "f"(v));
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];" : OUT(b) : "l"(t), "f"(x), "f"(y));
        break;
    case 1:
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], {3, -2}, %7;"
                     : OUT(a)
                     : "l"(t), "f"(x), "f"(y), "f"(v));
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];"
                     : OUT(b)
                     : "l"(t), "f"(x2), "f"(y2));
        break;
    case 2:
        asm volatile("tld4.r.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], %7;"
                     : OUT(a)
                     : "l"(t), "f"(x), "f"(y), "f"(v));
        asm volatile("tld4.r.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];"
                     : OUT(b)
                     : "l"(t), "f"(x), "f"(y));
        break;
    default:
        asm volatile("tex.level.2d.v4.f32.f32 " TO ", [%4, {%5, %6}], 0f00000000, %7;"
                     : OUT(a)
                     : "l"(t), "f"(x), "f"(y), "f"(v));
        asm volatile("tex.2d.v4.f32.f32 " TO ", [%4, {%5, %6}];" : OUT(b) : "l"(t), "f"(x), "f"(y));
    }
    with[threadIdx.x] = a;
    without[threadIdx.x] = b;
}

__global__ void in_memory(cudaTextureObject_t t, float4 *with, float4 *without)
{
    int i = threadIdx.x - 2, offset = threadIdx.x % 16 - 8;
    float4 a, b;
    asm volatile("tex.1d.v4.f32.s32 " TO ", [%4, {%5}], {%6};"
                 : OUT(a)
                 : "l"(t), "r"(i), "r"(offset));
    asm volatile("tex.1d.v4.f32.s32 " TO ", [%4, {%5}];" : OUT(b) : "l"(t), "r"(i));
    with[threadIdx.x] = a;
    without[threadIdx.x] = b;
}

static cudaArray_t make(kind k)
{
    bool rows = k == T1D || k == T1D_INDEX || k == TA1D;
    bool layered = k == TA1D || k == TA2D || k == GATHER_LAYER || k == TA2D_INDEX;
    bool deep = k == T3D || k == T3D_INDEX;
    size_t height = rows ? 1 : SIDE, depth = layered ? LAYERS : deep ? SIDE : 1;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    unsigned flags = (layered ? cudaArrayLayered : 0) | (k == GATHER ? cudaArrayTextureGather : 0);
    std::vector<float4> host(SIDE * height * depth);
    for (size_t n = 0; n < host.size(); n++) {
        float v = (float)(n * 2654435761u >> 8 & 0xffff);
        host[n] = make_float4(v, -v, v + 0.5f, (float)n);
    }
    cudaArray_t a = nullptr;
    OK(cudaMalloc3DArray(
        &a, &format, make_cudaExtent(SIDE, rows ? 0 : SIDE, layered || deep ? depth : 0), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), SIDE * sizeof(float4), SIDE, height);
    copy.dstArray = a;
    copy.extent = make_cudaExtent(SIDE, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    return a;
}

static void fill(place *p, int seed)
{
    uint32_t state = 12345 + seed;
    auto next = [&] { return (state = state * 1664525 + 1013904223) >> 10; };
    for (int n = 0; n < POINTS; n++) {
        /* eighths of elements; indices are their whole parts */
        p[n].x = (float)((int)(next() % (8 * 24)) - 32) / 8;
        p[n].y = (float)((int)(next() % (8 * 24)) - 32) / 8;
        p[n].z = (float)((int)(next() % (8 * 24)) - 32) / 8;
        p[n].layer = next() % LAYERS;
        p[n].dx = (int)(next() % 16) - 8;
        p[n].dy = (int)(next() % 16) - 8;
        p[n].dz = (int)(next() % 16) - 8;
    }
}

static place *places;
static float4 *with, *without;

static void compare(kind k, const char *how)
{
    OK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int n = 0; n < POINTS; n++)
        if (memcmp(&with[n], &without[n], sizeof(float4)) != 0 && wrong++ == 0)
            printf(
                "kind %d, %s, point %d (%g %g %g) + (%d %d %d): %g %g %g %g, moved %g %g %g %g\n",
                k, how, n, places[n].x, places[n].y, places[n].z, places[n].dx, places[n].dy,
                places[n].dz, with[n].x, with[n].y, with[n].z, with[n].w, without[n].x,
                without[n].y, without[n].z, without[n].w);
    CHECK_EQ_INT(wrong, 0);
}

static cudaTextureObject_t bind(cudaArray_t a, bool rows, int address, bool linear, bool normalized)
{
    cudaResourceDesc r = {};
    cudaTextureDesc h = {};
    cudaTextureObject_t t = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    h.addressMode[0] = (cudaTextureAddressMode)address;
    /* a row is between border and border in the second mode; a GPU's offset leads there, too */
    h.addressMode[1] = rows ? cudaAddressModeClamp : h.addressMode[0];
    h.addressMode[2] = h.addressMode[0];
    h.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    h.normalizedCoords = normalized;
    for (int c = 0; c < 4; c++)
        h.borderColor[c] = 100.0f + c;
    OK(cudaCreateTextureObject(&t, &r, &h, nullptr));
    return t;
}

static void try_kind(kind k)
{
    cudaArray_t a = make(k);
    bool index = k >= T1D_INDEX;
    for (int how = 0; how < 16; how++) {
        int address = how & 3; /* wrap, clamp, mirror, border */
        bool linear = how & 4, normalized = how & 8;
        if (index && (linear || normalized))
            continue;
        cudaTextureObject_t t = bind(a, k == T1D || k == T1D_INDEX, address, linear, normalized);
        char text[80];
        snprintf(text, sizeof text, "address mode %d, %s, %s", address, linear ? "linear" : "point",
                 normalized ? "normalized" : "elements");
        fill(places, 16 * k + how);
        both<<<1, POINTS>>>(k, t, places, normalized ? 1.0f / SIDE : 1.0f, with, without);
        compare(k, text);
        OK(cudaDestroyTextureObject(t));
    }
    if (k == T2D) {
        cudaTextureObject_t t = bind(a, false, cudaAddressModeBorder, true, false);
        constants<<<1, POINTS>>>(t, with, without);
        compare(k, "constant offsets");
        compared<<<1, POINTS>>>(t, with, without);
        compare(k, "compared");
        OK(cudaDestroyTextureObject(t));
    }
    OK(cudaFreeArray(a));
}

static void try_memory()
{
    float4 *memory;
    cudaResourceDesc r = {};
    cudaTextureDesc h = {};
    cudaTextureObject_t t = 0;
    OK(cudaMallocManaged(&memory, SIDE * sizeof *memory));
    for (int n = 0; n < SIDE; n++)
        memory[n] = make_float4(n + 1.0f, 0, 0, -n);
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = memory;
    r.res.linear.desc = cudaCreateChannelDesc<float4>();
    r.res.linear.sizeInBytes = SIDE * sizeof *memory;
    OK(cudaCreateTextureObject(&t, &r, &h, nullptr));
    in_memory<<<1, POINTS>>>(t, with, without);
    compare(T1D_INDEX, "linear memory");
    CHECK(with[2].x == 1.0f && with[SIDE + 1].x == SIDE);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(memory));
}

int main()
{
    OK(cudaMallocManaged(&places, POINTS * sizeof *places));
    OK(cudaMallocManaged(&with, POINTS * sizeof *with));
    OK(cudaMallocManaged(&without, POINTS * sizeof *without));
    for (int k = 0; k < KINDS; k++)
        try_kind((kind)k);
    try_memory();
    return check_done();
}
