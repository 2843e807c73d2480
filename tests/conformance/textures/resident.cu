/* K2: fetches from planes and volumes say with isResident whether the elements are in memory.
 *
 * They may not be in a sparse array only. Every other array is whole, so the answer is true, and
 * the elements are those of the fetch without it. */
#include <cstdio>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

enum { SIDE = 8, LAYERS = 4, FETCHES = 10, GATHERS = 4 };

__device__ int same(float4 a, float4 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w && a.x != 0;
}

/* Of each fetch: 1 where the elements are the same with isResident, 2 where it became true. */
template <typename Fetch, typename Plain>
__device__ void compare(int *out, int i, Fetch with, Plain without)
{
    bool here = false;
    float4 a = with(&here), b = without();
    atomicAdd(out + i, same(a, b) + 2 * here);
}

__global__ void planes(cudaTextureObject_t t, int *out)
{
    float x = threadIdx.x % SIDE + 0.25f, y = threadIdx.x / SIDE + 0.75f;
    float2 dx = make_float2(1, 0), dy = make_float2(0, 1);
    compare(
        out, 0, [&](bool *r) { return tex2D<float4>(t, x, y, r); },
        [&] { return tex2D<float4>(t, x, y); });
    compare(
        out, 1, [&](bool *r) { return tex2DLod<float4>(t, x, y, 0, r); },
        [&] { return tex2DLod<float4>(t, x, y, 0); });
    compare(
        out, 2, [&](bool *r) { return tex2DGrad<float4>(t, x, y, dx, dy, r); },
        [&] { return tex2DGrad<float4>(t, x, y, dx, dy); });
    compare(
        out, 3,
        [&](bool *r) {
            float4 stored;
            tex2D(&stored, t, x, y, r);
            return stored;
        },
        [&] { return tex2D<float4>(t, x, y); });
}

__global__ void gathers(cudaTextureObject_t t, int *out)
{
    float x = threadIdx.x % SIDE + 0.25f, y = threadIdx.x / SIDE + 0.75f;
    for (int c = 0; c < GATHERS; c++)
        compare(
            out, c, [&](bool *r) { return tex2Dgather<float4>(t, x, y, r, c); },
            [&] { return tex2Dgather<float4>(t, x, y, c); });
}

__global__ void layers(cudaTextureObject_t t, int *out)
{
    float x = threadIdx.x % SIDE + 0.25f, y = threadIdx.x / SIDE + 0.75f;
    int l = threadIdx.x % LAYERS;
    float2 dx = make_float2(1, 0), dy = make_float2(0, 1);
    compare(
        out, 4, [&](bool *r) { return tex2DLayered<float4>(t, x, y, l, r); },
        [&] { return tex2DLayered<float4>(t, x, y, l); });
    compare(
        out, 5, [&](bool *r) { return tex2DLayeredLod<float4>(t, x, y, l, 0, r); },
        [&] { return tex2DLayeredLod<float4>(t, x, y, l, 0); });
    compare(
        out, 6, [&](bool *r) { return tex2DLayeredGrad<float4>(t, x, y, l, dx, dy, r); },
        [&] { return tex2DLayeredGrad<float4>(t, x, y, l, dx, dy); });
}

__global__ void volume(cudaTextureObject_t t, int *out)
{
    float x = threadIdx.x % SIDE + 0.25f, y = threadIdx.x / SIDE + 0.75f, z = 1.5f;
    float4 dx = make_float4(1, 0, 0, 0), dy = make_float4(0, 1, 0, 0);
    compare(
        out, 7, [&](bool *r) { return tex3D<float4>(t, x, y, z, r); },
        [&] { return tex3D<float4>(t, x, y, z); });
    compare(
        out, 8, [&](bool *r) { return tex3DLod<float4>(t, x, y, z, 0, r); },
        [&] { return tex3DLod<float4>(t, x, y, z, 0); });
    compare(
        out, 9, [&](bool *r) { return tex3DGrad<float4>(t, x, y, z, dx, dy, r); },
        [&] { return tex3DGrad<float4>(t, x, y, z, dx, dy); });
}

static cudaTextureObject_t texture(int depth, unsigned flags)
{
    std::vector<float4> texels(SIDE * SIDE * (depth ? depth : 1));
    for (size_t i = 0; i < texels.size(); i++)
        texels[i] = make_float4(i + 1, 2 * i + 1, 3 * i + 1, 4 * i + 1);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(SIDE, SIDE, depth), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), SIDE * sizeof(float4), SIDE, SIDE);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(SIDE, SIDE, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t object;
    OK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    return object;
}

int main()
{
    int *out;
    OK(cudaMallocManaged(&out, (FETCHES + GATHERS) * sizeof(int)));
    planes<<<1, SIDE * SIDE>>>(texture(0, 0), out);
    layers<<<1, SIDE * SIDE>>>(texture(LAYERS, cudaArrayLayered), out);
    volume<<<1, SIDE * SIDE>>>(texture(LAYERS, 0), out);
    gathers<<<1, SIDE * SIDE>>>(texture(0, cudaArrayTextureGather), out + FETCHES);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < FETCHES + GATHERS; i++)
        CHECK_EQ_INT(out[i], 3 * SIDE * SIDE);
    return check_done();
}
