/* Texture fetches and surface accesses: every function, for the element types there are. Compiled
 * only. */
template <typename T>
__global__ void textures(cudaTextureObject_t t, T *p, float x, float y, float z)
{
    float2 d2 = {x, y};
    float4 d4 = {x, y, z, 0};
    *p++ = tex1Dfetch<T>(t, 3);
    *p++ = tex1D<T>(t, x);
    *p++ = tex1DLod<T>(t, x, 1);
    *p++ = tex1DGrad<T>(t, x, y, z);
    *p++ = tex1DLayered<T>(t, x, 2);
    *p++ = tex1DLayeredLod<T>(t, x, 2, 1);
    *p++ = tex1DLayeredGrad<T>(t, x, 2, y, z);
    *p++ = tex2D<T>(t, x, y);
    *p++ = tex2DLod<T>(t, x, y, 1);
    *p++ = tex2DGrad<T>(t, x, y, d2, d2);
    *p++ = tex2DLayered<T>(t, x, y, 2);
    *p++ = tex2DLayeredLod<T>(t, x, y, 2, 1);
    *p++ = tex2DLayeredGrad<T>(t, x, y, 2, d2, d2);
    *p++ = tex3D<T>(t, x, y, z);
    *p++ = tex3DLod<T>(t, x, y, z, 1);
    *p++ = tex3DGrad<T>(t, x, y, z, d4, d4);
    *p++ = texCubemap<T>(t, x, y, z);
    *p++ = texCubemapLod<T>(t, x, y, z, 1);
    *p++ = texCubemapLayered<T>(t, x, y, z, 2);
    *p++ = texCubemapLayeredLod<T>(t, x, y, z, 2, 1);
    tex2D(p++, t, x, y);
    tex1Dfetch(p++, t, 3);
}
template <typename T> __global__ void gathers(cudaTextureObject_t t, T *p, float x, float y)
{
    for (int i = 0; i < 4; i++)
        *p++ = tex2Dgather<T>(t, x, y, i);
}
template <typename T> __global__ void surfaces(cudaSurfaceObject_t s, T *p, int x, int y, int z)
{
    *p++ = surf1Dread<T>(s, x);
    *p++ = surf2Dread<T>(s, x, y, cudaBoundaryModeClamp);
    *p++ = surf3Dread<T>(s, x, y, z, cudaBoundaryModeZero);
    *p++ = surf1DLayeredread<T>(s, x, y);
    *p++ = surf2DLayeredread<T>(s, x, y, z);
    *p++ = surfCubemapread<T>(s, x, y, z);
    *p++ = surfCubemapLayeredread<T>(s, x, y, z);
    surf2Dread(p++, s, x, y);
    surf1Dwrite(*p++, s, x);
    surf2Dwrite(*p++, s, x, y, cudaBoundaryModeClamp);
    surf3Dwrite(*p++, s, x, y, z, cudaBoundaryModeZero);
    surf1DLayeredwrite(*p++, s, x, y);
    surf2DLayeredwrite(*p++, s, x, y, z);
    surfCubemapwrite(*p++, s, x, y, z);
    surfCubemapLayeredwrite(*p++, s, x, y, z);
}

#define EACH(type)                                                                                 \
    template __global__ void textures<type>(cudaTextureObject_t, type *, float, float, float);     \
    template __global__ void surfaces<type>(cudaSurfaceObject_t, type *, int, int, int);
EACH(char)
EACH(unsigned char)
EACH(short)
EACH(unsigned short)
EACH(int)
EACH(unsigned)
EACH(float)
EACH(char2)
EACH(uchar4)
EACH(short2)
EACH(ushort4)
EACH(int2)
EACH(uint4)
EACH(float2)
EACH(float4)
EACH(float1)
template __global__ void gathers<float4>(cudaTextureObject_t, float4 *, float, float);
template __global__ void gathers<uchar4>(cudaTextureObject_t, uchar4 *, float, float);

int main() {}
