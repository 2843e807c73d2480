// Textures of other kinds: linear and pitched memory, layers, cube maps; gathering, levels,
// gradients, integer coordinates, halves, queries; several objects in a warp.
#include <cstdio>
#include <cstdlib>

#include <cuda_fp16.h>

#include "check.h"
#include "reference.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

enum { WIDTH = 16, HEIGHT = 8, LAYERS = 5, SIDE = 8 };

static float *results; // managed

static cudaTextureObject_t texture(const cudaResourceDesc &resource, cudaTextureFilterMode filter,
                                   cudaTextureAddressMode address, bool normalized)
{
    cudaTextureDesc how = {};
    cudaTextureObject_t object = 0;
    how.filterMode = filter;
    how.normalizedCoords = normalized;
    for (auto &mode : how.addressMode)
        mode = address;
    OK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    return object;
}

// An array of floats: 1000 * slice + 100 * row + column.
static cudaArray_t numbers(cudaExtent extent, unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    size_t rows = extent.height ? extent.height : 1, slices = extent.depth ? extent.depth : 1;
    std::vector<float> host(extent.width * rows * slices);
    for (size_t i = 0; i < host.size(); i++)
        host[i] =
            1000 * (i / extent.width / rows) + 100 * (i / extent.width % rows) + i % extent.width;
    OK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr =
        make_cudaPitchedPtr(host.data(), extent.width * sizeof(float), extent.width, rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, rows, slices);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    return array;
}

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static void finish(void) { OK(cudaDeviceSynchronize()); }

// ---- linear memory ---------------------------------------------------------------------------

__global__ void fetch_linear(cudaTextureObject_t object, int first, int n, float *out)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float>(object, first + i);
}

__global__ void fetch_linear4(cudaTextureObject_t object, int n, float4 *out)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float4>(object, i);
}

static void test_linear(void)
{
    enum { COUNT = 100 };
    short host[COUNT];
    short *memory;
    for (int i = 0; i < COUNT; i++)
        host[i] = (short)(i * 300 - 15000);
    OK(cudaMalloc(&memory, sizeof host));
    OK(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<short>();
    resource.res.linear.sizeInBytes = sizeof host;
    cudaTextureDesc how = {};
    cudaTextureObject_t object;
    how.readMode = cudaReadModeNormalizedFloat;
    OK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    fetch_linear<<<1, 128>>>(object, -10, 128, results);
    finish();
    for (int i = 0; i < 128; i++) {
        float want = i < 10 || i >= 110 ? 0 : (float)host[i - 10] / 32767;
        CHECK(results[i] == want);
    }
    OK(cudaDestroyTextureObject(object));
    resource.res.linear.desc = cudaCreateChannelDesc<short2>();
    OK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    fetch_linear4<<<1, 64>>>(object, 51, (float4 *)results);
    finish();
    for (int i = 0; i < 50; i++) {
        CHECK(results[4 * i] == (float)host[2 * i] / 32767);
        CHECK(results[4 * i + 1] == (float)host[2 * i + 1] / 32767);
        CHECK(results[4 * i + 2] == 0 && results[4 * i + 3] == 0);
    }
    for (int c = 0; c < 4; c++)
        CHECK(results[4 * 50 + c] == 0);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(memory));
}

// ---- two dimensions ----------------------------------------------------------------------------

__global__ void fetch_2d(cudaTextureObject_t object, float x, float step, float y, float *out)
{
    int i = threadIdx.x;
    out[i] = tex2D<float>(object, x + i * step, y);
}

static void test_pitched(void)
{
    char *memory;
    size_t pitch;
    float host[HEIGHT][WIDTH];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            host[y][x] = 100 * y + x;
    OK(cudaMallocPitch((void **)&memory, &pitch, sizeof host[0], HEIGHT));
    OK(cudaMemcpy2D(memory, pitch, host, sizeof host[0], sizeof host[0], HEIGHT,
                    cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = WIDTH;
    resource.res.pitch2D.height = HEIGHT;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t object =
        texture(resource, cudaFilterModeLinear, cudaAddressModeClamp, false);
    fetch_2d<<<1, 64>>>(object, 0.5f, 0.25f, 3.0f, results);
    finish();
    for (int i = 0; i < 64; i++)
        CHECK(results[i] == 250 + (i < 60 ? i * 0.25f : 15));
    OK(cudaDestroyTextureObject(object));
    resource.res.pitch2D.pitchInBytes = pitch + 1;
    cudaTextureDesc how = {};
    CHECK_EQ_INT(cudaCreateTextureObject(&object, &resource, &how, nullptr), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaFree(memory));
}

// Each lane its own texture.
__global__ void fetch_any(const cudaTextureObject_t *objects, int n, float *out)
{
    int i = threadIdx.x;
    if (i % 5 != 4)
        out[i] = tex2D<float>(objects[i % n], i % WIDTH, i % HEIGHT);
    else
        out[i] = -1;
}

static void test_several(void)
{
    cudaTextureObject_t *objects;
    cudaArray_t arrays[3];
    OK(cudaMallocManaged(&objects, 3 * sizeof *objects));
    for (int n = 0; n < 3; n++) {
        float host[HEIGHT][WIDTH];
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        for (int i = 0; i < HEIGHT * WIDTH; i++)
            host[0][i] = 10000 * n + i;
        OK(cudaMallocArray(&arrays[n], &format, WIDTH, HEIGHT));
        OK(cudaMemcpy2DToArray(arrays[n], 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT,
                               cudaMemcpyHostToDevice));
        objects[n] = texture(of_array(arrays[n]), cudaFilterModePoint, cudaAddressModeClamp, false);
    }
    fetch_any<<<1, 96>>>(objects, 3, results);
    finish();
    for (int i = 0; i < 96; i++)
        CHECK(results[i] == (i % 5 == 4 ? -1 : 10000 * (i % 3) + i % HEIGHT * WIDTH + i % WIDTH));
    for (int n = 0; n < 3; n++) {
        OK(cudaDestroyTextureObject(objects[n]));
        OK(cudaFreeArray(arrays[n]));
    }
    OK(cudaFree(objects));
}

__global__ void gather(cudaTextureObject_t object, float x, float y, float4 *out)
{
    out[0] = tex2Dgather<float4>(object, x, y, 0);
    out[1] = tex2Dgather<float4>(object, x, y, 1);
    out[2] = tex2Dgather<float4>(object, x, y, 3);
}

static void test_gather(void)
{
    cudaArray_t array = numbers(make_cudaExtent(WIDTH, HEIGHT, 0), cudaArrayTextureGather);
    cudaTextureObject_t object =
        texture(of_array(array), cudaFilterModePoint, cudaAddressModeClamp, false);
    gather<<<1, 1>>>(object, 4.0f, 3.0f, (float4 *)results);
    finish();
    const float want[12] = {303, 304, 204, 203, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int n = 0; n < 12; n++)
        CHECK(results[n] == want[n]);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(array));
}

// What the headers have no function for.
__global__ void raw(cudaTextureObject_t object, float *out, unsigned *queries)
{
    float v[4];
    unsigned h[2];
    bool resident;
    int i = threadIdx.x;
    asm("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
        : "l"(object), "r"(i - 4), "r"(2));
    out[i] = v[0];
    asm("tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];"
        : "=r"(h[0]), "=r"(h[1])
        : "l"(object), "f"((float)i), "f"(2.0f));
    out[32 + i] = __half2float(__ushort_as_half((unsigned short)h[0]));
    out[64 + i] = __half2float(__ushort_as_half((unsigned short)(h[1] >> 16)));
    asm("{ .reg .pred p; tex.2d.v4.f32.f32 {%0, %1, %2, %3}|p, [%5, {%6, %7}]; selp.u32 %4, 1, 0, "
        "p; }"
        : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=r"(h[0])
        : "l"(object), "f"(1.0f), "f"(2.0f));
    resident = h[0] != 0;
    out[96 + i] = resident ? v[0] : -1;
    unsigned short half[4];
    asm("tex.2d.v4.f16.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=h"(half[0]), "=h"(half[1]), "=h"(half[2]), "=h"(half[3])
        : "l"(object), "f"((float)i), "f"(2.0f));
    out[128 + i] =
        half[1] == 0 && half[2] == 0 && half[3] == 0 ? __half2float(__ushort_as_half(half[0])) : -1;
    asm("txq.width.b32 %0, [%1];" : "=r"(queries[0]) : "l"(object));
    asm("txq.height.b32 %0, [%1];" : "=r"(queries[1]) : "l"(object));
    asm("txq.depth.b32 %0, [%1];" : "=r"(queries[2]) : "l"(object));
    asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(queries[3]) : "l"(object));
    asm("txq.filter_mode.b32 %0, [%1];" : "=r"(queries[4]) : "l"(object));
    asm("txq.addr_mode_0.b32 %0, [%1];" : "=r"(queries[5]) : "l"(object));
    asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(queries[6]) : "l"(object), "r"(0));
    asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(queries[7]) : "l"(object), "r"(0));
    asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(queries[8]) : "l"(object), "r"(1));
}

static void test_raw(void)
{
    cudaArray_t array = numbers(make_cudaExtent(WIDTH, HEIGHT, 0), 0);
    cudaTextureObject_t object =
        texture(of_array(array), cudaFilterModePoint, cudaAddressModeClamp, false);
    unsigned *queries;
    OK(cudaMallocManaged(&queries, 64));
    cudaGetLastError(); /* of refusals before */
    raw<<<1, 32>>>(object, results, queries);
    OK(cudaGetLastError());
    finish();
    for (int i = 0; i < 32; i++) {
        CHECK(results[i] == (i < 4 || i > 19 ? 0 : 196 + i)); // indices: outside is nothing
        CHECK(results[32 + i] == 200 + (i > 15 ? 15 : i));
        CHECK(results[64 + i] == 0);
        CHECK(results[96 + i] == 201);
        CHECK(results[128 + i] == results[32 + i]);
    }
    const unsigned want[9] = {WIDTH, HEIGHT, 0, 0, 0, 1, WIDTH, HEIGHT, 0};
    for (int n = 0; n < 9; n++)
        CHECK_EQ_INT(queries[n], want[n]);
    OK(cudaFree(queries));
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(array));
}

// ---- layers
// --------------------------------------------------------------------------------------

__global__ void layered(cudaTextureObject_t lines, cudaTextureObject_t planes, float *out)
{
    int i = threadIdx.x;
    out[i] = tex1DLayered<float>(lines, 1.25f, i);
    out[32 + i] = tex2DLayered<float>(planes, 2.0f, 1.0f, i);
    out[64 + i] = tex2DLayeredLod<float>(planes, 2.0f, 1.0f, i, 0.0f);
    out[96 + i] = tex1DLayeredGrad<float>(lines, 1.25f, i, 0.0f, 0.0f);
    unsigned depth[5];
    asm("txq.level.depth.b32 %0, [%1], %2;" : "=r"(depth[0]) : "l"(planes), "r"(0));
    asm("txq.level.depth.b32 %0, [%1], %2;" : "=r"(depth[1]) : "l"(planes), "r"(1));
    asm("txq.depth.b32 %0, [%1];" : "=r"(depth[2]) : "l"(planes));
    asm("txq.height.b32 %0, [%1];" : "=r"(depth[3]) : "l"(lines));
    asm("txq.depth.b32 %0, [%1];" : "=r"(depth[4]) : "l"(lines));
    if (i < 5)
        out[128 + i] = depth[i];
}

static void test_layers(void)
{
    cudaArray_t lines = numbers(make_cudaExtent(WIDTH, 0, LAYERS), cudaArrayLayered);
    cudaArray_t planes = numbers(make_cudaExtent(WIDTH, HEIGHT, LAYERS), cudaArrayLayered);
    cudaTextureObject_t l =
        texture(of_array(lines), cudaFilterModeLinear, cudaAddressModeClamp, false);
    cudaTextureObject_t p =
        texture(of_array(planes), cudaFilterModeLinear, cudaAddressModeClamp, false);
    layered<<<1, 32>>>(l, p, results);
    finish();
    for (int i = 0; i < 32; i++) {
        int layer = i < LAYERS ? i : LAYERS - 1;
        CHECK(results[i] == 1000 * layer + 0.75f);
        CHECK(results[32 + i] == 1000 * layer + 50 + 1.5f);
        CHECK(results[64 + i] == results[32 + i]);
        CHECK(results[96 + i] == results[i]);
    }
    CHECK(results[128] == LAYERS && results[129] == 0 && results[130] == LAYERS);
    CHECK(results[131] == LAYERS && results[132] == 0);
    OK(cudaDestroyTextureObject(l));
    OK(cudaDestroyTextureObject(p));
    OK(cudaFreeArray(lines));
    OK(cudaFreeArray(planes));
}

// ---- cube maps
// -------------------------------------------------------------------------------------

// The direction through the middle of an element, by the guide's table read backwards.
__device__ void direction(int face, int x, int y, float d[3])
{
    float s = (2 * x + 1) / (float)SIDE - 1, t = (2 * y + 1) / (float)SIDE - 1;
    switch (face) {
    case 0: d[0] = 1, d[1] = -t, d[2] = -s; break;
    case 1: d[0] = -1, d[1] = -t, d[2] = s; break;
    case 2: d[0] = s, d[1] = 1, d[2] = t; break;
    case 3: d[0] = s, d[1] = -1, d[2] = -t; break;
    case 4: d[0] = s, d[1] = -t, d[2] = 1; break;
    default: d[0] = -s, d[1] = -t, d[2] = -1; break;
    }
}

__global__ void cube(cudaTextureObject_t object, cudaTextureObject_t many, int layer, float *out)
{
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
    float d[3];
    direction(face, x, y, d);
    int i = (face * SIDE + y) * SIDE + x;
    out[2 * i] = texCubemap<float>(object, 3 * d[0], 3 * d[1], 3 * d[2]);
    out[2 * i + 1] = texCubemapLayered<float>(many, d[0], d[1], d[2], layer);
}

static void test_cubes(void)
{
    cudaArray_t one = numbers(make_cudaExtent(SIDE, SIDE, 6), cudaArrayCubemap);
    cudaArray_t many =
        numbers(make_cudaExtent(SIDE, SIDE, 18), cudaArrayCubemap | cudaArrayLayered);
    for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        cudaTextureObject_t o = texture(of_array(one), filter, cudaAddressModeWrap, true);
        cudaTextureObject_t m = texture(of_array(many), filter, cudaAddressModeWrap, true);
        cube<<<6, dim3(SIDE, SIDE)>>>(o, m, 2, results);
        finish();
        for (int i = 0; i < 6 * SIDE * SIDE; i++) {
            float want = 1000 * (i / SIDE / SIDE) + 100 * (i / SIDE % SIDE) + i % SIDE;
            CHECK(results[2 * i] == want);
            CHECK(results[2 * i + 1] == 12000 + want);
        }
        OK(cudaDestroyTextureObject(o));
        OK(cudaDestroyTextureObject(m));
    }
    OK(cudaFreeArray(one));
    OK(cudaFreeArray(many));
}

int main(void)
{
    OK(cudaMallocManaged(&results, 65536));
    test_linear();
    test_pitched();
    test_several();
    test_gather();
    test_raw();
    test_layers();
    test_cubes();
    OK(cudaFree(results));
    return check_done();
}
