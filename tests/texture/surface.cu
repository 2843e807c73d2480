// Surfaces: reads and writes of every size, what happens at the edges, converting writes,
// reductions, and textures that see what surfaces wrote.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

enum { WIDTH = 12, HEIGHT = 6, DEPTH = 4 };

static cudaSurfaceObject_t surface(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t object = 0;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

template <typename T> __device__ T value(int n)
{
    T v;
    unsigned char *p = (unsigned char *)&v;
    for (unsigned k = 0; k < sizeof v; k++)
        p[k] = (unsigned char)(n * 7 + k * 31);
    return v;
}

template <typename T> __device__ bool same(T a, T b)
{
    for (unsigned k = 0; k < sizeof a; k++)
        if (((unsigned char *)&a)[k] != ((unsigned char *)&b)[k])
            return false;
    return true;
}

enum geometry { LINE, PLANE, SPACE, LINES, PLANES };

template <typename T> __device__ void put(geometry g, T v, cudaSurfaceObject_t s, int x, int y, int z)
{
    x *= sizeof(T);
    switch (g) {
    case LINE: surf1Dwrite(v, s, x); break;
    case PLANE: surf2Dwrite(v, s, x, y); break;
    case SPACE: surf3Dwrite(v, s, x, y, z); break;
    case LINES: surf1DLayeredwrite(v, s, x, z); break;
    case PLANES: surf2DLayeredwrite(v, s, x, y, z); break;
    }
}

template <typename T> __device__ T get(geometry g, cudaSurfaceObject_t s, int x, int y, int z)
{
    x *= sizeof(T);
    switch (g) {
    case LINE: return surf1Dread<T>(s, x);
    case PLANE: return surf2Dread<T>(s, x, y);
    case SPACE: return surf3Dread<T>(s, x, y, z);
    case LINES: return surf1DLayeredread<T>(s, x, z);
    default: return surf2DLayeredread<T>(s, x, y, z);
    }
}

template <typename T> __global__ void write(geometry g, cudaSurfaceObject_t s)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    put(g, value<T>(x + 100 * y + 10000 * z), s, x, y, z);
}

template <typename T> __global__ void read(geometry g, cudaSurfaceObject_t s, int *bad)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    if (!same(get<T>(g, s, x, y, z), value<T>(x + 100 * y + 10000 * z)))
        atomicAdd(bad, 1);
}

template <typename T> static void test_size(void)
{
    static const cudaExtent extents[] = {{WIDTH, 0, 0}, {WIDTH, HEIGHT, 0}, {WIDTH, HEIGHT, DEPTH},
                                         {WIDTH, 0, DEPTH}, {WIDTH, HEIGHT, DEPTH}};
    int *bad;
    OK(cudaMallocManaged(&bad, sizeof *bad));
    *bad = 0;
    for (int g = LINE; g <= PLANES; g++) {
        cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
        cudaArray_t array;
        unsigned flags = cudaArraySurfaceLoadStore | (g >= LINES ? cudaArrayLayered : 0);
        OK(cudaMalloc3DArray(&array, &format, extents[g], flags));
        cudaSurfaceObject_t s = surface(array);
        dim3 block(WIDTH, extents[g].height ? HEIGHT : 1), grid(extents[g].depth ? DEPTH : 1);
        write<T><<<grid, block>>>((geometry)g, s);
        read<T><<<grid, block>>>((geometry)g, s, bad);
        OK(cudaDeviceSynchronize());
        CHECK_EQ_INT(*bad, 0);
        OK(cudaDestroySurfaceObject(s));
        OK(cudaFreeArray(array));
    }
    OK(cudaFree(bad));
}

// ---- edges -----------------------------------------------------------------------------------

__global__ void beyond(cudaSurfaceObject_t s, int *out)
{
    out[0] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeClamp);
    out[1] = surf2Dread<int>(s, 4 * WIDTH, HEIGHT, cudaBoundaryModeClamp);
    out[2] = surf2Dread<int>(s, 0, -1, cudaBoundaryModeZero);
    out[3] = surf2Dread<int>(s, 4 * WIDTH, 0, cudaBoundaryModeZero);
    surf2Dwrite(77, s, 4 * WIDTH, 1, cudaBoundaryModeZero);
    surf2Dwrite(88, s, 4 * WIDTH, 1, cudaBoundaryModeClamp);
    out[4] = surf2Dread<int>(s, 4 * (WIDTH - 1), 1);
    out[5] = surf2Dread<int>(s, 0, 2);
}

static void test_edges(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    int host[HEIGHT][WIDTH], *out;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        host[0][i] = 5 + i;
    OK(cudaMallocManaged(&out, 64));
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT,
                           cudaMemcpyHostToDevice));
    cudaSurfaceObject_t s = surface(array);
    beyond<<<1, 1>>>(s, out);
    OK(cudaDeviceSynchronize());
    const int want[6] = {5, 5 + HEIGHT * WIDTH - 1, 0, 0, 88, 5 + 2 * WIDTH};
    for (int n = 0; n < 6; n++)
        CHECK_EQ_INT(out[n], want[n]);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(array));
    OK(cudaFree(out));
}

// ---- the other instructions --------------------------------------------------------------------

__global__ void reduce(cudaSurfaceObject_t s)
{
    int i = threadIdx.x;
    asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" ::"l"(s), "r"(0), "r"(i) : "memory");
    asm volatile("sured.b.min.1d.s32.trap [%0, {%1}], %2;" ::"l"(s), "r"(4), "r"(-i) : "memory");
    asm volatile("sured.b.max.1d.u32.trap [%0, {%1}], %2;" ::"l"(s), "r"(8), "r"(-i) : "memory");
    asm volatile("sured.b.or.1d.b32.trap [%0, {%1}], %2;" ::"l"(s), "r"(12), "r"(i) : "memory");
    asm volatile("sured.b.and.1d.b32.trap [%0, {%1}], %2;" ::"l"(s), "r"(16), "r"(~i) : "memory");
}

__global__ void store_texels(cudaSurfaceObject_t s)
{
    int i = threadIdx.x;
    asm volatile("sust.p.1d.v4.b32.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(s), "r"(i), "r"(i),
                 "r"(-1), "r"(300), "r"(255)
                 : "memory");
}

__global__ void query(cudaSurfaceObject_t s, int *out)
{
    asm("suq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(s));
    asm("suq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(s));
}

static void test_instructions(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    int host[WIDTH] = {1000, 5, 5, 0, -1}, *out;
    OK(cudaMallocManaged(&out, 64));
    OK(cudaMallocArray(&array, &format, WIDTH, 0, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host, sizeof host, 1, cudaMemcpyHostToDevice));
    cudaSurfaceObject_t s = surface(array);
    reduce<<<1, 64>>>(s);
    query<<<1, 1>>>(s, out);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(out[0], WIDTH);
    CHECK_EQ_INT(out[1], 0);
    OK(cudaMemcpy2DFromArray(host, sizeof host, array, 0, 0, sizeof host, 1, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(host[0], 1000 + 63 * 32);
    CHECK_EQ_INT(host[1], -63);
    CHECK_EQ_INT(host[2], -1);
    CHECK_EQ_INT(host[3], 63);
    CHECK_EQ_INT(host[4], ~63);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(array));

    format = cudaCreateChannelDesc<uchar4>();
    unsigned char bytes[WIDTH][4];
    OK(cudaMallocArray(&array, &format, WIDTH, 0, cudaArraySurfaceLoadStore));
    s = surface(array);
    store_texels<<<1, WIDTH>>>(s);
    OK(cudaMemcpy2DFromArray(bytes, sizeof bytes, array, 0, 0, sizeof bytes, 1, cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH; i++) {
        CHECK_EQ_INT(bytes[i][0], i);
        CHECK(bytes[i][1] == 255 && bytes[i][2] == 255 && bytes[i][3] == 255);
    }
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(array));
    OK(cudaFree(out));
}

__global__ void see(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex1D<float>(t, threadIdx.x);
}

__global__ void set(cudaSurfaceObject_t s) { surf1Dwrite((float)threadIdx.x * 2, s, threadIdx.x * 4); }

// A texture of the same array; it is destroyed while its kernel may still wait, as programs do.
static void test_texture(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    float *out;
    OK(cudaMallocManaged(&out, 256));
    OK(cudaMallocArray(&array, &format, WIDTH, 0, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t s = surface(array);
    set<<<1, WIDTH>>>(s);
    for (int n = 0; n < 200; n++) {
        OK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
        see<<<1, WIDTH>>>(t, out);
        OK(cudaDestroyTextureObject(t));
    }
    OK(cudaDestroySurfaceObject(s));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < WIDTH; i++)
        CHECK(out[i] == i * 2);
    OK(cudaFreeArray(array));
    OK(cudaFree(out));
}

// ---- what is refused, and what ends the context ---------------------------------------------------

static void test_refusals(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t array;
    cudaResourceDesc resource = {}, got;
    cudaTextureDesc how = {}, how_got;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&s, &resource)); // of an array not made for surfaces, too
    OK(cudaDestroySurfaceObject(s));
    how.filterMode = cudaFilterModeLinear; // of integers that stay integers
    CHECK_EQ_INT(cudaCreateTextureObject(&t, &resource, &how, nullptr), cudaErrorInvalidFilterSetting);
    how.readMode = cudaReadModeNormalizedFloat;
    how.addressMode[1] = cudaAddressModeMirror;
    how.borderColor[2] = 0.5f;
    OK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&got, t));
    OK(cudaGetTextureObjectTextureDesc(&how_got, t));
    CHECK(got.resType == cudaResourceTypeArray && got.res.array.array == array);
    CHECK(how_got.filterMode == how.filterMode && how_got.readMode == how.readMode);
    CHECK_EQ_INT(how_got.addressMode[1], how.addressMode[1]);
    OK(cudaDestroyTextureObject(t));
    CHECK_EQ_INT(cudaGetTextureObjectTextureDesc(&how_got, t), cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
}

__global__ void outside(cudaSurfaceObject_t s) { surf1Dwrite(1, s, 4 * WIDTH + 4 * threadIdx.x); }

static void test_trap(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, WIDTH, 0, cudaArraySurfaceLoadStore));
    outside<<<1, 1>>>(surface(array));
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    OK(cudaDeviceReset());
    OK(cudaFree(nullptr));
}

int main(void)
{
    test_size<char>();
    test_size<short>();
    test_size<float>();
    test_size<int2>();
    test_size<float4>();
    test_edges();
    test_instructions();
    test_texture();
    test_refusals();
    test_trap();
    return check_done();
}
