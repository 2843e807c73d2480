// Filters of images: bytes of colour to grey, a separable blur, Sobel, the median of nine, rotation
// through a texture with linear filtering, and a convolution of many channels.
#include "harness.h"

static __global__ void grey(const uchar4 *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (77 * in[i].x + 150 * in[i].y + 29 * in[i].z) >> 8;
}
static __global__ void grey_bytes(const unsigned char *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (77 * in[4 * i] + 150 * in[4 * i + 1] + 29 * in[4 * i + 2]) >> 8;
}
static __global__ void grey_stride(const uchar4 *in, unsigned char *out, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = (77 * in[i].x + 150 * in[i].y + 29 * in[i].z) >> 8;
}
BENCH_KERNEL(grey);
BENCH_SPELLING(grey, 1, grey_bytes);
BENCH_SPELLING(grey, 2, grey_stride);

enum { RADIUS = 8 };
static __constant__ float taps[2 * RADIUS + 1];
// One direction of a separable filter whose weights are constant memory.
static __global__ void blur(const float *in, float *out, int width, int height, int down)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++) {
        int at = down ? min(max(y + k, 0), height - 1) * width + x
                      : y * width + min(max(x + k, 0), width - 1);
        sum += taps[k + RADIUS] * in[at];
    }
    out[y * width + x] = sum;
}
template <int W>
static __global__ void blur_constant(const float *in, float *out, int, int height, int down)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= height)
        return;
    float sum = 0;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) {
        int at = down ? min(max(y + k, 0), height - 1) * W + x
                      : y * W + min(max(x + k, 0), W - 1);
        sum += taps[k + RADIUS] * in[at];
    }
    out[y * W + x] = sum;
}
template <class Kernel> static void with_taps(Kernel kernel, const bench_launch *l, void **args)
{
    static bool there;
    if (!there)
        cudaMemcpyToSymbol(taps, BENCH_POINTER(float, args[5]), sizeof taps, 0,
                           cudaMemcpyDeviceToDevice);
    there = true;
    kernel<<<dim3(l->grid_x, l->grid_y), dim3(l->block_x, l->block_y)>>>(
        BENCH_POINTER(float, args[0]), BENCH_POINTER(float, args[1]), *(int *)args[2],
        *(int *)args[3], *(int *)args[4]);
}
BENCH_HOST(blur, 0, [](const bench_launch *l, void **args) { with_taps(blur, l, args); });
BENCH_HOST(blur, 1,
           [](const bench_launch *l, void **args) { with_taps(blur_constant<1024>, l, args); });

static __device__ int at(const unsigned char *in, int x, int y, int width, int height)
{
    return in[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}
static __global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const unsigned char *p = in + y * width + x;
    int across = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[width - 1];
    int down = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] -
               p[1 - width];
    out[y * width + x] = min(abs(across) + abs(down), 255);
}
static __global__ void sobel_tile(const unsigned char *in, unsigned char *out, int width,
                                  int height)
{
    __shared__ unsigned char tile[10][34];
    int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 340; k += 256)
        tile[k / 34][k % 34] = at(in, x0 + k % 34, y0 + k / 34, width, height);
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const unsigned char *p = &tile[threadIdx.y + 1][threadIdx.x + 1];
    int across = p[-33] + 2 * p[1] + p[35] - p[-35] - 2 * p[-1] - p[33];
    int down = p[33] + 2 * p[34] + p[35] - p[-35] - 2 * p[-34] - p[-33];
    out[y * width + x] = min(abs(across) + abs(down), 255);
}
BENCH_KERNEL(sobel);
BENCH_SPELLING(sobel, 2, sobel_tile);

static __device__ void order(int &a, int &b)
{
    int low = min(a, b);
    b = max(a, b);
    a = low;
}
template <class I>
__global__ void median(const unsigned char *in, unsigned char *out, I width, I height)
{
    I x = blockIdx.x * (I)blockDim.x + threadIdx.x, y = blockIdx.y * (I)blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    int v[9];
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            v[dy * 3 + dx] = in[(y + dy - 1) * width + x + dx - 1];
    order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
    order(v[0], v[1]), order(v[3], v[4]), order(v[6], v[7]);
    order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
    order(v[0], v[3]), order(v[5], v[8]), order(v[4], v[7]);
    order(v[3], v[6]), order(v[1], v[4]), order(v[2], v[5]);
    order(v[4], v[7]), order(v[4], v[2]), order(v[6], v[4]);
    order(v[4], v[2]);
    out[y * width + x] = v[4];
}
BENCH_SPELLING(median, 0, median<int>);
BENCH_SPELLING(median, 1, median<long long>);

// An image turned around its middle, read by the texture unit or by hand.
static __global__ void rotate(cudaTextureObject_t texture, float *out, int width, float c, float s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x - width * 0.5f, v = y - width * 0.5f;
    out[y * width + x] = tex2D<float>(texture, c * u - s * v + width * 0.5f + 0.5f,
                                      s * u + c * v + width * 0.5f + 0.5f);
}
static __global__ void rotate_normal(cudaTextureObject_t texture, float *out, int width, float c,
                                     float s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = (float)x / width - 0.5f, v = (float)y / width - 0.5f, half = 0.5f / width;
    out[y * width + x] =
        tex2D<float>(texture, c * u - s * v + 0.5f + half, s * u + c * v + 0.5f + half);
}
static __global__ void rotate_hand(const float *in, float *out, int width, float c, float s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x - width * 0.5f, v = y - width * 0.5f;
    float fx = c * u - s * v + width * 0.5f, fy = s * u + c * v + width * 0.5f;
    int ix = floorf(fx), iy = floorf(fy), most = width - 1;
    float ax = fx - ix, ay = fy - iy;
    int x0 = min(max(ix, 0), most), x1 = min(max(ix + 1, 0), most);
    int y0 = min(max(iy, 0), most), y1 = min(max(iy + 1, 0), most);
    float top = in[y0 * width + x0] * (1 - ax) + in[y0 * width + x1] * ax;
    float low = in[y1 * width + x0] * (1 - ax) + in[y1 * width + x1] * ax;
    out[y * width + x] = top * (1 - ay) + low * ay;
}
template <bool NORMAL> static cudaTextureObject_t texture_of(const float *data, int width)
{
    static cudaTextureObject_t texture;
    if (texture)
        return texture;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = const_cast<float *>(data);
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = resource.res.pitch2D.height = width;
    resource.res.pitch2D.pitchInBytes = width * sizeof(float);
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = NORMAL;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    return texture;
}
template <bool NORMAL> static void turned(const bench_launch *l, void **args)
{
    int width = *(int *)args[2];
    (NORMAL ? rotate_normal : rotate)<<<dim3(l->grid_x, l->grid_y), dim3(l->block_x, l->block_y)>>>(
        texture_of<NORMAL>(BENCH_POINTER(float, args[0]), width), BENCH_POINTER(float, args[1]),
        width, *(float *)args[3], *(float *)args[4]);
}
BENCH_HOST(rotate, 0, turned<false>);
BENCH_HOST(rotate, 1, turned<true>);
BENCH_SPELLING(rotate, 2, rotate_hand);

// Channels of a picture by 3×3 weights each into one of `outs` pictures; a thread an element.
template <int CHANNELS>
__global__ void conv(const float *in, const float *weights, float *out, int width, int channels)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int o = y / width;
    y %= width;
    if (x >= width)
        return;
    int count = CHANNELS ? CHANNELS : channels;
    float sum = 0;
    for (int c = 0; c < count; c++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int sx = x + dx, sy = y + dy;
                if (sx >= 0 && sy >= 0 && sx < width && sy < width)
                    sum += in[(c * width + sy) * width + sx] *
                           weights[((o * count + c) * 3 + dy + 1) * 3 + dx + 1];
            }
    out[(o * width + y) * width + x] = sum;
}
BENCH_SPELLING(conv, 0, conv<0>);
BENCH_SPELLING(conv, 1, conv<16>);
