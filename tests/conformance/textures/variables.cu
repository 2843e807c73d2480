// FLAGS: --legacy-api
// SANITIZERS: the runtime's side of texture references
/* K2: texture and surface variables (--legacy-api): binding memory, pitched memory and arrays, how
 * they are read, what is refused, and what else programs of their time call. */
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

#define OK(call)          CHECK_EQ_INT(call, cudaSuccess)
#define ERROR(call, code) CHECK_EQ_INT(call, code)

enum { N = 32, WIDTH = 8, HEIGHT = 4 };

texture<float, 1, cudaReadModeElementType> line;
static texture<int4, cudaTextureType1D, cudaReadModeElementType> fours;
texture<unsigned char, 1, cudaReadModeNormalizedFloat> fractions;
texture<uchar4, 2, cudaReadModeNormalizedFloat> pixels;
texture<float, 2> plane;
texture<float, 3> solid;
texture<char> letters;
surface<void, 2> drawing;

namespace inside
{
texture<short2, 1> pairs;
}

__constant__ float factors[2];
__device__ int counter;
__device__ char name[16];
__device__ const char *pointer;

__global__ void read_line(float *out, int from)
{
    out[threadIdx.x] = tex1Dfetch(line, threadIdx.x + from);
}

__device__ int sum(int i)
{
    int4 v = tex1Dfetch(fours, i);
    return v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
}
__global__ void read_fours(int *out) { out[threadIdx.x] = sum(threadIdx.x); }
__global__ void read_fractions(float *out)
{
    out[threadIdx.x] = tex1Dfetch(fractions, threadIdx.x);
}
__global__ void read_letters(int *out) { out[threadIdx.x] = tex1Dfetch(letters, threadIdx.x); }
__global__ void read_pairs(int *out)
{
    short2 v = tex1Dfetch(inside::pairs, threadIdx.x);
    out[threadIdx.x] = v.x * v.y;
}
__global__ void read_pixels(float *out, float at)
{
    float4 v = tex2D(pixels, threadIdx.x + at, 1.5f);
    out[threadIdx.x] = v.x + v.w;
}
__global__ void read_plane(float *out, float dx, float dy)
{
    int x = threadIdx.x % WIDTH, y = threadIdx.x / WIDTH;
    out[threadIdx.x] = tex2D(plane, x + dx, y + dy);
}
__global__ void read_solid(float *out)
{
    out[threadIdx.x] = tex3D(solid, threadIdx.x + 0.5f, 0.5f, 1.5f);
}
__global__ void draw()
{
    int x = threadIdx.x % WIDTH, y = threadIdx.x / WIDTH;
    float v = surf2Dread<float>(drawing, x * 4, y);
    surf2Dwrite(v * 2, drawing, x * 4, y);
}
__global__ void use_symbols(float *out)
{
    out[0] =
        factors[0] * factors[1] + counter + (name[0] == 'q') * 1000 + (pointer != nullptr) * 5000;
}
__global__ void vote(int *out)
{
    int lane = threadIdx.x;
    int v = __shfl(lane, 5) + __shfl_xor(lane, 1) + __shfl_down(lane, 1) + __shfl_up(lane, 1);
    out[lane] =
        v + 1000 * (__any(lane == 3) + __all(lane >= 0)) + 10000 * (__ballot(lane < 2) == 3);
}

static float *floats;
static float got[N];

static void fetch_results() { OK(cudaMemcpy(got, floats, sizeof got, cudaMemcpyDeviceToHost)); }
static const int *ints() { return (const int *)got; }

template <class T> static T *on_device(int n, T (*value)(int))
{
    T *host = (T *)malloc(n * sizeof(T)), *device;
    for (int i = 0; i < n; i++)
        host[i] = value(i);
    OK(cudaMalloc(&device, n * sizeof(T)));
    OK(cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice));
    free(host);
    return device;
}

/* There a read of what is no longer bound is a fault (asked of an H200). */
static bool on_gpu()
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr || dlsym(driver, "weir_last_fault") == nullptr;
}

static void test_linear()
{
    float *memory = on_device<float>(2 * N, [](int i) { return 100.0f + i; });
    size_t offset = 77;
    read_line<<<1, N>>>(floats, 0);
    fetch_results();
    CHECK(got[0] == 0 && got[7] == 0); /* nothing is bound */
    OK(cudaBindTexture(&offset, line, memory, N * sizeof(float)));
    CHECK_EQ_INT(offset, 0);
    read_line<<<1, N>>>(floats, -1);
    fetch_results();
    CHECK(got[0] == 0 && got[1] == 100 && got[N - 1] == 100 + N - 2);
    read_line<<<1, N>>>(floats, 1);
    fetch_results();
    CHECK(got[N - 2] == 100 + N - 1 && got[N - 1] == 0); /* what is bound ends */

    OK(cudaBindTexture(&offset, line, memory + 1)); /* all there is, from no aligned address */
    CHECK_EQ_INT(offset, 4);
    size_t again = 0;
    OK(cudaGetTextureAlignmentOffset(&again, line));
    CHECK_EQ_INT(again, 4);
    read_line<<<1, N>>>(floats, (int)(offset / 4));
    fetch_results();
    CHECK(got[0] == 101 && got[N - 1] == 101 + N - 1);
    ERROR(cudaBindTexture(nullptr, line, memory + 1), cudaErrorInvalidValue);

    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    const textureReference *reference = nullptr;
    OK(cudaGetTextureReference(&reference, &line));
    CHECK(reference == &line);
    OK(cudaGetTextureReference(&reference, "line"));
    CHECK(reference == &line);
    OK(cudaBindTexture(0, reference, memory, &desc, N * sizeof(float)));
    OK(cudaBindTexture(0, &line, memory, &desc, N * sizeof(float)));
    OK(cudaBindTexture(0, line, memory, desc, N * sizeof(float)));
    read_line<<<1, N>>>(floats, 0);
    OK(cudaUnbindTexture(line)); /* the launch has its binding */
    fetch_results();
    CHECK(got[3] == 103);
    if (!on_gpu()) {
        read_line<<<1, N>>>(floats, 0);
        fetch_results();
        CHECK(got[3] == 0);
    }
    OK(cudaFree(memory));
}

static void test_elements()
{
    int *memory = on_device<int>(4 * N, [](int i) { return i % 10; });
    OK(cudaBindTexture(0, fours, memory, 4 * N * sizeof(int)));
    read_fours<<<1, N>>>((int *)floats);
    fetch_results();
    CHECK_EQ_INT(ints()[0], 3210);
    CHECK_EQ_INT(ints()[2], 8 + 90 + 0 + 1000);
    unsigned char *bytes =
        on_device<unsigned char>(N, [](int i) { return (unsigned char)(i == 1 ? 255 : 51 * i); });
    OK(cudaBindTexture(0, fractions, bytes, N));
    read_fractions<<<1, N>>>(floats);
    fetch_results();
    CHECK(got[0] == 0 && got[1] == 1 && got[2] == 102 / 255.0f);
    OK(cudaBindTexture(0, letters, bytes, N));
    read_letters<<<1, N>>>((int *)floats);
    fetch_results();
    CHECK_EQ_INT(ints()[1], -1);
    CHECK_EQ_INT(ints()[2], 102);
    OK(cudaBindTexture(0, inside::pairs, memory, N * sizeof(int)));
    read_pairs<<<1, N>>>((int *)floats);
    fetch_results();
    CHECK_EQ_INT(ints()[3], 0);
    OK(cudaFree(memory));
    OK(cudaFree(bytes));
}

static void test_planes()
{
    unsigned char *bytes;
    unsigned char host[HEIGHT][4 * WIDTH];
    size_t pitch;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < 4 * WIDTH; x++)
            host[y][x] = (unsigned char)(y == 1 ? 51 * (x / 4 % 5) : 0);
    OK(cudaMallocPitch(&bytes, &pitch, 4 * WIDTH, HEIGHT));
    OK(cudaMemcpy2D(bytes, pitch, host, 4 * WIDTH, 4 * WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    pixels.filterMode = cudaFilterModeLinear;
    pixels.addressMode[0] = cudaAddressModeClamp;
    OK(cudaBindTexture2D(0, pixels, bytes, WIDTH, HEIGHT, pitch));
    read_pixels<<<1, WIDTH>>>(floats, 1.0f);
    fetch_results();
    CHECK(fabsf(got[0] - 2 * 0.5f * (0 + 0.2f)) < 1e-4f);
    CHECK(fabsf(got[1] - 2 * 0.5f * (0.2f + 0.4f)) < 1e-4f);
    OK(cudaUnbindTexture(pixels));
    OK(cudaFree(bytes));

    float values[HEIGHT][WIDTH];
    for (int i = 0; i < N; i++)
        values[i / WIDTH][i % WIDTH] = (float)i;
    cudaArray *array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &desc, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    OK(cudaMemcpyToArray(array, 0, 0, values, sizeof values, cudaMemcpyHostToDevice));
    OK(cudaBindTextureToArray(plane, array));
    read_plane<<<1, N>>>(floats, 0.5f, 0.5f);
    fetch_results();
    CHECK(memcmp(got, values, sizeof got) == 0);
    plane.filterMode = cudaFilterModeLinear; /* counts from the next time it is bound */
    OK(cudaBindTextureToArray(plane, array, desc));
    read_plane<<<1, N>>>(floats, 1.0f, 0.5f);
    fetch_results();
    CHECK(got[0] == 0.5f && got[WIDTH] == WIDTH + 0.5f);
    plane.normalized = true;
    plane.addressMode[0] = plane.addressMode[1] = cudaAddressModeWrap;
    plane.filterMode = cudaFilterModePoint;
    OK(cudaBindTextureToArray(&plane, array, &desc));
    read_plane<<<1, N>>>(floats, 0.25f, 0.5f);
    fetch_results();
    CHECK(got[0] == 2 * WIDTH + 2 && got[5] == 2 * WIDTH + 2);

    OK(cudaBindSurfaceToArray(drawing, array));
    draw<<<1, N>>>();
    OK(cudaMemcpyFromArray(got, array, 0, 0, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[5] == 10 && got[N - 1] == 2 * (N - 1));

    cudaChannelFormatDesc other = cudaCreateChannelDesc<int>();
    ERROR(cudaBindTextureToArray(plane, array, other), cudaErrorInvalidChannelDescriptor);
    ERROR(cudaBindTextureToArray(&plane, nullptr, &desc), cudaErrorInvalidResourceHandle);
    OK(cudaFreeArray(array));
}

static void test_solid()
{
    float values[2][HEIGHT][WIDTH];
    for (int i = 0; i < 2 * N; i++)
        values[i / N][i % N / WIDTH][i % WIDTH] = (float)i;
    cudaArray *array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(WIDTH, HEIGHT, 2);
    cudaMemcpy3DParms copy = {};
    OK(cudaMalloc3DArray(&array, &desc, extent));
    copy.srcPtr = make_cudaPitchedPtr(values, WIDTH * sizeof(float), WIDTH, HEIGHT);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    OK(cudaBindTextureToArray(solid, array));
    read_solid<<<1, WIDTH>>>(floats);
    fetch_results();
    CHECK(got[0] == N && got[3] == N + 3);
    OK(cudaUnbindTexture(solid));
    OK(cudaFreeArray(array));
}

static void test_refused()
{
    textureReference loose = {};
    const textureReference *reference;
    const surfaceReference *surf;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    void *p = floats;
    ERROR(cudaBindTexture(0, &loose, floats, &desc, 64), cudaErrorInvalidTexture);
    ERROR(cudaUnbindTexture(&loose), cudaErrorInvalidTexture);
    ERROR(cudaGetTextureReference(&reference, "nothing"), cudaErrorInvalidTexture);
    ERROR(cudaGetTextureReference(&reference, &drawing), cudaErrorInvalidTexture);
    ERROR(cudaGetSurfaceReference(&surf, &line), cudaErrorInvalidSurface);
    OK(cudaGetSurfaceReference(&surf, &drawing));
    CHECK(surf == &drawing);
    ERROR(cudaBindTexture(0, line, nullptr, 64), cudaErrorInvalidValue);
    ERROR(cudaBindTexture(0, fractions, floats, desc, 64), cudaErrorInvalidNormSetting);
    ERROR(cudaGetSymbolAddress(&p, line), cudaErrorInvalidSymbol);
    ERROR(cudaMemcpyToSymbol("nothing", got, 4), cudaErrorInvalidSymbol);
}

/* Strings that name variables, and variables that hold strings. */
static void test_symbols()
{
    float values[2] = {3, 7}, back[2] = {};
    int forty = 40;
    void *p = nullptr;
    size_t size = 0;
    OK(cudaMemcpyToSymbol("factors", values, sizeof values));
    OK(cudaMemcpyToSymbol("counter", &forty, sizeof forty, 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol(name, "q", 1));
    OK(cudaMemcpyToSymbol(pointer, &floats, sizeof floats));
    use_symbols<<<1, 1>>>(floats);
    fetch_results();
    CHECK(got[0] == 6061);
    OK(cudaMemcpyFromSymbol(back, "factors", sizeof back));
    CHECK(back[1] == 7);
    OK(cudaGetSymbolSize(&size, "factors"));
    CHECK_EQ_INT(size, 8);
    OK(cudaGetSymbolAddress(&p, "counter"));
    OK(cudaMemcpy(&forty, p, 4, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(forty, 40);
}

static void test_devices()
{
    cudaDeviceProp prop;
    int value = 0, *managed;
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    CHECK(prop.clockRate == value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryClockRate, 0));
    CHECK(prop.memoryClockRate == value && !prop.kernelExecTimeoutEnabled);
    CHECK(prop.deviceOverlap == 1 && prop.computeMode == cudaComputeModeDefault);
    OK(cudaMallocManaged(&managed, 4096));
    OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, 0));
    OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
    OK(cudaMemPrefetchAsync(managed, 4096, 0));
    OK(cudaMemPrefetchAsync(managed, 4096, cudaCpuDeviceId, nullptr));
    OK(cudaThreadSynchronize());
    OK(cudaFree(managed));
    vote<<<1, 32>>>((int *)floats);
    fetch_results();
    CHECK_EQ_INT(ints()[8], 5 + 9 + 9 + 7 + 2000 + 10000);
}

/* Levels of a mipmapped array: each holds its number. */
static void test_levels()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t m;
    OK(cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(8, 4, 0), 4));
    for (int n = 0; n < 4; n++) {
        cudaArray_t level;
        std::vector<float> v(32, (float)n);
        size_t row = (8 >> n) * sizeof(float);
        OK(cudaGetMipmappedArrayLevel(&level, m, n));
        OK(cudaMemcpy2DToArray(level, 0, 0, v.data(), row, row, 4 >> n ? 4 >> n : 1,
                               cudaMemcpyHostToDevice));
    }
    plane.normalized = true;
    plane.filterMode = plane.mipmapFilterMode = cudaFilterModeLinear;
    plane.minMipmapLevelClamp = 1.5f;
    plane.maxMipmapLevelClamp = 3;
    OK(cudaBindTextureToMipmappedArray(plane, m));
    read_plane<<<1, N>>>(floats, 0.5f, 0.5f);
    OK(cudaMemcpy(got, floats, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 1.5f && got[N - 1] == 1.5f);
    plane.minMipmapLevelClamp = plane.maxMipmapLevelClamp = 0;
    OK(cudaBindTextureToMipmappedArray(plane, m, desc));
    read_plane<<<1, N>>>(floats, 0.5f, 0.5f);
    OK(cudaMemcpy(got, floats, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 0 && got[N - 1] == 0);
    ERROR(cudaBindTextureToMipmappedArray(&plane, nullptr, &desc), cudaErrorInvalidResourceHandle);
    OK(cudaUnbindTexture(plane));
    OK(cudaFreeMipmappedArray(m));
}

int main()
{
    OK(cudaMalloc(&floats, sizeof got));
    test_linear();
    test_elements();
    test_planes();
    test_levels();
    test_solid();
    test_refused();
    test_symbols();
    test_devices();
    OK(cudaFree(floats));
    return check_done();
}
